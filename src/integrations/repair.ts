import { type ConnectedPlace, type HookNeeds, makeAndPing } from './connect.ts';
import { listHooks } from './hook-store.ts';
import { getIntegration } from './store.ts';
import { requireApi } from './token.ts';

/**
 * Sets every hook of an integration at the provider as it is to be, whatever somebody did to it there, and pings it.
 * Throws `ProviderProblem`, and `AppError` 404 and 409.
 */
export async function repairHooks(deps: HookNeeds, integrationId: string): Promise<ConnectedPlace[]> {
  const integration = await getIntegration(deps.db, integrationId);
  const api = await requireApi(deps, integration);
  return makeAndPing(deps, api, integration, await listHooks(deps.db, integrationId), deps.clock.now());
}
