import { NONE } from '../../db/engine.ts';
import { isTaken } from '../integrations/deliveries/store.ts';
import { checkHeartbeat, type Occasion, PING_MS } from '../integrations/heartbeat.ts';
import {
  listRecovering,
  MAX_WAIT_MS,
  postponeRecoveries,
  type RecoveringHook,
  type Recovery,
  type RecoveryChanges,
  updateRecovery,
} from '../integrations/hook-store.ts';
import { type ComparedDelivery, compareHook, isMissed, readLog } from '../integrations/missed.ts';
import { readBeside } from '../integrations/poll-store.ts';
import { getIntegration } from '../integrations/store.ts';
import { requireApi, withSignal } from '../integrations/token.ts';
import { describeMissed, isProblem } from '../integrations/words.ts';
import { messageOf } from '../lib/app-error.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import { type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { LATE_MS, readChanges } from './changes.ts';

// The leader compares the provider's deliveries with the log, and requests the missing ones again, each once. Where the
// provider does not list them, or no longer, the job `poll` reads the changes instead: the events are the same.

/** How often, in milliseconds. */
const EVERY_MS = 600_000;

/** Pings that are requested at once. */
const MAX_PINGS = 10;

/** How often to look whether a quiet webhook is switched off, in milliseconds. */
const LOOK_MS = HOUR_MS;

/** Deliveries that one comparison requests again. */
const MAX_QUEUED = 500;

/** Attempts of a delivery that Tidings refused, and of one that did not reach it. */
const MAX_REFUSED = 2;
const MAX_ATTEMPTS = 6;

/** How many lost deliveries and rounds are kept. */
const MAX_LOST = 50;
const MAX_ROUNDS = 20;

/** How long a lost delivery is kept, in milliseconds. */
const LOST_MS = 7 * DAY_MS;

/** The wait after the first, second, … failure, in milliseconds; the last repeats. */
const BACK_OFF_MS = [60_000, 300_000, 600_000, HOUR_MS];

/** Does what is due. `isStart`: compares all, because the server was away. `signal` ends it early. */
export async function recoverDue(
  given: Deps,
  { signal, isStart = false, ...occasion }: { signal?: AbortSignal; isStart?: boolean } & Occasion = {},
): Promise<void> {
  const { db, clock } = given;
  const deps = withSignal(given, signal);
  // A provider limits the requests of all hooks of a token together.
  const visited = new Set<string>();
  const pings = { left: MAX_PINGS };
  const due = await db.read((tx) => listRecovering(tx, isStart ? null : clock.now()));
  for (const key of due) {
    if (signal?.aborted) return;
    // The list may be out of date after requests for other hooks.
    const [hook] = await db.read((tx) => listRecovering(tx, isStart ? null : clock.now(), key));
    if (hook === undefined) continue;
    const isAsking = (hook.recovery?.queue?.length ?? 0) > 0;
    if (isAsking && visited.has(hook.integrationId)) continue;
    if (isAsking) visited.add(hook.integrationId);
    try {
      await recover(deps, hook, { ...occasion, pings });
    } catch (error) {
      if (signal?.aborted) return;
      await recordFailure(deps, hook, error);
    }
  }
}

async function recover(deps: Deps, hook: RecoveringHook, occasion: Occasion): Promise<void> {
  const { db, clock } = deps;
  const integration = await db.read((tx) => getIntegration(tx, hook.integrationId));
  const { api: support, reader } = providerOf(integration.type);
  const repositoryIds =
    hook.repositoryId === null ? integration.repositories.map(({ id }) => id) : [hook.repositoryId];
  /** Has the changes read beside the webhook. */
  const read = (isDue: boolean) =>
    db.write((tx) => readBeside(tx, integration.id, repositoryIds, { isDue, now: clock.now() }), NONE);
  if (reader !== null) await read(false);
  const api = await requireApi(deps, integration);
  const heartbeat = await checkHeartbeat(deps, api, hook, occasion);
  if (heartbeat !== null) {
    await db.write((tx) => updateRecovery(tx, hook, { recovery: { heartbeat } }), NONE);
    hook.recovery = { ...hook.recovery, heartbeat };
  }
  if (support?.redelivery == null) {
    const looked = await look(deps, api, hook);
    const changes = support?.changes === true ? await readChanges(deps, api, hook) : {};
    const isUnderWay = changes.reading != null && { recoverAt: clock.now().getTime() };
    return void (await save(deps, hook, { ...isUnderWay, recovery: { ...looked, ...changes } }));
  }
  const hasQueue = (hook.recovery?.queue?.length ?? 0) > 0;
  const { gap } = await (hasQueue ? requestQueued(deps, api, hook) : compareNow(deps, api, hook));
  if (gap && reader !== null) await read(true);
}

