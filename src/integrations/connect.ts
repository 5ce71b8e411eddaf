import { recordAudit, withdrawAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import { ALL_PUBLIC_TEAMS, type Place, type ProviderApi } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { insertHooks, listHooks } from './hook-store.ts';
import {
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  makeAndPing,
  newHook,
  takeBack,
  urlOf,
} from './hooks.ts';
import {
  auditEventOf,
  type Connected,
  type ConnectedPlace,
  type Integration,
  type IntegrationType,
  MAX_PLACES,
  RepositoryName,
  webhookUrl,
} from './model.ts';
import { changeFailed, IntegrationProblem } from './problems.ts';
import { newSecret } from './secrets.ts';
import {
  deleteIntegration,
  findConnectedPlace,
  getIntegration,
  insertIntegration,
  listIntegrations,
  type NewRepository,
  updateIntegration,
} from './store.ts';
import { requireToken, sealToken } from './token.ts';

/** The maximum for one request: each place takes two writes, and providers limit writes by the minute. */
const MAX_AT_ONCE = 30;

export interface ConnectRequest {
  type: IntegrationType;
  organizationId: string;
  token: string;
  /** Names or ids. Empty: all places, if the provider has a name for them. */
  places: readonly string[];
}

export interface ConnectedHooks {
  integrationId: string;
  places: ConnectedPlace[];
}

/** The places that a token can see. Throws `ProviderProblem`, and `IntegrationProblem` `invalid_token`. */
export async function listPlaces(
  { openProviderApi }: Pick<HookNeeds, 'openProviderApi'>,
  type: IntegrationType,
  token: string,
): Promise<{ places: Place[]; isCut: boolean }> {
  const api = await openProviderApi(type, requireToken(token));
  return api.listPlaces();
}

/**
 * Creates an integration and its hooks at the provider, and pings each. All or nothing: if one place fails, it deletes
 * the others on both sides. Throws `ProviderProblem`; `ChangeFailed` once a hook may exist; `AppError` 400, 404 and 409.
 */
export async function connectWithToken(deps: HookNeeds, request: ConnectRequest): Promise<ConnectedHooks> {
  const { db, clock, ids } = deps;
  const { type, organizationId } = request;
  const token = requireToken(request.token);
  await db.read((tx) => getOrganization(tx, organizationId));
  const api = await deps.openProviderApi(type, token);
  const places = await findPlaces(api, request);
  await db.read((tx) => requireUnconnected(tx, organizationId, places));
  await requireOtherWorkspace(deps, api, organizationId, places);

  const integrationId = ids.newId('int');
  const startedAt = clock.now();
  const createdAt = startedAt.toISOString();
  const repositories = providerOf(type).hasRepositories
    ? places.map((place) => newRepository(deps, integrationId, place))
    : [];
  const retryAt = startedAt.getTime() + HANDS_OFF_MS;
  const hooks = places.map((place, index) =>
    newHook(integrationId, place, repositories[index]?.id ?? null, retryAt),
  );
  const row = {
    ...newIntegration(deps, integrationId, type, organizationId).row,
    token: sealToken(deps, integrationId, token),
  };
  const { integration, auditId } = await db.write(async (tx) => {
    await insertIntegration(tx, row, repositories);
    // Again: another request may have connected one since.
    await requireUnconnected(tx, organizationId, places, repositories);
    await insertHooks(tx, hooks, createdAt);
    const auditId = await recordAudit(tx, deps, connectedEvent({ ...row, repositories }));
    return { integration: await getIntegration(tx, integrationId), auditId };
  });
  try {
    return { integrationId, places: await makeAndPing(deps, api, integration, hooks, startedAt) };
  } catch (error) {
    const made = await db.read((tx) => listHooks(tx, integrationId));
    const left = await takeBack(deps, api, integration, made, error);
    await db.write(async (tx) => {
      await deleteIntegration(tx, integrationId);
      await withdrawAudit(tx, deps, auditId);
    });
    throw changeFailed(error, { code: 'not_connected', left });
  }
}

async function findPlaces(api: ProviderApi, { type, places }: ConnectRequest): Promise<Place[]> {
  const { api: support, words } = providerOf(type);
  const all = support?.allPlaces ?? null;
  const names = places.length === 0 && all !== null ? [all] : places;
  if (names.length === 0) {
    const { one: place, pattern } = words.place;
    throw new IntegrationProblem({ code: 'no_places', place, pattern });
  }
  requireCount(names.length, MAX_AT_ONCE);
  const distinct = new Map<string, Place>();
  for (const name of names) {
    const place = await getAdministrable(api, name);
    distinct.set(place.id, place);
  }
  return [...distinct.values()];
}

function requireCount(count: number, max: number): void {
  if (count <= max) return;
  throw new IntegrationProblem({ code: 'too_many_places', max, count });
}

/**
 * Two integrations of one repository or team would draft everything twice. Skips all public teams, which may be those
 * of another workspace, and the repositories in `inserted`. Throws `IntegrationProblem` `place_connected`.
 */
export async function requireUnconnected(
  tx: Parameters<typeof findConnectedPlace>[0],
  organizationId: string,
  places: readonly Pick<Place, 'id'>[],
  inserted: readonly NewRepository[] = [],
): Promise<void> {
  const placeIds = places.map(({ id }) => id).filter((id) => id !== ALL_PUBLIC_TEAMS);
  const except = inserted.map(({ id }) => id);
  const connected = await findConnectedPlace(tx, organizationId, placeIds, except);
  if (connected === null) return;
  throw new IntegrationProblem({ code: 'place_connected', ...connected });
}

/**
 * All public teams can be connected once for each workspace. Workspaces have no name here: the webhooks in it identify
 * one. Throws `IntegrationProblem` `place_connected`.
 */
async function requireOtherWorkspace(
  deps: HookNeeds,
  api: ProviderApi,
  organizationId: string,
  places: readonly Place[],
): Promise<void> {
  const all = places.find(({ id }) => id === ALL_PUBLIC_TEAMS);
  if (all === undefined) return;
  const urls = new Set((await api.listHooks(ALL_PUBLIC_TEAMS)).map(({ url }) => url));
  const integrations = await deps.db.read((tx) => listIntegrations(tx, organizationId));
  const connected = integrations.find(
    (each) => each.type === api.type && urls.has(urlOf(deps, each, { repositoryId: null })),
  );
  if (connected === undefined) return;
  throw new IntegrationProblem({ code: 'place_connected', place: all.name, integrationId: connected.id });
}

type ManualNeeds = Pick<Deps, 'db' | 'clock' | 'ids' | 'log' | 'actor' | 'secrets' | 'publicUrl'>;

/** Connected by hand: a webhook URL for each repository, and one secret for all. */
export interface ConnectedByHand extends Connected {
  repositories: { repository: string; repositoryId: string; webhookUrl: string }[];
}

/**
 * Creates an integration whose webhooks a person sets up, with a URL for each repository. Throws `AppError` 400 for an
 * invalid name and 404 for an unknown organization.
 */
export async function connectByHand(
  deps: ManualNeeds,
  type: IntegrationType,
  organizationId: string,
  names: readonly string[],
): Promise<ConnectedByHand> {
  for (const repository of names) requireValid(RepositoryName, { repository });
  const distinct = [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
  requireCount(distinct.length, MAX_PLACES);
  const integrationId = deps.ids.newId('int');
  const { row, secret } = newIntegration(deps, integrationId, type, organizationId);
  const repositories = distinct.map((id) => newRepository(deps, integrationId, { id }));
  await deps.db.write(async (tx) => {
    await getOrganization(tx, organizationId);
    await insertIntegration(tx, row, repositories);
    await recordAudit(tx, deps, connectedEvent({ ...row, repositories }));
  });
  const urlFor = (repositoryId?: string) =>
    webhookUrl(deps.publicUrl(), type, organizationId, integrationId, repositoryId);
  const [first] = repositories;
  return {
    integrationId,
    ...(first === undefined ? {} : { repositoryId: first.id }),
    webhookUrl: urlFor(first?.id),
    secret,
    repositories: repositories.map(({ id, fullName }) => ({
      repository: fullName,
      repositoryId: id,
      webhookUrl: urlFor(id),
    })),
  };
}

/** `connectByHand` for one repository, or for a provider without repositories. */
export async function connectIntegration(
  deps: ManualNeeds,
  type: IntegrationType,
  organizationId: string,
  repository?: string,
): Promise<Connected> {
  const names = repository === undefined ? [] : [repository];
  const { repositories: _, ...connected } = await connectByHand(deps, type, organizationId, names);
  return connected;
}

function newIntegration(deps: ManualNeeds, id: string, type: IntegrationType, organizationId: string) {
  const { secret, sealed } = newSecret(deps, id);
  const createdAt = deps.clock.now().toISOString();
  return { row: { id, organizationId, type, enabled: true, secret: sealed, createdAt }, secret };
}

export function newRepository(
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  integrationId: string,
  { id: fullName, providerId = null }: { id: string; providerId?: number | null },
) {
  return { id: ids.newId('repo'), integrationId, fullName, providerId, createdAt: clock.now().toISOString() };
}

function connectedEvent(integration: Parameters<typeof auditEventOf>[0]) {
  return auditEventOf(integration, 'integration.connected', (name) => `connected ${name}`);
}

/** Accepts or refuses deliveries from now on. Throws `IntegrationProblem` `integration_not_found`. */
export async function setEnabled(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'actor'>,
  id: string,
  enabled: boolean,
): Promise<Integration> {
  const [action, verb] = enabled
    ? (['integration.enabled', 'enabled'] as const)
    : (['integration.disabled', 'disabled'] as const);
  return deps.db.write(async (tx) => {
    const before = await getIntegration(tx, id);
    if (before.enabled === enabled) return before;
    await updateIntegration(tx, id, { enabled });
    await recordAudit(
      tx,
      deps,
      auditEventOf(before, action, (name) => `${verb} ${name}`),
    );
    return { ...before, enabled };
  });
}
