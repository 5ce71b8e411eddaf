import { afterEach, beforeEach, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

let folder: ReturnType<typeof temporaryFolder>;
let linearId: string;

beforeEach(async () => {
  folder = temporaryFolder();
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect'];
  await json(...connect, 'github', '--organization', 'acme', '--repository', 'acme/rocket', 'acme/site');
  linearId = (await json<{ integrationId: string }>(...connect, 'linear', '--organization', 'acme'))
    .integrationId;
});
afterEach(() => folder.remove());

const run = (...words: string[]) => cli(folder.path, words);
const json = <Result>(...words: string[]) => cliJson(folder.path, words) as Promise<Result>;
const create = (...words: string[]) =>
  run('roundup', 'create', '--name', 'This week', '--repository', 'acme/rocket', ...words);

test('a roundup is created, listed, changed, made now and deleted', async () => {
  const created = await create('--team', 'ENG', '--time-zone', 'Europe/Berlin', '--when-empty', 'line');
  expect(created).toMatchObject({ exitCode: 0, stderr: '' });
  const [, ...lines] = created.stdout.replace(/Next( +).*/, 'Next$1…').split('\n');
  expect(lines).toEqual([
    'Name             This week',
    'Schedule         every Monday at 09:00 (Europe/Berlin)',
    'Next             …',
    'Places           acme/rocket, Linear: ENG',
    'Creates          changelog drafts, grouped by repository',
    'Without changes  a draft that says so',
    'Status           active',
    '',
  ]);
  const [roundup] = await json<{ id: string; nextAt: string; sources: unknown[] }[]>('roundup', 'list');
  const { id = '' } = roundup ?? {};
  expect(roundup).toMatchObject({
    organizationId: 'acme',
    cadence: 'weekly',
    weekday: 1,
    groupBy: 'repository',
    sources: [{ repositoryId: expect.any(String) }, { integrationId: linearId, team: 'ENG' }],
  });
  const changes = ['--weekday', 'friday', '--cadence', 'monthly', '--integration', linearId];
  expect(await json('roundup', 'change', id, ...changes)).toMatchObject({
    cadence: 'monthly',
    weekday: 5,
    timeZone: 'Europe/Berlin',
    sources: [{ integrationId: linearId, repositoryId: null, team: null }],
  });
  expect((await run('roundup', 'list')).stdout).toContain('on the first Friday of a month at 09:00');
  const made = await json<{ post: { id: string } }>('roundup', 'now', id);
  expect(await json('post', 'show', made.post.id)).toMatchObject({ content: 'No changes this time.' });
  expect((await run('roundup', 'disable', id)).stdout).toBe(`Disabled: ${id}\n`);
  expect((await run('roundup', 'change', id, '--when-empty', 'skip')).exitCode).toBe(0);
  expect((await run('roundup', 'now', id)).stdout).toBe('No draft: nothing has changed.\n');
  expect((await run('roundup', 'delete', id)).stdout).toBe(`Deleted: ${id}\n`);
  expect(await json<unknown[]>('roundup', 'list')).toEqual([]);
});

test.each([
  [
    ['--repository', 'acme/none'],
    1,
    'The organization has no repository acme/none. It has: acme/rocket, acme/site.',
  ],
  [['--team', 'int_none:ENG'], 1, 'The organization has no issue tracker with int_none:ENG.'],
  [['--weekday', 'caturday'], 2, 'It must be one of monday, tuesday'],
  [['--time-zone', 'Mars'], 2, 'It must be an IANA name, such as Europe/Berlin.'],
  [['--integration', 'int_none'], 1, 'The organization has no integration int_none.'],
])('%p is refused', async (words, exitCode, message) => {
  const result = await create(...words);
  expect(result).toMatchObject({ exitCode, stdout: '' });
  expect(result.stderr).toContain(message);
  expect(await json<unknown[]>('roundup', 'list')).toEqual([]);
});

test('a change of nothing, no places, and an unknown roundup are refused', async () => {
  expect((await run('roundup', 'change', 'rnd_none')).stderr).toContain('nothing to change');
  const nowhere = await run('roundup', 'create', '--name', 'This week');
  expect(nowhere.stderr).toContain('Choose its places with --repository');
  expect((await run('roundup', 'now', 'rnd_none')).stderr).toContain('Roundup rnd_none not found');
});
