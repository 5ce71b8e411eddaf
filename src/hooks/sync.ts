import type { Deps } from '../deps.ts';
import type { Integration } from '../integrations/model.ts';
import { getIntegration } from '../integrations/store.ts';
import { listTriggers } from '../triggers/store.ts';
import { makeHook } from './make.ts';
import { type Hook, ProviderProblem } from './model.ts';
import { listSyncableHooks, updateHook } from './store.ts';
import { requireApi } from './token.ts';
import { eventsFor, isSame } from './wish.ts';

type Needs = Pick<Deps, 'db' | 'clock' | 'log' | 'secrets' | 'publicUrl' | 'openProviderApi'>;

/** How long to wait after the first, second, … failure, in milliseconds; the last holds for all that follow. */
const BACK_OFF_MS = [60_000, 600_000, 3_600_000, 6 * 3_600_000];

/**
 * Brings the providers' hooks to what they should be: events that triggers came to need, secrets that were not set
 * yet, hooks that were not made. Asks a provider only where something differs. A failure is kept with the hook, in
 * words, and tried again later. Resolves to how many hooks were changed.
 */
export async function syncHooks(deps: Needs, signal?: AbortSignal): Promise<number> {
  let changed = 0;
  for (const hook of await listSyncableHooks(deps.db, deps.clock.now())) {
    if (signal?.aborted) break;
    const integration = await getIntegration(deps.db, hook.integrationId);
    if (await isAsWished(deps, integration, hook)) continue;
    if (await trySync(deps, integration, hook)) changed++;
  }
  return changed;
}

/** As far as Tidings knows: whether somebody changed the hook at the provider, the doctor tells. */
async function isAsWished({ db }: Needs, integration: Integration, hook: Hook): Promise<boolean> {
  if (hook.remoteId === null || !hook.hasPresentSecret) return false;
  const triggers = await listTriggers(db, { integrationId: integration.id });
  return isSame(hook.events, eventsFor(integration, hook, triggers));
}

async function trySync(deps: Needs, integration: Integration, hook: Hook): Promise<boolean> {
  try {
    await makeHook(deps, await requireApi(deps, integration), integration, hook);
    return true;
  } catch (error) {
    const now = deps.clock.now().getTime();
    const backOff = BACK_OFF_MS[Math.min(hook.attempts, BACK_OFF_MS.length - 1)] ?? 0;
    const asked = error instanceof ProviderProblem ? (error.retryAt?.getTime() ?? 0) : 0;
    await updateHook(deps.db, hook, {
      problem: error instanceof Error ? error.message : String(error),
      retryAt: Math.max(now + backOff, asked),
      attempts: hook.attempts + 1,
    });
    const { integrationId, placeId } = hook;
    deps.log.warn({ err: error, integrationId, placeId }, 'the hook could not be brought up to date');
    return false;
  }
}
