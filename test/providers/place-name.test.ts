import { describe, expect, test } from 'bun:test';
import { providerOf } from '../../src/providers/index.ts';

const { placeName: atGithub } = providerOf('github');
const { placeName: atForgejo } = providerOf('forgejo');
const ENTERPRISE = 'https://github.acme.test/api/v3';

describe('a repository is named by its URL too', () => {
  test.each([
    'acme/rocket',
    ' acme/rocket ',
    'https://github.com/acme/rocket',
    'https://github.com/acme/rocket/',
    'https://github.com/acme/rocket.git',
    'https://github.com/acme/rocket.git/',
    'http://www.github.com/acme/rocket',
    'https://GitHub.com/acme/rocket/tree/main/docs',
    'https://github.com/acme/rocket/settings/hooks/new',
    'https://github.com/acme/rocket?tab=readme-ov-file#install',
    'https://ann:token@github.com/acme/rocket.git',
    'github.com/acme/rocket',
    'git@github.com:acme/rocket.git',
    'git@github.com:acme/rocket',
    'ssh://git@github.com/acme/rocket.git',
    'ssh://git@ssh.github.com:443/acme/rocket.git',
    'git+ssh://git@github.com/acme/rocket.git',
  ])('%p', (text) => {
    expect(atGithub(text, undefined)).toBe('acme/rocket');
  });

  test('dots in the name stay', () => {
    expect(atGithub('https://github.com/acme/rocket.js.git', undefined)).toBe('acme/rocket.js');
  });

  test.each([
    ['https://github.acme.test/acme/rocket', ENTERPRISE],
    ['https://github.acme.test:8443/acme/rocket', 'https://github.acme.test:8443/api/v3'],
    ['git@github.acme.test:acme/rocket.git', ENTERPRISE],
    ['https://acme.ghe.com/acme/rocket', 'https://api.acme.ghe.com'],
  ])('%p of GitHub Enterprise at %p', (text, apiUrl) => {
    expect(atGithub(text, apiUrl)).toBe('acme/rocket');
  });

  test.each([
    ['https://codeberg.org/acme/rocket', undefined],
    ['codeberg.org/acme/rocket', undefined],
    ['git@codeberg.org:acme/rocket.git', undefined],
    ['https://git.acme.test:3000/acme/rocket/src/branch/main', 'https://git.acme.test:3000/api/v1'],
    ['https://acme.test/git/acme/rocket/releases', 'https://acme.test/git/api/v1'],
    ['acme.test/git/acme/rocket', 'https://acme.test/git/api/v1'],
    ['git@acme.test:acme/rocket.git', 'https://acme.test/git/api/v1'],
    ['acme/rocket', 'https://acme.test/git/api/v1'],
  ])('%p of Forgejo at %p', (text, apiUrl) => {
    expect(atForgejo(text, apiUrl)).toBe('acme/rocket');
  });

  test('a URL of another Forgejo is refused with what to do', () => {
    expect(() => atForgejo('https://git.acme.test/acme/rocket', undefined)).toThrow(
      'must be OWNER/NAME or the URL of a repository at codeberg.org; for another server, set FORGEJO_API_URL',
    );
  });
});

test.each(['acme', '', 'acme/rocket/x', 'a b/c', 'repo_123', 'all', '../..', 'javascript:alert(1)'])(
  '%p is no URL, and stays as it is',
  (text) => {
    expect(atGithub(text, undefined)).toBe(text);
  },
);

test.each([
  ['https://gitlab.com/acme/rocket', undefined, 'github.com'],
  ['https://github.com.evil.test/acme/rocket', undefined, 'github.com'],
  ['https://github.com/acme', undefined, 'github.com'],
  ['github.com/acme', undefined, 'github.com'],
  ['https://github.com', undefined, 'github.com'],
  ['https://github.com/acme/.git', undefined, 'github.com'],
  ['git@gitlab.com:acme/rocket.git', undefined, 'github.com'],
  ['gitlab.com/acme/rocket', undefined, 'github.com'],
  ['https://github.com/acme/rocket', ENTERPRISE, 'github.acme.test'],
])('%p is refused with the API %p', (text, apiUrl, site) => {
  const message = `must be OWNER/NAME or the URL of a repository at ${site}`;
  expect(() => atGithub(text, apiUrl)).toThrow(message);
});

test('a refusal repeats nothing of the URL, which can hold a token', () => {
  const refused = () => atGithub('https://ann:ghp_secret@gitlab.com/acme/rocket', undefined);
  expect(refused).toThrow('repository must be OWNER/NAME or the URL of a repository at github.com');
  expect(refused).not.toThrow('ghp_secret');
});

test('a team is not looked for in a URL', () => {
  expect(providerOf('linear').placeName(' ENG ', undefined)).toBe('ENG');
});
