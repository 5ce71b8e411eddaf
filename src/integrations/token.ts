import { and, asc, eq, getTableColumns, isNotNull } from 'drizzle-orm';
import { excluded, isDue, NONE, type ReadTx, type WriteTx } from '../../db/engine.ts';
import { integrations, tokenStates } from '../../db/schema/integrations.ts';
import { AccessEnded } from '../lib/app-error.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import { isOfLive } from '../people/organization-store.ts';
import {
  ALL_PUBLIC_TEAMS,
  ATTACHMENTS,
  MAX_TOKEN_LENGTH,
  type Place,
  type ProviderApi,
} from '../providers/api.ts';
import type { Credential } from '../providers/app.ts';
import { type IntegrationType, imagePlaceAt, providerOf } from '../providers/index.ts';
import type { RepositoryReader } from '../providers/reader.ts';
import { findSealedApp } from './app-store.ts';
import { deleteHooks, getWithHooks, type Hook, insertHooks, listHooks, updateHook } from './hook-store.ts';
import { getAdministrable, type HookWork, makeAndPing, newHook, undoHooks, urlOf } from './hooks.ts';
import {
  changeIntegration,
  findSealedIntegration,
  getIntegration,
  getSealedIntegration,
  learnRepository,
  openOrNull,
  updateIntegration,
} from './store.ts';
import {
  type ConnectedPlace,
  changeFailed,
  type Integration,
  IntegrationProblem,
  isProblem,
  recordChange,
} from './words.ts';

type ApiNeeds = Pick<Deps, 'db' | 'secrets' | 'openProviderApi'>;

const contextOf = (integrationId: string) => `provider token of ${integrationId}`;

