import {
  changing,
  integration as integrationKey,
  organization,
  type ReadTx,
  type WriteTx,
} from '../../db/engine.ts';
import type { Deps } from '../people/deps.ts';
import { getOrganization } from '../people/organization-store.ts';
import { ALL_PUBLIC_TEAMS, type Place, type ProviderApi } from '../providers/api.ts';
import { type IntegrationType, providerOf } from '../providers/index.ts';
import { insertHooks, restartRecoveries } from './hook-store.ts';
import { getAdministrable, makeOrUndo, newHook, urlOf } from './hooks.ts';
import { listPolls, restartPoll } from './poll-store.ts';
import {
  changeIntegration,
  deleteIntegration,
  getIntegration,
  type Integration,
  insertIntegration,
  listHistoryOnly,
  listIntegrations,
  newSecret,
  requireUnconnected,
  updateIntegration,
} from './store.ts';
import { requireToken, sealToken, setToken } from './token.ts';
import {
  type ConnectedPlace,
  IntegrationProblem,
  MAX_PLACES,
  placeName,
  recordChange,
  requireRepositoryName,
} from './words.ts';

/** The maximum for one request: each place takes two writes, and providers limit writes by the minute. */
export const MAX_AT_ONCE = 30;

export interface ConnectRequest {
  type: IntegrationType;
  organizationId: string;
  token: string;
  /** Names or ids. Empty: all places, if the provider has a name for them. */
  places: readonly string[];
}

/** The places that a token can see. Throws `ProviderProblem`, and `IntegrationProblem` `invalid_token`. */
export async function listPlaces(
  { openProviderApi }: Pick<Deps, 'openProviderApi'>,
  type: IntegrationType,
  token: string,
): Promise<{ places: Place[]; isCut: boolean }> {
  const api = await openProviderApi(type, requireToken(token));
  return api.listPlaces();
}

/**
 * Creates an integration and its hooks at the provider, and pings each: all or nothing. An integration whose history was
 * imported gets the token and the hooks instead. Throws `ProviderProblem`;
 * `ChangeFailed` once a hook may exist; `AppError` 400, 404 and 409.
 */
export async function connectWithToken(
  deps: Deps,
  request: ConnectRequest,
): Promise<{ integrationId: string; places: ConnectedPlace[] }> {
  const { db, clock, ids } = deps;
  const { type, organizationId } = request;
  const token = requireToken(request.token);
  await db.read((tx) => getOrganization(tx, organizationId));
  const api = await deps.openProviderApi(type, token);
  const places = await findPlaces(deps, api, request);
  const [place, ...others] = places;
  const imported =
    place !== undefined && others.length === 0
      ? await db.read((tx) => findHistoryOnly(tx, type, organizationId, place.name))
      : null;
  if (imported !== null)
    return { integrationId: imported.id, places: await setToken(deps, imported.id, token) };
  await db.read((tx) => requireUnconnected(tx, request, places));
  await requireOtherWorkspace(deps, api, organizationId, places);

  const integrationId = ids.newId('int');
  const startedAt = clock.now();
  const row = {
    ...newIntegration(deps, integrationId, type, organizationId).row,
    token: sealToken(deps, integrationId, token),
  };
  const added = places.map((place) => newPlace(deps, row, place, startedAt));
  const repositories = added.flatMap(({ repository }) => repository ?? []);
  const hooks = added.map(({ hook }) => hook);
  const auditId = await db.write(
    async (tx) => {
      // Again: another request may have connected one since.
      await requireUnconnected(tx, request, places);
      await insertIntegration(tx, row, repositories);
      await insertHooks(tx, hooks, row.createdAt);
      return recordChange(tx, deps, { ...row, repositories }, 'integration.connected', 'connected');
    },
    changing(organization(organizationId)),
  );
  const undo = (tx: WriteTx) => deleteIntegration(tx, integrationId);
  const change = { code: 'not_connected', startedAt, auditId, undo } as const;
  return { integrationId, places: await makeOrUndo({ ...deps, api, integration: row }, hooks, change) };
}

/** The rows of a new place of an integration. The repository is null for a provider without repositories. */
export function newPlace(
  deps: Deps,
  { id, type }: Pick<Integration, 'id' | 'type'>,
  place: Place,
  startedAt: Date,
) {
  const repository = providerOf(type).hasRepositories ? newRepository(deps, id, place) : null;
  return { repository, hook: newHook(id, place, repository?.id ?? null, startedAt) };
}

