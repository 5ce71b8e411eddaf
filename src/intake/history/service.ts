import { listTriggers } from '../../drafting/triggers/model.ts';
import { createTrigger } from '../../drafting/triggers/service.ts';
import { connectIntegration } from '../../integrations/connect.ts';
import { getWithHooks } from '../../integrations/hook-store.ts';
import {
  changeIntegration,
  getIntegration,
  listIntegrations,
  updateIntegration,
} from '../../integrations/store.ts';
import { requireToken, sealToken } from '../../integrations/token.ts';
import { placeName, recordChange } from '../../integrations/words.ts';
import { AppError, invalidField } from '../../lib/app-error.ts';
import { DAY_MS } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import { getOrganization } from '../../people/organization-store.ts';
import type { ContentType } from '../../posts/model.ts';
import { type IntegrationType, listProviders, providerOf, providers } from '../../providers/index.ts';
import {
  getHistory,
  type History,
  insertHistory,
  listOpenHistories,
  settle,
  updateHistory,
} from './store.ts';

/** The maximum number of releases of one history. */
export const MAX_RELEASES = 10_000;

/** The providers whose repositories can be read. A name without a host belongs to the first. */
export const readableProviders = providers.filter(({ reader }) => reader !== null);

export interface HistoryRequest {
  type: IntegrationType;
  organizationId: string;
  /** Its name or URL. */
  repository: string;
  contentType: ContentType;
  /** Releases since then; absent: all. */
  since?: Date | undefined;
  /** The newest so many; absent: all. */
  releases?: number | undefined;
  /** Publish the posts instead of leaving them as drafts. */
  publish: boolean;
  /** For a repository that is not public. Kept, encrypted, with an integration without webhooks. */
  token?: string | undefined;
}

/**
 * The provider of a repository's URL; the first for a name alone. `requestMark`: only one that writes it before the numbers
 * of pull requests. Throws `AppError` 400 for a URL of none.
 */
function providerOfRepository(
  { providerUrls }: Pick<Deps, 'providerUrls'>,
  text: string,
  requestMark?: '!',
): IntegrationType {
  const fits = readableProviders.find((provider) => {
    if (requestMark !== undefined && provider.requestMark !== requestMark) return false;
    try {
      return provider.placeName(text, providerUrls?.[provider.id]) !== '';
    } catch (error) {
      if (error instanceof AppError) return false;
      throw error;
    }
  });
  if (fits !== undefined) return fits.id;
  throw invalidField(
    'repository',
    `must be OWNER/NAME or the URL of a repository at ${listProviders('or', readableProviders)}`,
  );
}

/** The provider at which the organization has connected a repository of this name; else that of `providerOfRepository`. */
export async function findProvider(
  deps: Pick<Deps, 'db' | 'providerUrls'>,
  organizationId: string,
  text: string,
  requestMark?: '!',
): Promise<IntegrationType> {
  for (const { id: type, requestMark: own } of readableProviders) {
    if (requestMark !== undefined && own !== requestMark) continue;
    if ((await findConnected(deps, { type, organizationId }, { name: text.trim() })) !== null) return type;
  }
  return providerOfRepository(deps, text, requestMark);
}

/**
 * Stores a request to read a history. Creates the integration and the trigger that it needs when the organization has
 * none for the repository. The same request goes on where it was; another one for the same posts takes its place. Throws
 * `AppError` 400, 404 and 409, and `ProviderProblem` when the repository cannot be read.
 */
export async function startHistory(deps: Deps, request: HistoryRequest): Promise<History> {
  const { db, clock, ids } = deps;
  const { organizationId, publish, since, releases } = request;
  if (releases !== undefined && !(Number.isInteger(releases) && releases >= 1 && releases <= MAX_RELEASES)) {
    throw invalidField('releases', `must be a whole number from 1 to ${MAX_RELEASES}`);
  }
  await db.read((tx) => getOrganization(tx, organizationId));
  const place = await findPlace(deps, request);
  const trigger = await findOrCreateTrigger(deps, place, request.contentType);
  const now = clock.now();
  const history: History = {
    id: ids.newId('his'),
    ...place,
    triggerId: trigger.id,
    since: since?.toISOString() ?? null,
    releases: releases ?? null,
    publish,
    status: 'queued',
    cursor: null,
    found: 0,
    read: 0,
    problem: null,
    dueAt: now.getTime(),
    attempts: 0,
    createdAt: now.toISOString(),
    endedAt: null,
  };
  return changeIntegration(db, place.integrationId, async (tx) => {
    const integration = await getIntegration(tx, place.integrationId);
    for (const open of await listOpenHistories(tx, place.repositoryId, trigger.id)) {
      if (isSameRequest(open, history)) {
        // A person wants it now. Two processes that read one page write it once.
        const dueAt = now.getTime();
        await updateHistory(tx, open.id, { dueAt });
        return { ...open, dueAt };
      }
      await updateHistory(tx, open.id, { status: 'stopped', endedAt: now.toISOString() });
      await settle(tx, deps, integration, open, { isOver: true });
    }
    await insertHistory(tx, history);
    return history;
  });
}

