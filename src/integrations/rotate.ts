import { withdrawAudit } from '../audit/store.ts';
import { AppError } from '../lib/app-error.ts';
import { type Hook, type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { HANDS_OFF_MS, type HookNeeds, withEnding } from './connect.ts';
import { isBeingRotated, listHooks, markSecretChanged, updateHook } from './hook-store.ts';
import { makeHook } from './make.ts';
import { type Integration, PREVIOUS_SECRET_MS } from './model.ts';
import { newSecret } from './service.ts';
import {
  endPreviousSecret,
  getIntegration,
  getReceivingIntegration,
  replaceSecret,
  restoreSecrets,
} from './store.ts';
import { findApi } from './token.ts';

/**
 * Makes a new secret; the old one is taken for another 24 h. With a token the new one is set at the provider, and since
 * both are taken from before it is set until long after, no delivery is refused in between. When the provider does
 * not take it, the hooks that have it are given the old one again and the old one stays. Throws `ProviderProblem`, and
 * `AppError` 404, and 409 while another rotation is under way.
 *
 * `now` is for a secret that leaked: the old one ends as soon as the provider has the new one, or at once without a
 * token.
 */
export async function rotateSecret(
  deps: HookNeeds,
  id: string,
  { now: endsNow = false }: { now?: boolean } = {},
): Promise<{ secret: string; isSetAtProvider: boolean }> {
  const { db, clock } = deps;
  const integration = await getIntegration(db, id);
  const api = await findApi(deps, integration);
  const { secret, sealed } = newSecret(deps, id);
  const now = clock.now();
  const until = new Date(now.getTime() + PREVIOUS_SECRET_MS);
  if (api === null) {
    await replaceSecret(deps, id, sealed, endsNow ? now : until, () =>
      markSecretChanged(db, id, now.getTime()),
    );
    return { secret, isSetAtProvider: false };
  }

  const { secret: present, previousSecret, previousSecretUntil } = await getReceivingIntegration(db, id);
  const before = { secret: present, previousSecret, previousSecretUntil };
  const hooks = await listHooks(db, id);
  const auditId = await replaceSecret(deps, id, sealed, until, () => {
    // Then the secret that the provider still has would be the last but one, and refused.
    if (isBeingRotated(db, id, now)) throw beingRotated(id);
    markSecretChanged(db, id, now.getTime() + HANDS_OFF_MS);
  });
  const changed: Hook[] = [];
  try {
    for (const hook of hooks) changed.push(await makeHook(deps, api, integration, hook));
  } catch (error) {
    // Without a clear answer the hook may have the new secret all the same.
    const isRefused = error instanceof ProviderProblem && error.kind !== 'provider-failed';
    const previous = { previousSecret: sealed, previousSecretUntil: until.toISOString() };
    const restored = changed.length === 0 && isRefused ? before : { ...before, ...previous };
    // What was set is not the present secret any more, and must not pass for it, whatever ends this process.
    const mark = () => {
      markSecretChanged(db, id, clock.now().getTime() + HANDS_OFF_MS);
      void withdrawAudit(deps.db, deps, auditId);
    };
    await restoreSecrets(db, id, restored, mark);
    await setBack(deps, api, integration, hooks, changed.length, isRefused);
    throw withEnding(error, 'The secret was not rotated.');
  }
  if (endsNow) await endPreviousSecret(db, id, sealed, clock.now());
  return { secret, isSetAtProvider: true };
}

/** What to expect after the old secret ended at once. */
export function endedNow(provider: string, isSetAtProvider: boolean): string {
  return isSetAtProvider
    ? `The old one no longer works. A delivery that ${provider} signed with it and that had not arrived yet is refused.`
    : `The old one no longer works: deliveries are refused until you set the new one at ${provider}.`;
}

/** Gives the hooks that have the new secret the old one again. What cannot be done now the server's job does. */
async function setBack(
  deps: HookNeeds,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
  changedCount: number,
  isRefused: boolean,
): Promise<void> {
  for (const [index, hook] of hooks.entries()) {
    if (index < changedCount) {
      await makeHook(deps, api, integration, hook).catch(async (error: unknown) => {
        deps.log.warn({ err: error, placeId: hook.placeId }, 'the old secret could not be set back yet');
        await updateHook(deps.db, hook, { retryAt: null });
      });
    } else {
      const hasPresentSecret = hook.hasPresentSecret && (index > changedCount || isRefused);
      const { retryAt, attempts } = hook;
      await updateHook(deps.db, hook, { hasPresentSecret, retryAt, attempts });
    }
  }
}

function beingRotated(id: string): AppError {
  return new AppError(
    409,
    `The webhooks of ${id} are being changed just now, or were when a process ended. Wait two minutes, and try again`,
  );
}
