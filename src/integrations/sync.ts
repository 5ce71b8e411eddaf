import { NONE } from '../../db/order.ts';
import type { Deps } from '../deps.ts';
import { messageOf } from '../lib/app-error.ts';
import { ProviderProblem } from '../providers/api.ts';
import { syncInstallation } from './app.ts';
import { type Hook, listDueHooks, listEnabledTriggers, MAX_WAIT_MS, updateHook } from './hook-store.ts';
import { eventsFor, makeHook } from './hooks.ts';
import { isProblem } from './problems.ts';
import { getIntegration } from './store.ts';
import { requireApi } from './token.ts';

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
  // The server does not wait for a provider when it stops.
  const deps: Deps = {
    ...given,
    openProviderApi: (type, token) => given.openProviderApi(type, token, signal),
  };
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