/** A span such as a year back names a later time when the same command runs again. */
function isSameRequest(one: History, other: History): boolean {
  if (one.publish !== other.publish || one.releases !== other.releases) return false;
  if (one.since === null || other.since === null) return one.since === other.since;
  return Math.abs(Date.parse(one.since) - Date.parse(other.since)) < DAY_MS;
}

type Place = Pick<History, 'integrationId' | 'repositoryId'>;

async function findOrCreateTrigger(deps: Deps, place: Place, contentType: ContentType) {
  const { integrationId, repositoryId } = place;
  const triggers = await deps.db.read((tx) => listTriggers(tx, { integrationId }));
  const fitting = triggers.filter(
    (each) =>
      each.event === 'release' &&
      each.contentType === contentType &&
      (each.repositoryId === null || each.repositoryId === repositoryId),
  );
  const enabled = fitting.find((each) => each.enabled);
  if (enabled !== undefined) return enabled;
  const [disabled] = fitting;
  if (disabled !== undefined) {
    throw new AppError(
      409,
      `The trigger ${disabled.id}, which makes these posts, is disabled. Enable it, then import the releases.`,
      { code: 'trigger_disabled', details: { id: disabled.id } },
    );
  }
  return createTrigger(deps, { integrationId, repository: repositoryId, event: 'release', contentType });
}

/** The integration and the repository. Asks the provider before it creates any: a mistyped name must leave nothing. */
async function findPlace(deps: Deps, request: HistoryRequest): Promise<Place> {
  const { type, organizationId } = request;
  const name = placeName(deps, type, request.repository);
  const token = request.token === undefined ? null : requireToken(request.token);
  const known = await findConnected(deps, request, { name });
  if (known !== null && token === null) return known;
  if (known !== null) await requireNoHooks(deps, known.integrationId, name);
  const reader = await deps.openReader(type, token);
  const { fullName, providerId } = await reader.getRepository(name);
  // Its name may have changed.
  const place = known ?? (await findConnected(deps, request, { name: fullName, providerId }));
  if (place !== null) {
    if (token !== null) {
      await requireNoHooks(deps, place.integrationId, fullName);
      await storeToken(deps, place.integrationId, token);
    }
    return place;
  }
  const options = { isOnly: true };
  const connected = await connectIntegration(deps, type, organizationId, fullName, options);
  const [repository] = connected.repositories;
  if (repository === undefined) throw new Error(`${providerOf(type).name} has no repositories`);
  const { integrationId } = connected;
  if (token !== null) await storeToken(deps, integrationId, token);
  return { integrationId, repositoryId: repository.repositoryId };
}

export async function findConnected(
  { db }: Pick<Deps, 'db'>,
  { type, organizationId }: Pick<HistoryRequest, 'type' | 'organizationId'>,
  { name, providerId }: { name: string; providerId?: number },
): Promise<Place | null> {
  const all = await db.read((tx) => listIntegrations(tx, organizationId));
  const places = all.flatMap(({ id, type: of, repositories }) =>
    of === type ? repositories.map((each) => ({ ...each, integrationId: id })) : [],
  );
  const found =
    places.find((each) => providerId !== undefined && each.providerId === providerId) ??
    places.find((each) => each.fullName.toLowerCase() === name.toLowerCase());
  return found ? { integrationId: found.integrationId, repositoryId: found.id } : null;
}

/** The token of an integration with webhooks manages them, so that another one cannot take its place. */
async function requireNoHooks({ db }: Deps, integrationId: string, repository: string): Promise<void> {
  const { hooks } = await db.read((tx) => getWithHooks(tx, integrationId));
  if (hooks.length === 0) return;
  throw new AppError(
    409,
    `${repository} is connected with a token, which reads the releases too. Leave the token out. If it may not read them, replace the token of the integration.`,
    { code: 'token_exists', details: { integrationId } },
  );
}

function storeToken(deps: Deps, integrationId: string, token: string): Promise<void> {
  const sealed = sealToken(deps, integrationId, token);
  return changeIntegration(deps.db, integrationId, async (tx) => {
    const integration = await getIntegration(tx, integrationId);
    await updateIntegration(tx, integrationId, { token: sealed });
    const verb = integration.hasToken ? 'replaced the provider token of' : 'set a provider token for';
    await recordChange(tx, deps, integration, 'token.set', verb);
  });
}

/** Ends a history; the posts of what was read stay. Throws `AppError` 404. */
export async function stopHistory(
  deps: Pick<Deps, 'db' | 'clock'>,
  organizationId: string,
  id: string,
): Promise<History> {
  const endedAt = deps.clock.now().toISOString();
  const { integrationId } = await deps.db.read((tx) => getHistory(tx, organizationId, id), { single: true });
  return changeIntegration(deps.db, integrationId, async (tx) => {
    const history = await getHistory(tx, organizationId, id);
    if (!(await updateHistory(tx, id, { status: 'stopped', problem: null, endedAt }))) return history;
    const integration = await getIntegration(tx, history.integrationId);
    await settle(tx, deps, integration, history, { isOver: true });
    return { ...history, status: 'stopped', problem: null, endedAt };
  });
}
