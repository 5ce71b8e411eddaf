import { toSettle } from '../../db/checked.ts';
import { changing, integration as integrationKey, NONE } from '../../db/order.ts';
import { withdrawAudit } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { AccessEnded } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import {
  getWithHooks,
  type Hook,
  isBeingRotated,
  markSecretChanged,
  restoreHook,
  updateHook,
} from './hook-store.ts';
import { HANDS_OFF_MS, makeAndPing, makeHook } from './hooks.ts';
import { type ConnectedPlace, recordChange } from './model.ts';
import { changeFailed, IntegrationProblem, isProblem } from './problems.ts';
import { getIntegration, getSealedIntegration, newSecret, updateIntegration } from './store.ts';
import { findApi, requireApi } from './token.ts';

/**
 * Makes a new secret, and with a token sets it at the provider. The receiver accepts the old one for another 24 h;
 * with `now`, only until the provider has the new one. If the provider does not take it, the old secret stays, and hooks
 * that have the new one get the old one again. Throws `ChangeFailed`, and `IntegrationProblem` `integration_not_found`
 * and `rotation_in_progress`.
 */
export async function rotateSecret(
  deps: Deps,
  id: string,
  { now: endsNow = false }: { now?: boolean } = {},
): Promise<{ secret: string; isSetAtProvider: boolean }> {
  const { db, clock } = deps;
  const integration = await db.read((tx) => getIntegration(tx, id));
  const api = await findApi(deps, integration);
  const { secret, sealed } = newSecret(deps, id);
  const now = clock.now();
  const until = new Date(now.getTime() + DAY_MS).toISOString();
  const { before, hooks, auditId } = await db.write(
    async (tx) => {
      // Otherwise the secret that the provider still has would be the one before the previous, and refused.
      if (api !== null && (await isBeingRotated(tx, id, now))) {
        throw new IntegrationProblem({ code: 'rotation_in_progress', integrationId: id });
      }
      const { hooks } = await getWithHooks(tx, id);
      const { secret, previousSecret, previousSecretUntil } = await getSealedIntegration(tx, id);
      await markSecretChanged(tx, id, now.getTime() + (api === null ? 0 : HANDS_OFF_MS));
      await updateIntegration(tx, id, {
        secret: sealed,
        previousSecret: secret,
        previousSecretUntil: api === null && endsNow ? now.toISOString() : until,
      });
      const did = 'rotated the webhook secret of';
      const auditId = await recordChange(tx, deps, integration, 'secret.rotated', did);
      return { before: { secret, previousSecret, previousSecretUntil }, hooks, auditId };
    },
    changing(integrationKey(id)),
  );
  if (api === null) return { secret, isSetAtProvider: false };

  const work = { ...deps, api, integration };
  const changed: Hook[] = [];
  try {
    for (const hook of hooks) changed.push(await makeHook(work, hook));
  } catch (error) {
    const settling = toSettle(work);
    // Without a clear response the hook may have the new secret nevertheless, so the receiver must accept it.
    const isRefused = isProblem(error) && error.kind !== 'provider-failed';
    const isUnused = changed.length === 0 && isRefused;
    await settling.db.write(
      async (tx) => {
        // The hooks that were changed do not have the current secret, even if this process ends here.
        await markSecretChanged(tx, id, clock.now().getTime() + HANDS_OFF_MS);
        for (const [index, hook] of hooks.slice(changed.length).entries()) {
          const hasPresentSecret = hook.hasPresentSecret && (index > 0 || isRefused);
          await restoreHook(tx, { ...hook, hasPresentSecret });
        }
        const previous = { previousSecret: sealed, previousSecretUntil: until };
        await updateIntegration(tx, id, isUnused ? before : { ...before, ...previous });
        await withdrawAudit(tx, deps, auditId);
      },
      changing(integrationKey(id)),
    );
    // Without the right to go on, it has the new secret, and was not recorded.
    if (error instanceof AccessEnded) changed.push(...hooks.slice(changed.length, changed.length + 1));
    for (const hook of changed) {
      await makeHook(settling, hook).catch(async (failure: unknown) => {
        deps.log.warn({ err: failure, placeId: hook.placeId }, 'the old secret could not be set back yet');
        // The job tries again.
        await settling.db.write((tx) => updateHook(tx, hook, { retryAt: null }), NONE);
      });
    }
    throw changeFailed(error, { code: 'not_rotated' });
  }
  if (endsNow) {
    const previousSecretUntil = clock.now().toISOString();
    // The provider has the new secret already.
    await toSettle(deps).db.write(
      (tx) => updateIntegration(tx, id, { previousSecretUntil }, sealed),
      changing(integrationKey(id)),
    );
  }
  return { secret, isSetAtProvider: hooks.length > 0 };
}

/**
 * Brings every hook of an integration to the desired state, whatever was changed at the provider, and pings it. Throws
 * `ProviderProblem`, and `IntegrationProblem` `integration_not_found` and `no_token`.
 */
export async function repairHooks(deps: Deps, integrationId: string): Promise<ConnectedPlace[]> {
  const { integration, hooks } = await deps.db.read((tx) => getWithHooks(tx, integrationId));
  const api = await requireApi(deps, integration);
  return makeAndPing({ ...deps, api, integration }, hooks, deps.clock.now());
}
