import { type SQL, sql } from 'drizzle-orm';
import { within } from '../../src/lib/time.ts';
import type { Storage } from '../engine.ts';
import { DatabaseUnavailable, PostgresError } from '../failures.ts';
import { connectPostgres, type PostgresDatabase, readAddress } from './client.ts';

// Reads from a standby while it has replayed what the primary had written when it was asked. No other machine's clock counts.

interface Log {
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
}

/** How far behind the standby may be when a read starts. The documented bound is 10 seconds. */
const MAX_BEHIND_MS = 8_000;

const CHECK_MS = 1_000;

const POLL_MS = 100;

/** How long the standby may take for a read before the primary is asked, in milliseconds. */
const READ_MS = 1_000;

/** A standby has the same. After a failover, one that did not follow has another timeline. */
const identity = (timeline: SQL) => sql`
  (SELECT system_identifier FROM pg_control_system()) || ' ' || ${timeline} || ' ' ||
  (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** The position of inserts has commits before their flush. An idle primary's standby may lack an empty page's header. */
const PRIMARY_STATE = sql`SELECT ${identity(sql`left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`)},
  pg_wal_lsn_diff(CASE current_setting('synchronous_commit')
    WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END, '0/0')::bigint`;

const STANDBY_STATE = sql`SELECT ${identity(sql`upper(lpad(to_hex(greatest(
    (SELECT timeline_id FROM pg_control_checkpoint()),
    (SELECT min_recovery_end_timeline FROM pg_control_recovery()))), 8, '0'))`)},
  CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END`;

/** A server's identity, and its position: written on the primary, replayed on a standby. Null: it is no standby. */
type State = [identity: string, position: number | null];

export interface ReplicaReads extends Pick<Storage, 'read'> {
  check(): Promise<void>;
}

/** The replica need not be there yet, or always. Rejects with `PostgresError` for a URL that cannot be used. */
export async function openReplica(
  primary: Pick<Storage, 'read'>,
  url: string,
  { poolSize, log }: { poolSize: number; log: Log },
): Promise<Pick<Storage, 'read'> & { close(): Promise<void> }> {
  const setting = 'DATABASE_READ_URL';
  readAddress(url, setting);
  let connecting: Promise<PostgresDatabase> | null = null;
  const connect = async () => {
    connecting ??= connectPostgres(url, { poolSize, setting });
    return connecting.catch((error) => {
      // The next check tries again.
      connecting = null;
      throw error;
    });
  };
  const replica: Pick<Storage, 'read'> = { read: async (...given) => (await connect()).read(...given) };
  const { read, check } = readFromReplica(primary, replica, { log });
  await check();
  const timer = setInterval(check, CHECK_MS);
  timer.unref();
  return {
    read,
    async close() {
      clearInterval(timer);
      await (await connecting?.catch(() => null))?.close();
    },
  };
}

/** Reads from `primary` while the replica is over 10 seconds behind, away, promoted, or another server's. */
export function readFromReplica(
  primary: Pick<Storage, 'read'>,
  replica: Pick<Storage, 'read'>,
  {
    log,
    elapsedMs = () => performance.now(),
    readMs = READ_MS,
  }: { log: Log; elapsedMs?: () => number; readMs?: number },
): ReplicaReads {
  /** Positions that the primary had at a time or before, oldest first. */
  let written: { atMs: number; position: number }[] = [];
  let primaryIdentity: string | null = null;
  /** The replica shows everything that was committed before this time. */
  let completeUntilMs = Number.NEGATIVE_INFINITY;
  let reported: 'used' | 'not used' | null = null;
  let isChecking = false;

  const isFresh = () => elapsedMs() - completeUntilMs <= MAX_BEHIND_MS;

  async function check(): Promise<void> {
    if (isChecking) {
      completeUntilMs = Number.NEGATIVE_INFINITY;
      return;
    }
    isChecking = true;
    const atMs = elapsedMs();
    const [ahead, behind] = await Promise.allSettled([
      readState(primary, PRIMARY_STATE),
      readState(replica, STANDBY_STATE),
    ]);
    isChecking = false;
    if (ahead.status === 'fulfilled') remember(ahead.value, atMs);
    report(behind.status === 'fulfilled' ? compare(behind.value) : unreachable(behind.reason));
  }

  function remember([identity, position]: State, atMs: number): void {
    if (identity !== primaryIdentity) written = [];
    primaryIdentity = identity;
    if (position !== null) written.push({ atMs, position });
    written = written.filter((each) => atMs - each.atMs <= MAX_BEHIND_MS);
  }

  function compare(state: State): string | null {
    completeUntilMs = Number.NEGATIVE_INFINITY;
    const [, position] = state;
    if (position === null || state[0] !== primaryIdentity) return reasonAgainst(state);
    const replayed = written.findLast((each) => each.position <= position);
    if (replayed !== undefined) completeUntilMs = replayed.atMs;
    return isFresh() ? null : `it is more than ${MAX_BEHIND_MS / 1000} seconds behind`;
  }

  function unreachable(reason: unknown): string {
    completeUntilMs = Number.NEGATIVE_INFINITY;
    if (reason instanceof PostgresError) return reason.message;
    return `it cannot be reached: ${reason instanceof Error ? reason.message : reason}`;
  }

  function report(reason: string | null): void {
    const state = reason === null ? 'used' : 'not used';
    if (state === reported) return;
    if (reason !== null) log.warn({ reason }, 'the content API does not read from the read replica');
    else log.info({}, 'the content API reads from the read replica');
    reported = state;
  }

  return {
    async read(work, options) {
      if (!isFresh()) return primary.read(work, options);
      try {
        return await within(readMs, replica.read(work, options), tooSlow);
      } catch (error) {
        if (error instanceof DatabaseUnavailable) completeUntilMs = Number.NEGATIVE_INFINITY;
        // The primary has the answer, also when a replay canceled the query or a new table is not there yet.
        return primary.read(work, options);
      }
    },
    check,
  };
}

/** Null when that takes longer than `limitMs`. Rejects when it is no replica of the primary. */
export async function measureDelay(
  primary: Pick<Storage, 'read'>,
  replica: Pick<Storage, 'read'>,
  limitMs: number,
): Promise<number | null> {
  const [identity, target] = await readState(primary, PRIMARY_STATE);
  const start = performance.now();
  for (;;) {
    const state = await readState(replica, STANDBY_STATE);
    const [, position] = state;
    if (position === null || target === null || state[0] !== identity) throw new Error(reasonAgainst(state));
    const elapsedMs = performance.now() - start;
    if (position >= target) return elapsedMs;
    if (elapsedMs > limitMs) return null;
    await Bun.sleep(POLL_MS);
  }
}

function reasonAgainst([, position]: State): string {
  return position === null
    ? 'it is not a standby'
    : 'it is not a replica of this database, or it did not follow a failover';
}

const tooSlow = () => new Error('the read replica was too slow');

async function readState(storage: Pick<Storage, 'read'>, state: SQL): Promise<State> {
  const [row] = await storage.read((tx) => tx.values<State>(state), { single: true });
  if (row === undefined) throw new Error('the server did not report its state');
  return row;
}
