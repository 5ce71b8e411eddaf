import { afterEach, beforeEach, describe, expect, type Mock, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { afterCommit, type WriteTx } from '../../db/engine.ts';
import { closeDatabase, openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { temporaryFolder } from '../support/cli.ts';

let db: SqliteDatabase;

beforeEach(() => {
  db = openDatabase(':memory:');
  db.$client.run('CREATE TABLE notes (text TEXT UNIQUE NOT NULL)');
});

/** The connection behind a transaction. */
const clientOf = (tx: object) => (tx as SqliteDatabase).$client;

const write = (text: string) => {
  db.$client.query('INSERT INTO notes VALUES (?)').run(text);
  return text;
};

const notes = () => db.$client.query('SELECT text FROM notes ORDER BY rowid').values().flat();

test('an effect runs once its work is committed, and never when the work fails', async () => {
  const effects: string[] = [];
  const work = (text: string) =>
    db.write((tx) => {
      afterCommit(tx, () => effects.push(`${text} ${db.$client.inTransaction ? 'inside' : 'after'}`));
      write(text);
    });
  const same = [work('a'), work('b'), work('b')];
  expect((await Promise.allSettled(same)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
  ]);
  expect(effects).toEqual(['a after', 'b after']);
  expect(() => afterCommit(db as unknown as WriteTx, () => undefined)).toThrow('outside of write');
});

test('an effect that throws does not turn a commit into a failure', async () => {
  const fails = db.write((tx) => {
    afterCommit(tx, () => {
      throw new Error('the log is full');
    });
    return write('a');
  });
  expect(await Promise.all([fails, db.write(() => write('b'))])).toEqual(['a', 'b']);
  expect(notes()).toEqual(['a', 'b']);
});

test('work of one turn shares a transaction, and each has its own result', async () => {
  let inside = 0;
  const transactions = new Set<boolean>();
  const work = ['a', 'b', 'c'].map((text) =>
    db.write(() => {
      inside++;
      transactions.add(db.$client.inTransaction);
      return write(text);
    }),
  );
  expect(inside).toBe(0);
  expect(await Promise.all(work)).toEqual(['a', 'b', 'c']);
  expect(transactions).toEqual(new Set([true]));
  expect(db.$client.inTransaction).toBe(false);
  expect(notes()).toEqual(['a', 'b', 'c']);
});

test('work that throws leaves nothing, and the others stand', async () => {
  const outcomes = await Promise.allSettled([
    db.write(() => write('a')),
    db.write(() => {
      write('half');
      throw new Error('no');
    }),
    db.write(() => write('a')),
    db.write(() => write('b')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(notes()).toEqual(['a', 'b']);
});

test('more than one batch is written in order, and work that comes meanwhile too', async () => {
  const first = Array.from({ length: 300 }, (_, n) => db.write(() => write(`n${n}`)));
  await first[0];
  const later = db.write(() => write('later'));
  await Promise.all([...first, later]);
  expect(notes()).toEqual([...Array.from({ length: 300 }, (_, n) => `n${n}`), 'later']);
});

test('a commit that cannot be made rejects all of its work, and the next one is made', async () => {
  db.$client.run('PRAGMA query_only = ON');
  const outcomes = await Promise.allSettled([db.write(() => write('a')), db.write(() => 'reads')]);
  expect(outcomes[0]?.status).toBe('rejected');
  db.$client.run('PRAGMA query_only = OFF');
  expect(await db.write(() => write('b'))).toBe('b');
  expect(notes()).toEqual(['b']);
});

describe('after a commit', () => {
  let now = 0;
  let clock: Mock<typeof performance.now>;
  beforeEach(() => {
    clock = spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => clock.mockRestore());

  /** `turns`, with `work` in each and of so many milliseconds, and milliseconds from the end of one commit to the next one. */
  async function untilNextCommit(
    turnMs: number,
    work: (turn: number) => unknown,
  ): Promise<{ turns: number; ms: number }> {
    let endedAt = 0;
    await db.write(() => {
      now += 4;
      endedAt = now;
    });
    let isDone = false;
    const next = db.write(() => {
      isDone = true;
    });
    let turns = 0;
    for (; !isDone; turns++) {
      now += turnMs;
      await work(turns);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await next;
    return { turns, ms: now - endedAt };
  }

  test.each<[string, () => unknown]>([
    ['read', () => db.read(() => notes())],
    ['ask for the version', () => db.version()],
  ])('those who %s keep the thread, for 25 ms at most', async (_, work) => {
    expect((await untilNextCommit(1, work)).ms).toBe(25);
  });

  test('those who read in one of ten short turns keep the thread too', async () => {
    const { ms } = await untilNextCommit(0.0625, (turn) => (turn % 10 === 0 ? db.version() : undefined));
    expect(ms).toBe(25);
  });

  test('the next one does not wait when nobody reads, however long a turn takes', async () => {
    expect((await untilNextCommit(5, () => undefined)).turns).toBeLessThanOrEqual(3);
  });

  test('the next one waits a millisecond for more after a read', async () => {
    const { ms } = await untilNextCommit(0.25, (turn) => (turn === 0 ? db.version() : undefined));
    expect(ms).toBe(1.25);
  });
});

describe('while another process writes', () => {
  async function withWriter(
    check: (server: SqliteDatabase, writer: SqliteDatabase) => Promise<void>,
  ): Promise<void> {
    const folder = temporaryFolder();
    const file = join(folder.path, 'tidings.db');
    const writer = openDatabase(file);
    const server = openDatabase(file, 'server');
    writer.$client.run('CREATE TABLE notes (text TEXT)');
    writer.$client.run('BEGIN IMMEDIATE');
    await check(server, writer);
    writer.$client.close();
    server.$client.close();
    folder.remove();
  }

  test('work waits without holding the thread, and is done when the other is', async () => {
    await withWriter(async (server, writer) => {
      let isDone = false;
      const insert = (text: string) =>
        server.write(() => server.$client.run('INSERT INTO notes VALUES (?)', [text]));
      const work = Promise.all([insert('a'), insert('b')]).then(() => {
        isDone = true;
      });
      // Turns of the event loop go by, and the thread is free for reads.
      for (let turn = 0; turn < 20; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
        expect(server.$client.query('SELECT count(*) AS notes FROM notes').get()).toEqual({ notes: 0 });
      }
      expect(isDone).toBe(false);
      writer.$client.run('COMMIT');
      await work;
      expect(server.$client.query('SELECT text FROM notes').values()).toEqual([['a'], ['b']]);
    });
  });

  test('work gives up in the end', async () => {
    await withWriter(async (server) => {
      const insert = (giveUpMs: number) =>
        server.write(() => server.$client.run("INSERT INTO notes VALUES ('late')"), { giveUpMs });
      await expect(insert(0)).rejects.toThrow('database is locked');
      await expect(insert(30)).rejects.toThrow('database is locked');
    });
  });
});

describe('reads', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let file: string;
  let own: SqliteDatabase;

  beforeEach(() => {
    folder = temporaryFolder();
    file = join(folder.path, 'tidings.db');
    own = openDatabase(file);
    own.$client.run('CREATE TABLE notes (text TEXT UNIQUE NOT NULL)');
  });

  afterEach(() => {
    closeDatabase(own);
    folder.remove();
  });

  const insert = (tx: object, text: string) =>
    void clientOf(tx).query('INSERT INTO notes VALUES (?)').run(text);
  const list = (tx: object) => clientOf(tx).query('SELECT text FROM notes ORDER BY rowid').values().flat();

  test('see every earlier commit, and no write in progress', async () => {
    await own.write((tx) => insert(tx, 'a'));
    let during: Promise<unknown[]> | undefined;
    const failing = own.write(async (tx) => {
      insert(tx, 'b');
      during = own.read(list);
      await Promise.resolve();
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await during).toEqual(['a']);
    expect(await own.read(list)).toEqual(['a']);
  });

  test('are one snapshot while another connection commits', async () => {
    const other = openDatabase(file);
    const seen = await own.read(async (tx) => {
      const before = list(tx);
      insert(other, 'meanwhile');
      return [before, list(tx)];
    });
    expect(seen).toEqual([[], []]);
    expect(await own.read(list)).toEqual(['meanwhile']);
    closeDatabase(other);
  });

  test('that write leave nothing behind', async () => {
    await own.read((tx) => insert(tx, 'a'));
    expect(await own.read(list)).toEqual([]);
  });

  test('that fail affect no other work', async () => {
    const outcomes = await Promise.allSettled([
      own.read(() => Promise.reject(new Error('no'))),
      own.read(list),
      own.write((tx) => insert(tx, 'a')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(await own.read(list)).toEqual(['a']);
  });
});

describe('turns', () => {
  const steps = (tx: object, name: string, log: string[]) => async () => {
    log.push(`${name} begins ${clientOf(tx).inTransaction}`);
    await Promise.resolve();
    log.push(`${name} ends`);
    return name;
  };

  test('reads and writes of one turn take turns, and keep their results', async () => {
    const log: string[] = [];
    const results = await Promise.all([
      db.read((tx) => steps(tx, 'read 1', log)()),
      db.write((tx) => steps(tx, 'write', log)()),
      db.read((tx) => steps(tx, 'read 2', log)()),
    ]);
    expect(results).toEqual(['read 1', 'write', 'read 2']);
    const names = ['read 1', 'read 2', 'write'];
    expect(log).toEqual(names.flatMap((name) => [`${name} begins true`, `${name} ends`]));
  });
});

describe('a body that waits for something other than a store', () => {
  const NESTED = 'a body of read or write waits for something other than a store';

  test.each<[string, () => Promise<unknown>]>([
    ['a read in a read', () => db.read(() => db.read(() => 1))],
    ['a write in a read', () => db.read(() => db.write(() => 1))],
    ['a read in a write', () => db.write(() => db.read(() => 1))],
    ['a write in a write', () => db.write(() => db.write(() => 1))],
  ])('%s is refused, and later work succeeds', async (_, work) => {
    await expect(work()).rejects.toThrow(NESTED);
    expect(await Promise.all([db.read(() => 1), db.write(() => 2)])).toEqual([1, 2]);
  });

  test('does not keep others waiting', async () => {
    const slow = db.read(() => new Promise((resolve) => setTimeout(resolve, 50, 'late')));
    const [read, written] = await Promise.allSettled([db.read(() => 1), db.write(() => 2)]);
    expect([read.status, written.status]).toEqual(['rejected', 'rejected']);
    expect(await slow).toBe('late');
    expect(await db.write(() => 3)).toBe(3);
  });
});

test('others get turns between long reads that come at once', async () => {
  let turn = 0;
  const count = () => {
    turn++;
    immediate = setImmediate(count);
  };
  let immediate = setImmediate(count);
  const began: number[] = [];
  const read = () => db.read(async () => began.push(turn), { isLong: true });
  await Promise.all(Array.from({ length: 6 }, read));
  clearImmediate(immediate);
  expect(began).toHaveLength(6);
  expect(new Set(began).size).toBe(6);
});

test('a long read that fails holds up no other', async () => {
  const failing = db.read(
    async () => {
      throw new Error('bad');
    },
    { isLong: true },
  );
  const next = db.read(async () => 'read', { isLong: true });
  await expect(failing).rejects.toThrow('bad');
  expect(await next).toBe('read');
});
