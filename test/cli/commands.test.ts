import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { tidings } from '../../src/lib/build.ts';
import { systemClock } from '../../src/lib/time.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { root } from '../support/server.ts';
import { commandOnMount, mayMount } from '../support/small-disk.ts';
import { API_ID, permissionOn, ROOT_KEY, startUnkeyServer } from '../support/unkey-server.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const run = (...words: string[]) => cli(join(folder.path, 'data'), words);

const json = (...words: string[]) => cliJson(join(folder.path, 'data'), words);

async function fails(exitCode: number, ...words: string[]): Promise<string> {
  const result = await run(...words);
  expect(result).toMatchObject({ exitCode, stdout: '' });
  return result.stderr;
}

async function write(name: string, text: string): Promise<string> {
  const path = join(folder.path, name);
  await Bun.write(path, text);
  return path;
}

test('nothing that a stranger wrote steers the terminal, in an answer or in an error', async () => {
  const file = await write(
    'evil.json',
    JSON.stringify([{ id: 'evil', title: 'T', markdown: 'a\u001b[2J\u009bb\n\tc' }]),
  );
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  await json('post', 'import', '--organization', 'acme', file);
  expect((await run('post', 'show', 'evil')).stdout).toContain('a[2Jb\n\tc');
  const names = ['\u061c', '\u200e', '\u202e', '\u2066', '\u009b31m', '\u2028', '\u007f'];
  const title = `Pay${names.join('')}Pal`;
  await json(
    'post',
    'import',
    '--organization',
    'acme',
    await write('bidi.json', JSON.stringify([{ id: 'bidi', title, content: title }])),
  );
  const raw = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
  for (const words of [
    ['post', 'show', 'bidi'],
    ['post', 'list', '--organization', 'acme'],
    ['post', 'show', 'bidi', '--json'],
    ['post', 'export', '--organization', 'acme'],
    ['post', 'export', '--organization', 'acme', '--jsonl'],
  ]) {
    const { stdout } = await run(...words);
    expect(stdout).toContain('Pay');
    // The text of a post keeps its line separators.
    expect(
      words.length === 3 && !words.includes('--json') ? stdout.replaceAll('\u2028', '') : stdout,
    ).not.toMatch(raw);
  }
  // A program reads the same title back.
  expect(await json('post', 'show', 'bidi')).toMatchObject({ title });
  expect(await fails(2, '--\u202eunknown')).toContain("unknown option '--unknown'");
  const refused = await fails(1, 'integration', 'enable', 'int_\u001b]0;owned\u0007');
  expect(refused).toContain('int_]0;owned');
  expect(refused).not.toContain('\u001b');
});

describe('organization', () => {
  test('create, list, set-plan', async () => {
    expect(await json('organization', 'list')).toEqual([]);
    const created = await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    expect(created).toEqual({
      id: 'acme',
      name: 'Acme',
      plan: 'free',
      needsApproval: false,
      createdAt: expect.stringMatching(/Z$/),
    });
    const other = await json('organization', 'create', '--name', 'Other', '--plan', 'pro');
    expect(other.id).toMatch(/^org_\w+$/);
    expect(await json('organization', 'set-plan', 'acme', 'pro')).toEqual({ ...created, plan: 'pro' });
    expect(await json('organization', 'list')).toEqual([{ ...created, plan: 'pro' }, other]);
  });

  test('speaks to people without --json', async () => {
    expect((await run('organization', 'list')).stdout).toStartWith(
      `No organizations yet. Create one: ${tidings} organization create`,
    );
    expect((await run('organization', 'create', '--name', 'Acme', '--id', 'acme')).stdout).toContain('Acme');
    expect((await run('organization', 'list')).stdout).toMatch(
      /^ID +NAME +PLAN +CREATED\nacme +Acme +free +20/,
    );
  });

  test('without an organization, a command that needs one suggests "organization create"', async () => {
    expect(await fails(1, 'key', 'list', '--organization', 'acme')).toBe(
      'error: Organization acme not found. This data folder has no organizations yet. "organization create" creates one. --data-dir selects another folder.\n',
    );
  });

  test('refusals', async () => {
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    expect(await fails(1, 'organization', 'create', '--name', 'Acme', '--id', 'acme')).toBe(
      'error: Organization acme already exists. Choose another --id.\n',
    );
    expect(await fails(2, 'organization', 'create', '--name', ' ')).toContain('name must not be empty');
    expect(await fails(2, 'organization', 'create', '--name', 'A', '--id', 'a/b')).toContain(
      'id must be 1 to 64 letters',
    );
    expect(await fails(2, 'organization', 'create')).toContain(
      "required option '--name <name>' not specified",
    );
    expect(await fails(2, 'organization', 'create', '--name', 'A', '--plan', 'gold')).toContain('free, pro');
    expect(await fails(2, 'organization', 'set-plan', 'acme', 'gold')).toContain('free, pro');
    expect(await fails(1, 'organization', 'set-plan', 'nobody', 'pro')).toContain(
      'Organization nobody not found',
    );
    expect(await json('organization', 'list')).toHaveLength(1);
  });
});

