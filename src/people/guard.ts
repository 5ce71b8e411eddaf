import { desc, eq, inArray, lte } from 'drizzle-orm';
import {
  changing,
  deleteExpired,
  type Expiring,
  REFUSALS,
  type ReadTx,
  THROTTLES,
  type WriteTx,
} from '../../db/engine.ts';
import { formMarks, throttles } from '../../db/schema/processes.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../lib/bounded-map.ts';
import { DAY_MS } from '../lib/time.ts';
import { countRefusedSignIn } from './audit.ts';
import type { Deps } from './deps.ts';
import { createPasswordQueue } from './passwords.ts';
import { failure } from './permission.ts';

// Each limit on guessing is a bucket per source, in the database, so that it holds for all processes. A refusal only reads.

interface Limit extends RateLimit {
  name: string;
}

/** Attempts on one account from one client address, or with one known browser, session or link. */
const PER_SOURCE: Limit = { name: 'source', burst: 5, everyMs: 20_000 };

/** Attempts from one client address on all accounts. Leaves room for an office behind one address. */
const PER_CLIENT: Limit = { name: 'client', burst: 30, everyMs: 4_000 };

/** Attempts on one account from all clients together, known browsers aside: 8,640 a day. */
const PER_ACCOUNT: Limit = { name: 'account', burst: 100, everyMs: 10_000 };

/** Returns from the identity provider to one client address, which each cost requests to the provider. */
const PER_RETURN: Limit = { name: 'return', burst: 30, everyMs: 4_000 };

/** How far the clocks of two processes may differ: nobody gets more attempts by turning from one to the other. */
const MAX_SKEW_MS = 900_000;

/** How often refusals that cost no hash are written to the audit log. */
const REFUSALS_MS = 1_000;

/** Client addresses counted apart between two writes; the rest share one count. */
const MAX_REFUSED = 100;

