import type { Deps } from '../deps.ts';
import {
  ALL_PUBLIC_TEAMS,
  ATTACHMENTS,
  MAX_TOKEN_LENGTH,
  type Place,
  type ProviderApi,
} from '../providers/api.ts';
import { imagePlaceAt, providerOf } from '../providers/index.ts';
import type { RepositoryReader } from '../providers/reader.ts';
import { getWithHooks, type Hook, insertHooks, listHooks, updateHook } from './hook-store.ts';
import { getAdministrable, type HookWork, makeAndPing, newHook, urlOf } from './hooks.ts';
import { type ConnectedPlace, type Integration, recordChange } from './model.ts';
import { changeFailed, IntegrationProblem } from './problems.ts';
import {
  findSealedIntegration,
  getIntegration,
  learnRepository,
  openOrNull,
  updateIntegration,
} from './store.ts';

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

/** The provider's API with the integration's token; null if it has none, or none that can be decrypted. */
export async function findApi(
  deps: ApiNeeds,
  integration: HookWork['integration'],
): Promise<ProviderApi | null> {
  const token = await findToken(deps, integration);
  return token === null ? null : deps.openProviderApi(integration.type, token);
}

/** The integration's token; null if it has none, or none that can be decrypted. */
export async function findToken(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  { id }: Pick<Integration, 'id'>,
): Promise<string | null> {
  const sealed = (await db.read((tx) => findSealedIntegration(tx, id)))?.token ?? null;
  return sealed === null ? null : openOrNull(() => secrets.open(sealed, contextOf(id)));
}

/** A reader with the integration's token, or without one. */
export async function openReaderOf(
  deps: Pick<Deps, 'db' | 'secrets' | 'openReader'>,
  integration: HookWork['integration'],
  signal?: AbortSignal,
): Promise<RepositoryReader> {
  return deps.openReader(integration.type, await findToken(deps, integration), signal);
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
  const { db, secrets } = deps;
  const { type, repositories, sealed } = await db.read(async (tx) => ({
    ...(await getIntegration(tx, integrationId)),
    sealed: (await findSealedIntegration(tx, integrationId))?.token ?? null,
  }));
  const token = sealed === null ? null : openOrNull(() => secrets.open(sealed, contextOf(integrationId)));
  const { api } = providerOf(type);
  const url = URL.parse(address);
  if (token === null || api === null || url === null) return () => ({});
  const placeOf = imagePlaceAt(type, deps);
  const place = placeOf(url);
  const isOwn =
    place === ATTACHMENTS || repositories.some(({ fullName }) => fullName.toLowerCase() === place);
  return (hop) => (isOwn && placeOf(hop) === place ? { authorization: api.authorization(token) } : {});
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
  const api = await deps.openProviderApi(integration.type, token);
  const startedAt = clock.now();
  const targets = await findTargets(deps, api, integration, known);
  const added =
    known.length > 0
      ? []
      : targets.map(({ place, repositoryId }) => newHook(id, place, repositoryId, startedAt));
  const verb = integration.isManaged ? 'replaced the provider token of' : 'set a provider token for';
  const hooks = await db.write(async (tx) => {
    await updateIntegration(tx, id, { token: sealToken(deps, id, token) });
    await insertHooks(tx, added, startedAt.toISOString());
    for (const { place, repositoryId } of targets) {
      if (repositoryId === null || place.providerId === undefined) continue;
      await learnRepository(tx, repositoryId, { providerId: place.providerId, fullName: place.name });
    }
    await recordChange(tx, deps, integration, 'token.set', verb);
    return listHooks(tx, id);
  });
  try {
    return await makeAndPing({ ...deps, api, integration }, hooks, startedAt);
  } catch (error) {
    await db.write(async (tx) => {
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
