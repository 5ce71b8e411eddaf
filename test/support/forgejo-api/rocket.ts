import { forgejoApi } from '../../../src/providers/forgejo/api/index.ts';
import { forgejoReader } from '../../../src/providers/forgejo/reader.ts';
import type { ClientOptions } from '../../../src/providers/host.ts';
import { fixedClock } from '../clock.ts';
import { settingsFor, shaOf } from '../stand-in.ts';
import { startForgejoApi } from './server.ts';
import type { StoredCommit, StoredPull, StoredRelease, StoredToken } from './state.ts';

export { problemOf, SECRET, shaOf } from '../stand-in.ts';

export const PLACE = 'acme/rocket';
export const SETTINGS = settingsFor('pull_request', 'push', 'release');

/** Forgejo with acme/rocket, which ann administers, and Tidings' clients with her token. */
export function startRocket(
  options: Partial<ClientOptions> & {
    token?: StoredToken;
    isGitea?: boolean;
    sendsEtags?: boolean;
    path?: string;
  } = {},
) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const forgejo = startForgejoApi({ clock, ...options });
  const repository = forgejo.addRepository(PLACE, {
    rights: { ann: 'admin', ben: 'write' },
    commits: [4, 3, 2, 1].map(commitOf),
  });
  const token = forgejo.addToken(options.token ?? { user: 'ann', scopes: ['write:repository', 'read:user'] });
  return {
    clock,
    forgejo,
    repository,
    token,
    api: forgejoApi(forgejo.url, token, { clock, ...options }),
    reader: forgejoReader(forgejo.url, token, { clock, ...options }),
    anonymous: forgejoReader(forgejo.url, null, { clock, ...options }),
    [Symbol.dispose]: () => forgejo[Symbol.dispose](),
  };
}

/** As Forgejo writes times: in the time zone of the server, without milliseconds. */
const at = (minute: number) => {
  const time = new Date(Date.UTC(2026, 10, 20, 13, minute, 7)).toISOString();
  return `${time.slice(0, 19)}+01:00`;
};

export const commitOf = (number: number): StoredCommit => ({
  sha: shaOf(number),
  message: `feat: change ${number}\n\nBREAKING CHANGE: of ${number}\n`,
  login: number % 2 === 0 ? 'ann' : null,
  name: number % 2 === 0 ? 'Ann' : 'Ben',
  authoredAt: at(number),
  committedAt: at(number + 30),
  files: [`packages/${number % 2 === 0 ? 'api' : 'web'}/gauge.ts`],
});

export const releaseOf = (number: number, about: Partial<StoredRelease> = {}): StoredRelease => ({
  id: number,
  tag: `v1.${number}.0`,
  target: 'main',
  title: `Rocket 1.${number}`,
  notes: `- Change ${number}`,
  author: 'ann',
  isDraft: false,
  isPrerelease: false,
  createdAt: at(number),
  ...about,
});

export const pullOf = (number: number, about: Partial<StoredPull> = {}): StoredPull => ({
  number,
  title: `fix: gauge ${number}`,
  body: 'BREAKING CHANGE: the gauge',
  author: 'ben',
  labels: ['bug', 'ui'],
  milestone: null,
  base: 'main',
  head: 'fix/gauge',
  merged: { by: 'ann', at: at(number), commit: shaOf(number) },
  updatedAt: at(number),
  ...about,
});
