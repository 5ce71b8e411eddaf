import { toSettle } from '../../db/checked.ts';
import { NONE } from '../../db/engine.ts';
import { AccessEnded, messageOf } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import { withdrawAudit } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { ProviderProblem } from '../providers/api.ts';
import { syncInstallation } from './app.ts';
import {
  getWithHooks,
  type Hook,
  isBeingRotated,
  listDueHooks,
  listEnabledTriggers,
  MAX_WAIT_MS,
  markSecretChanged,
  restoreHook,
  updateHook,
} from './hook-store.ts';
import { eventsFor, HANDS_OFF_MS, makeAndPing, makeHook } from './hooks.ts';
import {
  changeIntegration,
  getIntegration,
  getSealedIntegration,
  newSecret,
  updateIntegration,
} from './store.ts';
import { findApi, requireApi, withSignal } from './token.ts';
import { type ConnectedPlace, changeFailed, IntegrationProblem, isProblem, recordChange } from './words.ts';

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
  const { before, hooks, auditId } = await changeIntegration(db, id, async (tx) => {
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
  });
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
    await changeIntegration(settling.db, id, async (tx) => {
      // The hooks that were changed do not have the current secret, even if this process ends here.
      await markSecretChanged(tx, id, clock.now().getTime() + HANDS_OFF_MS);
      for (const [index, hook] of hooks.slice(changed.length).entries()) {
        const hasPresentSecret = hook.hasPresentSecret && (index > 0 || isRefused);
        await restoreHook(tx, { ...hook, hasPresentSecret });
      }
      const previous = { previousSecret: sealed, previousSecretUntil: until };
      await updateIntegration(tx, id, isUnused ? before : { ...before, ...previous });
      await withdrawAudit(tx, deps, auditId);
    });
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
    await changeIntegration(toSettle(deps).db, id, (tx) =>
      updateIntegration(tx, id, { previousSecretUntil }, sealed),
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

/** The wait after the first, second, … failure, in milliseconds; the last repeats. */
const BACK_OFF_MS = [60_000, 600_000, 3_600_000, 6 * 3_600_000];

/**
 * Brings the providers' hooks to the desired state: events that triggers need, rotated secrets, missing hooks. Requests
 * nothing for hooks that are up to date as far as the database knows; the doctor finds changes made at the provider.
 * Stores failures with the hook and backs off. Resolves to the number of changed hooks. `signal` ends it early and
 * leaves the current hook as it is.
 */
export async function syncHooks(given: Deps, signal?: AbortSignal): Promise<number> {
  const { db, clock } = given;
  const deps = withSignal(given, signal);
  // Failures that every hook of an integration would have. Send no more requests for it.
  const failures = new Map<string, ProviderProblem>();
  let changed = 0;
  for (const due of await listOutdated(deps)) {
    if (signal?.aborted) break;
    // The list may be out of date after requests for other hooks.
    const [hook] = await db.read((tx) => listDueHooks(tx, clock.now(), due));
    if (hook === undefined) continue;
    const { integrationId } = hook;
    const error = failures.get(integrationId) ?? (await trySync(deps, hook));
    if (error === null) {
      changed++;
      continue;
    }
    if (signal?.aborted) break;
    await recordFailure(deps, hook, error);
    if (isProblem(error, 'bad-token', 'rate-limited', 'provider-failed')) failures.set(integrationId, error);
  }
  return changed;
}

/** The job runs often: two queries for any number of hooks. */
async function listOutdated({ db, clock }: Deps) {
  const { due, triggers } = await db.read(async (tx) => {
    const due = await listDueHooks(tx, clock.now());
    return { due, triggers: due.length === 0 ? [] : await listEnabledTriggers(tx) };
  });
  const byIntegration = Map.groupBy(triggers, ({ integrationId }) => integrationId);
  return due.filter((hook) => {
    if (hook.remoteId === null || !hook.hasPresentSecret) return true;
    const needed = eventsFor(hook.type, hook, byIntegration.get(hook.integrationId) ?? []);
    return !Bun.deepEquals(hook.events, needed);
  });
}

/** Resolves to the failure; null after a success. */
async function trySync(deps: Deps, hook: Hook): Promise<unknown> {
  try {
    const integration = await deps.db.read((tx) => getIntegration(tx, hook.integrationId));
    // A new App, or one without a known installation.
    if (integration.app !== null && hook.events.length === 0)
      await syncInstallation(deps, integration.id, { ofOwner: true });
    const work = { ...deps, api: await requireApi(deps, integration), integration };
    await makeHook(work, hook, { keepsSecret: true });
    return null;
  } catch (error) {
    return error;
  }
}

async function recordFailure({ db, clock, log }: Deps, hook: Hook, error: unknown): Promise<void> {
  const now = clock.now().getTime();
  const backOff = BACK_OFF_MS[Math.min(hook.attempts, BACK_OFF_MS.length - 1)] ?? 0;
  const requested = error instanceof ProviderProblem ? (error.retryAt?.getTime() ?? 0) : 0;
  const problem = messageOf(error);
  const retryAt = Math.min(Math.max(now + backOff, requested), now + MAX_WAIT_MS);
  await db.write((tx) => updateHook(tx, hook, { problem, retryAt, attempts: hook.attempts + 1 }), NONE);
  const { integrationId, placeId } = hook;
  log.warn({ err: error, integrationId, placeId }, 'the hook could not be brought up to date');
}