/** Counts sign-ins that were refused without a hash, and writes them once a second, so that a flood is none of commits. */
function createRefusalCounter(deps: Pick<Deps, 'db' | 'clock' | 'log'>) {
  const counts = new Map<string | null, number>();
  async function write(): Promise<void> {
    const counted = [...counts];
    counts.clear();
    try {
      await deps.db.write(async (tx) => {
        for (const [address, attempts] of counted) await countRefusedSignIn(tx, deps, address, attempts);
      }, changing(REFUSALS));
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
  return {
    countRefusal: createRefusalCounter(deps),
    /** Each process has its own, because it bounds the memory and the threads of the process. */
    passwords: createPasswordQueue(deps.metrics.passwordHashes),

    /** `source`: the known browser, or the client address, which shares the limits of address and account. */
    signIn(email: string, source: string, isKnown: boolean) {
      const own = bucketOf(PER_SOURCE, `${source} ${email}`);
      const shared = isKnown ? [] : [bucketOf(PER_CLIENT, source), bucketOf(PER_ACCOUNT, email)];
      const all = [own, ...shared];
      return {
        requireAllowed: () => requireAllowed(deps, all),
        count: () => count(deps, all),
        /** The source knows the password: forgets its attempts. In the transaction that signs in. */
        succeed: (tx: WriteTx) => forget(tx, deps, own, shared),
      };
    },

    count: (source: string) => countOne(deps, bucketOf(PER_SOURCE, source)),

    countReturn: (client: string) => countOne(deps, bucketOf(PER_RETURN, client)),
  };
}

type Needs = Pick<Deps, 'db' | 'clock'>;

interface Bucket {
  key: string;
  limit: Limit;
}

/** The key is a hash: people type passwords where an address belongs. */
function bucketOf(limit: Limit, source: string): Bucket {
  return { key: Bun.SHA256.hash(`${limit.name} ${source}`, 'base64url'), limit };
}

async function readBuckets(tx: ReadTx, buckets: readonly Bucket[], now: number) {
  const stored = await findFullAt(
    tx,
    buckets.map(({ key }) => key),
  );
  return buckets.map(({ key, limit }) => ({
    key,
    limit,
    fullAt: fullAgainAt(stored.get(key), limit, now, MAX_SKEW_MS),
  }));
}

function requireFree(buckets: readonly (Bucket & { fullAt: number })[], now: number): void {
  const waits = buckets.map(({ limit, fullAt }) => waitMs(fullAt, limit, now));
  const seconds = Math.ceil(Math.max(...waits) / 1000);
  if (seconds > 0) throw failure('too_many_attempts', { seconds }, { 'retry-after': String(seconds) });
}

async function requireAllowed({ db, clock }: Needs, buckets: readonly Bucket[]): Promise<void> {
  const now = clock.now().getTime();
  requireFree(await db.read((tx) => readBuckets(tx, buckets, now)), now);
}

async function countOne(deps: Needs, bucket: Bucket): Promise<void> {
  await requireAllowed(deps, [bucket]);
  await count(deps, [bucket]);
}

/** Takes an attempt from each bucket, or from none. */
async function count({ db, clock }: Needs, buckets: readonly Bucket[]): Promise<void> {
  const now = clock.now().getTime();
  const work = async (tx: WriteTx) => {
    const present = await readBuckets(tx, buckets, now);
    requireFree(present, now);
    for (const { key, limit, fullAt } of present) await saveThrottle(tx, key, fullAt + limit.everyMs);
    await deleteSurplusThrottles(tx);
  };
  // With a key, so that strangers don't hold up all other writes. Only sweeps change these rows beside it.
  await db.write(work, changing(THROTTLES));
}

/** Empties the first bucket of attempts, and gives one back to each of the others. */
async function forget(tx: WriteTx, { clock }: Needs, own: Bucket, shared: readonly Bucket[]): Promise<void> {
  const now = clock.now().getTime();
  await deleteThrottle(tx, own.key);
  for (const { key, limit, fullAt } of await readBuckets(tx, shared, now)) {
    if (fullAt - limit.everyMs <= now) await deleteThrottle(tx, key);
    else await saveThrottle(tx, key, fullAt - limit.everyMs);
  }
}

// Strangers write rows of these tables, so both the number and the lifetime of the rows are limited.

/** Rows to delete at once. Each write adds fewer. */
const SURPLUS = 100;

/** Deletes the rows that expire first, as far as there are more than `max`. */
async function deleteSurplus(tx: WriteTx, { table, key, expiresAt }: Expiring, max: number): Promise<void> {
  const surplus = tx
    .select({ key })
    .from(table)
    .orderBy(desc(expiresAt), desc(key))
    .limit(SURPLUS)
    .offset(max);
  await tx.delete(table).where(inArray(key, surplus)).run();
}

/** Sources that are remembered. Beyond that, those are forgotten whose attempts stop counting first. */
export const MAX_THROTTLES = 10_000;

const boundedThrottles = { table: throttles, key: throttles.key, expiresAt: throttles.fullAt };

/** When the attempts of each key stop counting, in milliseconds since 1970. A key without attempts is left out. */
export async function findFullAt(tx: ReadTx, keys: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx
    .select()
    .from(throttles)
    .where(inArray(throttles.key, [...keys]))
    .all();
  return new Map(rows.map(({ key, fullAt }) => [key, fullAt]));
}

export async function saveThrottle(tx: WriteTx, key: string, fullAt: number): Promise<void> {
  const set = { fullAt };
  await tx.insert(throttles).values({ key, fullAt }).onConflictDoUpdate({ target: throttles.key, set }).run();
}

async function deleteThrottle(tx: WriteTx, key: string): Promise<void> {
  await tx.delete(throttles).where(eq(throttles.key, key)).run();
}

/** Strangers cannot fill the disk: deletes rows beyond `MAX_THROTTLES`. */
const deleteSurplusThrottles = (tx: WriteTx) => deleteSurplus(tx, boundedThrottles, MAX_THROTTLES);

/** Deletes at most `limit` keys whose attempts no longer count. Returns their number. */
export const deleteExpiredThrottles = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(tx, boundedThrottles, asOf, limit);

const MARK_MS = DAY_MS;

/** Marks that are remembered. Beyond that, the oldest are forgotten. */
const MAX_MARKS = 10_000;

const boundedMarks = { table: formMarks, key: formMarks.mark, expiresAt: formMarks.expiresAt };

/** False when the mark is taken. */
export async function claimFormMark(tx: WriteTx, mark: string, now: Date): Promise<boolean> {
  const expiresAt = now.getTime() + MARK_MS;
  const claimed = await tx
    .insert(formMarks)
    .values({ mark, expiresAt })
    .onConflictDoUpdate({
      target: formMarks.mark,
      set: { expiresAt },
      setWhere: lte(formMarks.expiresAt, now.getTime()),
    })
    .returning({ mark: formMarks.mark })
    .all();
  await deleteSurplus(tx, boundedMarks, MAX_MARKS);
  return claimed.length > 0;
}

export async function deleteFormMark(tx: WriteTx, mark: string): Promise<void> {
  await tx.delete(formMarks).where(eq(formMarks.mark, mark)).run();
}

export const deleteExpiredFormMarks = (tx: WriteTx, asOf: Date, limit: number) =>
  deleteExpired(tx, boundedMarks, asOf, limit);
