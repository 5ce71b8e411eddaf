import { changing, organization, type WriteTx } from '../../../db/engine.ts';
import {
  findHistoryOnly,
  MAX_AT_ONCE,
  newIntegration,
  newRepository,
  requireCount,
} from '../../integrations/connect.ts';
import { requireAddable } from '../../integrations/places.ts';
import {
  insertPoll,
  listSharing,
  type Poll,
  pollEveryMs,
  updatePoll,
} from '../../integrations/poll-store.ts';
import {
  changeIntegration,
  getIntegration,
  type Integration,
  insertIntegration,
  insertRepository,
  listHistoryOnly,
  requireUnconnected,
  updateIntegration,
} from '../../integrations/store.ts';
import { openReaderOf, requireToken, sealToken } from '../../integrations/token.ts';
import {
  IntegrationProblem,
  type IntegrationType,
  placeName,
  recordChange,
} from '../../integrations/words.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { providerOf } from '../../providers/index.ts';
import type { RemoteRepository, RepositoryReader } from '../../providers/reader.ts';
import { budgetOf } from './cursor.ts';
import { requirePolled } from './poll.ts';
import { readRound } from './round.ts';

export interface PollRequest {
  type: IntegrationType;
  organizationId: string;
  /** Names or URLs. */
  repositories: readonly string[];
  /** For repositories that are not public, and to be polled more often. */
  token?: string | undefined;
}

export interface PolledPlace {
  place: string;
  repositoryId: string;
}

/**
 * Creates an integration whose repositories are polled. The first round is part of it: it shows that they can be read,
 * and takes the present as the start. All or nothing. Polls the integration of an imported repository instead of a new
 * one. Throws `ProviderProblem`; `AppError` 400, 404 and 409.
 */
export async function connectPolled(
  deps: Deps,
  { type, organizationId, repositories: given, ...request }: PollRequest,
): Promise<{ integrationId: string; repositoryId: string; places: PolledPlace[] }> {
  const { db, ids, openReader } = deps;
  const token = request.token === undefined ? null : requireToken(request.token);
  await db.read((tx) => getOrganization(tx, organizationId));
  const reader = await openReader(type, token);
  const names = given.map((text) => placeName(deps, type, text));
  if (names.length === 0) {
    const { one: place, pattern } = providerOf(type).words.place;
    throw new IntegrationProblem({ code: 'no_places', place, pattern });
  }
  requireCount(names.length, MAX_AT_ONCE);
  const [name = ''] = names;
  const imported =
    names.length === 1 ? await db.read((tx) => findHistoryOnly(tx, type, organizationId, name)) : null;
  if (imported !== null) return pollImported(deps, imported, token);
  const integrationId = ids.newId('int');
  const row = {
    ...newIntegration(deps, integrationId, type, organizationId).row,
    token: token === null ? null : sealToken(deps, integrationId, token),
    isPolled: true,
  };
  const started = new Map<number, Awaited<ReturnType<typeof start>>>();
  for (const name of names) {
    const remote = await reader.getRepository(name);
    if (started.has(remote.providerId)) continue;
    await db.read((tx) => requireUnconnected(tx, row, [{ id: remote.fullName }]));
    const repository = newRepository(deps, integrationId, { id: remote.fullName, ...remote });
    started.set(remote.providerId, await start(deps, reader, repository));
  }
  const all = [...started.values()];
  const places = placesOf(all);
  const [first] = places;
  if (first === undefined) throw new Error('no repository was read');
  await db.write(
    async (tx) => {
      // Again: another request may have connected one since.
      const named = places.map(({ place }) => ({ id: place }));
      await requireUnconnected(tx, row, named);
      const repositories = all.map(({ repository }) => repository);
      await insertIntegration(tx, row, repositories);
      await insertPolls(tx, deps, { id: integrationId, type, hasToken: token !== null }, all);
      const target = { ...row, repositories };
      await recordChange(tx, deps, target, 'integration.connected', 'connected');
    },
    changing(organization(row.organizationId)),
  );
  return { integrationId, repositoryId: first.repositoryId, places };
}

