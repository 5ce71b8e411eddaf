import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';

const folder = temporaryFolder();

beforeAll(async () => {
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
});

afterAll(() => folder.remove());

const run = (...words: string[]) => cli(folder.path, words);

test('an account is made with a link to choose a password', async () => {
  const words = ['user', 'create', '--email', 'Ann@Acme.example', '--organization', 'acme'];
  const made = await cliJson(folder.path, words);
  expect(made).toEqual({
    id: expect.stringMatching(/^usr_/),
    email: 'ann@acme.example',
    url: expect.stringMatching(/^http:\/\/localhost:3000\/dashboard\/~\/password\?token=\w{40,}$/),
  });
  const again = await cliJson(folder.path, ['user', 'reset-password', '--email', 'ann@acme.example']);
  expect(again.id).toBe(made.id);
  expect(again.url).not.toBe(made.url);
  const { stdout } = await run('user', 'reset-password', '--email', 'ann@acme.example');
  expect(stdout).toContain('It works once and expires in 24 hours');
});

test('an address that is none is refused', async () => {
  expect(await run('user', 'create', '--email', 'ann')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'error: --email must be an email address without invisible characters, such as ann@acme.example\n',
  });
});

test.each([
  [
    ['create', '--email', 'ann@acme.example'],
    'User ann@acme.example already exists. "user reset-password" creates a link to sign in again.',
  ],
  [
    ['create', '--email', 'ben@acme.example', '--organization', 'nowhere'],
    'Organization nowhere not found. "organization list" lists those that exist.',
  ],
  [
    ['reset-password', '--email', 'ben@acme.example'],
    'User ben@acme.example not found. "user list" lists all users.',
  ],
])('user %p is refused', async (words, message) => {
  expect(await run('user', ...words)).toEqual({ exitCode: 1, stdout: '', stderr: `error: ${message}\n` });
});

const hidden: [string, string][] = [
  ['a right-to-left override', 'admin\u202e@acme.example'],
  ['an isolate in the domain', 'ann@acme\u2066.example'],
  ['a left-to-right mark', 'ann@acme.exam\u200eple'],
  ['a zero-width space', 'an\u200bn@acme.example'],
  ['a byte order mark', 'an\ufeffn@acme.example'],
  ['a soft hyphen', 'an\u00adn@acme.example'],
  ['a Hangul filler', 'ann\u3164@acme.example'],
  ['a variation selector', 'ann\ufe0f@acme.example'],
  ['a tag of plane 14', 'ann\u{e0061}@acme.example'],
  ['an empty braille pattern', 'ann\u2800@acme.example'],
  ['a control character', 'ann\u0007@acme.example'],
  ['half of a character', 'ann\ud800@acme.example'],
];

test.each(hidden)('an address with %s is refused', async (_, email) => {
  const { exitCode, stderr } = await run('user', 'create', '--email', email);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('without invisible characters')]);
  expect(JSON.stringify(await cliJson(folder.path, ['user', 'list']))).not.toContain('@acme.exam\u200e');
});

test('an address in another script is accepted', async () => {
  const email = 'квіточка@пошта.укр';
  expect(await cliJson(folder.path, ['user', 'create', '--email', email])).toMatchObject({ email });
});

