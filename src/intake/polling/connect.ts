import { toSettle } from '../../../db/checked.ts';
import { changing, organization, type WriteTx } from '../../../db/engine.ts';
import {
  findHistoryOnly,
  MAX_AT_ONCE,
  newIntegration,
  newRepository,
  requireCount,
} from '../../integrations/connect.ts';
import { findWebhookDelivery } from '../../integrations/deliveries/log-store.ts';
import { listHooks } from '../../integrations/hook-store.ts';
import { urlOf } from '../../integrations/hooks.ts';
import { requireAddable } from '../../integrations/places.ts';
import {
  deletePoll,
  insertPoll,
  listPolls,
  listSharing,
  type Poll,
  pollEveryMs,
  updatePoll,
} from '../../integrations/poll-store.ts';
import { rotateSecret } from '../../integrations/rotate.ts';
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
import { findToken, openReaderOf, requireToken, sealToken, setToken } from '../../integrations/token.ts';
import {
  ChangeFailed,
  type ConnectedPlace,
  IntegrationProblem,
  type IntegrationType,
  placeName,
  recordChange,
} from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import { APP_HOOK } from '../../providers/app.ts';
import { providerOf } from '../../providers/index.ts';
import type { RemoteRepository, RepositoryReader } from '../../providers/reader.ts';
import { budgetOf } from './cursor.ts';
import { requirePolled } from './poll.ts';
import { recordSwitch } from './record.ts';
import { readRound } from './round.ts';