describe('key', () => {
  beforeEach(() => json('organization', 'create', '--name', 'Acme', '--id', 'acme'));

  test('create, list, revoke, delete', async () => {
    const created = await json('key', 'create', '--organization', 'acme', '--name', 'Website');
    expect(created).toEqual({
      id: expect.stringMatching(/^key_\w+$/),
      key: expect.stringMatching(/^tdk_[1-9A-HJ-NP-Za-km-z]{42,44}$/),
      name: 'Website',
      organizationId: 'acme',
      permissions: ['api.read'],
      expiresAt: null,
    });
    const listed = await json('key', 'list', '--organization', 'acme');
    expect(listed).toEqual([
      {
        id: created.id,
        name: 'Website',
        organizationId: 'acme',
        prefix: created.key.slice(0, 8),
        permissions: ['api.read'],
        createdAt: expect.any(String),
        lastUsedAt: null,
        expiresAt: null,
        status: 'active',
      },
    ]);
    expect(await json('key', 'revoke', created.id)).toEqual({ ...listed[0], status: 'revoked' });
    expect(await json('key', 'delete', created.id)).toEqual({ id: created.id, deleted: true });
    expect(await json('key', 'list', '--organization', 'acme')).toEqual([]);
  });

  test('permissions and expiry as given', async () => {
    const permissions = ['posts.suggest', 'api.read', 'posts.suggest'].flatMap((each) => [
      '--permission',
      each,
    ]);
    const words = [...permissions, '--expires', '2099-01-31'];
    expect(await json('key', 'create', '--organization', 'acme', '--name', 'A', ...words)).toMatchObject({
      permissions: ['posts.suggest', 'api.read'],
      expiresAt: '2099-01-31T00:00:00.000Z',
    });
  });

  test('people see the value once, and never in the list', async () => {
    const { stdout } = await run('key', 'create', '--organization', 'acme', '--name', 'Website');
    const value = /tdk_\w+/.exec(stdout)?.[0] ?? '';
    expect(stdout).toContain('Copy the key now');
    const list = (await run('key', 'list', '--organization', 'acme')).stdout;
    expect(list).toContain(`${value.slice(0, 8)}…`);
    expect(list).not.toContain(value);
  });

  test('refusals', async () => {
    const create = ['key', 'create', '--organization', 'acme', '--name', 'A'];
    expect(await fails(2, ...create, '--expires', '2020-01-01')).toContain('--expires must be in the future');
    expect(await fails(2, ...create, '--expires', 'soon')).toContain('must be an ISO 8601 date or time');
    expect(await fails(2, ...create, '--permission', 'api.write')).toContain('api.read or posts.suggest');
    expect(await fails(2, 'key', 'create', '--organization', 'acme')).toContain('--name');
    expect(await fails(1, 'key', 'create', '--organization', 'nobody', '--name', 'A')).toContain(
      'nobody not found',
    );
    expect(await fails(1, 'key', 'revoke', 'key_none')).toContain('Key key_none not found');
    expect(await fails(1, 'key', 'delete', 'key_none')).toContain('Key key_none not found');
    expect(await json('key', 'list', '--organization', 'acme')).toEqual([]);
  });

  test('revoke and delete say when the key stops working', async () => {
    for (const change of ['revoke', 'delete']) {
      const { id } = await json('key', 'create', '--organization', 'acme', '--name', 'Website');
      const { stdout } = await run('key', change, id);
      expect(stdout).toEndWith('A revoked or deleted key stops working at once.\n');
    }
  });

  test('with Unkey they name its cache, and a new key that it does not verify is a warning', async () => {
    using unkey = startUnkeyServer({ clock: systemClock });
    const environment = { UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_API_ID: API_ID, UNKEY_BASE_URL: unkey.url };
    const atUnkey = (...words: string[]) => cli(join(folder.path, 'data'), words, { environment });
    const create = ['key', 'create', '--organization', 'acme', '--name', 'Website', '--json'];
    const good = await atUnkey(...create);
    expect(good.stderr).toBe('');
    const { id } = JSON.parse(good.stdout);
    for (const change of ['revoke', 'delete']) {
      expect((await atUnkey('key', change, id)).stdout).toContain('Unkey caches keys');
    }

    unkey.permissions.delete(permissionOn('verify_key'));
    const { exitCode, stdout, stderr } = await atUnkey(...create);
    expect(exitCode).toBe(0);
    expect(Object.keys(JSON.parse(stdout))).toEqual(Object.keys(JSON.parse(good.stdout)));
    expect(stderr).toStartWith('warning: Unkey answers NOT_FOUND for the new key');
    expect(stderr).toContain(permissionOn('verify_key'));
  });
});

