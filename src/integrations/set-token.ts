import { AppError } from '../lib/app-error.ts';
import { ALL_PUBLIC_TEAMS, type Hook, type Place, type ProviderApi } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import {
  type ConnectedPlace,
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  makeAndPing,
  withEnding,
} from './connect.ts';
import { insertHooks, listHooks, newHook, updateHook } from './hook-store.ts';
import type { Integration } from './model.ts';
import { getIntegration, learnRepository, setSealedToken } from './store.ts';
import { requireToken, sealToken } from './token.ts';
import { urlOf } from './wish.ts';

/**
 * Gives an integration a token, its first or a newer one. From then on Tidings keeps its hooks: those that were set up
 * by hand are found by their URL and taken over, those that are missing are made. A token that cannot administer every
 * place is refused, and the former one stays. Throws `ProviderProblem`, and `AppError` 400 and 404.
 */
export async function setToken(
  deps: HookNeeds,
  integrationId: string,
  text: string,
): Promise<ConnectedPlace[]> {
  const token = requireToken(text);
  const integration = await getIntegration(deps.db, integrationId);
  const api = await deps.openProviderApi(integration.type, token);
  const startedAt = deps.clock.now();
  const known = await listHooks(deps.db, integrationId);
  const stands =
    known.length === 0
      ? await standsOf(deps, api, integration)
      : await standsOfHooks(api, integration, known);

  const handsOffUntil = startedAt.getTime() + HANDS_OFF_MS;
  const hooks =
    known.length > 0
      ? []
      : stands.map(({ place, repositoryId }) => newHook(integrationId, place, repositoryId, handsOffUntil));
  await setSealedToken(deps, integration, sealToken(deps, integrationId, token), () => {
    insertHooks(deps.db, hooks, startedAt.toISOString());
    for (const { place, repositoryId } of stands) {
      if (repositoryId === null || place.providerId === undefined) continue;
      learnRepository(deps.db, repositoryId, { providerId: place.providerId, fullName: place.name });
    }
  });
  const all = await listHooks(deps.db, integrationId);
  try {
    return await makeAndPing(deps, api, integration, all, startedAt);
  } catch (error) {
    // The token stays: from here on the job sets what is missing.
    for (const hook of hooks) await updateHook(deps.db, hook, { retryAt: null });
    throw withEnding(error, 'The token is stored, and Tidings keeps trying to set the webhooks.');
  }
}

interface Stand {
  place: Place;
  repositoryId: string | null;
}

/**
 * The places for the integration's hooks: its repositories, which may have newer names at the provider; without
 * repositories the place where its URL was pasted.
 */
async function standsOf(deps: HookNeeds, api: ProviderApi, integration: Integration): Promise<Stand[]> {
  if (providerOf(integration.type).hasRepositories) {
    const stands: Stand[] = [];
    // One after the other: providers refuse whoever asks for a hundred things at once.
    for (const { id, fullName } of integration.repositories) {
      stands.push(await standOf(api, integration, fullName, id));
    }
    return stands;
  }
  const pasted = await api.findHookAnywhere?.(urlOf(deps, integration, { repositoryId: null }));
  return [{ place: await getAdministrable(api, pasted?.placeId ?? ALL_PUBLIC_TEAMS), repositoryId: null }];
}

/** Where the integration's hooks stand already. */
async function standsOfHooks(
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
): Promise<Stand[]> {
  const stands: Stand[] = [];
  for (const { placeId, repositoryId } of hooks) {
    stands.push(await standOf(api, integration, placeId, repositoryId));
  }
  return stands;
}

/** Throws `AppError` 409 when the provider has given the name to another repository. */
async function standOf(
  api: ProviderApi,
  { type, repositories }: Integration,
  name: string,
  repositoryId: string | null,
): Promise<Stand> {
  const place = await getAdministrable(api, name);
  const known = repositories.find(({ id }) => id === repositoryId)?.providerId ?? null;
  if (known !== null && place.providerId !== known) {
    throw new AppError(
      409,
      `${providerOf(type).name} has another repository under the name ${name} now. Remove it from the integration and add it again.`,
    );
  }
  return { place, repositoryId };
}
