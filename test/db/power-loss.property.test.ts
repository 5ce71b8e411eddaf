import { expect, test } from 'bun:test';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { temporaryFolder } from '../support/cli.ts';
import { heldSyncs } from '../support/held-syncs.ts';
import { rounds } from '../support/rounds.ts';

// The power fails at any moment. The disk then has all that was there when the last completed sync began, and any of the
// blocks written since. Every acknowledged write must be in it, and none without those before it.

const BLOCK = 4_096;

/** So many writes in one turn; the end of the sync that is running; or a loss of power that keeps some newer blocks. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ writes: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 3, arbitrary: fc.constant('sync' as const) },
  { weight: 1, arbitrary: fc.record({ keeps: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }) }) },
);

test('a loss of power loses nothing that was acknowledged', async () => {
  const folder = temporaryFolder();
  const path = (name: string) => join(folder.path, name);
  const template = openDatabase(path('template'));
  template.$client.run('CREATE TABLE notes (number INTEGER, text TEXT)');
  closeDatabase(template);

  async function run(steps: readonly (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[]) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(path(`present${suffix}`), { force: true });
    copyFileSync(path('template'), path('present'));
    const log = () => readFileSync(path('present-wal'));
    const syncs = heldSyncs();
    /** The log when the running sync began, and what is on the disk for certain. */
    let begun = Buffer.alloc(0);
    let durable = Buffer.alloc(0);
    const db = openDatabase(path('present'), 'server', undefined, () => {
      begun = log();
      return syncs.sync();
    });
    let written = 0;
    let acknowledged = 0;
    const work: Promise<void>[] = [];

    async function loseThePower(keeps: readonly boolean[]): Promise<void> {
      const now = log();
      for (let at = 0; at < now.length; at += BLOCK) {
        if (keeps[(at / BLOCK) % keeps.length]) continue;
        now.fill(0, at, Math.min(at + BLOCK, now.length));
        if (at < durable.length) durable.copy(now, at, at, at + BLOCK);
      }
      copyFileSync(path('template'), path('after'));
      writeFileSync(path('after-wal'), now);
      const after = openDatabase(path('after'));
      const numbers = after.$client
        .query('SELECT number FROM notes ORDER BY rowid')
        .values()
        .flat() as number[];
      closeDatabase(after);
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
      expect(numbers.length).toBeGreaterThanOrEqual(acknowledged);
    }

    async function finishSync(): Promise<void> {
      if (syncs.running() === 0) return;
      durable = begun;
      await syncs.finish();
    }

    for (const each of steps) {
      if (each === 'sync') await finishSync();
      else if ('keeps' in each) await loseThePower(each.keeps);
      else {
        for (let n = 0; n < each.writes; n++) {
          const number = ++written;
          const insert = () =>
            void db.$client.run('INSERT INTO notes VALUES (?, ?)', [number, 'x'.repeat(number * 700)]);
          work.push(
            db.write(insert).then(() => {
              acknowledged++;
            }),
          );
        }
        while (db.$client.query('SELECT count(*) FROM notes').values()[0]?.[0] !== written)
          await new Promise((resolve) => setImmediate(resolve));
      }
    }
    while (syncs.running() > 0) await finishSync();
    await Promise.all(work);
    expect(acknowledged).toBe(written);
    await loseThePower([false]);
    await db.close();
  }

  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), run), {
    numRuns: rounds(40, 1_000),
  });
  folder.remove();
}, 3_600_000);
