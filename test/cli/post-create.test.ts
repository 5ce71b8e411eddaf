import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();
const run = (...words: string[]) => cli(folder.path, words);
const json = (...words: string[]) => cliJson(folder.path, words);
const path = `${folder.path}/text.md`;
const create = ['post', 'create', '--organization', 'acme', '--title', ' Quieter '];
const list = ['post', 'list', '--organization', 'acme'];

beforeAll(async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await Bun.write(path, '## New\r\n\r\n**Bold** words\r\n');
});

afterAll(() => folder.remove());

test('post create makes a draft of a file, or a published post', async () => {
  const made = await json(...create, path);
  expect(made).toMatchObject({
    title: 'Quieter',
    markdown: '## New\n\n**Bold** words\n',
    content: 'New\n\nBold words',
    contentType: 'changelog',
    status: 'draft',
    scheduledFor: null,
  });
  expect(await json('post', 'show', made.id)).toEqual(made);
  const published = await json(...create, '--publish', '--content-type', 'linkedin_post', path);
  expect(published).toMatchObject({ status: 'published', contentType: 'linkedin_post' });
  expect(await json('post', 'show', published.id)).toEqual(published);
  expect((await run(...create, path)).stdout).toMatch(/^Created a draft: Quieter \(post_\w+\)\n$/);
  expect(await json(...create, '--status', 'published', path)).toMatchObject({ status: 'published' });
  expect(await json(...create, '--status', 'draft', path)).toMatchObject({ status: 'draft' });
  expect((await run(...create, '--publish', path)).stdout).toMatch(/^Published: Quieter \(post_\w+\)\n$/);
});

test('post list --status scheduled lists the next one first, and no other post', async () => {
  const at = async (time: string, ...more: string[]): Promise<{ id: string }> =>
    json(...create, '--schedule', time, ...more, path);
  const later = await at('2099-02-01T09:00', '--content-type', 'linkedin_post');
  const sooner = await at('2099-01-31T09:00', '--time-zone', 'Europe/Berlin');
  expect(sooner).toMatchObject({ status: 'draft', scheduledFor: '2099-01-31T08:00:00.000Z' });
  const scheduled = [...list, '--status', 'scheduled'];
  const ids = async (...more: string[]) =>
    (await json(...scheduled, ...more)).map(({ id }: { id: string }) => id);
  expect(await ids()).toEqual([sooner.id, later.id]);
  expect(await ids('--content-type', 'linkedin_post')).toEqual([later.id]);
  expect(await ids('--limit', '1', '--page', '2')).toEqual([later.id]);
  expect((await run(...scheduled, '--limit', '1')).stdout).toEndWith('\n1 of 2. --page 2 shows more.\n');
  for (const wrong of [['draft'], ['--sort', 'asc']]) {
    expect((await run(...scheduled, ...wrong)).exitCode).toBe(2);
  }
});

test('a refused post create leaves no post', async () => {
  const before = await json(...list);
  const empty = `${folder.path}/empty.md`;
  const long = `${folder.path}/long.md`;
  await Bun.write(empty, ' \n');
  await Bun.write(long, 'x'.repeat(200_001));
  const refused: [string[], number, string][] = [
    [[...create, `${path}x`], 1, 'text.mdx: no such file'],
    [[...create, empty], 1, 'empty.md: has no text'],
    [[...create, long], 1, 'long.md: must have at most 200000 characters, not 200001'],
    [[...create, '--title', ' ', path], 2, '--title must not be empty'],
    [[...create, '--organization', 'nobody', path], 1, 'Organization nobody not found'],
    [[...create, '--schedule', '2001-01-01', path], 2, '--schedule must be in the future'],
    [[...create, '--schedule', '2099-01-01', '--time-zone', 'Mars', path], 2, '--time-zone must be an IANA'],
    [[...create, '--schedule', '2099-01-01', '--publish', path], 2, 'cannot be used with'],
    [[...create, '--status', 'draft', '--publish', path], 2, 'cannot be used with'],
    [[...create, '--status', 'live', path], 2, 'Allowed choices are draft, published'],
    [create, 2, 'file'],
  ];
  for (const [words, exitCode, message] of refused) {
    const result = await run(...words);
    expect(result.stderr).toContain(message);
    expect(result.exitCode).toBe(exitCode);
  }
  expect(await json(...list)).toEqual(before);
});

test('post create and post edit read standard input', async () => {
  const from = async (text: string, ...words: string[]) => {
    const command = ['src/cli.ts', '--data-dir', folder.path, ...words, '--json'];
    const child = Bun.spawn([process.execPath, ...command], { stdin: Buffer.from(text), stdout: 'pipe' });
    return JSON.parse(await new Response(child.stdout).text());
  };
  const { id, markdown } = await from('From *a pipe*\n', ...create, '-');
  expect(markdown).toBe('From *a pipe*\n');
  expect(await from('Other', 'post', 'edit', id, '--markdown', '-')).toMatchObject({ markdown: 'Other' });
});
