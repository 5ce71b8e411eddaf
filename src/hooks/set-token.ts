import type { Integration } from '../integrations/model.ts';
import { getIntegration, setSealedToken } from '../integrations/store.ts';
import {
  type ConnectedPlace,
  getAdministrable,
  HANDS_OFF_MS,
  type HookNeeds,
  makeAndPing,
} from './connect.ts';
import { ALL_PUBLIC_TEAMS, type Place, type ProviderApi } from './model.ts';
import { insertHooks, listHooks, newHook } from './store.ts';
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
  const places = known.length === 0 ? await placesOf(deps, api, integration) : [];
  for (const { placeId } of known) await getAdministrable(api, placeId);

  const hooks = places.map((place) => ({
    ...newHook(integrationId, place, repositoryOf(integration, place)),
    retryAt: startedAt.getTime() + HANDS_OFF_MS,
  }));
  await setSealedToken(deps.db, integrationId, sealToken(deps, integrationId, token), () => {
    insertHooks(deps.db, hooks, startedAt.toISOString());
  });
  return makeAndPing(deps, api, integration, await listHooks(deps.db, integrationId), startedAt);
}

/** Where the integration's hooks are to stand: its repositories; at Linear where its URL was pasted. */
async function placesOf(deps: HookNeeds, api: ProviderApi, integration: Integration): Promise<Place[]> {
  if (integration.type === 'github') {
    const places: Place[] = [];
    // One after the other: providers refuse whoever asks for a hundred things at once.
    for (const { fullName } of integration.repositories) places.push(await getAdministrable(api, fullName));
    return places;
  }
  const pasted = await api.findHookAnywhere?.(urlOf(deps, integration, { repositoryId: null }));
  return [await getAdministrable(api, pasted?.placeId ?? ALL_PUBLIC_TEAMS)];
}

/** GitHub may spell the name in another case, or know the repository by a newer one. */
function repositoryOf({ repositories }: Integration, { id }: Place): string | null {
  const found = repositories.find(({ fullName }) => fullName.toLowerCase() === id.toLowerCase());
  return (found ?? (repositories.length === 1 ? repositories[0] : undefined))?.id ?? null;
}
