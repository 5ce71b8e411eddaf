import type { Deps } from '../deps.ts';
import { type Hook, type ProblemKind, ProviderProblem } from '../providers/api.ts';
import { listNeeds } from '../triggers/store.ts';
import { type DueHook, findDueHook, listDueHooks, MAX_WAIT_MS, updateHook } from './hook-store.ts';
import { makeHook } from './make.ts';
import { getIntegration } from './store.ts';
import { requireApi } from './token.ts';
import { eventsFor, isSame } from './wish.ts';

type Needs = Pick<Deps, 'db' | 'clock' | 'log' | 'secrets' | 'publicUrl' | 'openProviderApi'>;

/** How long to wait after the first, second, … failure, in milliseconds; the last holds for all that follow. */
const BACK_OFF_MS = [60_000, 600_000, 3_600_000, 6 * 3_600_000];

/** What befalls every hook of an integration alike, so that the provider need not be asked for each. */
const SHARED: readonly ProblemKind[] = ['bad-token', 'rate-limited', 'provider-failed'];

/**
 * Brings the providers' hooks to what they should be: events that triggers came to need, secrets that were not set
 * yet, hooks that were not made. Asks a provider only where something differs, and none once more that just said that
 * it does nothing for this token. A failure is kept with the hook, in words, and tried again later. Resolves to how
 * many hooks were changed. `signal` ends it early, and leaves as it is what it was at.
 */
export async function syncHooks(given: Needs, signal?: AbortSignal): Promise<number> {
  const { db, clock } = given;
  // A server that is to stop does not wait for a provider.
  const deps: Needs = {
    ...given,
    openProviderApi: (type, token) => given.openProviderApi(type, token, signal),
  };
  const failures = new Map<string, ProviderProblem>();
  let changed = 0;
  for (const due of await listOutdated(deps)) {
    if (signal?.aborted) break;
    // What was true of it when the list was made may have changed while others were asked about.
    const hook = await findDueHook(db, due, clock.now());
    if (hook === null) continue;
    const { integrationId } = hook;
    const shared = failures.get(integrationId);
    const error = shared ?? (await trySync(deps, hook));
    if (error === null) {
      changed++;
      continue;
    }
    if (signal?.aborted) break;
    await keepFailure(deps, hook, error);
    if (error instanceof ProviderProblem && SHARED.includes(error.kind)) failures.set(integrationId, error);
  }
  return changed;
}

/**
 * As far as Tidings knows: whether somebody changed a hook at the provider, the doctor tells. Two queries whatever
 * number of hooks there is, because the server asks all the time.
 */
async function listOutdated({ db, clock }: Needs): Promise<DueHook[]> {
  const due = await listDueHooks(db, clock.now());
  if (due.length === 0) return [];
  const keyOf = (integrationId: string, repositoryId: string | null) => `${integrationId} ${repositoryId}`;
  const needs = Map.groupBy(await listNeeds(db), (need) => keyOf(need.integrationId, need.repositoryId));
  const needsOf = ({ integrationId, repositoryId }: DueHook) => [
    ...(needs.get(keyOf(integrationId, null)) ?? []),
    ...(repositoryId === null ? [] : (needs.get(keyOf(integrationId, repositoryId)) ?? [])),
  ];
  return due.filter(
    (hook) =>
      hook.remoteId === null ||
      !hook.hasPresentSecret ||
      !isSame(hook.events, eventsFor(hook, hook, needsOf(hook))),
  );
}

/** Resolves to what went wrong; null when nothing did. */
async function trySync(deps: Needs, hook: Hook): Promise<unknown> {
  try {
    const integration = await getIntegration(deps.db, hook.integrationId);
    await makeHook(deps, await requireApi(deps, integration), integration, hook);
    return null;
  } catch (error) {
    return error;
  }
}

async function keepFailure({ db, clock, log }: Needs, hook: Hook, error: unknown): Promise<void> {
  const now = clock.now().getTime();
  const backOff = BACK_OFF_MS[Math.min(hook.attempts, BACK_OFF_MS.length - 1)] ?? 0;
  const asked = error instanceof ProviderProblem ? (error.retryAt?.getTime() ?? 0) : 0;
  await updateHook(db, hook, {
    problem: error instanceof Error ? error.message : String(error),
    retryAt: Math.min(Math.max(now + backOff, asked), now + MAX_WAIT_MS),
    attempts: hook.attempts + 1,
  });
  const { integrationId, placeId } = hook;
  log.warn({ err: error, integrationId, placeId }, 'the hook could not be brought up to date');
}
