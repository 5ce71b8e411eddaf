import { afterEach, beforeEach, expect, test } from 'bun:test';
import { tidings } from '../../src/lib/build.ts';
import { suggestChange } from '../../src/posts/suggestions.ts';
import { readConfig } from '../../src/server/config.ts';
import { openServices } from '../../src/server/services.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

// Changes that API keys suggest, on the command line.

let folder: ReturnType<typeof temporaryFolder>;
let id: string;

const run = (...words: string[]) => cli(folder.path, words);
const json = (...words: string[]) => cliJson(folder.path, words);

beforeEach(async () => {
  folder = temporaryFolder();
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const path = `${folder.path}/posts.json`;
  await Bun.write(path, JSON.stringify([{ id: 'one', title: 'One', markdown: 'Old' }]));
  await json('post', 'import', '--organization', 'acme', path);
  const services = await openServices(readConfig({ DATA_DIR: folder.path }, { LOG_LEVEL: 'silent' }));
  try {
    const key = { keyId: 'key_bot', name: 'Docs \u001b[31magent' };
    const change = { id: 'one', markdown: 'New \u001b[31mtext', note: 'Shorter' };
    await suggestChange(services, 'acme', key, change);
  } finally {
    await services.close();
  }
  [{ id }] = await json('post', 'suggestion', 'list', '--organization', 'acme');
});

afterEach(() => folder.remove());

test('list names them without their texts, and post show points to it', async () => {
  const listed = {
    id: expect.stringMatching(/^sug_/),
    postId: 'one',
    organizationId: 'acme',
    keyId: 'key_bot',
    keyName: expect.stringContaining('agent'),
    title: 'One',
    note: 'Shorter',
    createdAt: expect.stringMatching(/Z$/),
  };
  expect(await json('post', 'suggestion', 'list')).toEqual([listed]);
  expect(await json('post', 'suggestion', 'list', '--post', 'one')).toEqual([listed]);
  expect(await json('post', 'suggestion', 'list', '--organization', 'other')).toEqual([]);
  const { stdout } = await run('post', 'suggestion', 'list');
  expect(stdout).toMatch(/^ID .*\nsug_\S+ +one +Docs .*agent .* Shorter\n$/);
  expect(stdout).not.toContain('\u001b');
  expect((await run('post', 'show', 'one')).stdout).toEndWith(
    `\n\nAPI keys suggest changes. Review them: ${tidings} post suggestion list --post one\n`,
  );
  expect((await run('post', 'suggestion', 'list', '--organization', 'other')).stdout).toBe(
    'No open suggestions.\n',
  );
});

test('show compares it with the post', async () => {
  expect(await json('post', 'suggestion', 'show', id)).toMatchObject({
    id,
    postId: 'one',
    changes: [
      { kind: 'same', line: 'One' },
      { kind: 'same', line: '' },
      { kind: 'removed', line: 'Old' },
      { kind: 'added', line: expect.stringContaining('New') },
    ],
  });
  const { stdout } = await run('post', 'suggestion', 'show', id);
  expect(stdout).toMatch(/API key +Docs/);
  expect(stdout).toMatch(/- Old\n\+ New .*text\n$/);
  expect(stdout).not.toContain('\u001b');
});

test('show prints the whole text where it has too many lines to compare', async () => {
  const services = await openServices(readConfig({ DATA_DIR: folder.path }, { LOG_LEVEL: 'silent' }));
  try {
    await suggestChange(
      services,
      'acme',
      { keyId: 'key_b', name: 'b' },
      { id: 'one', markdown: 'x\n'.repeat(9_000) },
    );
  } finally {
    await services.close();
  }
  const [{ id: long }] = await json('post', 'suggestion', 'list', '--post', 'one');
  expect(await json('post', 'suggestion', 'show', long)).toMatchObject({ changes: null });
  const { stdout } = await run('post', 'suggestion', 'show', long);
  expect(stdout).toContain('too different');
  expect(stdout).toContain('One\n\nx\nx\n');
});

test('accept puts it into the post', async () => {
  expect(await json('post', 'suggestion', 'accept', id)).toMatchObject({
    id: 'one',
    markdown: 'New \u001b[31mtext',
    status: 'published',
  });
  expect(await json('post', 'suggestion', 'list')).toEqual([]);
  const again = await run('post', 'suggestion', 'accept', id);
  expect([again.exitCode, again.stderr]).toEqual([1, `error: Suggestion ${id} not found\n`]);
});

test('dismiss removes it and changes nothing', async () => {
  expect(await json('post', 'suggestion', 'dismiss', id)).toEqual({ id, dismissed: true });
  expect(await json('post', 'suggestion', 'list')).toEqual([]);
  expect(await json('post', 'show', 'one')).toMatchObject({ markdown: 'Old' });
});
