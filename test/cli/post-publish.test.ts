import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

// Schedules and the trash on the command line.

const folder = temporaryFolder();
const run = (...words: string[]) => cli(folder.path, words);
const json = (...words: string[]) => cliJson(folder.path, words);

const fails = (...words: string[]) => failsWith(1, ...words);

async function failsWith(code: number, ...words: string[]): Promise<string> {
  const { exitCode, stderr } = await run(...words);
  expect(exitCode).toBe(code);
  return stderr;
}

beforeAll(async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const path = `${folder.path}/posts.json`;
  const records = ['one', 'two'].map((id) => ({ id, title: `Title ${id}`, markdown: id, status: 'draft' }));
  await Bun.write(path, JSON.stringify(records));
  await json('post', 'import', '--organization', 'acme', path);
});

afterAll(() => folder.remove());

test('post publish --at schedules a draft; list and show say when, and unpublish cancels', async () => {
  const at = '2099-03-29T09:00';
  expect(await json('post', 'publish', 'one', '--at', at, '--time-zone', 'Europe/Berlin')).toMatchObject({
    id: 'one',
    status: 'draft',
    scheduledFor: '2099-03-29T07:00:00.000Z',
  });
  const list = ['post', 'list', '--organization', 'acme'];
  const scheduledFor = { one: '2099-03-29T07:00:00.000Z', two: null };
  const listed: { id: string; scheduledFor: string | null }[] = await json(...list);
  expect(Object.fromEntries(listed.map((post) => [post.id, post.scheduledFor]))).toEqual(scheduledFor);
  expect((await run(...list)).stdout).toMatch(/one +scheduled +changelog +2099-03-29 /);
  expect((await run('post', 'show', 'one')).stdout).toContain('2099-03-29T07:00:00.000Z');
  expect((await run('post', 'publish', 'one', '--at', `${at}+01:00`)).stdout).toBe(
    'Scheduled for Mar 29, 2099, 08:00 UTC: Title one (one)\n',
  );
  expect(await json('post', 'unpublish', 'one')).toMatchObject({ status: 'draft' });
  expect(await json('post', 'show', 'one')).toMatchObject({ scheduledFor: null });
});

test('post publish --at takes a day, from its midnight in the time zone', async () => {
  expect(
    await json('post', 'publish', 'one', '--at', '2099-04-01', '--time-zone', 'America/New_York'),
  ).toMatchObject({ scheduledFor: '2099-04-01T04:00:00.000Z' });
  expect(await json('post', 'publish', 'one', '--at', '2099-04-01')).toMatchObject({
    scheduledFor: '2099-04-01T00:00:00.000Z',
  });
  await json('post', 'unpublish', 'one');
});

test('post publish --at refuses a time that has passed, and one that it cannot read', async () => {
  expect(await failsWith(2, 'post', 'publish', 'one', '--at', '2001-01-01T09:00')).toContain(
    '--at must be in the future. Jan 1, 2001, 09:00 UTC has passed',
  );
  expect(await failsWith(2, 'post', 'publish', 'one', '--at', 'soon')).toContain(
    '--at must be a date and a time',
  );
  expect(
    await failsWith(2, 'post', 'publish', 'one', '--at', '2099-01-01T09:00', '--time-zone', 'Mars'),
  ).toContain('--time-zone must be an IANA name');
  expect(await json('post', 'show', 'one')).toMatchObject({ status: 'draft', scheduledFor: null });
});

test('post delete moves to the trash, post restore brings back, --for-good deletes', async () => {
  const trash = ['post', 'list', '--organization', 'acme', '--trash'];
  expect((await run(...trash)).stdout).toBe('The trash is empty.\n');
  expect(await json('post', 'delete', 'two')).toEqual({ id: 'two', deleted: true });
  expect(await json(...trash)).toMatchObject([{ id: 'two', title: 'Title two', status: 'draft' }]);
  expect((await run(...trash)).stdout).toMatch(/two +draft .* Title two\n\n1 of 1\.\n$/);
  expect(await json('post', 'restore', 'two')).toMatchObject({ id: 'two', markdown: 'two' });
  expect(await fails('post', 'restore', 'two')).toContain('Post two is not in the trash');
  await json('post', 'delete', 'two');
  await json('post', 'delete', 'two', '--for-good');
  expect(await fails('post', 'restore', 'two')).toContain('not in the trash');
  await json('post', 'delete', 'one', '--for-good');
  expect(await json(...trash)).toEqual([]);
});

test('the pages of the trash follow one another', async () => {
  for (const title of ['Third', 'Fourth']) {
    await Bun.write(`${folder.path}/text.md`, 'Words');
    const { id } = await json(
      'post',
      'create',
      '--organization',
      'acme',
      '--title',
      title,
      `${folder.path}/text.md`,
    );
    await json('post', 'delete', id);
  }
  const page = (number: string) =>
    json('post', 'list', '--organization', 'acme', '--trash', '--limit', '1', '--page', number);
  expect([...(await page('1')), ...(await page('2'))].map(({ title }) => title).sort()).toEqual([
    'Fourth',
    'Third',
  ]);
});

test.each([
  ['--status', 'draft'],
  ['--status', 'scheduled'],
  ['--content-type', 'changelog'],
  ['--sort', 'asc'],
])('post list --trash refuses %s, which the trash does not apply', async (flag, value) => {
  const list = ['post', 'list', '--organization', 'acme', '--trash', flag, value];
  const { exitCode, stdout, stderr } = await run(...list);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(`option '--trash' cannot be used with option '${flag} <`);
});
