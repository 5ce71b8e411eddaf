import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { afterCommit, type Database } from '../../../db/engine.ts';
import {
  DatabaseBusy,
  DatabaseUnavailable,
  isSystemFailure,
  LeaseLost,
  PostgresError,
} from '../../../db/failures.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { execute, valuesOf } from '../../support/database.ts';
import { refuseWrites } from '../../support/faults.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

// PostgreSQL's own parts of `read` and `write`. `test/db/storage.test.ts` has the same on both engines.

const PATIENT = { answerMs: 120_000, giveUpMs: 120_000 };
const SECONDS = 300_000;

let server: PostgresServer;
let url: string;
let db: Database;
const opened: Database[] = [];

async function open(limits = PATIENT, poolSize = 4, of = url): Promise<Database> {
  const database = await openPostgres(of, 'server', { limits, poolSize });
  opened.push(database);
  return database;
}

beforeAll(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
}, SECONDS);

beforeEach(async () => {
  db = await open();
  await execute(db, 'CREATE TABLE IF NOT EXISTS notes (text text UNIQUE NOT NULL, number bigint)');
  await execute(db, 'DELETE FROM notes');
}, SECONDS);

afterAll(async () => {
  for (const each of opened) await each.close();
  await server.stop();
}, SECONDS);

const insert = (text: string, to = db) =>
  to.write((tx) => tx.values(sql`INSERT INTO notes VALUES (${text}) RETURNING text`));
const notes = async () => (await valuesOf<[string]>(db, 'SELECT text FROM notes ORDER BY text')).flat();

/** Statements of an administrator, on a connection of its own. */
async function administer(...statements: string[]): Promise<void> {
  await using admin = new Bun.SQL(url, { max: 1 });
  for (const statement of statements) await admin.unsafe(statement);
}

describe('values', () => {
  test.each<[name: string, value: unknown, stored: unknown]>([
    ['a number', 1, 1],
    ['a large number', 2 ** 53 - 1, 2 ** 53 - 1],
    ['a negative number', -5_000_000_000, -5_000_000_000],
    ['true', true, 1],
    ['false', false, 0],
    ['null', null, null],
  ])('%s', async (_, value, stored) => {
    const rows = await db.write((tx) =>
      tx.values(sql`INSERT INTO notes VALUES ('x', ${value}) RETURNING number`),
    );
    expect(rows[0]).toEqual([stored]);
  });

  test.each([
    ['quotes and placeholders', `'?' "?" $1 -- ? /* ? */ \\ {},`],
    ['an empty text', ''],
    ['other scripts', 'héllo 日本語 👩‍👩‍👧'],
    ['NUL', 'a\0b\0'],
    ['the characters that stand for NUL', '\uFDD0\uFDD1\uFDD2 \uFDD0'],
  ])('a text with %s', async (_, text) => {
    expect(await insert(text)).toMatchObject([[text]]);
    expect(
      await valuesOf(db, sql`SELECT text, ${text} || '?', '?' AS "?" FROM notes WHERE text = ${text}`),
    ).toMatchObject([[text, `${text}?`, '?']]);
  });

  test('a lone surrogate becomes U+FFFD, as on SQLite', async () => {
    expect(await insert('a\uD800b')).toMatchObject([['a\uFFFDb']]);
  });

  test('bytes', async () => {
    const bytes = Buffer.from([0, 1, 255]);
    expect((await valuesOf(db, sql`SELECT cast(${bytes} AS bytea)`))[0]).toEqual([bytes]);
  });

  test('true is 1 in SQL, and false is 0', async () => {
    expect((await valuesOf(db, 'SELECT 1 = 1, 1 = 2, count(*) FROM notes'))[0]).toEqual([1, 0, 0]);
  });
});