describe('post', () => {
  beforeEach(() => json('organization', 'create', '--name', 'Acme', '--id', 'acme'));

  const posts = [
    { id: 'one', title: 'One', markdown: '**1**', createdAt: '2026-01-01T00:00:00.000Z' },
    { id: 'two', title: 'Two', markdown: '2', status: 'draft', createdAt: '2026-01-02T00:00:00.000Z' },
    {
      id: 'six',
      title: 'Six',
      content: '6',
      contentType: 'linkedin_post',
      createdAt: '2026-01-03T00:00:00.000Z',
    },
  ];

  const importAll = async () =>
    json('post', 'import', '--organization', 'acme', await write('posts.json', JSON.stringify(posts)));
  const listIds = async (...words: string[]) =>
    (await json('post', 'list', '--organization', 'acme', ...words)).map(({ id }: { id: string }) => id);

  test('import tells what it did, and list shows it', async () => {
    expect(await importAll()).toMatchObject([{ created: 3, updated: 0, unchanged: 0 }]);
    expect(await importAll()).toMatchObject([{ created: 0, updated: 0, unchanged: 3 }]);
    expect(await listIds()).toEqual(['six', 'two', 'one']);
    expect(await listIds('--status', 'draft')).toEqual(['two']);
    expect(await listIds('--content-type', 'linkedin_post')).toEqual(['six']);
    expect(await listIds('--sort', 'asc', '--limit', '1', '--page', '2')).toEqual(['two']);
    expect((await run('post', 'list', '--organization', 'acme', '--limit', '2')).stdout).toEndWith(
      '2 of 3. --page 2 shows more.\n',
    );
    expect((await run('post', 'list', '--organization', 'acme', '--limit', '3')).stdout).toEndWith(
      '3 of 3.\n',
    );
  });

  test('show, publish, unpublish, delete', async () => {
    const list = ['post', 'list', '--organization', 'acme'];
    expect((await run(...list)).stdout).toContain('post import --organization acme');
    await importAll();
    expect((await run(...list, '--status', 'draft', '--content-type', 'linkedin_post')).stdout).toBe(
      'No posts match these filters.\n',
    );
    expect(await json('post', 'show', 'two')).toMatchObject({ id: 'two', content: '2', status: 'draft' });
    expect(await json('post', 'publish', 'two')).toMatchObject({ status: 'published' });
    const { updatedAt } = await json('post', 'unpublish', 'two');
    expect(await json('post', 'unpublish', 'two')).toMatchObject({ status: 'draft', updatedAt });
    expect(await json('post', 'delete', 'two')).toEqual({ id: 'two', deleted: true });
    expect(await listIds()).toEqual(['six', 'one']);
    for (const verb of ['show', 'publish', 'unpublish', 'delete']) {
      expect(await fails(1, 'post', verb, 'two')).toContain('Post two not found');
    }
    expect((await run('post', 'show', 'one')).stdout).toEndWith('\n\n**1**\n');
  });

  test('export ends quietly when nobody reads on', async () => {
    const many = Array.from({ length: 3000 }, (_, n) => ({
      id: `p${n}`,
      title: `${n}`,
      content: 'x'.repeat(500),
    }));
    await json('post', 'import', '--organization', 'acme', await write('many.json', JSON.stringify(many)));
    const words = ['post', 'export', '--organization', 'acme', '--data-dir', join(folder.path, 'data')];
    const child = Bun.spawn([process.execPath, join(root, 'src/cli.ts'), ...words], {
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const reader = child.stdout.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toStartWith('[');
    await reader.cancel();
    expect({ exitCode: await child.exited, stderr: await new Response(child.stderr).text() }).toEqual({
      exitCode: 0,
      stderr: '',
    });
  });

  test('an export of one organization can be imported into another, and the summary says that ids were replaced', async () => {
    await importAll();
    await json('organization', 'create', '--name', 'Other', '--id', 'other');
    const { stdout } = await run('post', 'export', '--organization', 'acme');
    const path = await write('export.json', stdout);
    const words = ['post', 'import', '--organization', 'other', path];
    const { stdout: summary } = await run(...words);
    const [result] = await json(...words);
    expect(result).toMatchObject({ file: path, created: 0, updated: 0, unchanged: 3, reassignedIds: 3 });
    const pairs = Object.entries(result.newIds).map(([given, id]) => `    ${given} → ${id}\n`);
    expect(pairs).toHaveLength(3);
    expect(summary).toBe(
      `${path}: 3 created, 0 updated, 0 unchanged\n  replaced ids: 3. Importing the file again updates the same posts.\n${pairs.join('')}`,
    );
    expect(await json('post', 'list', '--organization', 'acme')).toHaveLength(3);
  });

  test('a bad file leaves the good ones imported, and is named', async () => {
    const good = await write('good.md', '# Good\n\nText');
    const bad = await write('bad.json', '[{"title": "Bad"}]');
    const result = await run('post', 'import', '--organization', 'acme', bad, good, '--json');
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toBe(
      `error: ${bad}:1: markdown is missing (content, as plain text, works too)\nNothing of this file was imported.\n`,
    );
    expect(JSON.parse(result.stdout)).toMatchObject([{ file: good, created: 1 }]);
    expect(await listIds()).toHaveLength(1);
  });

  test('a folder names each other field once, and each skipped part with its reason', async () => {
    for (const name of ['one', 'two']) {
      await write(`notes/${name}.md`, `---\ntitle: ${name}\nauthor: ann\n${name}: 1\n---\nText`);
    }
    const heading = `Unreleased ${'and more '.repeat(10)}`;
    await write('notes/CHANGELOG.md', `# Log\n\n## ${heading}\n\n- x\n\n## 1.0.0 - 2026-01-01\n\n- y\n`);
    const { stdout } = await run('post', 'import', '--organization', 'acme', join(folder.path, 'notes'));
    expect(stdout).toContain('3 created');
    expect(stdout).toContain('  other fields, kept in sourceMetadata: author, one, two\n');
    expect(stdout).toContain(`"${heading.trim()}" (line 3: not released)\n`);
  });

  test('posts with a date in the future are drafts, or scheduled with --schedule', async () => {
    const path = await write('CHANGELOG.md', '# Log\n\n## 1.0.0 - 2098-02-01\n\n- y\n');
    const importing = ['post', 'import', '--organization', 'acme', path];
    expect((await run(...importing)).stdout).toContain('dated in the future: 1. They are drafts.');
    expect((await run(...importing, '--schedule')).stdout).toContain('  scheduled for their date: 1\n');
    expect(await json('post', 'list', '--organization', 'acme')).toMatchObject([
      { status: 'draft', scheduledFor: '2098-02-01T00:00:00.000Z' },
    ]);
  });

  test('files that cannot be read', async () => {
    const binary = await write('bad.md', '');
    await Bun.write(binary, new Uint8Array([35, 32, 255, 254]));
    const importing = ['post', 'import', '--organization', 'acme'];
    expect(await fails(1, ...importing, binary)).toContain('is not UTF-8 text');
    expect(await fails(1, ...importing, join(folder.path, 'none.md'))).toContain('none.md: no such file');
    expect(await fails(2, ...importing)).toContain("missing required argument 'file'");
    expect(await fails(2, ...importing, binary, '--date', 'soon')).toContain('ISO 8601');
    expect(await fails(2, ...importing, binary, '--format', 'xml')).toContain(
      'json, jsonl, markdown, changelog',
    );
    expect(await fails(2, 'post', 'list', '--organization', 'acme', '--limit', '0')).toContain(
      'from 1 to 1000',
    );
    expect(await fails(1, 'post', 'list', '--organization', 'nobody')).toContain(
      'Organization nobody not found',
    );
  });

  test('a progress bar is drawn for a person, and only for one', async () => {
    const path = await write('posts.json', JSON.stringify(posts));
    const words = ['post', 'import', '--organization', 'acme', path];
    const watched = await cli(join(folder.path, 'data'), words, { isInteractive: true });
    expect(watched.stderr).toContain(`${'█'.repeat(20)} 3 of 3 in `);
    expect(watched.stderr).toEndWith('\r\u001b[K');
    expect(watched.stdout).toBe(`${path}: 3 created, 0 updated, 0 unchanged\n`);
    await json('post', 'delete', 'one');
    expect((await cli(join(folder.path, 'data'), words)).stderr).toBe('');
  });

  test('a title cannot steer the terminal', async () => {
    const path = await write('p.json', JSON.stringify([{ title: 'A\u001b[31m\nB', content: '' }]));
    await json('post', 'import', '--organization', 'acme', path);
    expect((await run('post', 'list', '--organization', 'acme')).stdout).toContain('A [31m B');
  });
});

describe('wrong arguments', () => {
  test.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['key', 'frobnicate'], "unknown command 'frobnicate'"],
    [['organization', 'list', '--frob'], "unknown option '--frob'"],
    [['organization', 'list', 'extra'], 'too many arguments'],
    [['serve', '--port', 'http'], 'PORT must be a port number from 0 to 65535'],
  ])('%p', async (words, message) => {
    expect(await fails(2, ...words)).toContain(message);
  });

  test('--help and --version are no failure', async () => {
    const help = await run('--help');
    expect(help.exitCode).toBe(0);
    for (const word of ['serve', 'organization', 'key', 'post', '--json', '--data-dir'])
      expect(help.stdout).toContain(word);
    expect(await run('--version')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^tidings \d+\.\d+\.\d+ \(source\)\n$/),
    });
    expect((await run('serve', '--help')).stdout).toContain('UNKEY_TIMEOUT_MS');
    const ofKey = (await run('key', 'create', '--help')).stdout;
    expect(ofKey).toMatch(/--organization <id> +Organization whose posts the key reads\s+\(required\)/);
    expect(ofKey.match(/\(required\)/g)).toHaveLength(2);
  });
});

