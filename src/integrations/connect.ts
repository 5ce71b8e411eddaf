import { withdrawAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/how-to-run.ts';
import { getOrganization } from '../organizations/store.ts';
import {
  ALL_PUBLIC_TEAMS,
  type Hook,
  type Place,
  type ProviderApi,
  ProviderProblem,
} from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { findConnectedTeam, insertHooks, listHooks, newHook } from './hook-store.ts';
import { isProblem, makeHook, unmakeHook } from './make.ts';
import type { Integration, IntegrationType, Repository } from './model.ts';
import { pingAndWait } from './ping.ts';
import { newSecret } from './service.ts';
import {
  deleteIntegration,
  findConnectedRepository,
  getIntegration,
  insertIntegration,
  listIntegrations,
} from './store.ts';
import { requireToken, sealToken } from './token.ts';
import { urlOf } from './wish.ts';

/** How many repositories or teams an integration has. */
export const MAX_PLACES = 100;

/** Limits one connect: each place takes two writes, and providers limit writes by the minute. */
const MAX_AT_ONCE = 30;

/** How long the server's own job leaves hooks alone that somebody works on, in milliseconds. */
export const HANDS_OFF_MS = 120_000;

export interface ConnectRequest {
  type: IntegrationType;
  organizationId: string;
  token: string;
  /** Names or ids. Without any: all places, where the provider has a name for them. */
  places: readonly string[];
}

/** One place that was connected. */
export interface ConnectedPlace {
  place: string;
  repositoryId?: string;
  webhookUrl: string;
  hookId: string;
  /** Whether the provider's ping arrived; null where the provider sends none. */
  hasPinged: boolean | null;
}

export interface ConnectedHooks {
  integrationId: string;
  places: ConnectedPlace[];
}

export type HookNeeds = Pick<
  Deps,
  'db' | 'clock' | 'ids' | 'log' | 'actor' | 'secrets' | 'publicUrl' | 'openProviderApi'
>;

/**
 * Connects with a token: an integration whose hooks Tidings makes at the provider, each pinged. All or nothing: when a
 * place cannot be connected, what was made is taken back on both sides. Throws `ProviderProblem`, and `AppError` 400,
 * 404 and 409.
 */
export async function connectWithToken(deps: HookNeeds, request: ConnectRequest): Promise<ConnectedHooks> {
  const { type, organizationId } = request;
  const token = requireToken(request.token);
  await getOrganization(deps.db, organizationId);
  const api = await deps.openProviderApi(type, token);
  const places = await findPlaces(api, request);
  requireUnconnected(deps, organizationId, places);
  await requireOtherWorkspace(deps, api, organizationId, places);

  const integrationId = deps.ids.newId('int');
  const startedAt = deps.clock.now();
  const createdAt = startedAt.toISOString();
  const repositories = providerOf(type).hasRepositories
    ? places.map((place) => newRepository(deps, integrationId, place))
    : [];
  const handsOffUntil = startedAt.getTime() + HANDS_OFF_MS;
  const hooks = places.map((place, index) =>
    newHook(integrationId, place, repositories[index]?.id ?? null, handsOffUntil),
  );
  const { sealed } = newSecret(deps, integrationId);
  const sealedToken = sealToken(deps, integrationId, token);
  const row = { id: integrationId, organizationId, type, enabled: true, secret: sealed, createdAt };
  const auditId = await deps.db.write(() => {
    const recorded = insertIntegration(deps, { ...row, token: sealedToken }, repositories);
    // Once more, where nobody can come in between.
    requireUnconnected(deps, organizationId, places, repositories);
    insertHooks(deps.db, hooks, createdAt);
    return recorded;
  });

  const integration = await getIntegration(deps.db, integrationId);
  try {
    return { integrationId, places: await makeAndPing(deps, api, integration, hooks, startedAt) };
  } catch (error) {
    const left = await takeBack(deps, api, integration, await listHooks(deps.db, integrationId), error);
    await deps.db.write(async (tx) => {
      deleteIntegration(deps.db, integrationId);
      await withdrawAudit(tx, deps, auditId);
    });
    throw withEnding(error, `${left}Nothing was connected.`);
  }
}

/** Makes the hooks, one after the other, then waits for their pings. */
export async function makeAndPing(
  deps: HookNeeds,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
  startedAt: Date,
): Promise<ConnectedPlace[]> {
  const made: Hook[] = [];
  for (const hook of hooks) made.push(await makeHook(deps, api, integration, hook));
  const pinged = await Promise.allSettled(
    made.map(async (hook) => {
      const webhookUrl = urlOf(deps, integration, hook);
      return {
        place: hook.placeName,
        ...(hook.repositoryId === null ? {} : { repositoryId: hook.repositoryId }),
        webhookUrl,
        hookId: hook.remoteId ?? '',
        hasPinged: await pingAndWait(deps, api, hook, webhookUrl, startedAt),
      };
    }),
  );
  // All are waited for first: what failed may be taken back now.
  return pinged.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function findPlaces(api: ProviderApi, { type, places }: ConnectRequest): Promise<Place[]> {
  const { api: support, words } = providerOf(type);
  const all = support?.allPlaces ?? null;
  const names = places.length === 0 && all !== null ? [all] : places;
  if (names.length === 0)
    throw new AppError(400, `Name at least one ${words.place.one}, as ${words.place.pattern}`);
  if (names.length > MAX_AT_ONCE) {
    throw new AppError(
      400,
      `At most ${MAX_AT_ONCE} can be connected in one go, not ${names.length}: add the others afterwards`,
    );
  }
  const found = new Map<string, Place>();
  for (const name of names) {
    const place = await getAdministrable(api, name);
    found.set(place.id, place);
  }
  return [...found.values()];
}

export async function getAdministrable(api: ProviderApi, name: string): Promise<Place> {
  const place = await api.getPlace(name);
  if (place.canAdminister) return place;
  const words = providerOf(api.type).api?.words;
  throw new ProviderProblem('missing-permission', words?.noPermission(place.name) ?? '');
}

/**
 * Two integrations of one repository or team would make every draft twice; all public teams may be those of another
 * workspace. `inserted`: rows that are not meant. Synchronous, for a transaction of the caller's. Throws `AppError` 409.
 */
export function requireUnconnected(
  { db }: Pick<Deps, 'db'>,
  organizationId: string,
  places: readonly Pick<Place, 'id'>[],
  inserted: readonly Repository[] = [],
): void {
  const ids = places.map(({ id }) => id).filter((id) => id !== ALL_PUBLIC_TEAMS);
  const except = inserted.map(({ id }) => id);
  const found =
    findConnectedRepository(db, organizationId, ids, except) ?? findConnectedTeam(db, organizationId, ids);
  if (found === null) return;
  const { name, integrationId, hasToken } = found;
  const purpose = hasToken ? 'give it another token' : 'let Tidings manage its webhook';
  throw new AppError(
    409,
    `${name} is connected already, by ${integrationId}. To ${purpose}: ${tidings} integration set-token ${integrationId} --token TOKEN`,
  );
}

/**
 * All public teams can be connected once for each workspace, which has no name here: it is known by the webhooks that
 * stand in it. Throws `AppError` 409.
 */
async function requireOtherWorkspace(
  deps: HookNeeds,
  api: ProviderApi,
  organizationId: string,
  places: readonly Place[],
): Promise<void> {
  if (!places.some(({ id }) => id === ALL_PUBLIC_TEAMS)) return;
  const urls = new Set((await api.listHooks(ALL_PUBLIC_TEAMS)).map(({ url }) => url));
  for (const integration of await listIntegrations(deps.db, organizationId)) {
    if (integration.type !== api.type || !urls.has(urlOf(deps, integration, { repositoryId: null })))
      continue;
    throw new AppError(
      409,
      `The public teams of this workspace are connected already, by ${integration.id}. To give it another token: ${tidings} integration set-token ${integration.id} --token TOKEN`,
    );
  }
}

export function newRepository(
  { ids, clock }: HookNeeds,
  integrationId: string,
  { id: fullName, providerId = null }: { id: string; providerId?: number | null },
) {
  return { id: ids.newId('repo'), integrationId, fullName, providerId, createdAt: clock.now().toISOString() };
}

/**
 * Deletes at the provider what was made there before `error`, also what may have been made although no answer came. Says
 * what could not be deleted, as a sentence; empty when nothing is left.
 */
export async function takeBack(
  deps: HookNeeds,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
  error: unknown,
): Promise<string> {
  const left: string[] = [];
  for (const hook of hooks) {
    const { placeId, placeName, remoteId } = hook;
    try {
      const mayBeThere = remoteId !== null || isProblem(error, 'provider-failed');
      if (mayBeThere) await unmakeHook(deps, api, integration, hook);
    } catch (failure) {
      const { id: integrationId } = integration;
      deps.log.warn({ err: failure, integrationId, placeId }, 'a hook may be left at the provider');
      left.push(`Look at the webhooks of ${placeName}: one may be left there that could not be deleted. `);
    }
  }
  return left.join('');
}

/** Ends the message of what a provider did not delete. */
export const WITH_FORCE =
  'With --force it is, and the webhook stays at the provider until somebody deletes it there';

/** Ends the message of a deletion that failed in the middle. */
export const RESTORES = 'If the webhook is gone at the provider, Tidings restores it within a minute.';

/** The same failure, its message continued. */
export function withEnding(error: unknown, ending: string): unknown {
  if (error instanceof ProviderProblem) {
    return new ProviderProblem(error.kind, sentences(error.message, ending), {
      cause: error.cause,
      retryAt: error.retryAt ?? undefined,
    });
  }
  return error;
}

function sentences(one: string, other: string): string {
  return `${one.replace(/\.$/, '')}. ${other}`;
}
