import { afterAll, expect, test } from 'bun:test';
import { cpSync, existsSync, readdirSync, rmSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { rounds } from '../support/rounds.ts';
import { program } from '../support/server.ts';

const folder = temporaryFolder();
const former = join(folder.path, 'former');
const file = join(folder.path, 'a.backup');
/** The steps after this many are further apart, the more so the later they are. */
const SPACING = rounds(4, 20);

afterAll(() => folder.remove());

/** Restores into a copy of the folder, and kills that at the so-manieth thing that happens in it. */
async function restoreUntil(step: number): Promise<{ dataDir: string; wasKilled: boolean }> {
  const dataDir = join(folder.path, `round-${step}`);
  cpSync(former, dataDir, { recursive: true });
  let steps = 0;
  const child = Bun.spawn([...program, 'restore', file, '--force', '--data-dir', dataDir], {
    env: { PATH: Bun.env.PATH },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const watcher = watch(dataDir, () => {
    if (++steps === step) child.kill('SIGKILL');
  });
  const exitCode = await child.exited;
  watcher.close();
  return { dataDir, wasKilled: exitCode !== 0 };
}

test('kill -9 at any step of a restore leaves the old database or the new one, whole', async () => {
  // The backup has one organization; the folder that it is restored into has two, the second only in its log.
  const create = (name: string) => cliJson(former, ['organization', 'create', '--name', name, '--id', name]);
  await create('first');
  const [posts] = [join(folder.path, 'posts.json')];
  await Bun.write(
    posts,
    JSON.stringify(
      Array.from({ length: 2000 }, (_, n) => ({
        id: `p${n}`,
        title: 'T',
        markdown: crypto.randomUUID().repeat(20),
      })),
    ),
  );
  await cliJson(former, ['post', 'import', '--organization', 'first', posts]);
  await cliJson(former, ['backup', file]);
  Bun.spawnSync([
    process.execPath,
    '-e',
    `const { Database } = require('bun:sqlite'); const db = new Database(process.argv[1]);
     db.run("insert into organizations (id, name, plan, created_at) values ('second', 'S', 'free', '2026')"); process.kill(process.pid, 'SIGKILL');`,
    join(former, 'tidings.db'),
  ]);
  expect(statSync(join(former, 'tidings.db-wal')).size).toBeGreaterThan(0);

  const outcomes: Record<string, number> = {};
  let killed = 0;
  // On a busy machine, the same work is seen as more steps.
  for (let step = 1; step < 5_000; step += Math.ceil(step / SPACING)) {
    const { dataDir, wasKilled } = await restoreUntil(step);
    // Opens it as each command and each start does, and restores on top of whatever was left behind.
    const found = (await cliJson(dataDir, ['organization', 'list']))
      .map(({ id }: { id: string }) => id)
      .sort()
      .join(' ');
    expect(['first', 'first second']).toContain(found);
    expect(
      await cliJson(dataDir, ['post', 'list', '--organization', 'first', '--limit', '1000']),
    ).toHaveLength(1000);
    outcomes[found] = (outcomes[found] ?? 0) + 1;
    await cliJson(dataDir, ['restore', file, '--force']);
    expect(await cliJson(dataDir, ['organization', 'list'])).toHaveLength(1);
    expect(readdirSync(dataDir).filter((name) => /restoring|fetched/.test(name))).toEqual([]);
    rmSync(dataDir, { recursive: true });
    if (!wasKilled) break;
    killed++;
  }
  // It was killed early enough to leave the old one, more than once, and in the end it was not killed at all.
  expect(killed).toBeGreaterThan(3);
  expect(outcomes['first second']).toBeGreaterThan(1);
  expect(outcomes.first).toBeGreaterThan(0);
  expect(existsSync(former)).toBe(true);
}, 3_600_000);
