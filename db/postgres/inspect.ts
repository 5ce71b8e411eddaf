import { type SQL, sql } from 'drizzle-orm';
import { NONE, type Storage } from '../engine.ts';
import { connectPostgres, type PostgresDatabase } from './client.ts';
import { isDiskFull, sqlStateOf } from './connection.ts';
import { measureDelay } from './replica.ts';

interface PostgresFacts {
  version: string;
  major: number;
  isEncrypted: boolean;
  encoding: string;
  isStandby: boolean;
  isReadOnly: boolean;
  synchronousCommit: string;
  fsync: string;
  fullPageWrites: string;
  /** How many connections users other than superusers may open: the lowest limit of the server, database and user. */
  maxConnections: number;
  openConnections: number;
  now: number;
  /** Names of indexes that PostgreSQL does not use, because building them failed. */
  invalidIndexes: string[];
  /** Rows of the table of post counts, which each write of a post updates; null without the table. */
  postCounts: { live: number; dead: number } | null;
  tidings: { schema: number; oldestCompatible: number; keyFingerprint: number | null } | null;
  tables: number;
  holdsUnfinishedMove: boolean;
}

/** Works without tables of Tidings too, and on a standby. */
async function readFacts(db: Pick<Storage, 'read'>): Promise<PostgresFacts> {
  const { isOurs, ...facts } = await readObject<Omit<PostgresFacts, 'tidings'> & { isOurs: boolean }>(
    db,
    SERVER,
  );
  return { ...facts, tidings: isOurs ? await readObject(db, TIDINGS) : null };
}

async function readObject<Value>(db: Pick<Storage, 'read'>, query: SQL): Promise<Value> {
  const [[text] = []] = await db.read((tx) => tx.values<[string]>(query), { single: true });
  if (text === undefined) throw new Error('the table "tidings" has no row');
  return JSON.parse(text);
}

const SERVER = sql`SELECT json_build_object(
  'version', split_part(current_setting('server_version'), ' ', 1),
  'major', current_setting('server_version_num')::int / 10000,
  'isEncrypted', coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
  'encoding', current_setting('server_encoding'),
  'isStandby', pg_is_in_recovery(),
  'isReadOnly', current_setting('default_transaction_read_only') = 'on',
  'synchronousCommit', current_setting('synchronous_commit'),
  'fsync', current_setting('fsync'),
  'fullPageWrites', current_setting('full_page_writes'),
  'maxConnections', least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true)::int, 0),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)),
  'openConnections', (SELECT sum(numbackends) FROM pg_stat_database),
  'now', (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  'invalidIndexes', coalesce((
    SELECT json_agg(relname ORDER BY relname) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE NOT indisvalid AND relnamespace = current_schema()::regnamespace), '[]'),
  'postCounts', (
    SELECT json_build_object('live', n_live_tup, 'dead', n_dead_tup) FROM pg_stat_user_tables
    WHERE schemaname = current_schema() AND relname = 'post_counts'),
  'tables', (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()),
  'holdsUnfinishedMove', to_regclass(quote_ident(current_schema()) || '.unfinished_move') IS NOT NULL,
  'isOurs', to_regclass(quote_ident(current_schema()) || '.tidings') IS NOT NULL)::text`;

const TIDINGS = sql`SELECT json_build_object(
  'schema', schema, 'oldestCompatible', oldest_compatible, 'keyFingerprint', key_fingerprint)::text FROM tidings`;

export interface Inspection {
  readonly db: PostgresDatabase;
  readonly facts: PostgresFacts;
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

/** How long the read replica takes to show what is on the primary now, in milliseconds; null: longer than `limitMs`. */
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

const TRIED_BYTES = 1024 * 1024;

class Undone extends Error {}

/** True if the disk takes another megabyte, in a temporary table. Null when this user may make none. */
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

/** Stores the fingerprint (see `keyFingerprint`) unless one is stored. Resolves with the stored one. */
export function claimKeyFingerprint(db: Storage, fingerprint: number): Promise<number> {
  return db.write(async (tx) => {
    const [[stored] = []] = await tx.values<[number]>(
      sql`update tidings set key_fingerprint = coalesce(key_fingerprint, ${fingerprint}) returning key_fingerprint`,
    );
    return Number(stored);
  });
}
