import { afterAll, beforeAll, expect, test } from 'bun:test';
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
  expect(stdout).toContain('It works once, within a day');
});

test.each([
  [['create', '--email', 'ann'], 'email must be an e-mail address, such as ann@acme.example'],
  [
    ['create', '--email', 'ann@acme.example'],
    'There is a user ann@acme.example already; "user reset-password" lets them in again',
  ],
  [
    ['create', '--email', 'ben@acme.example', '--organization', 'nowhere'],
    'Organization nowhere not found; "organization list" shows those there are',
  ],
  [
    ['reset-password', '--email', 'ben@acme.example'],
    'There is no user ben@acme.example; "user create" makes one',
  ],
])('user %p is refused', async (words, message) => {
  expect(await run('user', ...words)).toEqual({ exitCode: 1, stdout: '', stderr: `error: ${message}\n` });
});
