import type { Hook } from '../providers/api.ts';
import { HANDS_OFF_MS, type HookNeeds, RESTORES, WITH_FORCE, withEnding } from './connect.ts';
import { deleteHooks, letGo, listHooks, takeInHand } from './hook-store.ts';
import { isProblem, unmakeHook } from './make.ts';
import { deleteIntegration, getIntegration, recordIntegration } from './store.ts';
import { findApi } from './token.ts';

/**
 * Deletes the hooks at the provider, then the integration. Throws `ProviderProblem` when the provider does not do it:
 * then the integration stays connected, and the job makes again what was deleted by then; `force` disconnects all the same
 * and leaves at the provider what could not be deleted. Resolves to the names of the places where a hook was left,
 * also because the token cannot be read any more. Throws `AppError` 404.
 */
export async function disconnectIntegration(
  deps: HookNeeds,
  id: string,
  { force = false }: { force?: boolean } = {},
): Promise<{ left: string[] }> {
  const { db, clock } = deps;
  const integration = await getIntegration(db, id);
  const api = await findApi(deps, integration);
  const hooks = await listHooks(db, id);
  // From here on the job looks at each of them again, should this process end before it is through.
  await takeInHand(db, id, clock.now().getTime() + HANDS_OFF_MS);
  const left: string[] = [];
  for (const [index, hook] of hooks.entries()) {
    try {
      if (api !== null) await unmakeHook(deps, api, integration, hook);
      else if (hook.remoteId !== null) left.push(hook.placeName);
    } catch (error) {
      // What was never made, at a place that is gone, needs no force.
      if (hook.remoteId === null && isProblem(error, 'place-not-found')) continue;
      if (!force) {
        // After a failure it may be gone as well.
        const mayBeGone = isProblem(error, 'provider-failed') ? hook : null;
        await letGo(db, hooks, mayBeGone === null ? index : index + 1);
        throw withEnding(error, `${restored(hooks.slice(0, index), mayBeGone)} ${WITH_FORCE}`);
      }
      sayLeft(deps, hook, error);
      left.push(hook.placeName);
    }
  }
  const last = await db.write(() => {
    const deleted = deleteHooks(db, id);
    deleteIntegration(db, id);
    void recordIntegration(deps, 'integration.disconnected', integration, (name) => `disconnected ${name}`);
    return deleted;
  });
  // The job may have been in the midst of one, and have made it again.
  const known = hooks.map(({ remoteId }) => remoteId);
  for (const hook of last.filter(({ remoteId }) => remoteId !== null && !known.includes(remoteId))) {
    try {
      if (api !== null) await unmakeHook(deps, api, integration, hook);
    } catch (error) {
      sayLeft(deps, hook, error);
      left.push(hook.placeName);
    }
  }
  return { left };
}

/** What was not done, and what becomes of the hooks that were deleted before the provider failed. */
function restored(deleted: readonly Hook[], mayBeGone: Hook | null): string {
  if (deleted.length === 0) return `Nothing was disconnected.${mayBeGone === null ? '' : ` ${RESTORES}`}`;
  const names = deleted.map(({ placeName }) => placeName).join(', ');
  const last = mayBeGone === null ? '' : `, and that of ${mayBeGone.placeName} if it is gone`;
  return `The integration is still connected. Tidings restores the deleted webhooks of ${names} within a minute${last}.`;
}

function sayLeft({ log }: HookNeeds, { integrationId, placeId }: Hook, error: unknown): void {
  log.warn({ err: error, integrationId, placeId }, 'a hook was left at the provider');
}