/** Polls an integration of which only past releases were imported, with its own token unless there is a new one. */
async function pollImported(deps: Deps, integration: Integration, token: string | null) {
  const { db, clock } = deps;
  const { id: integrationId, type, repositories } = integration;
  const hasToken = token !== null || integration.hasToken;
  const reader = token === null ? await openReaderOf(deps, integration) : await deps.openReader(type, token);
  const started: Awaited<ReturnType<typeof start>>[] = [];
  for (const repository of repositories) {
    const row = { ...repository, integrationId, createdAt: clock.now().toISOString() };
    started.push(await start(deps, reader, row));
  }
  const places = placesOf(started);
  const [first] = places;
  if (first === undefined) throw new Error('an imported integration has a repository');
  await changeIntegration(db, integrationId, async (tx) => {
    const present = await getIntegration(tx, integrationId);
    // Another request may have connected it since.
    if ((await listHistoryOnly(tx, [present])).size === 0) {
      throw new IntegrationProblem({ code: 'place_connected', integrationId, place: first.place });
    }
    const sealed = token === null ? {} : { token: sealToken(deps, integrationId, token) };
    await updateIntegration(tx, integrationId, { isPolled: true, ...sealed });
    await insertPolls(tx, deps, { id: integrationId, type, hasToken }, started);
    await recordChange(tx, deps, present, 'integration.connected', 'connected');
  });
  return { integrationId, repositoryId: first.repositoryId, places };
}

const placesOf = (started: readonly Awaited<ReturnType<typeof start>>[]): PolledPlace[] =>
  started.map(({ repository, remote }) => ({ place: remote.fullName, repositoryId: repository.id }));

/** They wait for their turn among all that share the limit of requests. */
async function insertPolls(
  tx: WriteTx,
  { clock }: Deps,
  integration: Pick<Integration, 'id' | 'type' | 'hasToken'>,
  started: readonly { poll: Poll }[],
): Promise<void> {
  for (const { poll } of started) await insertPoll(tx, poll);
  const sharing = await listSharing(tx, integration);
  const dueAt = clock.now().getTime() + pollEveryMs(integration, sharing.length);
  for (const { poll } of started) await updatePoll(tx, poll.repositoryId, { dueAt });
}

/** The first round. */
export async function start(
  { clock, log }: Deps,
  reader: RepositoryReader,
  repository: ReturnType<typeof newRepository>,
  hasOldHook = false,
): Promise<{ repository: ReturnType<typeof newRepository>; remote: RemoteRepository; poll: Poll }> {
  const now = clock.now();
  const reading = { reader, log, now, needsFiles: false, findPushes: async () => [] };
  const { remote, seen } = await readRound(reading, repository, null);
  const { id: repositoryId, integrationId } = repository;
  const cursor = { seen, hasOldHook, budget: budgetOf(reader.budget) };
  const polled = { cursor, dueAt: now.getTime(), polledAt: now.toISOString(), problem: null, attempts: 0 };
  return { repository, remote, poll: { repositoryId, integrationId, ...polled } };
}

/** Adds a repository to a polled integration. Throws as `connectPolled` does. */
export async function addPolledPlace(deps: Deps, integrationId: string, text: string): Promise<PolledPlace> {
  const { db } = deps;
  const integration = await db.read((tx) => getIntegration(tx, integrationId));
  requirePolled(integration);
  const reader = await openReaderOf(deps, integration);
  const remote = await reader.getRepository(placeName(deps, integration.type, text));
  const { fullName, providerId } = remote;
  requireAddable(integration, integration.repositories.length, { id: fullName, providerId });
  const repository = newRepository(deps, integrationId, { id: fullName, providerId });
  const { poll } = await start(deps, reader, repository);
  await changeIntegration(
    db,
    integrationId,
    async (tx) => {
      await requireUnconnected(tx, integration, [{ id: fullName }]);
      await insertRepository(tx, repository);
      await insertPoll(tx, poll);
      await recordChange(tx, deps, integration, 'integration.place_added', `added ${fullName} to`);
    },
    organization(integration.organizationId),
  );
  return { place: fullName, repositoryId: repository.id };
}