describe('a write', () => {
  test('fails with the first error, also of a statement whose result nobody needs', async () => {
    let isReached = false;
    const twice = db.write(async (tx) => {
      await tx.run(sql`INSERT INTO notes VALUES ('a')`);
      await tx.run(sql`INSERT INTO notes VALUES ('a')`);
      isReached = true;
    });
    await expect(twice).rejects.toThrow('duplicate key');
    expect(isReached).toBe(true);
    const thenReads = db.write(async (tx) => {
      await tx.run(sql`INSERT INTO notes VALUES (null)`);
      return tx.values(sql`SELECT 1`);
    });
    await expect(thenReads).rejects.toThrow('null value');
    const caught = db.write(async (tx) => {
      await tx.values(sql`SELECT 1 / 0`).catch(() => undefined);
      return 'fine';
    });
    await expect(caught).rejects.toThrow('division by zero');
    expect(await notes()).toEqual([]);
  });

  test('an error tells no values', async () => {
    await insert('a secret');
    const error = await insert('a secret').catch((reason) => reason);
    expect(`${Bun.inspect(error)} ${JSON.stringify(error)}`).not.toContain('a secret');
    expect(isSystemFailure(error)).toBe(false);
  });

  test('sends nothing after its end', async () => {
    let late = () => Promise.resolve();
    await db.write(async (tx) => {
      late = async () => void (await tx.run(sql`INSERT INTO notes VALUES ('late')`));
    });
    await expect(late()).rejects.toThrow();
    expect(await notes()).toEqual([]);
  });

  test('runs its effects outside of it, where reads and writes are possible', async () => {
    const after = Promise.withResolvers<unknown>();
    await db.write((tx) => afterCommit(tx, () => after.resolve(db.read(() => 'read'))));
    expect(await after.promise).toBe('read');
  });
});

/** Work that stands still inside its transaction until `end` is called. */
async function hold(key?: string, on = db) {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const done = on.write(
    async (tx) => {
      await tx.values(sql`SELECT 1`);
      begun.resolve();
      await gate.promise;
    },
    { key },
  );
  await begun.promise;
  return async () => {
    gate.resolve();
    await done;
  };
}

