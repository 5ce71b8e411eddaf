import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

// Publishing that needs a second person, on the command line.

const folder = temporaryFolder();
const run = (...words: string[]) => cli(folder.path, words);
const json = (...words: string[]) => cliJson(folder.path, words);
const SKIP = '--without-approval';

beforeAll(async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await Bun.write(`${folder.path}/text.md`, 'Text');
  await Bun.write(
    `${folder.path}/posts.json`,
    JSON.stringify([{ id: 'one', title: 'One', markdown: 'One' }]),
  );
});
afterAll(() => folder.remove());

const create = (...more: string[]) =>
  ['post', 'create', '--organization', 'acme', '--title', 'T', `${folder.path}/text.md`, ...more] as const;

test('each command that publishes says what to do, or skips the approval on demand', async () => {
  expect((await json('post', 'show', (await json(...create())).id)).approval).toBeUndefined();
  expect(await json('organization', 'set-approval', 'acme', 'on')).toMatchObject({ needsApproval: true });
  const { id } = await json(...create());
  for (const words of [
    create('--publish'),
    create('--schedule', '2099-01-01T09:00'),
    ['post', 'publish', id],
    ['post', 'publish', id, '--at', '2099-01-01T09:00'],
  ]) {
    const { exitCode, stderr } = await run(...words);
    expect([words.slice(1), exitCode, stderr.includes(SKIP)]).toEqual([words.slice(1), 1, true]);
  }
  expect(await json('post', 'list', '--organization', 'acme', '--status', 'published')).toEqual([]);
  await json('post', 'ask-approval', id);
  expect((await json('post', 'show', id)).approval).toMatchObject({
    state: 'waiting',
    askedBy: expect.any(String),
  });
  expect((await run('post', 'show', id)).stdout).toMatch(/Approval +waiting, /);
  expect(await json('post', 'publish', id, '--at', '2099-01-01T09:00', SKIP)).toMatchObject({
    status: 'draft',
  });
  expect(await json('post', 'publish', id, SKIP)).toMatchObject({ status: 'published' });
  expect((await run('post', 'edit', id, '--title', 'Other')).exitCode).toBe(1);
  expect(await json('post', 'edit', id, '--title', 'Other', SKIP)).toMatchObject({ title: 'Other' });
  expect(await json(...create('--publish', SKIP))).toMatchObject({ status: 'published' });
  const log: { summary: string }[] = await json('audit', 'list', '--organization', 'acme');
  expect(log.filter(({ summary }) => summary.startsWith('skipped the approval'))).toHaveLength(3);
});

test('an import makes drafts, or publishes on demand', async () => {
  const words = ['post', 'import', '--organization', 'acme', `${folder.path}/posts.json`];
  expect(await json(...words)).toMatchObject([{ created: 1, unapproved: 1 }]);
  expect(await json('post', 'show', 'one')).toMatchObject({ status: 'draft', approval: { state: 'needed' } });
  await Bun.write(
    `${folder.path}/posts.json`,
    JSON.stringify([{ id: 'two', title: 'Two', markdown: 'Two' }]),
  );
  expect((await run(...words)).stdout).toContain('not approved: 1. New ones are drafts');
  await Bun.write(`${folder.path}/posts.json`, JSON.stringify([{ id: 'three', title: '3', markdown: '3' }]));
  expect(await json(...words, SKIP)).toMatchObject([{ created: 1 }]);
  expect(await json('post', 'show', 'three')).toMatchObject({ status: 'published' });
});
