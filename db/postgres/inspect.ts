import { sql } from 'drizzle-orm';
import { NONE } from '../order.ts';
import { connectPostgres, type PostgresDatabase } from './client.ts';
import { isDiskFull, sqlStateOf } from './errors.ts';
import { type PostgresFacts, readFacts } from './facts.ts';
import { measureDelay } from './replica.ts';

/** A server as `doctor` sees it. */
export interface Inspection {
  readonly db: PostgresDatabase;
  readonly facts: PostgresFacts;
  /** How far the server's clock is from this machine's, in milliseconds. */
  readonly clockOffMs: number;
}

/** Connects, and changes nothing. Throws `PostgresError` when the server cannot be reached. */
export async function inspectPostgres(url: string, now: () => number): Promise<Inspection> {
  const db = await connectPostgres(url, { poolSize: 2 });
  try {
    const before = now();
    const facts = await readFacts(db);
    const clockOffMs = Math.abs(facts.now - (before + now()) / 2);
    return { db, facts, clockOffMs };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * How long the read replica takes to show what is on the primary now, in milliseconds; null when that takes longer than
 * `limitMs`. Rejects when it cannot be used.
 */
export async function inspectReplica(
  primary: PostgresDatabase,
  url: string,
  limitMs: number,
): Promise<number | null> {
  const replica = await connectPostgres(url, { poolSize: 1, setting: 'DATABASE_READ_URL' });
  try {
    return await measureDelay(primary, replica, limitMs);
  } finally {
    await replica.close();
  }
}

/** How much the disk must take, in bytes: little enough to take nothing from anybody. */
const TRIED_BYTES = 1024 * 1024;

class Undone extends Error {}

/**
 * Whether the server's disk takes another megabyte, in a temporary table that is never committed. Null when this user may
 * make none.
 */
export async function hasRoom(db: PostgresDatabase): Promise<boolean | null> {
  try {
    return await db.write(async (tx) => {
      await Promise.all([
        tx.values(sql`SELECT set_config('temp_tablespaces', '', true)`),
        tx.values(sql`CREATE TEMPORARY TABLE tidings_room (page text STORAGE PLAIN) ON COMMIT DROP`),
        tx.values(
          sql.raw(
            `INSERT INTO tidings_room SELECT repeat('x', 8000) FROM generate_series(1, ${TRIED_BYTES / 8192})`,
          ),
        ),
      ]);
      throw new Undone();
    }, NONE);
  } catch (error) {
    if (error instanceof Undone) return true;
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (isDiskFull(cause)) return false;
    if (sqlStateOf(cause) === '42501') return null;
    throw error;
  }
}