describe('keys', () => {
  const write = (key?: string, giveUpMs?: number) => db.write(() => 'done', { key, giveUpMs });

  test('work of one key waits for it, work of others does not', async () => {
    const end = await hold('a');
    expect(await write('b')).toBe('done');
    await expect(write('a', 30)).rejects.toBeInstanceOf(DatabaseBusy);
    await expect(write(undefined, 30)).rejects.toBeInstanceOf(DatabaseBusy);
    const waits = write('a');
    await end();
    expect(await waits).toBe('done');
  });

  test('work of several names waits for each of them, and work of none for nothing', async () => {
    const write = (key: string[], shares: string[] = []) =>
      db.write(() => 'done', { key, shares, giveUpMs: 30 });
    const end = await hold('b');
    expect(await write(['a', 'c'])).toBe('done');
    expect(await write([])).toBe('done');
    await expect(write(['a', 'b'])).rejects.toBeInstanceOf(DatabaseBusy);
    await expect(write(['c'], ['b'])).rejects.toBeInstanceOf(DatabaseBusy);
    // A name that work changes and relies on is one that it changes.
    expect(await db.write(() => 'done', { key: ['a', 'a'], shares: ['a'] })).toBe('done');
    await end();
    expect(await write(['a', 'b'])).toBe('done');
  });

  test('work that relies on a name runs beside others that do, and not beside who changes it', async () => {
    const other = await open();
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const relies = db.write(
      async (tx) => {
        await tx.values(sql`SELECT 1`);
        started.resolve();
        while (
          !(await Promise.race([gate.promise.then(() => true), tx.values(sql`SELECT 1`).then(() => false)]))
        );
      },
      { key: 'one', shares: ['thing'] },
    );
    await started.promise;
    expect(await other.write(() => 'beside', { key: 'two', shares: ['thing'] })).toBe('beside');
    await expect(other.write(() => 'done', { key: 'thing', giveUpMs: 30 })).rejects.toBeInstanceOf(
      DatabaseBusy,
    );
    await expect(other.write(() => 'done', { giveUpMs: 30 })).rejects.toBeInstanceOf(DatabaseBusy);
    const changes = other.write(() => 'done', { key: 'thing' });
    gate.resolve();
    await relies;
    expect(await changes).toBe('done');
  });

  test('works of the same names in another order do not wait in a circle', async () => {
    const other = await open();
    const works = Array.from({ length: 40 }, (_, n) =>
      (n % 2 ? db : other).write((tx) => tx.values(sql`SELECT pg_sleep(0.001)`), {
        key: n % 3 ? ['a', 'b', 'c'] : ['c', 'b', 'a'],
        shares: n % 5 ? ['d'] : [],
      }),
    );
    expect(await Promise.all(works)).toHaveLength(40);
  });

  test('a row that other work inserted first makes the work decide again', async () => {
    const looked = Promise.withResolvers<void>();
    const inserted = Promise.withResolvers<void>();
    const add = db.write(
      async (tx) => {
        const [known] = await tx.values(sql`SELECT 1 FROM notes WHERE text = 'a'`);
        if (known !== undefined) return 'there already';
        looked.resolve();
        // Not a store's: the body waits for the other work, which needs nothing of this one.
        await inserted.promise;
        await tx.values(sql`INSERT INTO notes VALUES ('a') RETURNING 1`);
        return 'added';
      },
      { key: [] },
    );
    await looked.promise;
    await db.write((tx) => tx.values(sql`INSERT INTO notes VALUES ('a') RETURNING 1`), { key: [] });
    inserted.resolve();
    expect(await add).toBe('there already');
    expect(await notes()).toEqual(['a']);
  });

  test('the time in line counts against the wait for the lock', async () => {
    const end = await hold('a');
    const startedAt = performance.now();
    const limit = db.write(
      async (tx) => {
        const waitedMs = performance.now() - startedAt;
        const setting = sql`SELECT extract(epoch FROM current_setting('lock_timeout')::interval)::float`;
        const [[lockS] = []] = await tx.values<[number]>(setting);
        return { waitedMs, lockMs: Number(lockS) * 1_000 };
      },
      { key: 'a', giveUpMs: 120_000 },
    );
    await until(
      async () => performance.now() - startedAt,
      (passedMs) => passedMs > 1_000,
    );
    await end();
    const { waitedMs, lockMs } = await limit;
    expect(waitedMs).toBeGreaterThan(1_000);
    expect(lockMs).toBeWithin(1, 119_001);
  });

  test('work without a key runs alone', async () => {
    const end = await hold();
    await expect(write('a', 30)).rejects.toBeInstanceOf(DatabaseBusy);
    await expect(write(undefined, 30)).rejects.toBeInstanceOf(DatabaseBusy);
    expect(await db.read(() => 'reads do not wait')).toBe('reads do not wait');
    await end();
    expect(await write()).toBe('done');
  });

  test('work of one key keeps its order', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        db.write(
          async (tx) => {
            const [[count] = []] = await tx.values(sql`SELECT count(*) FROM notes WHERE number = ${n % 2}`);
            await tx.run(sql`INSERT INTO notes VALUES (${`${n % 2} ${n} after ${count}`}, ${n % 2})`);
          },
          { key: `key ${n % 2}` },
        ),
      ),
    );
    const expected = Array.from({ length: 40 }, (_, n) => `${n % 2} ${n} after ${Math.floor(n / 2)}`);
    expect(await notes()).toEqual(expected.sort());
  });

  test('a deadlock is solved by running one of the two again, until both are done', async () => {
    await Promise.all([insert('a'), insert('b')]);
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let runs = 0;
    const change = (own: number, names: [string, string]) =>
      db.write(
        async (tx) => {
          runs++;
          for (const name of names) {
            await tx.values(sql`UPDATE notes SET number = ${own} WHERE text = ${name} RETURNING 1`);
            both[own]?.resolve();
            await both[1 - own]?.promise;
          }
        },
        { key: `deadlock ${own}` },
      );
    await Promise.all([change(0, ['a', 'b']), change(1, ['b', 'a'])]);
    // The one that runs again may take the row that the other one was about to get, and meets it once more.
    expect(runs).toBeGreaterThanOrEqual(3);
  });
});

test('a read is one snapshot, and a single one sees each commit', async () => {
  await insert('a');
  const counts = (options?: { single: boolean }, added = '') =>
    db.read(async (tx) => {
      const count = async () => Number((await tx.values(sql`SELECT count(*) FROM notes`))[0]?.[0]);
      const before = await count();
      await administer(`INSERT INTO notes VALUES ('${added}')`);
      return [before, await count()];
    }, options);
  expect(await counts(undefined, 'b')).toEqual([1, 1]);
  expect(await counts({ single: true }, 'c')).toEqual([2, 3]);
});