// Integrations that are polled, and their change to a webhook and back without a gap: the new way starts before the old
// one ends. Whatever both bring is drafted once, because an event is known by what it is about.

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
async function start(
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

/** A webhook that a person sets up. */
export interface ManualWebhook {
  secret: string;
  urls: { repository: string; webhookUrl: string }[];
}

/**
 * Creates the webhooks with `token`, or with the stored one. Each repository is polled until its webhook has delivered,
 * and once more. Throws `ProviderProblem` when the token may not do so, `ChangeFailed` once a webhook may exist, and
 * `AppError` 400, 404 and 409.
 */
export async function useWebhook(
  deps: Deps,
  id: string,
  { token: given }: { token?: string | undefined } = {},
): Promise<ConnectedPlace[]> {
  const integration = await requirePolledIntegration(deps, id);
  if (integration.app !== null) {
    // Its webhook exists as long as the App.
    await mark(deps, id);
    const webhookUrl = urlOf(deps, integration, { repositoryId: null });
    return [{ place: integration.app.slug, webhookUrl, hookId: APP_HOOK, hasPinged: null }];
  }
  const token = given === undefined ? await findToken(deps, integration) : requireToken(given);
  const needed = 'A token is needed to create the webhook. Without one, set it up by hand.';
  if (token === null) throw new AppError(400, needed, { code: 'token_needed' });
  // The last rounds are read with it.
  if (given !== undefined) await requireReadable(await deps.openReader(integration.type, token), integration);
  const before = await mark(deps, id);
  try {
    return await setToken(deps, id, token);
  } catch (error) {
    // Otherwise Tidings keeps trying to create the webhooks.
    if (!(error instanceof ChangeFailed)) await unmark(toSettle(deps), id, before);
    throw error;
  }
}

/** Makes a new secret for webhooks that a person sets up. Each repository is polled until its webhook has delivered. */
export async function useManualWebhook(deps: Deps, id: string): Promise<ManualWebhook> {
  const integration = await requirePolledIntegration(deps, id);
  const isUsed = await mayBeInUse(deps, integration);
  const before = await mark(deps, id);
  const { secret } = await rotateSecret(deps, id, { now: !isUsed }).catch(async (error: unknown) => {
    await unmark(toSettle(deps), id, before);
    throw error;
  });
  const urls = integration.repositories.map(({ id: repositoryId, fullName }) => ({
    repository: fullName,
    webhookUrl: urlOf(deps, integration, { repositoryId }),
  }));
  return { secret, urls };
}

/** True if a webhook may sign with the present secret: one exists or has delivered, or a person has seen the secret. */
function mayBeInUse({ db }: Deps, { id, repositories }: Integration): Promise<boolean> {
  return db.read(async (tx) => {
    if ((await listHooks(tx, id)).length > 0) return true;
    if ((await listPolls(tx, id)).some(({ cursor }) => cursor?.webhookSince)) return true;
    for (const repository of repositories) {
      if ((await findWebhookDelivery(tx, id, repository.id, '')) !== null) return true;
    }
    return false;
  });
}

/** From now on, the first delivery of a webhook ends polling, after one more round. Returns the rows before. */
function mark({ db, clock }: Deps, id: string): Promise<Poll[]> {
  const webhookSince = clock.now().toISOString();
  return changeIntegration(db, id, async (tx) => {
    const polls = await listPolls(tx, id);
    for (const { repositoryId, cursor } of polls) {
      await updatePoll(tx, repositoryId, { cursor: { ...cursor, webhookSince, hasOldHook: false } });
    }
    return polls;
  });
}

/** Leaves alone what was polled meanwhile, but for the mark. */
function unmark({ db }: Deps, id: string, before: readonly Poll[]): Promise<void> {
  return changeIntegration(db, id, async (tx) => {
    for (const { repositoryId, cursor } of before) {
      const now = (await listPolls(tx, id)).find((each) => each.repositoryId === repositoryId);
      const { webhookSince = null, hasOldHook = false } = cursor ?? {};
      await updatePoll(tx, repositoryId, { cursor: { ...now?.cursor, webhookSince, hasOldHook } });
    }
  });
}

/**
 * Polls the repositories of an integration from now on. The webhooks that Tidings manages are deleted after another
 * round. Resolves to the repositories whose webhook a person has to delete. Throws `ProviderProblem` when they cannot
 * be read; `AppError` 400, 404 and 409.
 */
export async function usePolling(deps: Deps, id: string): Promise<{ places: string[]; byHand: string[] }> {
  const { db, clock } = deps;
  const { integration, hooks } = await db.read(async (tx) => ({
    integration: await getIntegration(tx, id),
    hooks: await listHooks(tx, id),
  }));
  if (integration.isPolled) return await stay(deps, integration);
  const reader = await openReaderOf(deps, integration);
  const started: Awaited<ReturnType<typeof start>>[] = [];
  for (const repository of integration.repositories) {
    const hasOldHook = hooks.some(({ repositoryId }) => repositoryId === repository.id);
    const row = { ...repository, integrationId: id, createdAt: clock.now().toISOString() };
    started.push(await start(deps, reader, row, hasOldHook));
  }
  const everyMs = pollEveryMs(integration, integration.repositories.length);
  await changeIntegration(db, id, async (tx) => {
    await updateIntegration(tx, id, { isPolled: true });
    for (const { poll } of started) {
      await deletePoll(tx, poll.repositoryId);
      await insertPoll(tx, { ...poll, dueAt: clock.now().getTime() + everyMs });
    }
    await recordSwitch(tx, deps, integration, 'polling');
  });
  const places = started.map(({ remote }) => remote.fullName);
  return { places, byHand: hooks.length > 0 ? [] : places };
}

/** Ends a change to webhooks that is under way: polling goes on where it is. */
async function stay({ db }: Deps, { id, repositories, hasToken }: Integration) {
  await changeIntegration(db, id, async (tx) => {
    const hooks = await listHooks(tx, id);
    for (const { repositoryId, cursor } of await listPolls(tx, id)) {
      const hasOldHook = hooks.some((hook) => hook.repositoryId === repositoryId);
      await updatePoll(tx, repositoryId, { cursor: { ...cursor, webhookSince: null, hasOldHook } });
    }
  });
  const places = repositories.map(({ fullName }) => fullName);
  return { places, byHand: hasToken ? [] : places };
}

/** Stores the token with which a polled integration is read. Throws as `useWebhook` does. */
export async function setPollToken(deps: Deps, id: string, text: string): Promise<void> {
  const { db, clock } = deps;
  const integration = await requirePolledIntegration(deps, id);
  if (integration.app !== null) throw new IntegrationProblem({ code: 'app_without_token' });
  const token = requireToken(text);
  await requireReadable(await deps.openReader(integration.type, token), integration);
  await changeIntegration(db, id, async (tx) => {
    await updateIntegration(tx, id, { token: sealToken(deps, id, token) });
    for (const { repositoryId } of await listPolls(tx, id)) {
      await updatePoll(tx, repositoryId, { dueAt: clock.now().getTime(), problem: null, attempts: 0 });
    }
    const verb = integration.hasToken ? 'replaced the provider token of' : 'set a provider token for';
    await recordChange(tx, deps, integration, 'token.set', verb);
  });
}

/** A token for webhooks alone cannot read the code of a private repository. */
async function requireReadable(reader: RepositoryReader, { repositories }: Integration): Promise<void> {
  for (const { fullName } of repositories) {
    const remote = await reader.getRepository(fullName);
    await reader.listReleases(remote);
    await reader.listMerged(remote);
  }
}

async function requirePolledIntegration({ db }: Deps, id: string): Promise<Integration> {
  const integration = await db.read((tx) => getIntegration(tx, id));
  requirePolled(integration);
  return integration;
}
