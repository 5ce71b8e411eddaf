import { beforeEach, expect, test } from 'bun:test';
import { type Database, openDatabase } from '../../db/client.ts';
import { commitTogether } from '../../db/group-commit.ts';

let db: Database;

beforeEach(() => {
  db = openDatabase(':memory:');
  db.$client.run('CREATE TABLE notes (text TEXT UNIQUE NOT NULL)');
});

const write = (text: string) => {
  db.$client.query('INSERT INTO notes VALUES (?)').run(text);
  return text;
};

const notes = () => db.$client.query('SELECT text FROM notes ORDER BY rowid').values().flat();

test('work of one turn shares a transaction, and each has its own result', async () => {
  let inside = 0;
  const transactions = new Set<boolean>();
  const work = ['a', 'b', 'c'].map((text) =>
    commitTogether(db, () => {
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
    commitTogether(db, () => write('a')),
    commitTogether(db, () => {
      write('half');
      throw new Error('no');
    }),
    commitTogether(db, () => write('a')),
    commitTogether(db, () => write('b')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(notes()).toEqual(['a', 'b']);
});

test('more than one batch is written in order, and work that comes meanwhile too', async () => {
  const first = Array.from({ length: 300 }, (_, n) => commitTogether(db, () => write(`n${n}`)));
  await first[0];
  const later = commitTogether(db, () => write('later'));
  await Promise.all([...first, later]);
  expect(notes()).toEqual([...Array.from({ length: 300 }, (_, n) => `n${n}`), 'later']);
});

test('a commit that cannot be made rejects all of its work, and the next one is made', async () => {
  db.$client.run('PRAGMA query_only = ON');
  const outcomes = await Promise.allSettled([
    commitTogether(db, () => write('a')),
    commitTogether(db, () => 'reads'),
  ]);
  expect(outcomes[0]?.status).toBe('rejected');
  db.$client.run('PRAGMA query_only = OFF');
  expect(await commitTogether(db, () => write('b'))).toBe('b');
  expect(notes()).toEqual(['b']);
});