describe('reads of one name', () => {
  let runs: number;
  const countNotes = (from: Database) =>
    from.read(
      (tx) => {
        runs++;
        return tx.values(sql`SELECT count(*), pg_advisory_xact_lock_shared(77) IS NULL FROM notes`);
      },
      { single: true, name: 'notes' },
    );

  beforeEach(() => {
    runs = 0;
  });

  test('that wait for a connection share the next one, which sees what was committed before each of them', async () => {
    const busy = await open(PATIENT, 2);
    const gate = Promise.withResolvers<void>();
    const others = [1, 2].map(() => busy.read(() => gate.promise));
    const asked = [countNotes(busy)];
    for (const text of ['a', 'b']) {
      await insert(text);
      asked.push(countNotes(busy));
    }
    expect(runs).toBe(0);
    gate.resolve();
    await Promise.all(others);
    expect(await Promise.all(asked)).toMatchObject([[[2, 0]], [[2, 0]], [[2, 0]]]);
    expect(runs).toBe(1);
    await insert('c');
    expect(await countNotes(busy)).toMatchObject([[3, 0]]);
  });

  test('join none that has begun', async () => {
    await using admin = new Bun.SQL(url, { max: 1 });
    await admin`SELECT pg_advisory_lock(77)`;
    const before = countNotes(db);
    const waiters = (count: number) =>
      until(
        () => admin`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted`,
        (rows) => rows.length === count,
      );
    await waiters(1);
    await insert('a');
    const after = countNotes(db);
    await waiters(2);
    await admin`SELECT pg_advisory_unlock(77)`;
    expect([await before, await after]).toMatchObject([[[0, 0]], [[1, 0]]]);
  });

  test('that fail are not kept', async () => {
    const fail = () => db.read((tx) => tx.values(sql`SELECT 1 / 0`), { single: true, name: 'notes' });
    const failed = await Promise.allSettled([fail(), fail()]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await countNotes(db)).toMatchObject([[0, 0]]);
  });
});

test('a read cannot write', async () => {
  await expect(db.read((tx) => tx.values(sql`INSERT INTO notes VALUES ('a') RETURNING 1`))).rejects.toThrow();
  expect(await notes()).toEqual([]);
});

test('a body that waits for something else is ended', async () => {
  const hasty = await open({ answerMs: 500, giveUpMs: 120_000 }, 1);
  const forever = () => new Promise<never>(() => undefined);
  await expect(hasty.read(forever)).rejects.toThrow('waits for something other than a store');
  const stuck = hasty.write(async (tx) => {
    await tx.run(sql`INSERT INTO notes VALUES ('stuck')`);
    return forever();
  });
  await expect(stuck).rejects.toThrow('waits for something other than a store');
  expect(await insert('after', hasty)).toMatchObject([['after']]);
  expect(await notes()).toEqual(['after']);
});