test('a database that another process keeps busy is one line, and nothing is changed', async () => {
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const writer = new Sqlite(join(folder.path, 'data', 'tidings.db'));
  writer.run('BEGIN IMMEDIATE');
  expect(await fails(1, 'organization', 'create', '--name', 'B', '--id', 'b')).toBe(
    'error: The database is busy: another process has been writing to it for 5 seconds. Run the command again.\n',
  );
  writer.run('ROLLBACK');
  writer.close();
  expect(await json('organization', 'list')).toHaveLength(1);
}, 300_000);

test.skipIf(!mayMount)(
  'a full disk is one line, and nothing is changed',
  async () => {
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
    const file = await write('posts.json', JSON.stringify([{ title: 'P', markdown: 'x'.repeat(190_000) }]));
    const data = join(folder.path, 'data');
    const used = readdirSync(data).reduce((sum, name) => sum + statSync(join(data, name)).size, 0);
    // Of 4 MB, room to open the database and not to write a long post.
    await write('data/fill', 'x'.repeat(4 * 1024 * 1024 - used - 300_000));
    const { exitCode, stderr } = commandOnMount(join(folder.path, 'data'), [
      'post',
      'import',
      '--organization',
      'acme',
      file,
    ]);
    expect([exitCode, stderr]).toEqual([
      1,
      'error: The disk is full. Nothing was written. Free up disk space, then run the command again.\n',
    ]);
  },
  300_000,
);

test('a data folder that cannot be used is named, with what to do', async () => {
  const file = await write('file', 'x');
  const { exitCode, stderr } = await cli(file, ['organization', 'list']);
  expect(exitCode).toBe(1);
  expect(stderr).toStartWith(`error: The data folder ${file} cannot be used: `);
  await Bun.write(
    join(folder.path, 'data', 'tidings.db'),
    'this is no database, but long enough to look like one'.repeat(50),
  );
  expect(await fails(1, 'organization', 'list')).toContain('file is not a database');
});

test('the data folder is for its owner alone', async () => {
  await run('organization', 'list');
  const mode = (name: string) => statSync(join(folder.path, name)).mode & 0o777;
  expect(['data', 'data/tidings.db', 'data/secret.key'].map(mode)).toEqual([0o700, 0o600, 0o600]);
});
