import { countRefusedSignIn } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import type { Clock } from '../lib/time.ts';
import { createPasswordQueue } from './passwords.ts';
import { failure } from './words.ts';

// Limits on guessing. Each is a bucket per key: `burst` attempts at once, then one every `everyMs`. Kept in memory.

/** Attempts on one account from one client address, or with one known browser, session or link. */
const PER_SOURCE = { burst: 5, everyMs: 20_000 };

/** Attempts from one client address on all accounts. Leaves room for an office behind one address. */
const PER_CLIENT = { burst: 30, everyMs: 4_000 };

/** Attempts on one account from all clients together, known browsers aside: 8,640 a day. */
const PER_ACCOUNT = { burst: 100, everyMs: 10_000 };

/** Keys that one bucket list remembers; beyond that it forgets the one that was used longest ago. */
const MAX_KEYS = 10_000;

/** How often refusals that cost no hash are written to the audit log. */
const REFUSALS_MS = 1_000;

/** Client addresses counted apart between two writes; the rest share one count. */
const MAX_REFUSED = 100;

/** Counts sign-ins refused without a hash, and writes them once a second: a flood must not become a flood of commits. */
function createRefusalCounter(deps: Pick<Deps, 'db' | 'clock' | 'log'>) {
  const counts = new Map<string | null, number>();
  async function write(): Promise<void> {
    const counted = [...counts];
    counts.clear();
    try {
      await deps.db.write(async (tx) => {
        for (const [address, attempts] of counted) await countRefusedSignIn(tx, deps, address, attempts);
      });
    } catch (error) {
      deps.log.warn({ err: error }, 'could not record refused sign-ins');
    }
  }
  return (address: string): void => {
    if (counts.size === 0) setTimeout(() => void write(), REFUSALS_MS).unref();
    const key = counts.has(address) || counts.size < MAX_REFUSED ? address : null;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
}

export type Guard = ReturnType<typeof createGuard>;

/** Keeps strangers from guessing passwords and from filling the server with hashes. */
export function createGuard(deps: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>) {
  const { clock, metrics } = deps;
  const ofSource = createBuckets(clock, PER_SOURCE);
  const ofClient = createBuckets(clock, PER_CLIENT);
  const ofAccount = createBuckets(clock, PER_ACCOUNT);
  return {
    countRefusal: createRefusalCounter(deps),
    passwords: createPasswordQueue(metrics.passwordHashes),

    /**
     * Counts a sign-in. `source` is the known browser, or the client address for everybody else: only the latter
     * shares the limits of its address and of the account. Throws `AppError` 429.
     */
    beginSignIn(email: string, source: string, isKnown: boolean) {
      const own = ofSource(`${source} ${email}`);
      const shared = isKnown ? [] : [ofClient(source), ofAccount(email)];
      take(own, ...shared);
      return {
        /** It tested no password. */
        cancel() {
          for (const bucket of [own, ...shared]) bucket.giveBack();
        },
        /** The source knows the password. */
        succeed() {
          own.clear();
          for (const bucket of shared) bucket.giveBack();
        },
      };
    },

    /** Counts an attempt of a session, a link or a client. Throws `AppError` 429. */
    count(source: string): void {
      take(ofSource(source));
    },
  };
}

/** Takes an attempt from each bucket, or from none. */
function take(...buckets: ReturnType<ReturnType<typeof createBuckets>>[]): void {
  const waitMs = Math.max(...buckets.map((bucket) => bucket.waitMs()));
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1000);
    throw failure('too_many_attempts', { seconds }, { 'retry-after': String(seconds) });
  }
  for (const bucket of buckets) bucket.take();
}

function createBuckets(clock: Clock, { burst, everyMs }: { burst: number; everyMs: number }) {
  /** When each bucket is full again, in milliseconds since 1970. A bucket that isn't here is full. */
  const fullAt = new Map<string, number>();

  function set(key: string, time: number): void {
    // Deleted first: the map then lists its keys by their last use.
    fullAt.delete(key);
    if (time <= clock.now().getTime()) return;
    fullAt.set(key, time);
    const [oldest] = fullAt.keys();
    if (fullAt.size > MAX_KEYS && oldest !== undefined) fullAt.delete(oldest);
  }

  return (key: string) => ({
    /** How long until an attempt is free, in milliseconds; at most 0 when one is. */
    waitMs: () => (fullAt.get(key) ?? 0) - clock.now().getTime() - (burst - 1) * everyMs,
    take: () => set(key, Math.max(fullAt.get(key) ?? 0, clock.now().getTime()) + everyMs),
    giveBack: () => set(key, (fullAt.get(key) ?? 0) - everyMs),
    clear: () => fullAt.delete(key),
  });
}
