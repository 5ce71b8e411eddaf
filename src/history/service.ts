import type { Deps } from '../deps.ts';
import { connectIntegration } from '../integrations/connect.ts';
import { placeName } from '../integrations/model.ts';
import { listIntegrations, updateIntegration } from '../integrations/store.ts';
import { requireToken, sealToken } from '../integrations/token.ts';
import { invalidField } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import type { ContentType } from '../posts/model.ts';
import { type IntegrationType, listProviders, providerOf, providers } from '../providers/index.ts';
import { createTrigger } from '../triggers/service.ts';
import { listTriggers } from '../triggers/store.ts';
import { findOpenHistory, getHistory, type History, insertHistory, updateHistory } from './store.ts';

/** The maximum number of releases of one history. */
export const MAX_RELEASES = 10_000;

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
  /** For a repository that is not public. Kept, encrypted, unless the integration has a token. */
  token?: string | undefined;
}

/** The provider of a repository's URL; GitHub for a name alone. Throws `AppError` 400 for a URL of none. */
export function providerOfRepository({ providerUrls }: Pick<Deps, 'providerUrls'>, text: string) {
  const known = providers.filter(({ reader }) => reader !== null);
  const fits = known.find((provider) => {
    try {
      return provider.placeName(text, providerUrls?.[provider.id]) !== '';
    } catch {
      return false;
    }
  });
  if (fits !== undefined) return fits.id;
  throw invalidField(
    'repository',
    `must be OWNER/NAME or the URL of a repository at ${listProviders('or', known)}`,
  );
}

/**
 * Stores a request to read a history. Creates the integration and the trigger that it needs when the organization has
 * none for the repository. An unfinished one of the same repository and trigger goes on instead. Throws `AppError` 400
 * and 404, and `ProviderProblem` when the repository cannot be read.
 */
export async function startHistory(deps: Deps, request: HistoryRequest): Promise<History> {
  const { db, clock, ids } = deps;
  const { organizationId, contentType, publish, since, releases } = request;
  if (releases !== undefined && !(Number.isInteger(releases) && releases >= 1 && releases <= MAX_RELEASES)) {
    throw invalidField('releases', `must be a whole number from 1 to ${MAX_RELEASES}`);
  }
  await db.read((tx) => getOrganization(tx, organizationId));
  const place = await findPlace(deps, request);
  const triggers = await db.read((tx) => listTriggers(tx, { integrationId: place.integrationId }));
  const existing = triggers.find(
    (each) =>
      each.enabled &&
      each.event === 'release' &&
      each.contentType === contentType &&
      (each.repositoryId === null || each.repositoryId === place.repositoryId),
  );
  const rule = { integrationId: place.integrationId, repository: place.repositoryId, event: 'release' };
  const trigger = existing ?? (await createTrigger(deps, { ...rule, contentType }));
  const now = clock.now();
  return db.write(async (tx) => {
    const open = await findOpenHistory(tx, place.repositoryId, trigger.id);
    if (open !== null) {
      await updateHistory(tx, open.id, { dueAt: now.getTime() });
      return open;
    }
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
    await insertHistory(tx, history);
    return history;
  });
}

/** The integration and the repository. Asks the provider before it creates any: a mistyped name must leave nothing. */
async function findPlace(deps: Deps, request: HistoryRequest) {
  const { db, openReader } = deps;
  const { type, organizationId } = request;
  const name = placeName(deps, type, request.repository);
  const token = request.token === undefined ? null : requireToken(request.token);
  const integrations = await db.read((tx) => listIntegrations(tx, organizationId));
  for (const integration of integrations) {
    const repository = integration.repositories.find(
      ({ fullName }) => integration.type === type && fullName.toLowerCase() === name.toLowerCase(),
    );
    if (repository === undefined) continue;
    const place = { integrationId: integration.id, repositoryId: repository.id };
    if (token !== null && !integration.hasToken) await storeToken(deps, integration.id, token);
    return place;
  }
  const reader = await openReader(type, token);
  const { fullName } = await reader.getRepository(name);
  const { integrationId, repositories } = await connectIntegration(deps, type, organizationId, fullName);
  const [repository] = repositories;
  if (repository === undefined) throw new Error(`${providerOf(type).name} has no repositories`);
  if (token !== null) await storeToken(deps, integrationId, token);
  return { integrationId, repositoryId: repository.repositoryId };
}

function storeToken(deps: Deps, integrationId: string, token: string): Promise<void> {
  const sealed = sealToken(deps, integrationId, token);
  return deps.db.write((tx) => updateIntegration(tx, integrationId, { token: sealed }));
}

/** Ends a history; what was read stays. Throws `AppError` 404. */
export async function stopHistory(deps: Deps, organizationId: string, id: string): Promise<History> {
  const endedAt = deps.clock.now().toISOString();
  return deps.db.write(async (tx) => {
    const history = await getHistory(tx, organizationId, id);
    if (!(await updateHistory(tx, id, { status: 'stopped', endedAt }))) return history;
    return { ...history, status: 'stopped', endedAt };
  });
}
