import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { Database, Lease } from '../../../db/engine.ts';
import { LeaseLost } from '../../../db/failures.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { createLeases } from '../../../db/postgres/leases.ts';
import { execute, valuesOf } from '../../support/database.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { until } from '../../support/until.ts';

// Processes that compete for leases. Their clocks move by hand, and so do their heartbeats.

const SECONDS = 300_000;

let url: string;
let db: Database;

beforeAll(async () => {
  url = await (await sharedPostgres()).createDatabase();
  db = await openPostgres(url, 'server', { limits: { answerMs: 120_000, giveUpMs: 120_000 } });
}, SECONDS);

beforeEach(() => execute(db, 'DELETE FROM leases'));

afterAll(async () => {
  await db.close();
  await (await sharedPostgres()).dropDatabase(url);
}, SECONDS);

/** A process with a monotonic clock of its own. */
function startProcess(name: string) {
  let time = 0;
  let isConnected = true;
  const leases = createLeases(
    async (text, params) => {
      if (!isConnected) throw new Error('no connection');
      let count = 0;
      await using connection = new Bun.SQL(url, { max: 1 });
      const numbered = text.replaceAll('?', () => `$${++count}`);
      const rows: unknown[][] = await connection.unsafe(numbered, [...params]).values();
      return Array.from(rows, (row) =>
        Array.from(row, (value) => (/^\d+$/.test(`${value}`) ? Number(value) : value)),
      );
    },
    name,
    () => time,
  );
  return {
    ...leases,
    pass: (seconds: number) => {
      time += seconds * 1_000;
    },
    disconnect: () => {
      isConnected = false;
    },
    async take(...names: string[]): Promise<Lease> {
      const lease = await leases.lease(names);
      if (lease === null) throw new Error(`${name} got none of ${names}`);
      return lease;
    },
  };
}

test('a lease that a transaction gives back is free with its commit, and stays when it fails', async () => {
  const [one, two] = [startProcess('one'), startProcess('two')];
  const lease = await one.take('a');
  const failing = db.write(async (tx) => {
    lease.releaseIn(tx);
    throw new Error('not this time');
  });
  await expect(failing).rejects.toThrow('not this time');
  expect([lease.isHeld(), await two.lease(['a'])]).toEqual([true, null]);
  await db.write(async (tx) => lease.releaseIn(tx), { lease });
  expect(lease.isHeld()).toBe(false);
  const next = await two.take('a');
  // Does nothing any more.
  await lease.release();
  expect(next.isHeld()).toBe(true);
  expect(await one.lease(['a'])).toBeNull();
});

test('one process at a time holds a lease, and the first free one is taken', async () => {
  const [one, two] = [startProcess('one'), startProcess('two')];
  const first = await one.take('a', 'b');
  expect(first.name).toBe('a');
  expect((await two.take('a', 'b')).name).toBe('b');
  expect(await two.lease(['a', 'b'])).toBeNull();
  expect(await one.lease([])).toBeNull();
  await first.release();
  expect(first.isHeld()).toBe(false);
  const again = await two.take('a', 'b');
  expect(again.name).toBe('a');
  expect(again.fence).toBeGreaterThan(first.fence);
});

test('many ask at once, and one gets it', async () => {
  const processes = Array.from({ length: 8 }, (_, n) => startProcess(`${n}`));
  const leases = await Promise.all(processes.map((each) => each.lease(['a'])));
  expect(leases.filter((lease) => lease !== null)).toHaveLength(1);
});

test('two that ask for the same list at once get one each', async () => {
  await using first = new Bun.SQL(url, { max: 1 });
  const other = startProcess('other');
  await first`BEGIN`.simple();
  await first`INSERT INTO leases (name, holder, beat, fence) VALUES ('a', 'first', 0, 1)`;
  const lease = other.lease(['a', 'b']);
  await until(
    () => valuesOf(db, "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"),
    (waiting) => waiting.length > 0,
  );
  await first`COMMIT`.simple();
  expect((await lease)?.name).toBe('b');
});

test('a process that ended is replaced once its heartbeat stood still for five seconds', async () => {
  const [gone, other] = [startProcess('gone'), startProcess('other')];
  const lost = await gone.take('a');
  expect(await other.lease(['a'])).toBeNull();
  other.pass(4.9);
  expect(await other.lease(['a'])).toBeNull();
  other.pass(0.1);
  const taken = await other.take('a');
  expect(taken.fence).toBeGreaterThan(lost.fence);
});

test('a heartbeat keeps a lease, whatever the clocks say', async () => {
  const [holder, other] = [startProcess('holder'), startProcess('other')];
  const lease = await holder.take('a');
  for (let second = 0; second < 20; second++) {
    holder.pass(1);
    await holder.beat();
    other.pass(1_000);
    expect(await other.lease(['a'])).toBeNull();
    expect(lease.isHeld()).toBe(true);
  }
});

test('an observer that stood still starts to count again', async () => {
  const [holder, other] = [startProcess('holder'), startProcess('other')];
  await holder.take('a');
  expect(await other.lease(['a'])).toBeNull();
  await holder.beat();
  other.pass(3_600);
  expect(await other.lease(['a'])).toBeNull();
  expect(await other.lease(['a'])).toBeNull();
});

test('a holder without a connection knows after four seconds that it may have lost its lease', async () => {
  const holder = startProcess('holder');
  const lease = await holder.take('a');
  holder.disconnect();
  holder.pass(3.9);
  await holder.beat();
  expect(lease.isHeld()).toBe(true);
  holder.pass(0.1);
  expect(lease.isHeld()).toBe(false);
  await lease.release();
});

test('a process that wakes up after its lease was taken over changes nothing', async () => {
  const [frozen, other] = [startProcess('frozen'), startProcess('other')];
  const lease = await frozen.take('a');
  await other.lease(['a']);
  other.pass(5);
  const next = await other.take('a');
  // Its own clock stood still.
  expect(lease.isHeld()).toBe(true);
  await expect(db.write(() => 'late', { lease })).rejects.toBeInstanceOf(LeaseLost);
  await frozen.beat();
  expect(lease.isHeld()).toBe(false);
  await lease.release();
  expect(await db.write(() => 'done', { lease: next })).toBe('done');
});

test('a lease is not taken over while its holder commits', async () => {
  const [holder, other] = [startProcess('holder'), startProcess('other')];
  const lease = await holder.take('a');
  await other.lease(['a']);
  other.pass(5);
  const checked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const write = db.write(
    async (tx) => {
      await tx.values(sql`SELECT 1`);
      checked.resolve();
      await gate.promise;
    },
    { lease },
  );
  await checked.promise;
  expect(await other.lease(['a'])).toBeNull();
  // Its heartbeat does not wait for the work.
  await holder.beat();
  gate.resolve();
  await write;
  expect(await other.lease(['a'])).toBeNull();
});

test('closing gives all leases back', async () => {
  const [one, two] = [startProcess('one'), startProcess('two')];
  const lease = await one.take('a');
  await one.close();
  expect(lease.isHeld()).toBe(false);
  expect((await two.take('a')).name).toBe('a');
});
