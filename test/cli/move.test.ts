import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { makeDataFolder, movedRows, ORGANIZATION } from '../support/move.ts';
import { sharedPostgres } from '../support/postgres-server.ts';
import { root, type ServerProcess, startTidings } from '../support/server.ts';

const { path: folders, remove } = temporaryFolder();
afterAll(remove);

/** An empty PostgreSQL, with a password that the server does not ask for. */
async function emptyPostgres(): Promise<string> {
  const url = new URL(await (await sharedPostgres()).createEmptyDatabase());
  url.password = 'hidden-password';
  return url.href;
}

/** Every page of the list, as bytes. */
async function pagesOf({ url }: ServerProcess, key: string): Promise<string[]> {
  const pages: string[] = [];
  for (let page = 1; page <= 6; page++) {
    const response = await fetch(`${url}/v1/${ORGANIZATION}/posts?limit=10&page=${page}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    pages.push(Buffer.from(await response.bytes()).toString('base64'));
  }
  return pages;
}

/** A move in a process of its own, which is killed when this part of a step is done. */
async function killedMove(options: object, step: string, part: number): Promise<void> {
  const script = join(root, 'test/support/killed-move.ts');
  const child = Bun.spawn([process.execPath, script, JSON.stringify(options), step, String(part)], {
    env: { PATH: Bun.env.PATH, HOME: Bun.env.HOME },
  });
  await child.exited;
  expect(child.signalCode).toBe('SIGKILL');
}

test('a server on the target sends the same bytes, after a move to PostgreSQL and after the way back', async () => {
  const dataDir = join(folders, 'served');
  const secretKey = makeDataFolder(dataDir, 55);
  const { key } = await cliJson(dataDir, ['key', 'create', '--organization', ORGANIZATION, '--name', 'Site']);
  const url = await emptyPostgres();
  const back = join(folders, 'served-back');
  const shared = { DATABASE_URL: url, SECRET_KEY: secretKey };

  const first = await startTidings(dataDir);
  const expected = await pagesOf(first, key);
  const whileRunning = await cli(dataDir, ['move', '--to', url]);
  expect(whileRunning.exitCode).toBe(1);
  expect(whileRunning.stderr).toContain('is in use by a server or another command. Stop the server');
  // Also moves the log that a killed server leaves behind.
  await first.stop('SIGKILL');
  const { stdout } = await cli(dataDir, ['move', '--to', url]);
  expect(stdout).toContain(`SECRET_KEY set to the content of ${join(dataDir, 'secret.key')}.`);

  const second = await startTidings(join(folders, 'unused'), [], { environment: shared });
  expect(await pagesOf(second, key)).toEqual(expected);
  const shownInUse = await cli(dataDir, ['move', '--to', back], { environment: shared });
  expect(shownInUse.exitCode).toBe(1);
  expect(shownInUse.stderr).toContain('A Tidings server uses 127.0.0.1:');
  expect(await second.stop()).toBe(0);
  await cliJson(dataDir, ['move', '--to', back], { environment: shared });

  const third = await startTidings(back);
  expect(await pagesOf(third, key)).toEqual(expected);
  expect(await third.stop()).toBe(0);
}, 300_000);

test('a move that is killed continues when the same command runs again, in both directions', async () => {
  const dataDir = join(folders, 'killed');
  const secretKey = makeDataFolder(dataDir, 1_500);
  const before = readFileSync(join(dataDir, 'tidings.db'));
  const url = await emptyPostgres();
  const back = join(folders, 'killed-back');
  // Those that a failure within the process stops are in test/operate/move.test.ts.
  const points = [
    ['copy', 0.5],
    ['compare', 0.5],
  ] as const;
  for (const [step, part] of points) await killedMove({ dataDir, to: url }, step, part);
  const there = await cliJson(dataDir, ['move', '--to', url]);
  const shared = { DATABASE_URL: url, SECRET_KEY: secretKey };
  for (const [step, part] of points)
    await killedMove({ databaseUrl: url, secretKey, dataDir, to: back }, step, part);
  const { tables, rows } = await cliJson(dataDir, ['move', '--to', back], { environment: shared });
  expect({ tables, rows }).toEqual({ tables: there.tables, rows: there.rows });
  expect(await movedRows(join(back, 'tidings.db'))).toEqual(await movedRows(join(dataDir, 'tidings.db')));
  expect(readFileSync(join(dataDir, 'tidings.db')).equals(before)).toBe(true);
}, 300_000);

test('the command says how far it is, what to do next, and no password', async () => {
  const dataDir = join(folders, 'words');
  const secretKey = makeDataFolder(dataDir, 700);
  const url = await emptyPostgres();
  const { exitCode, stdout, stderr } = await cli(dataDir, ['move', '--to', url]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(
    /^Moved \d+ rows from \S+tidings\.db to postgres:\/\/127\.0\.0\.1:\d+\/test_\w+ in /,
  );
  expect(stdout).toContain('Both sides match.');
  expect(stdout).toContain('DATABASE_URL');
  expect(stdout).toContain(join(dataDir, 'secret.key'));
  expect(stderr).toMatch(/^Copying: \d0 %, \d+ of \d+ rows\n/);
  expect(stderr).toContain('Comparing: 100 %');
  expect(stdout + stderr).not.toContain('hidden-password');
  expect(stdout + stderr).not.toContain(secretKey);

  const back = await cli(dataDir, ['move', '--to', join(folders, 'words-back')], {
    environment: { DATABASE_URL: url, SECRET_KEY: secretKey },
    isInteractive: true,
  });
  expect(back.stderr).toMatch(/█+░* Copying: \d+ of \d+ rows/);
  expect(back.stderr).toEndWith('\r\u001b[K');
  expect(back.stderr).not.toContain('\n');
  expect(back.stdout).toContain('unset DATABASE_URL');
  expect(back.stdout).not.toContain(secretKey);
}, 300_000);

test('an unusable target is an error that names it, without its password', async () => {
  const dataDir = join(folders, 'refused');
  makeDataFolder(dataDir, 1);
  const missing = await emptyPostgres();
  const away = missing.replace(/:\d+\//, ':1/');
  for (const [to, text] of [
    [missing.replace('test_', 'no_'), 'Create the database, or correct its name in --to'],
    [away, 'Check that the server is running, and check the host and port in --to'],
    [`${missing}?sslmode=maybe`, 'its parameter "sslmode" must be one of'],
  ] as const) {
    const { exitCode, stdout, stderr } = await cli(dataDir, ['move', '--to', to]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(text);
    expect(stderr).not.toContain('hidden-password');
    expect(stderr).not.toContain('DATABASE_URL');
  }
  const { exitCode, stderr } = await cli(dataDir, ['move']);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("required option '--to <target>'");
});
