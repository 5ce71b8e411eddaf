import { basename } from 'node:path';
import { SQL } from 'bun';
import { sharedPostgres } from './postgres-server.ts';

// Databases of the shared server, used by one test after the other: to empty one costs a tenth of creating one. Those
// that are idle are in a table of the server, because each test file has modules of its own.

export interface TestDatabase {
  url: string;
  /** Of the schema as it was created. */
  fingerprint: string;
}

/** A database with the whole schema and without rows, which nobody else uses. */
export async function takeDatabase(): Promise<TestDatabase> {
  const server = await sharedPostgres();
  await using admin = new SQL(server.url('postgres'), { max: 1 });
  await admin.unsafe(`SELECT pg_advisory_xact_lock(2);
    CREATE TABLE IF NOT EXISTS idle_databases (name text PRIMARY KEY, fingerprint text NOT NULL)`);
  const [idle] = await admin`
    DELETE FROM idle_databases WHERE name = (SELECT name FROM idle_databases LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING name, fingerprint`;
  if (idle !== undefined) return { url: server.url(idle.name), fingerprint: idle.fingerprint };
  const url = await server.createDatabase();
  await using connection = new SQL(url, { max: 1 });
  return { url, fingerprint: await fingerprintOf(connection) };
}

/** Empties a database that nobody uses any more for the next test, or drops it when a test changed its schema. */
export async function giveBackDatabase({ url, fingerprint }: TestDatabase): Promise<void> {
  const server = await sharedPostgres();
  const isReusable = await emptyTables(url, fingerprint);
  if (!isReusable) return server.dropDatabase(url);
  await using admin = new SQL(server.url('postgres'), { max: 1 });
  await admin`INSERT INTO idle_databases VALUES (${basename(new URL(url).pathname)}, ${fingerprint})`;
}

/** False when the schema is not as it was. */
async function emptyTables(url: string, fingerprint: string): Promise<boolean> {
  await using connection = new SQL(url, { max: 1 });
  if ((await fingerprintOf(connection)) !== fingerprint) return false;
  // Without triggers and foreign keys.
  await connection.unsafe(`DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT relname FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'tidings'
    LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
  END $$`);
  return true;
}

async function fingerprintOf(connection: SQL): Promise<string> {
  const [found] = await connection`
    SELECT md5(string_agg(part, ',' ORDER BY part)) AS fingerprint FROM (
      SELECT oid::text || relname AS part FROM pg_class WHERE relnamespace = 'public'::regnamespace
      UNION ALL SELECT attrelid || attname FROM pg_attribute
        WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
      UNION ALL SELECT concat(tgname, tgenabled) FROM pg_trigger
      UNION ALL SELECT proname || md5(prosrc) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ) parts`;
  return found.fingerprint;
}
