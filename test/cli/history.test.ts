import { afterEach, beforeEach, expect, test } from 'bun:test';
import { histories } from '../../db/schema/integrations.ts';
import { updateHistory } from '../../src/intake/history/store.ts';
import { systemClock } from '../../src/lib/time.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import type { StoredRepository } from '../support/github-api/state.ts';
import { day } from '../support/import.ts';

let folder: ReturnType<typeof temporaryFolder>;
let github: GithubApi;
let repository: StoredRepository;

beforeEach(async () => {
  folder = temporaryFolder();
  github = startGithubApi({ clock: systemClock });
  repository = github.addRepository('acme/rocket', { isPrivate: false });
  projectOf(repository, systemClock, [
    { at: day(1), push: ['chore: start'] },
    { at: day(2), release: 'v1.0.0', notes: 'First.' },
    { at: day(3), merge: 7, title: 'feat: quiet mode' },
    { at: day(4), release: 'v1.1.0' },
  ]);
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
});
afterEach(() => {
  github[Symbol.dispose]();
  folder.remove();
});

const options = () => ({ environment: { GITHUB_API_URL: github.url, PUBLIC_URL: 'http://tidings.test' } });
const run = (...words: string[]) =>
  cli(folder.path, ['history', 'acme/rocket', '--organization', 'acme', ...words], options());
const posts = (...words: string[]) =>
  cliJson(folder.path, ['post', 'list', '--organization', 'acme', ...words]);

test('one command writes the drafts', async () => {
  const { exitCode, stdout, stderr } = await run();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toStartWith(
    '2 drafts written from 2 releases: http://tidings.test/dashboard/acme/posts?status=draft\n',
  );
  expect(await posts()).toMatchObject([
    { title: 'v1.1.0', status: 'draft', createdAt: '2026-01-04T12:00:00.000Z' },
    { title: 'v1.0.0', status: 'draft', createdAt: '2026-01-02T12:00:00.000Z' },
  ]);
  expect((await run()).stdout).toStartWith('No new drafts. All 2 releases have posts already.\n');
  expect(await posts()).toHaveLength(2);
});

test('--json prints one value', async () => {
  const value = await cliJson(
    folder.path,
    ['history', repository.name, '--organization', 'acme', '--releases', '1', '--publish'],
    options(),
  );
  expect(value).toEqual({
    id: expect.stringMatching(/^his_/),
    integrationId: expect.stringMatching(/^int_/),
    repositoryId: expect.stringMatching(/^repo_/),
    triggerId: expect.stringMatching(/^trg_/),
    status: 'done',
    releases: 1,
    posts: 1,
  });
  expect(await posts()).toMatchObject([{ status: 'published', createdAt: '2026-01-04T12:00:00.000Z' }]);
});

test('a terminal shows how far it is, in one line', async () => {
  let line = '';
  const { stdout } = await cli(folder.path, ['history', 'acme/rocket', '--organization', 'acme'], {
    ...options(),
    isInteractive: true,
    width: 60,
    writeError: (text) => {
      line += text;
    },
  });
  expect(stdout).toContain('2 drafts written');
  expect(line).toContain('Reading releases');
  expect(line).toEndWith('\r\u001b[K');
  for (const each of line.split('\r\u001b[K')) expect(each.length).toBeLessThan(60);
});

test('a rate limit ends the command with 1, says when to go on, and the same command goes on', async () => {
  github.limits.anonymous = 3;
  const { exitCode, stderr } = await run();
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^error: GitHub allows 3 requests an hour without a token\. To raise the limit, import again with a token\. A running server continues at \S+Z\. Without a server, run the same command then\. 1 post is written already\.\n$/,
  );
  expect(await posts()).toMatchObject([{ title: 'v1.0.0' }]);
  github.limits.anonymous = 60;
  expect((await run()).stdout).toStartWith('1 draft written from 2 releases');
});

test('an outage ends the command with 1, and does not ask for a token', async () => {
  github.limits.anonymous = 3;
  await run();
  github.limits.anonymous = 60;
  await failedBefore(3);
  github.failNext('answers 500', { after: 1, times: Number.POSITIVE_INFINITY });
  const { exitCode, stderr } = await run();
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^error: GitHub failed with status 500\..* A running server continues at \S+Z\. Without a server, run the same command then\.\n$/,
  );
  expect(stderr).not.toContain('token');
});

/** Lets the history wait for long after its next failure. */
async function failedBefore(attempts: number): Promise<void> {
  const services = await openServices(readConfig({ DATA_DIR: folder.path }, { LOG_LEVEL: 'silent' }));
  await services.db.write(async (tx) => {
    for (const { id } of await tx.select().from(histories)) await updateHistory(tx, id, { attempts });
  });
  await services.close();
}

test.each([
  [['--releases', '0'], 2, 'It must be a whole number from 1 to 10000.'],
  [['--since', 'yesterday'], 2, 'It must be an ISO 8601 time'],
  [['--provider', 'linear'], 2, 'Allowed choices are'],
  [['--content-type', 'poem'], 2, 'Allowed choices are'],
  [['--token', 'github_pat_none'], 1, 'GitHub rejected the token'],
])('%j is refused', async (words, code, message) => {
  const { exitCode, stderr } = await run(...words);
  expect(exitCode).toBe(code);
  expect(stderr).toContain(message);
  expect(await cliJson(folder.path, ['integration', 'list'])).toEqual([]);
});

test('a repository that does not exist leaves nothing', async () => {
  const { exitCode, stderr } = await cli(
    folder.path,
    ['history', 'acme/nope', '--organization', 'acme'],
    options(),
  );
  expect(exitCode).toBe(1);
  expect(stderr).toContain('GitHub has no public repository acme/nope.');
  expect(await cliJson(folder.path, ['integration', 'list'])).toEqual([]);
});
