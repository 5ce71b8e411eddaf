import { gitlabApi } from '../../../src/providers/gitlab/api/index.ts';
import { gitlabReader } from '../../../src/providers/gitlab/reader.ts';
import type { ClientOptions } from '../../../src/providers/host.ts';
import { fixedClock } from '../clock.ts';
import { settingsFor, shaOf } from '../stand-in.ts';
import { startGitlabApi } from './server.ts';
import type { StoredCommit, StoredMergeRequest, StoredRelease, StoredToken } from './state.ts';

export { problemOf, SECRET, shaOf } from '../stand-in.ts';

export const SETTINGS = settingsFor('push', 'release');

/** GitLab with acme/tools/rocket, which ann maintains, and Tidings' clients with her token. */
export function startRocket(
  options: Partial<ClientOptions> & {
    token?: StoredToken;
    canSign?: boolean;
    allowLocal?: boolean;
  } = {},
) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const gitlab = startGitlabApi({ clock, ...options });
  const project = gitlab.addProject('acme/tools/rocket', {
    roles: { ann: 40, ben: 30 },
    commits: [1, 2, 3, 4].map(commitOf).reverse(),
  });
  const token = gitlab.addToken(options.token ?? { user: 'ann', scopes: ['api'] });
  return {
    clock,
    gitlab,
    project,
    token,
    api: gitlabApi(gitlab.url, token, { clock, ...options }),
    reader: gitlabReader(gitlab.url, token, { clock, ...options }),
    anonymous: gitlabReader(gitlab.url, null, { clock, ...options }),
    [Symbol.dispose]: () => gitlab[Symbol.dispose](),
  };
}

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute, 7, 519)).toISOString();

export const commitOf = (number: number): StoredCommit => ({
  id: shaOf(number),
  message: `feat: change ${number}\n\nBREAKING CHANGE: of ${number}\n`,
  author: 'Ann',
  committedAt: at(number),
  files: [`packages/${number % 2 === 0 ? 'api' : 'web'}/gauge.ts`],
});

export const releaseOf = (number: number, about: Partial<StoredRelease> = {}): StoredRelease => ({
  id: number,
  tag: `v1.${number}.0`,
  name: `Rocket 1.${number}`,
  description: `- Change ${number} ![shot](/uploads/0123456789abcdef0123456789abcdef/shot.png)`,
  createdAt: at(0),
  releasedAt: at(number),
  isUpcoming: false,
  ...about,
});

const [ann, ben] = [
  { id: 1, username: 'ann' },
  { id: 2, username: 'ben' },
];

export const mergeOf = (iid: number, about: Partial<StoredMergeRequest> = {}): StoredMergeRequest => ({
  iid,
  title: `fix: gauge ${iid}`,
  description: 'BREAKING CHANGE: the gauge',
  author: ben,
  mergedBy: ann,
  assignees: [ben],
  reviewers: [],
  labels: ['bug', 'ui'],
  sourceBranch: 'fix/gauge',
  targetBranch: 'main',
  mergedAt: at(iid),
  updatedAt: at(iid),
  mergeCommitSha: shaOf(iid),
  sha: shaOf(100 + iid),
  ...about,
});
