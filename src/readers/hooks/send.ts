import { changing, hook as hookKey, OUTBOX, organization, type Storage } from '../../../db/engine.ts';
import type { Deps } from '../../people/deps.ts';
import {
  deleteOldAttempts,
  endQueued,
  findDueTimes,
  findMessage,
  hastenMessages,
  insertAttempt,
  listDueHooks,
  listDueMessages,
  postponeLater,
  updateQueued,
} from './message-store.ts';
import { findSealedHook, type HookMessage, MAX_AGE_MS, nextAttemptAt, type SealedHook } from './model.ts';
import { type AttemptDeps, attempt, type HookConnect, type Outcome } from './request.ts';
import { acceptNew, type Bursts, switchHookIn } from './service.ts';

// Sends the outbox. At least once: a message whose outcome was not stored is sent again, with the same id.

/** Requests at a time: in all, to one hook, and to one whose last request failed. */
const AT_ONCE = 64;
const AT_ONCE_EACH = 8;
const AT_ONCE_FAILING = 1;

/** How often to look for new messages while requests are under way, in milliseconds. */
const LOOK_MS = 100;

/** How long requests under way may take when the server stops, in milliseconds. */
const GRACE_MS = 3_000;

const MAX_KEPT_ATTEMPTS = 16;

type Needs = AttemptDeps &
  Pick<Deps, 'clock' | 'ids' | 'log' | 'metrics' | 'actor' | 'publicUrl'> & { db: Storage };

/** Returns the work of the leader's job. It resolves once nothing is due, and returns how many requests it sent. */
export function createHookSender(deps: Needs, connect: HookConnect = {}) {
  const { db, clock } = deps;
  const bursts: Bursts = new Map();
  const failing = new Set<string>();
  /** The order in which hooks had their last turn. */
  const turns = new Map<string, number>();
  let turn = 0;

  return async function sendDue(signal?: AbortSignal): Promise<number> {
    const underWay = new Map<string, { hookId: string; work: Promise<void> }>();
    const failures: unknown[] = [];
    const grace = new AbortController();
    const onStop = () => setTimeout(() => grace.abort(), GRACE_MS).unref();
    signal?.addEventListener('abort', onStop);
    let sent = 0;

    function start(hook: SealedHook, message: HookMessage): void {
      sent++;
      bursts.delete(hook.id);
      const work = attempt(deps, hook, message, connect, grace.signal)
        .then(async (outcome) => {
          if (outcome.problem === null) failing.delete(hook.id);
          else failing.add(hook.id);
          deps.metrics.hookAttempts(hook.kind, outcome.problem === null ? 'sent' : 'failed').value++;
          await settle(deps, hook, message.id, outcome);
        })
        .catch((error) => {
          // The next start repeats the request.
          if (!grace.signal.aborted) failures.push(error);
        })
        .finally(() => underWay.delete(message.id));
      underWay.set(message.id, { hookId: hook.id, work });
    }

    /** Starts requests while there is room. Returns whether there may be more to do at once. */
    async function startDue(): Promise<boolean> {
      const { first, last } = await db.read(findDueTimes, { single: true });
      const now = clock.now().getTime();
      const latest = now + MAX_AGE_MS;
      if (last !== null && last > latest)
        await db.write((tx) => hastenMessages(tx, latest, now), changing(OUTBOX));
      else if (first === null || first > now) return false;
      const hasMore = first === 0 && (await acceptNew(deps, bursts));
      // Later than `now`: accepted messages are due from then on.
      const dueAt = clock.now().getTime();
      const hooks = await db.read((tx) => listDueHooks(tx, dueAt), { single: true });
      hooks.sort((a, b) => (turns.get(a.id) ?? 0) - (turns.get(b.id) ?? 0));
      for (const hook of hooks) {
        if (underWay.size >= AT_ONCE || signal?.aborted) break;
        const own = [...underWay.values()].filter(({ hookId }) => hookId === hook.id).length;
        const room = (failing.has(hook.id) ? AT_ONCE_FAILING : AT_ONCE_EACH) - own;
        if (room <= 0) continue;
        // Those under way are due too, and one may end while the list is read.
        const started = new Set(underWay.keys());
        const due = await db.read((tx) => listDueMessages(tx, hook.id, dueAt, own + room), { single: true });
        const next = due.filter(({ id }) => !started.has(id));
        for (const message of next.slice(0, Math.min(room, AT_ONCE - underWay.size))) start(hook, message);
        turns.set(hook.id, ++turn);
      }
      return hasMore;
    }

    try {
      while (failures.length === 0 && signal?.aborted !== true) {
        const wasIdle = underWay.size === 0;
        const hasMore = await startDue();
        if (hasMore) continue;
        if (underWay.size === 0) {
          // One that ended meanwhile may have made room.
          if (wasIdle) break;
          continue;
        }
        await Promise.race([...Array.from(underWay.values(), ({ work }) => work), Bun.sleep(LOOK_MS)]);
      }
    } finally {
      await Promise.all(Array.from(underWay.values(), ({ work }) => work));
      signal?.removeEventListener('abort', onStop);
    }
    if (failures.length > 0) throw failures[0];
    return sent;
  };
}

async function settle(
  deps: Needs,
  { id: hookId, organizationId }: SealedHook,
  messageId: string,
  outcome: Outcome,
): Promise<void> {
  const { db, ids, clock } = deps;
  const { retryAfterMs, ...result } = outcome;
  await db.write(
    async (tx) => {
      const [message, hook] = await Promise.all([findMessage(tx, messageId), findSealedHook(tx, hookId)]);
      // Deleted meanwhile.
      if (message === null || hook === null) return;
      await insertAttempt(tx, { id: ids.newId('att'), messageId, ...result });
      const attempts = message.attempts + 1;
      // The first after a person sent it again, too.
      if (attempts === 1) await deleteOldAttempts(tx, messageId, MAX_KEPT_ATTEMPTS);
      if (outcome.problem === null) return updateQueued(tx, messageId, { state: 'sent', attempts });
      // As Standard Webhooks recommends: the receiver is gone for good.
      if (outcome.statusCode === 410) {
        await updateQueued(tx, messageId, { state: 'failed', attempts });
        await endQueued(tx, hookId, 'failed');
        if (hook.isEnabled) await switchHookIn(tx, deps, hook, false, ' because it responded 410 Gone');
        return;
      }
      const now = clock.now().getTime();
      const createdAt = Date.parse(message.createdAt ?? '');
      const dueAt = nextAttemptAt({ attempts, createdAt }, { now, retryAfterMs });
      if (dueAt === null) return updateQueued(tx, messageId, { state: 'failed', attempts });
      await updateQueued(tx, messageId, { attempts, dueAt });
      await postponeLater(tx, message, dueAt);
    },
    // A hook that is gone for good is disabled, in its turn with posts that are announced.
    changing(hookKey(hookId), ...(outcome.statusCode === 410 ? [organization(organizationId), OUTBOX] : [])),
  );
}