/** Stores what a step of a hook led to. By default, the next one is a comparison. Returns what it stored. */
async function save(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  hook: RecoveringHook,
  { recovery, ...changes }: RecoveryChanges,
): Promise<Recovery> {
  const recoverAt = clock.now().getTime() + (hook.recovery?.heartbeat?.isWaiting ? PING_MS : EVERY_MS);
  const state = { problem: null, attempts: 0, ...recovery };
  await db.write((tx) => updateRecovery(tx, hook, { recoverAt, ...changes, recovery: state }), NONE);
  return state;
}

/** Compares what the provider delivered since the last time, and queues what is missing, or has the changes read. */
async function compareNow(deps: Deps, api: ProviderApi, hook: RecoveringHook): Promise<Recovery> {
  const { clock, log } = deps;
  const { integrationId, placeId, recovery } = hook;
  const now = clock.now();
  const at = now.toISOString();
  const { asked = [], lost = [], rounds = [], until = null } = recovery ?? {};
  const { redelivery } = providerOf(api.type).api ?? {};
  const { keptMs = 0, burst = 1, everyMs = EVERY_MS } = redelivery ?? {};
  const logged = await readLog(deps, integrationId, [...asked, ...lost.map(({ deliveryId }) => deliveryId)]);
  const hasArrived = (id: string) => isTaken(logged.get(id)?.status ?? 'failed');
  const isSettled = asked.every(hasArrived);
  const [newest, ...older] = rounds;
  const past =
    newest === undefined || asked.length === 0
      ? rounds
      : [{ ...newest, arrived: asked.filter(hasArrived).length }, ...older];
  const from = (isSettled ? until : null) ?? hook.knownUntil ?? hook.createdAt;
  const oldest = new Date(now.getTime() - keptMs).toISOString();
  const since = new Date(Math.max(Date.parse(from), Date.parse(oldest)));
  const list = await listSince(deps, api, hook, since, isSettled ? (recovery?.etag ?? null) : null);
  const isRecent = (time: string) => now.getTime() - Date.parse(time) < LOST_MS;
  const stillLost = lost.filter((each) => !hasArrived(each.deliveryId) && isRecent(each.deliveredAt));
  const lostIds = new Set(stillLost.map(({ deliveryId }) => deliveryId));
  const missing = list.compared.filter((each) => isMissed(each) && !lostIds.has(each.delivery.deliveryId));
  const wanted = missing.filter(({ delivery }) => !isExhausted(delivery));
  const newlyLost = missing.filter(({ delivery }) => isExhausted(delivery)).map(toLost);
  // Reads deliveries that the provider would take too long to send again.
  const isGap =
    list.isOff ||
    from < oldest ||
    list.isCut ||
    wanted.length > Math.min(MAX_QUEUED, (burst * EVERY_MS) / everyMs);
  const queued = isGap ? [] : wanted;
  const untilNow = new Date(now.getTime() - LATE_MS).toISOString();
  const result = isGap ? 'read' : queued.length > 0 ? 'requested' : 'lost';
  const round = { at, compared: list.compared.length, missed: missing.length, result, arrived: 0 } as const;
  if (missing.length > 0) log.info({ integrationId, placeId, ...round }, 'deliveries are missing');
  return save(deps, hook, {
    knownUntil: queued[0]?.delivery.deliveredAt ?? untilNow,
    ...(queued.length > 0 && { recoverAt: now.getTime() }),
    recovery: {
      comparedAt: at,
      until: untilNow,
      etag: missing.length > 0 ? null : list.etag,
      queue: queued.map(({ attemptId, delivery: { deliveryId } }) => ({ attemptId, deliveryId })),
      asked: [],
      lost: [...newlyLost, ...stillLost].slice(0, MAX_LOST),
      rounds: (missing.length > 0 ? [round, ...past] : past).slice(0, MAX_ROUNDS),
      isOff: list.isOff,
      ...(list.hasLooked && { lookedAt: at }),
      ...(isGap && { gap: { since: from, at } }),
    },
  });
}