describe('accounts', () => {
  const fresh = temporaryFolder();
  const json = (...words: string[]) => cliJson(fresh.path, ['user', ...words]);
  const text = (...words: string[]) => cli(fresh.path, ['user', ...words]);

  beforeAll(async () => {
    for (const id of ['acme', 'beta']) {
      await cliJson(fresh.path, ['organization', 'create', '--name', id.toUpperCase(), '--id', id]);
    }
  });

  afterAll(() => fresh.remove());

  test('are listed, added to organizations, disabled, enabled and deleted', async () => {
    expect(await json('list')).toEqual([]);
    expect((await text('list')).stdout).toContain('No accounts yet. Create one: ');
    await json('create', '--email', 'ann@acme.example', '--organization', 'acme');
    await json('create', '--email', 'ben@acme.example');
    const ann = {
      id: expect.stringMatching(/^usr_/),
      email: 'ann@acme.example',
      createdAt: expect.stringMatching(/Z$/),
      disabledAt: null,
      organizations: [{ organizationId: 'acme', organizationName: 'ACME', role: 'owner' }],
    };
    const ben = { ...ann, email: 'ben@acme.example', organizations: [] };
    expect(await json('list')).toEqual([ann, ben]);
    expect(await json('list', '--organization', 'acme')).toEqual([ann]);
    expect(await json('list', '--organization', 'beta')).toEqual([]);

    const beta = { organizationId: 'beta', organizationName: 'BETA', role: 'member' };
    expect(await json('add', 'Ben@Acme.example', '--organization', 'beta')).toEqual({
      ...ben,
      organizations: [beta],
    });
    expect(await json('add', 'ben@acme.example', '--organization', 'beta', '--role', 'owner')).toEqual({
      ...ben,
      organizations: [{ ...beta, role: 'owner' }],
    });

    const { stdout: kept } = await text(
      'add',
      'ben@acme.example',
      '--organization',
      'beta',
      '--role',
      'writer',
    );
    expect(kept).toBe(
      'Nothing changed: ben@acme.example is already an owner of beta. An owner can change that in the dashboard, on the page Members.\n',
    );
    const again = await text('add', 'ben@acme.example', '--organization', 'beta', '--role', 'owner');
    expect(again.stdout).toBe('Added: ben@acme.example to beta\n');

    const refused = await text('disable', 'ben@acme.example');
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toContain(
      'You can\'t remove the last owner of beta: ben@acme.example. Make another owner first. Use "user add", or --force.',
    );
    await json('add', 'ann@acme.example', '--organization', 'beta', '--role', 'owner');
    const disabled = await json('disable', 'ben@acme.example');
    expect(disabled).toMatchObject({ email: 'ben@acme.example', disabledAt: expect.stringMatching(/Z$/) });
    const { stdout } = await text('list');
    expect(stdout).toMatch(/^EMAIL +STATUS +CREATED +ORGANIZATIONS$/m);
    expect(stdout).toMatch(/^ann@acme\.example +active +\d{4}-\d\d-\d\d +acme \(owner\), beta \(owner\)$/m);
    expect(stdout).toMatch(/^ben@acme\.example +disabled +\d{4}-\d\d-\d\d +beta \(owner\)$/m);
    expect((await text('reset-password', '--email', 'ben@acme.example')).stderr).toBe(
      'error: ben@acme.example is disabled. "user enable" lets them sign in again.\n',
    );

    expect((await text('enable', 'ben@acme.example')).stdout).toBe('Enabled: ben@acme.example\n');
    expect((await text('disable', 'ben@acme.example')).stdout).toBe('Disabled: ben@acme.example\n');
    expect(await json('delete', 'ben@acme.example')).toEqual({
      id: disabled.id,
      email: 'ben@acme.example',
      deleted: true,
    });
    expect(await json('list')).toMatchObject([{ email: 'ann@acme.example' }]);
    expect((await text('delete', 'ann@acme.example')).exitCode).toBe(1);
    expect((await text('delete', 'ann@acme.example', '--force')).stdout).toBe('Deleted: ann@acme.example\n');
    expect(await json('list')).toEqual([]);
  });

  test.each([
    [['disable', 'eve@acme.example'], 1, 'User eve@acme.example not found. "user list" lists all users.'],
    [['enable', 'eve@acme.example'], 1, 'User eve@acme.example not found'],
    [['delete', 'eve@acme.example'], 1, 'User eve@acme.example not found'],
    [['add', 'eve@acme.example', '--organization', 'acme'], 1, 'User eve@acme.example not found'],
    [['list', '--organization', 'nowhere'], 1, 'Organization nowhere not found'],
    [['add', 'eve@acme.example'], 2, "required option '--organization <id>' not specified"],
    [
      ['add', 'eve@acme.example', '--organization', 'acme', '--role', 'king'],
      2,
      'Allowed choices are owner, member',
    ],
    [['disable'], 2, "missing required argument 'email'"],
  ])('user %p is refused', async (words, exitCode, message) => {
    const refused = await text(...words);
    expect(refused).toMatchObject({ exitCode, stdout: '' });
    expect(refused.stderr).toContain(message);
  });
});
