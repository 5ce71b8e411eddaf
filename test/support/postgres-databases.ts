import { sql } from 'drizzle-orm';
import type { Database, Lease, Pace } from '../../db/engine.ts';
import { openPostgres } from '../../db/postgres/client.ts';
import { sharedPostgres } from './postgres-server.ts';

// Databases of the shared server for one test after the other: to empty one, with its connections open, costs a tenth
// of creating one.

interface Pooled {
  db: Database;
  url: string;
  /** Of the schema as it was created. */
  fingerprint: string;
}

/** Nobody waits for a test. */
const PACE: Pace = { holdMs: 5, restMs: 0, stepRows: 500 };

/** Databases of this process that no test uses. */
const idle: Pooled[] = [];

/** An empty database, taken at first use. `close` waits for its work and leaves it to the next test. */
export function openPooledPostgres(): Database {
  let taken: Promise<Pooled> | null = null;
  let isClosed = false;
  const leases: Lease[] = [];
  const running = new Set<Promise<unknown>>();
  async function use<Result>(call: (db: Database) => Promise<Result>): Promise<Result> {
    if (isClosed) throw new Error('the database was closed after its test');
    taken ??= take();
    const result = taken.then(({ db }) => call(db));
    running.add(result);
    try {
      return await result;
    } finally {
      running.delete(result);
    }
  }
  return {
    engine: 'postgres',
    pace: PACE,
    read: (...given) => use((db) => db.read(...given)),
    write: (...given) => use((db) => db.write(...given)),
    version: () => null,
    async lease(names) {
      const lease = await use((db) => db.lease(names));
      if (lease !== null) leases.push(lease);
      return lease;
    },
    health: () => use((db) => db.health()),
    sizes: () => use((db) => db.sizes()),
    async close() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(running);
      if (taken === null) return;
      const pooled = await taken;
      for (const lease of leases) await lease.release();
      if (await emptyTables(pooled)) idle.push(pooled);
      else await drop(pooled);
    },
  };
}

/** A database that several processes open. */
export function createSharedPostgres(): { open(): Database; remove(): Promise<void> } {
  let url: Promise<string> | null = null;
  return {
    open() {
      let opened: Promise<Database> | null = null;
      const ready = async () => {
        url ??= sharedPostgres().then((server) => server.createDatabase());
        opened ??= url.then(connect);
        return opened;
      };
      return {
        engine: 'postgres',
        pace: PACE,
        read: async (...given) => (await ready()).read(...given),
        write: async (...given) => (await ready()).write(...given),
        version: () => null,
        lease: async (names) => (await ready()).lease(names),
        health: async () => (await ready()).health(),
        sizes: async () => (await ready()).sizes(),
        close: async () => (await opened)?.close(),
      };
    },
    async remove() {
      if (url !== null) await (await sharedPostgres()).dropDatabase(await url);
    },
  };
}

/** Generous, because the machine may be busy with other tests. */
const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

const connect = (url: string) => openPostgres(url, 'server', { poolSize: 4, limits: LIMITS });

async function take(): Promise<Pooled> {
  const pooled = idle.pop();
  if (pooled !== undefined) return pooled;
  const url = await (await sharedPostgres()).createDatabase();
  const db = await connect(url);
  return { db, url, fingerprint: await fingerprintOf(db) };
}

async function drop({ db, url }: Pooled): Promise<void> {
  await db.close();
  await (await sharedPostgres()).dropDatabase(url);
}

/** False when a test changed the schema. */
async function emptyTables({ db, fingerprint }: Pooled): Promise<boolean> {
  if ((await fingerprintOf(db)) !== fingerprint) return false;
  await db.write((tx) => tx.run(EMPTY));
  return true;
}

/** Without triggers and foreign keys. */
const EMPTY = sql.raw(`DO $$ DECLARE name text; BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT relname FROM pg_class
      WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'tidings'
    LOOP EXECUTE format('DELETE FROM %I', name); END LOOP;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence;
  END $$`);

const FINGERPRINT = sql.raw(`
  SELECT md5(string_agg(part, ',' ORDER BY part)) FROM (
    SELECT concat(oid, relname) AS part FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT concat(attrelid, attname) FROM pg_attribute
      WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
    UNION ALL SELECT concat(tgname, tgenabled) FROM pg_trigger
    UNION ALL SELECT concat(proname, md5(prosrc)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  ) parts`);

async function fingerprintOf(db: Database): Promise<string> {
  const [row] = await db.read((tx) => tx.values<[string]>(FINGERPRINT), { single: true });
  return row?.[0] ?? '';
}
