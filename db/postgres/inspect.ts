import { connectPostgres, type PostgresDatabase } from './client.ts';
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