describe('a connection that is lost', () => {
  const endSession = sql`SELECT pg_terminate_backend(pg_backend_pid())`;

  test('before the commit: the work runs again, and is done once', async () => {
    let runs = 0;
    await db.write(async (tx) => {
      runs++;
      await tx.run(sql`INSERT INTO notes VALUES (${`run ${runs}`})`);
      if (runs === 1) await tx.values(endSession);
    });
    expect(runs).toBe(2);
    expect(await notes()).toEqual(['run 2']);
  });

  test('while idle: nobody notices', async () => {
    await Promise.all([1, 2, 3].map(() => db.read((tx) => tx.values(sql`SELECT 1`))));
    await administer(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
    const reads = [1, 2, 3, 4, 5].map((n) => db.read((tx) => tx.values(sql`SELECT cast(${n} AS bigint)`)));
    expect((await Promise.all(reads)).flat(2)).toEqual([1, 2, 3, 4, 5]);
  });

  test('again and again: the work fails in the end', async () => {
    let runs = 0;
    const work = db.read((tx) => {
      runs++;
      return tx.values(endSession);
    });
    await expect(work).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(runs).toBe(3);
  });

  test('while the commit is answered: the work fails, and does not run again', async () => {
    await administer(
      'CREATE TABLE last_words (text text)',
      `CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(0); RETURN NULL; END $$`,
      `CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON last_words DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION end_session()`,
    );
    let runs = 0;
    const work = db.write(async (tx) => {
      runs++;
      await tx.values(sql`INSERT INTO last_words VALUES ('bye') RETURNING 1`);
    });
    await expect(work).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(runs).toBe(1);
  });
});

describe('a server', () => {
  test(
    'that hangs: work fails after a while, and succeeds again when it resumes',
    async () => {
      const hasty = await open({ answerMs: 500, giveUpMs: 500 });
      await hasty.read((tx) => tx.values(sql`SELECT 1`));
      server.pause();
      try {
        await expect(hasty.read((tx) => tx.values(sql`SELECT 1`))).rejects.toBeInstanceOf(
          DatabaseUnavailable,
        );
        await expect(insert('paused', hasty)).rejects.toBeInstanceOf(DatabaseUnavailable);
        expect(await hasty.health()).toBe('UNREACHABLE');
      } finally {
        server.resume();
      }
      await until(
        () => hasty.health(),
        (health) => health === null,
      );
    },
    SECONDS,
  );

  test(
    'that stands still is not taken for one whose locks are held',
    async () => {
      const patient = await open({ answerMs: 500, giveUpMs: 120_000 });
      await insert('running', patient);
      server.pause();
      const startedAt = performance.now();
      try {
        const lost = insert('paused', patient);
        await expect(lost).rejects.toBeInstanceOf(DatabaseUnavailable);
      } finally {
        server.resume();
      }
      expect(performance.now() - startedAt).toBeLessThan(60_000);
    },
    SECONDS,
  );

  test(
    'that is stopped: 503 with Retry-After, and recovery by itself',
    async () => {
      const hasty = await open({ answerMs: 120_000, giveUpMs: 500 });
      await insert('before', hasty);
      await server.kill('SIGINT');
      const error = await insert('during', hasty).catch((reason) => reason);
      expect(error).toBeInstanceOf(DatabaseUnavailable);
      expect(error).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
      expect(isSystemFailure(error)).toBe(true);
      expect(await hasty.health()).toBe('UNREACHABLE');
      await expect(openPostgres(url)).rejects.toThrow('Check that the server is running');
      await server.restart();
      await until(
        () => insert('after', hasty).catch(() => null),
        (rows) => rows !== null,
      );
      expect(await notes()).toEqual(['after', 'before']);
    },
    SECONDS,
  );

  test('with few connections left: work shares those that there are', async () => {
    await administer(
      'CREATE ROLE modest LOGIN CONNECTION LIMIT 1',
      'GRANT ALL ON ALL TABLES IN SCHEMA public TO modest',
      'GRANT USAGE ON SCHEMA public TO modest',
    );
    const modestUrl = url.replace('postgres@', 'modest@');
    const modest = await open({ answerMs: 120_000, giveUpMs: 120_000 }, 4, modestUrl);
    const reads = Array.from({ length: 12 }, (_, n) =>
      modest.read((tx) => tx.values(sql`SELECT cast(${n} AS bigint), pg_backend_pid()`)),
    );
    const rows = (await Promise.all(reads)).flat() as [number, number][];
    expect(rows.map(([n]) => n)).toEqual(Array.from({ length: 12 }, (_, n) => n));
    expect(new Set(rows.map(([, pid]) => pid)).size).toBe(1);
    const refused = openPostgres(modestUrl);
    await expect(refused).rejects.toBeInstanceOf(PostgresError);
    await expect(refused).rejects.toThrow('Raise max_connections of the server, or lower DATABASE_POOL.');
  });

  test('that is read-only says so', async () => {
    await administer(
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
    );
    const readOnly = await open();
    expect(await readOnly.health()).toBe('READ_ONLY');
    await expect(insert('a', readOnly)).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(await readOnly.read(() => 'reads')).toBe('reads');
    await administer(
      'SET default_transaction_read_only = off',
      `ALTER DATABASE ${new URL(url).pathname.slice(1)} RESET default_transaction_read_only`,
    );
    await until(
      () => readOnly.health(),
      (health) => health === null,
    );
  });
});

describe('health', () => {
  /** Runs `look` while another client holds the lock. */
  async function beside(lock: string, look: () => Promise<void>): Promise<void> {
    await using admin = new Bun.SQL(url, { max: 1 });
    await admin.begin(async (held) => {
      await held.unsafe(lock);
      await look();
    });
  }

  test.each(['deliveries', 'posts', 'integrations', 'throttles'])(
    'tells that nobody can write while %s is locked',
    async (table) => {
      await beside(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`, async () =>
        expect(await db.health()).toBe('LOCKED'),
      );
      expect(await db.health()).toBeNull();
    },
  );

  test.each([
    'LOCK TABLE deliveries IN SHARE UPDATE EXCLUSIVE MODE',
    'LOCK TABLE deliveries IN ACCESS SHARE MODE',
    'SELECT pg_advisory_xact_lock(0)',
  ])('is good beside %s, as of a dump, a vacuum or long work', async (lock) => {
    await beside(lock, async () => expect(await db.health()).toBeNull());
  });

  test('tells that the disk is full', async () => {
    const end = await refuseWrites(db, 'disk-full');
    expect(await db.health()).toBe('ENOSPC');
    await end();
    expect(await db.health()).toBeNull();
  });

  test('commits a change of the own row, once for all who ask at the same time', async () => {
    const own = `it's ${crypto.randomUUID()}`;
    const mine = await openPostgres(url, 'server', { limits: PATIENT, process: own });
    opened.push(mine);
    await execute(
      mine,
      sql`INSERT INTO server_runs VALUES (${own}, 'http://x', '2026-01-01', '2026-01-01', ${own})`,
    );
    const version = async () =>
      (await valuesOf<[string]>(db, sql`SELECT xmin::text FROM server_runs WHERE id = ${own}`)).flat();
    const before = await version();
    expect(await Promise.all(Array.from({ length: 50 }, () => mine.health()))).toEqual(Array(50).fill(null));
    const after = await version();
    expect(after).not.toEqual(before);
    expect(Number(after) - Number(before)).toBeLessThan(10);
  });
});

describe('leased work', () => {
  test('is refused once another process has taken the lease over', async () => {
    const lease = await db.lease(['job']);
    if (lease === null) throw new Error('the lease is taken');
    expect(await db.write(() => 'done', { lease })).toBe('done');
    await administer("UPDATE leases SET fence = fence + 1 WHERE name = 'job'");
    const refused = db.write((tx) => tx.values(sql`INSERT INTO notes VALUES ('late') RETURNING 1`), {
      lease,
      key: 'any',
    });
    await expect(refused).rejects.toBeInstanceOf(LeaseLost);
    expect(await notes()).toEqual([]);
    await lease.release();
    await expect(db.write(() => 'done', { lease })).rejects.toBeInstanceOf(LeaseLost);
    await administer('DELETE FROM leases');
  });
});

test('opening says what is wrong', async () => {
  const at = (change: (address: URL) => void) => {
    const address = new URL(url);
    change(address);
    return openPostgres(address.href);
  };
  await expect(at((address) => (address.pathname = '/nowhere'))).rejects.toThrow(
    'Create the database, or correct its name in DATABASE_URL.',
  );
  await expect(at((address) => (address.username = 'nobody'))).rejects.toThrow(
    'Check the user and the password in DATABASE_URL.',
  );
  await expect(at((address) => address.searchParams.set('sslmode', 'perhaps'))).rejects.toThrow(
    'DATABASE_URL cannot be used: its parameter "sslmode" must be one of',
  );
});

test('closing waits for the work that runs, and refuses more', async () => {
  const end = await hold('closing');
  let isClosed = false;
  const closed = db.close().then(() => {
    isClosed = true;
  });
  const isRefused = () =>
    db
      .read(() => 1)
      .then(
        () => false,
        (error) => error instanceof DatabaseUnavailable,
      );
  await until(isRefused, Boolean);
  expect(isClosed).toBe(false);
  await end();
  await closed;
});