/** The token without surrounding spaces. Throws `IntegrationProblem` `invalid_token`. */
export function requireToken(text: string): string {
  const token = text.trim();
  if (token.length <= MAX_TOKEN_LENGTH && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new IntegrationProblem({ code: 'invalid_token', maxLength: MAX_TOKEN_LENGTH });
}

export function sealToken({ secrets }: Pick<Deps, 'secrets'>, integrationId: string, token: string): Buffer {
  return secrets.seal(token, contextOf(integrationId));
}

const appContextOf = (integrationId: string) => `App key of ${integrationId}`;

export function sealAppKey({ secrets }: Pick<Deps, 'secrets'>, integrationId: string, key: string): Buffer {
  return secrets.seal(key, appContextOf(integrationId));
}

/** The integration's token, or its App; null if it has neither, or none that can be decrypted. */
async function findCredential(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  id: string,
): Promise<Credential | null> {
  const { token, app } = await db.read(async (tx) => ({
    token: (await findSealedIntegration(tx, id))?.token ?? null,
    app: await findSealedApp(tx, id),
  }));
  if (app !== null) {
    const privateKey = openOrNull(() => secrets.open(app.privateKey, appContextOf(id)));
    return privateKey === null ? null : { ...app, privateKey };
  }
  return token === null ? null : openOrNull(() => secrets.open(token, contextOf(id)));
}

/** The integration's token; null if it has none, or none that can be decrypted. */
export async function findToken(
  deps: Pick<Deps, 'db' | 'secrets'>,
  { id }: Pick<Integration, 'id'>,
): Promise<string | null> {
  const credential = await findCredential(deps, id);
  return typeof credential === 'string' ? credential : null;
}

/** The provider's API for the integration; null if it has no token and no App, or none that can be decrypted. */
export async function findApi(
  deps: ApiNeeds,
  { id, type }: HookWork['integration'],
): Promise<ProviderApi | null> {
  const credential = await findCredential(deps, id);
  return credential === null ? null : deps.openProviderApi(type, credential);
}

/** The same, whose requests to providers end with `signal`: a server that stops waits for none. */
export const withSignal = (deps: Deps, signal: AbortSignal | undefined): Deps => ({
  ...deps,
  openProviderApi: (type, credential) => deps.openProviderApi(type, credential, signal),
});

/** A reader with the integration's token or App, or without one. An App that nobody installed reads as nobody. */
export async function openReaderOf(
  deps: Pick<Deps, 'db' | 'secrets' | 'openReader'>,
  { id, type }: HookWork['integration'],
  signal?: AbortSignal,
): Promise<RepositoryReader> {
  return deps.openReader(type, installedOnly(await findCredential(deps, id)), signal);
}

function installedOnly(credential: Credential | null): Credential | null {
  const isApp = credential !== null && typeof credential !== 'string';
  return isApp && credential.installationId === null ? null : credential;
}

/**
 * Headers for each request that downloads the image at `address`. Sends the token only if the image is an attachment, or
 * in a repository of the integration, and on redirects only within that place. No headers without a token that can be
 * decrypted.
 */
export async function imageAccess(
  deps: Pick<Deps, 'db' | 'secrets' | 'providerUrls'>,
  integrationId: string,
  address: string,
): Promise<(url: URL) => Record<string, string>> {
  const { type, repositories } = await deps.db.read((tx) => getIntegration(tx, integrationId));
  const token = await findDownloadToken(deps, integrationId, type);
  const { api } = providerOf(type);
  const url = URL.parse(address);
  if (token === null || api === null || url === null) return () => ({});
  const placeOf = imagePlaceAt(type, deps);
  const place = placeOf(url);
  const isOwn =
    place === ATTACHMENTS || repositories.some(({ fullName }) => fullName.toLowerCase() === place);
  return (hop) => (isOwn && placeOf(hop) === place ? { authorization: api.authorization(token) } : {});
}

/** A token for downloads. An App makes one, and an image without it may still be public. */
async function findDownloadToken(
  deps: Pick<Deps, 'db' | 'secrets' | 'providerUrls'>,
  integrationId: string,
  type: IntegrationType,
): Promise<string | null> {
  const credential = installedOnly(await findCredential(deps, integrationId));
  if (credential === null || typeof credential === 'string') return credential;
  const { app } = providerOf(type);
  const url = deps.providerUrls?.[type];
  if (app === undefined || url === undefined) return null;
  try {
    return await app.token(url, credential);
  } catch (error) {
    if (isProblem(error)) return null;
    throw error;
  }
}

/** Throws `IntegrationProblem` `no_token`. */
export async function requireApi(deps: ApiNeeds, integration: HookWork['integration']): Promise<ProviderApi> {
  const api = await findApi(deps, integration);
  if (api !== null) return api;
  const { id, type } = integration;
  if (providerOf(type).api === null) throw new IntegrationProblem({ code: 'no_api', type });
  throw new IntegrationProblem({ code: 'no_token', integrationId: id, type });
}

/**
 * Stores an integration's first token, or a newer one. From then on Tidings manages its hooks: it takes over those that
 * were set up by hand, found by their URL, and creates the missing ones. Refuses a token that cannot administer every
 * place. Throws `ProviderProblem`; `ChangeFailed` once the token is stored; and `IntegrationProblem`.
 */
export async function setToken(deps: Deps, id: string, text: string): Promise<ConnectedPlace[]> {
  const { db, clock } = deps;
  const token = requireToken(text);
  const { integration, hooks: known } = await db.read((tx) => getWithHooks(tx, id));
  if (integration.app !== null) throw new IntegrationProblem({ code: 'app_without_token' });
  const api = await deps.openProviderApi(integration.type, token);
  const startedAt = clock.now();
  const targets = await findTargets(deps, api, integration, known);
  const added =
    known.length > 0
      ? []
      : targets.map(({ place, repositoryId }) => newHook(id, place, repositoryId, startedAt));
  const sealed = sealToken(deps, id, token);
  const verb = integration.isManaged ? 'replaced the provider token of' : 'set a provider token for';
  const { hooks, before, auditId } = await changeIntegration(db, id, async (tx) => {
    const { token: before } = await getSealedIntegration(tx, id);
    await updateIntegration(tx, id, { token: sealed });
    await tx.delete(tokenStates).where(eq(integrationId, id));
    await insertHooks(tx, added, startedAt.toISOString());
    for (const { place, repositoryId } of targets) {
      if (repositoryId === null || place.providerId === undefined) continue;
      await learnRepository(tx, repositoryId, { providerId: place.providerId, fullName: place.name });
    }
    const auditId = await recordChange(tx, deps, integration, 'token.set', verb);
    return { hooks: await listHooks(tx, id), before, auditId };
  });
  const work = { ...deps, api, integration };
  try {
    return await makeAndPing(work, hooks, startedAt);
  } catch (error) {
    if (error instanceof AccessEnded) {
      const undo = async (tx: WriteTx) => {
        // Somebody else may have set another one since.
        const isOurs = (await findSealedIntegration(tx, id))?.token?.equals(sealed) === true;
        if (isOurs) await updateIntegration(tx, id, { token: before });
        for (const { placeId } of added) await deleteHooks(tx, id, placeId);
      };
      await undoHooks(work, added, error, { auditId, undo });
      throw error;
    }
    await changeIntegration(db, id, async (tx) => {
      for (const hook of added) await updateHook(tx, hook, { retryAt: null });
    });
    throw changeFailed(error, { code: 'token_stored' });
  }
}

/** The places of the integration's hooks, existing or to be created, and the repository of each. */
async function findTargets(
  deps: Deps,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
): Promise<{ place: Place; repositoryId: string | null }[]> {
  const { type, repositories } = integration;
  let wanted: { name: string; repositoryId: string | null }[];
  if (hooks.length > 0) {
    wanted = hooks.map(({ placeId, repositoryId }) => ({ name: placeId, repositoryId }));
  } else if (providerOf(type).hasRepositories) {
    wanted = repositories.map(({ id, fullName }) => ({ name: fullName, repositoryId: id }));
  } else {
    const pasted = await api.findHookAnywhere?.(urlOf(deps, integration, { repositoryId: null }));
    wanted = [{ name: pasted?.placeId ?? ALL_PUBLIC_TEAMS, repositoryId: null }];
  }
  const targets: { place: Place; repositoryId: string | null }[] = [];
  // One after the other: providers refuse clients that send many requests at once.
  for (const { name, repositoryId } of wanted) {
    const place = await getAdministrable(api, name);
    const providerId = repositories.find(({ id }) => id === repositoryId)?.providerId ?? null;
    if (providerId !== null && place.providerId !== providerId) {
      throw new IntegrationProblem({ code: 'name_reused', place: name, type });
    }
    targets.push({ place, repositoryId });
  }
  return targets;
}

/** The last answer of a provider about a token. */
export type TokenState = typeof tokenStates.$inferSelect;

/** The enabled integrations with a token that the provider should be asked about, with its last state. */
export async function listDueTokens(tx: ReadTx, now: Date, limit: number) {
  const { dueAt } = tokenStates;
  const { id, organizationId, type, enabled, token } = integrations;
  return tx
    .select({ id, organizationId, type, state: tokenStates })
    .from(integrations)
    .leftJoin(tokenStates, eq(tokenStates.integrationId, integrations.id))
    .where(and(eq(enabled, true), isNotNull(token), isOfLive(organizationId), isDue(dueAt, now.getTime())))
    .orderBy(asc(dueAt), asc(integrations.id))
    .limit(limit)
    .all();
}

const { integrationId, ...changeable } = getTableColumns(tokenStates);

/** Does nothing if the integration is gone. */
export async function saveTokenState(tx: WriteTx, state: TokenState): Promise<void> {
  if ((await tx.$count(integrations, eq(integrations.id, state.integrationId))) === 0) return;
  const set = excluded(changeable);
  await tx.insert(tokenStates).values(state).onConflictDoUpdate({ target: integrationId, set });
}

// Asks providers about the tokens that people gave Tidings: a person has to replace one that expires or is refused.

/** How many tokens one run asks about. */
const MAX_DUE = 4;

/** The wait after a failure that says nothing about the token, and after a refusal, in milliseconds. */
const FAILED_MS = HOUR_MS;
const REFUSED_MS = 600_000;

/** Asks about the tokens that are due. `signal` ends it early. */
export async function watchTokens(given: Deps, signal?: AbortSignal): Promise<void> {
  const { db, clock } = given;
  const deps = withSignal(given, signal);
  const due = await db.read((tx) => listDueTokens(tx, clock.now(), MAX_DUE));
  for (const each of due) {
    const api = await findApi(deps, each);
    const last = each.state ?? { integrationId: each.id, expiresAt: null, problem: null, problemSince: null };
    const next = await ask(deps, api, last);
    if (signal?.aborted) return;
    await db.write((tx) => saveTokenState(tx, next), NONE);
  }
}

async function ask(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  api: ProviderApi | null,
  last: Omit<TokenState, 'dueAt'>,
): Promise<TokenState> {
  const now = clock.now().getTime();
  // A token that cannot be decrypted is a problem of the key, which the doctor names.
  if (api === null) return { ...last, dueAt: now + DAY_MS };
  try {
    const expiresAt = await expiryOf(db, api, last.integrationId);
    const end = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
    const dueAt = Math.min(now + DAY_MS, Math.max(end, now + REFUSED_MS));
    return { ...last, expiresAt, problem: null, problemSince: null, dueAt };
  } catch (error) {
    if (isProblem(error, 'bad-token')) {
      const problemSince = last.problemSince ?? clock.now().toISOString();
      return { ...last, problem: error.message, problemSince, dueAt: now + REFUSED_MS };
    }
    if (!isProblem(error)) throw error;
    return { ...last, dueAt: Math.max(now + FAILED_MS, error.retryAt?.getTime() ?? 0) };
  }
}

async function expiryOf(db: Deps['db'], api: ProviderApi, id: string): Promise<string | null> {
  if (api.getExpiry !== undefined) return api.getExpiry();
  // Any request tells whether the provider still takes the token.
  const [hook] = await db.read((tx) => listHooks(tx, id));
  if (hook?.remoteId != null) await api.findHook(hook.placeId, hook.remoteId);
  return null;
}
