import { sql } from 'drizzle-orm';
import type { Storage } from '../engine.ts';

/** The time of the server, in milliseconds since 1970. */
export async function readServerTime(db: Pick<Storage, 'read'>): Promise<number> {
  const query = sql`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`;
  const [[ms] = []] = await db.read((tx) => tx.values<[number]>(query), { single: true });
  return Number(ms);
}
