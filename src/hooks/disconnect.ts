import { deleteIntegration, getIntegration } from '../integrations/store.ts';
import { type HookNeeds, withEnding } from './connect.ts';
import { listHooks } from './store.ts';
import { findApi } from './token.ts';

/**
 * Deletes the hooks at the provider, then the integration. Throws `ProviderProblem` when the provider does not do it:
 * then nothing is disconnected, and a hook that was deleted by then is made again; `force` disconnects all the same
 * and leaves at the provider what could not be deleted. Resolves to the names of the places where a hook was left.
 * Throws `AppError` 404.
 */
export async function disconnectIntegration(
  deps: HookNeeds,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ left: string[] }> {
  const integration = await getIntegration(deps.db, id);
  const left: string[] = [];
  const hooks = (await listHooks(deps.db, id)).filter(({ remoteId }) => remoteId !== null);
  for (const { placeId, placeName, remoteId } of hooks) {
    try {
      const api = await findApi(deps, integration);
      if (api !== null && remoteId !== null) await api.deleteHook(placeId, remoteId);
    } catch (error) {
      if (!force) throw withEnding(error, `Nothing was disconnected. ${WITH_FORCE}`);
      deps.log.warn({ err: error, integrationId: id, placeId }, 'a hook was left at the provider');
      left.push(placeName);
    }
  }
  await deleteIntegration(deps.db, id);
  return { left };
}

const WITH_FORCE =
  'With --force it is, and the webhook stays at the provider until somebody deletes it there';
