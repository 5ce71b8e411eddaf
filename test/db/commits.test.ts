import { beforeEach, expect, test } from 'bun:test';
import { type Database, inCommits, type Pace, repeatStep, type WriteTx } from '../../db/engine.ts';
import { execute, oneStep, openTestDatabase, valuesOf } from '../support/database.ts';

// Work in many short commits: forty rows to delete, at most ten in a step.

const ROWS = 40;

let db: Database;

beforeEach(async () => {
  db = openTestDatabase();
  await execute(db, 'CREATE TABLE numbers (n integer)');
  for (let n = 0; n < ROWS; n++) await execute(db, `INSERT INTO numbers VALUES (${n})`);
});

const left = async () => Number((await valuesOf(db, 'SELECT count(*) FROM numbers'))[0]?.[0]);

async function deleteTen(tx: WriteTx): Promise<number> {
  const text = 'DELETE FROM numbers WHERE n IN (SELECT n FROM numbers LIMIT 10) RETURNING n';
  return (await tx.values(text)).length;
}

async function deleteAll(
  pace: Pace,
  signal?: AbortSignal,
  onCommit: () => Promise<unknown> = async () => undefined,
): Promise<number[]> {
  const deleted: number[] = [];
  const deleteSome = (tx: WriteTx, hasTime: () => boolean) => repeatStep(hasTime, () => deleteTen(tx));
  const paced = { pace, read: db.read, write: db.write, version: db.version };
  for await (const number of inCommits(paced, deleteSome, { signal })) {
    deleted.push(number);
    await onCommit();
  }
  return deleted;
}

test('one commit does as many steps as there is time for', async () => {
  expect(await deleteAll({ holdMs: 20_000, restMs: 0, stepRows: 10 })).toEqual([40]);
  expect(await left()).toBe(0);
});

test('without time, each commit does one step', async () => {
  const after: number[] = [];
  const commits = await deleteAll(oneStep, undefined, async () => void after.push(await left()));
  expect(commits).toEqual([10, 10, 10, 10, 0]);
  expect(after).toEqual([30, 20, 10, 0, 0]);
});

test('other work commits between two of them', async () => {
  const others: Promise<void>[] = [];
  const commits = await deleteAll(oneStep, undefined, async () => {
    if (others.length === 0) others.push(execute(db, 'INSERT INTO numbers VALUES (100), (101)'));
  });
  await Promise.all(others);
  expect(commits.reduce((sum, number) => sum + number, 0)).toBe(42);
});

test('a signal ends it between two commits', async () => {
  const abort = new AbortController();
  const onCommit = async () => {
    if ((await left()) === 20) abort.abort();
  };
  expect(await deleteAll(oneStep, abort.signal, onCommit)).toEqual([10, 10]);
  expect(await deleteAll(oneStep, abort.signal)).toEqual([]);
  expect(await left()).toBe(20);
});

test('a failure leaves what was committed before', async () => {
  let steps = 0;
  const failing = inCommits(
    { pace: oneStep, read: db.read, write: db.write, version: db.version },
    async (tx) => {
      const result = await deleteTen(tx);
      if (++steps === 3) throw new Error('the disk is full');
      return { result, hasMore: true };
    },
  );
  const seen: number[] = [];
  const all = (async () => {
    for await (const number of failing) seen.push(number);
  })();
  await expect(all).rejects.toThrow('the disk is full');
  expect(seen).toEqual([10, 10]);
  expect(await left()).toBe(20);
});