async function findPlaces(
  deps: Pick<Deps, 'providerUrls'>,
  api: ProviderApi,
  { type, places }: ConnectRequest,
): Promise<Place[]> {
  const { api: support, words } = providerOf(type);
  const all = support?.allPlaces ?? null;
  const typed = places.length === 0 && all !== null ? [all] : places;
  const names = typed.map((text) => placeName(deps, type, text));
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

export function requireCount(count: number, max: number): void {
  if (count <= max) return;
  throw new IntegrationProblem({ code: 'too_many_places', max, count });
}

/**
 * All public teams can be connected once for each workspace. Workspaces have no name here: the webhooks in it identify
 * one. Throws `IntegrationProblem` `place_connected`.
 */
async function requireOtherWorkspace(
  deps: Deps,
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

type ManualNeeds = Pick<
  Deps,
  'db' | 'clock' | 'ids' | 'log' | 'actor' | 'secrets' | 'publicUrl' | 'providerUrls'
>;

/**
 * Creates an integration whose webhooks a person sets up: one secret, and a URL for each repository. Throws `AppError`
 * 400 for an invalid name and 404 for an unknown organization.
 */
export async function connectIntegration(
  deps: ManualNeeds,
  type: IntegrationType,
  organizationId: string,
  given: string | readonly string[] = [],
  /** Refuses a repository that the organization has connected. */
  { isOnly = false } = {},
) {
  const names = [given].flat().map((text) => placeName(deps, type, text));
  const distinct = [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
  for (const repository of distinct) requireRepositoryName(type, repository);
  requireCount(distinct.length, MAX_PLACES);
  const [only, ...others] = distinct;
  if (only !== undefined && others.length === 0 && !isOnly) {
    const taken = await takeOverByHand(deps, type, organizationId, only);
    if (taken !== null) return taken;
  }
  const integrationId = deps.ids.newId('int');
  const { row, secret } = newIntegration(deps, integrationId, type, organizationId);
  const repositories = distinct.map((id) => newRepository(deps, integrationId, { id }));
  await deps.db.write(
    async (tx) => {
      await getOrganization(tx, organizationId);
      if (isOnly) await requireNew(tx, type, organizationId, distinct);
      await insertIntegration(tx, row, repositories);
      await recordChange(tx, deps, { ...row, repositories }, 'integration.connected', 'connected');
    },
    changing(organization(organizationId)),
  );
  return describeManual(deps, row, repositories, secret);
}

function describeManual(
  deps: ManualNeeds,
  integration: Pick<Integration, 'id' | 'type' | 'organizationId'>,
  repositories: readonly { id: string; fullName: string }[],
  secret: string,
) {
  const urls = repositories.map(({ id, fullName }) => ({
    repository: fullName,
    repositoryId: id,
    webhookUrl: urlOf(deps, integration, { repositoryId: id }),
  }));
  const [first] = urls;
  return {
    integrationId: integration.id,
    ...(first !== undefined && { repositoryId: first.repositoryId }),
    webhookUrl: urlOf(deps, integration, { repositoryId: first?.repositoryId ?? null }),
    secret,
    repositories: urls,
  };
}

/** The integration of a repository whose releases were imported, and that no webhook tells about yet. */
export async function findHistoryOnly(
  tx: ReadTx,
  type: IntegrationType,
  organizationId: string,
  name: string,
) {
  const isIt = ({ fullName }: { fullName: string }) => fullName.toLowerCase() === name.toLowerCase();
  const fitting = (await listIntegrations(tx, organizationId)).filter(
    (each) => each.type === type && each.repositories.some(isIt),
  );
  const imported = await listHistoryOnly(tx, fitting);
  return fitting.find(({ id }) => imported.has(id)) ?? null;
}

/** Nobody has seen the secret of such an integration, so that it gets a new one. */
async function takeOverByHand(
  deps: ManualNeeds,
  type: IntegrationType,
  organizationId: string,
  name: string,
): Promise<ReturnType<typeof describeManual> | null> {
  const known = await deps.db.read((tx) => findHistoryOnly(tx, type, organizationId, name));
  if (known === null) return null;
  return deps.db.write(
    async (tx) => {
      const imported = await findHistoryOnly(tx, type, organizationId, name);
      if (imported === null) return null;
      const { secret, sealed } = newSecret(deps, imported.id);
      await updateIntegration(tx, imported.id, { secret: sealed });
      await recordChange(tx, deps, imported, 'integration.connected', 'connected');
      return describeManual(deps, imported, imported.repositories, secret);
    },
    changing(organization(organizationId), integrationKey(known.id)),
  );
}

/** Throws `IntegrationProblem` `place_connected`. */
async function requireNew(tx: WriteTx, type: IntegrationType, organizationId: string, names: string[]) {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  for (const { id: integrationId, type: other, repositories } of await listIntegrations(tx, organizationId)) {
    const same = repositories.find(({ fullName }) => wanted.has(fullName.toLowerCase()));
    if (other !== type || same === undefined) continue;
    throw new IntegrationProblem({ code: 'place_connected', place: same.fullName, integrationId });
  }
}

export function newIntegration(deps: ManualNeeds, id: string, type: IntegrationType, organizationId: string) {
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

/** Accepts or refuses deliveries from now on. Throws `IntegrationProblem` `integration_not_found`. */
export async function setEnabled(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'actor'>,
  id: string,
  enabled: boolean,
): Promise<Integration> {
  const verb = enabled ? 'enabled' : 'disabled';
  return changeIntegration(deps.db, id, async (tx) => {
    const before = await getIntegration(tx, id);
    if (before.enabled === enabled) return before;
    await updateIntegration(tx, id, { enabled });
    // Events of that time are not drafted. The first round takes the present as the start, so it is due
    // at once: each moment before it would be lost.
    const polls = enabled ? await listPolls(tx, id) : [];
    for (const poll of polls) await restartPoll(tx, poll, deps.clock.now().getTime());
    if (enabled) await restartRecoveries(tx, id, deps.clock.now());
    await recordChange(tx, deps, before, `integration.${verb}`, verb);
    return { ...before, enabled };
  });
}