/**
 * The deliveries since then, and whether the webhook is switched off or deleted. A webhook that delivers is neither, so that
 * is asked for only when it is quiet, once an hour.
 */
async function listSince(
  deps: Deps,
  api: ProviderApi,
  hook: RecoveringHook,
  since: Date,
  etag: string | null,
) {
  const off = { compared: [], isCut: false, etag: null, isOff: true, hasLooked: true };
  try {
    const list = await compareHook(deps, api, hook, since, etag);
    const looked = list.compared.length === 0 ? await look(deps, api, hook) : {};
    return { ...list, isOff: looked.isOff ?? false, hasLooked: looked.lookedAt !== undefined };
  } catch (error) {
    if (isProblem(error, 'hook-not-found')) return off;
    throw error;
  }
}

/** Finds out if the webhook is switched off or deleted. Asks once an hour while it is not. */
async function look({ clock }: Deps, api: ProviderApi, hook: RecoveringHook): Promise<Recovery> {
  const { isOff = false, lookedAt = '' } = hook.recovery ?? {};
  const now = clock.now();
  if (!isOff && lookedAt > new Date(now.getTime() - LOOK_MS).toISOString()) return {};
  const remote = await api.findHook(hook.placeId, hook.remoteId);
  return { isOff: remote?.isActive !== true, lookedAt: now.toISOString() };
}

/** True when another attempt would fail, too. */
const isExhausted = ({ attempts, cause }: ComparedDelivery) =>
  attempts >= (cause?.code === 'logged' ? MAX_REFUSED : MAX_ATTEMPTS);

const toLost = ({ delivery }: { delivery: ComparedDelivery }) => ({
  deliveryId: delivery.deliveryId,
  deliveredAt: delivery.deliveredAt,
  reason: delivery.cause === null ? '' : describeMissed(delivery.cause),
});

/** Requests the next deliveries of the queue, as many as the provider takes at once. One that is gone there is read. */
async function requestQueued(deps: Deps, api: ProviderApi, hook: RecoveringHook): Promise<Recovery> {
  const { placeId, remoteId, recovery } = hook;
  const { queue = [], asked = [], comparedAt } = recovery ?? {};
  const { burst = 1, everyMs = EVERY_MS } = providerOf(api.type).api?.redelivery ?? {};
  const now = deps.clock.now();
  const done: Recovery = { asked: [...asked] };
  let failure: unknown = null;
  let count = 0;
  for (const { attemptId, deliveryId } of queue.slice(0, burst)) {
    try {
      await api.redeliver?.(placeId, remoteId, attemptId);
      done.asked?.push(deliveryId);
    } catch (error) {
      if (!isProblem(error, 'refused')) {
        failure = error;
        break;
      }
      done.gap = { since: hook.knownUntil ?? hook.createdAt, at: now.toISOString() };
    }
    count++;
  }
  done.queue = queue.slice(count);
  const next = Date.parse(comparedAt ?? now.toISOString()) + EVERY_MS;
  const soon = now.getTime() + everyMs;
  await save(deps, hook, {
    recoverAt: done.queue.length > 0 ? soon : Math.max(next, soon),
    recovery: { ...done, attempts: failure === null ? 0 : (recovery?.attempts ?? 0) },
  });
  if (failure === null) return done;
  throw failure;
}

async function recordFailure({ db, clock, log }: Deps, hook: RecoveringHook, error: unknown): Promise<void> {
  const { integrationId, placeId, recovery } = hook;
  const attempts = recovery?.attempts ?? 0;
  const now = clock.now().getTime();
  const retryAt = error instanceof ProviderProblem ? (error.retryAt?.getTime() ?? 0) : 0;
  const backOff = BACK_OFF_MS[Math.min(attempts, BACK_OFF_MS.length - 1)] ?? 0;
  const recoverAt = Math.min(Math.max(now + backOff, retryAt), now + MAX_WAIT_MS);
  const state = { problem: messageOf(error), attempts: attempts + 1 };
  await db.write(async (tx) => {
    await updateRecovery(tx, hook, { recoverAt, recovery: state });
    if (isProblem(error, 'bad-token', 'rate-limited', 'provider-failed'))
      await postponeRecoveries(tx, integrationId, recoverAt);
  }, NONE);
  log.warn({ err: error, integrationId, placeId }, 'could not compare the deliveries of a webhook');
}
