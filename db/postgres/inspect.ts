import type { Database } from '../engine.ts';
import { type PostgresFacts, readFacts } from './facts.ts';
import { connectPostgres } from './client.ts';
import { measureDelay } from './replica.ts';

/** A server as `doctor` sees it. */
export interface Inspection {
  readonly db: Database;
  /** `host:port/database`. */
  readonly name: string;
  /** The connection leads to this machine. */
  readonly isLocal: boolean;
  /** `sslmode` of the URL. */
  readonly sslMode: string;
  /** False behind a pooler, such as PgBouncer. */
  readonly isDirect: boolean;
  readonly facts: PostgresFacts;
  /** How far the server's clock is from this machine's, in milliseconds. */
  readonly clockOffMs: number;
}

/** Connects, and changes nothing. Throws `PostgresError` when the server cannot be reached. */
export async function inspectPostgres(url: string, now: () => number): Promise<Inspection> {
  const { address, isDirect, ...db } = await connectPostgres(url, { poolSize: 2 });
  const before = now();
  const facts = await readFacts(db);
  const clockOffMs = Math.abs(facts.now - (before + now()) / 2);
  const { name, isLocal, sslMode } = address;
  return { db, name, isLocal, sslMode, isDirect, facts, clockOffMs };
}

/**
 * How long the read replica takes to show what is on the primary now, in milliseconds; null when that takes longer than
 * `limitMs`. Rejects when it cannot be used.
 */
export async function inspectReplica(primary: Database, url: string, limitMs: number): Promise<number | null> {
  const replica = await connectPostgres(url, { poolSize: 1, variable: 'DATABASE_READ_URL' });
  try {
    return await measureDelay(primary, replica, limitMs);
  } finally {
    await replica.close();
  }
}
