import { deleteHooks, listHooks } from '../../integrations/hook-store.ts';
import { deleteWithHooks } from '../../integrations/hooks.ts';
import { findPoll, updatePoll } from '../../integrations/poll-store.ts';
import type { Integration } from '../../integrations/store.ts';
import { findApi } from '../../integrations/token.ts';
import type { Deps } from '../../people/deps.ts';

/**
 * Deletes the webhook that polling has replaced, at the provider and here. Throws `ChangeFailed`; the next round tries
 * again.
 */
export async function deleteOldHook(
  deps: Deps,
  integration: Integration,
  repositoryId: string,
): Promise<void> {
  const all = await deps.db.read((tx) => listHooks(tx, integration.id));
  const hooks = all.filter((hook) => hook.repositoryId === repositoryId);
  await deleteWithHooks(deps, await findApi(deps, integration), integration, hooks, {
    force: false,
    outcome: () => ({ code: 'old_hook_left' }),
    async forget(tx) {
      const deleted = await Promise.all(hooks.map(({ placeId }) => deleteHooks(tx, integration.id, placeId)));
      const poll = await findPoll(tx, repositoryId);
      await updatePoll(tx, repositoryId, { cursor: { ...poll?.cursor, oldHook: null } });
      return deleted.flat();
    },
  });
}
