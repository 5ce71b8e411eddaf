import { afterEach, beforeEach, expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/time.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import * as forgejoRocket from '../support/forgejo-api/rocket.ts';
import { startForgejoApi } from '../support/forgejo-api/server.ts';
import { projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import * as gitlabRocket from '../support/gitlab-api/rocket.ts';
import { startGitlabApi } from '../support/gitlab-api/server.ts';
import { day } from '../support/import.ts';

let folder: ReturnType<typeof temporaryFolder>;
let github: GithubApi;

beforeEach(async () => {
  folder = temporaryFolder();
  github = startGithubApi({ clock: systemClock });
  const repository = github.addRepository('acme/rocket', { isPrivate: false });
  const body = '```release-note\nQuiet mode\n```';
  projectOf(repository, systemClock, [
    { at: day(1), push: ['chore: start'] },
    { at: day(2), merge: 7, title: 'Engines are quieter', labels: ['enhancement'], body },
    { at: day(3), merge: 8, title: 'feat: hidden', labels: ['no-changelog'], body },
    {
      at: day(4),
      merge: 9,
      title: 'Handle rain',
      how: 'merge',
      commits: ['Handle rain\n\nChangelog: security'],
    },
    { at: day(5), close: 10, title: 'fix: launch twice' },
  ]);
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
});
afterEach(() => {
  github[Symbol.dispose]();
  folder.remove();
});

const options = () => ({ environment: { GITHUB_API_URL: github.url } });
const preview = (place: string) => cliJson(folder.path, ['preview', place], options());

test.each([
  [
    7,
    'merged',
    [{ group: 'Added', line: 'Quiet mode' }],
    { words: 'block release-note of the description', group: 'label enhancement' },
  ],
  [
    9,
    'merged',
    [{ group: 'Security', line: 'Handle rain' }],
    { words: 'title', group: 'trailer Changelog: security' },
  ],
  [10, 'closed', [{ group: 'Fixed', line: 'Launch twice' }], { words: 'title', group: 'type fix' }],
])('without a trigger, #%d is shown by the built-in rules', async (number, state, entries, because) => {
  const shown = entries.map(({ group, line }) => ({ group, line: expect.stringContaining(line) }));
  expect(await preview(`acme/rocket#${number}`)).toMatchObject({
    repository: 'acme/rocket',
    number,
    state,
    drafts: [{ triggerId: null, entries: shown, because, leftOut: null }],
  });
});

/** Connects the repository by hand. Returns what adds a trigger to it. */
async function connect(provider: string, repository: string) {
  const words = ['integration', 'connect', provider, '--organization', 'acme', '--repository', repository];
  const { integrationId } = (await cliJson(folder.path, words)) as { integrationId: string };
  return (...more: string[]) =>
    cliJson(folder.path, ['trigger', 'create', '--integration', integrationId, ...more]);
}

test('each trigger has its rules', async () => {
  const add = await connect('github', 'acme/rocket');
  await add('--event', 'push', '--exclude-author', 'ann');
  await add('--event', 'pull_request', '--label', 'user-facing');
  await add('--event', 'release');
  expect(await preview('acme/rocket#7')).toMatchObject({
    drafts: [
      { event: 'push', entries: [], leftOut: 'author ann' },
      { event: 'pull_request', entries: [], leftOut: "outside of the trigger's filter by label" },
      { event: 'release', entries: [{ group: 'Added' }], leftOut: null },
    ],
  });
  const { stdout } = await cli(folder.path, ['preview', 'acme/rocket#8'], options());
  expect(stdout).toStartWith('acme/rocket#8 feat: hidden (merged)\n');
  expect(stdout).toContain('Left out: label no-changelog');
  expect(await cliJson(folder.path, ['post', 'list', '--organization', 'acme'])).toEqual([]);
});

test.each([
  ['acme/rocket#99', 1, 'There is no pull request #99 in acme/rocket.'],
  ['acme/nope#1', 1, 'GitHub has no public repository acme/nope.'],
  ['acme/rocket', 2, 'It must be OWNER/NAME#NUMBER'],
])('%s is refused', async (place, code, message) => {
  const { exitCode, stderr } = await cli(folder.path, ['preview', place], options());
  expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: expect.stringContaining(message) });
});

test.each(['/pull/7', '/pull/7/files?w=1', '/pull/7#issuecomment-1', '#7'])(
  'the URL of a pull request with %s names it',
  async (below) => {
    const page = `${new URL(github.url).origin}/acme/rocket${below}`;
    expect(await preview(page)).toMatchObject({ reference: 'acme/rocket#7', number: 7, state: 'merged' });
  },
);

test('GitLab: merge requests by number and by URL, merged or not', async () => {
  using gitlab = startGitlabApi();
  const { commitOf, mergeOf, shaOf } = gitlabRocket;
  const description = '```release-note\nQuiet mode\n```';
  gitlab.addProject('acme/tools/rocket', {
    visibility: 'public',
    commits: [
      { ...commitOf(3), message: 'Handle rain\n\nChangelog: security' },
      ...[commitOf(2), commitOf(1)],
    ],
    mergeRequests: [
      mergeOf(7, { title: 'Draft: Engines are quieter', description, state: 'opened' }),
      mergeOf(8, { title: 'fix: launch twice', description: null, state: 'closed' }),
      mergeOf(9, {
        ...{ title: 'Handle rain', description: null, labels: [] },
        ...{ base: shaOf(2), sha: shaOf(3), mergeCommitSha: shaOf(3) },
      }),
    ],
  });
  const site = `${new URL(gitlab.url).origin}/acme/tools/rocket`;
  const environment = { GITLAB_API_URL: gitlab.url };
  const show = (...words: string[]) => cliJson(folder.path, ['preview', ...words], { environment });
  const open = {
    ...{ reference: 'acme/tools/rocket!7', repository: 'acme/tools/rocket', number: 7, state: 'open' },
    title: 'Engines are quieter',
    drafts: [{ entries: [{ line: expect.stringContaining('Quiet mode') }] }],
  };
  expect(await show('acme/tools/rocket!7')).toMatchObject(open);
  expect(await show('acme/tools/rocket#7', '--provider', 'gitlab')).toMatchObject(open);
  expect(await show(`${site}/-/merge_requests/7/diffs`)).toMatchObject(open);
  expect(await show(`${site}/merge_requests/7`)).toMatchObject(open);
  expect(await show('acme/tools/rocket!8')).toMatchObject({
    state: 'closed',
    drafts: [{ entries: [{ group: 'Fixed', line: expect.stringContaining('Launch twice') }] }],
  });
  expect(await show('acme/tools/rocket!9')).toMatchObject({
    state: 'merged',
    drafts: [
      { entries: [{ group: 'Security' }], because: { group: expect.stringContaining('trailer Changelog') } },
    ],
  });
  const { exitCode, stderr } = await cli(folder.path, ['preview', 'acme/tools/rocket!99'], { environment });
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining('There is no pull request !99 in acme/tools/rocket.'),
  });
});

test.each([
  ['Forgejo', false],
  ['Gitea', true],
])('%s: pull requests by number and by URL, merged or not', async (_, isGitea) => {
  using forgejo = startForgejoApi({ isGitea });
  const { commitOf, pullOf, shaOf } = forgejoRocket;
  forgejo.addRepository('acme/rocket', {
    isPrivate: false,
    commits: [
      { ...commitOf(3), message: 'Handle rain\n\nChangelog: security' },
      ...[commitOf(2), commitOf(1)],
    ],
    pulls: [
      pullOf(7, {
        ...{ title: 'WIP: Engines are quieter', body: '```release-note\nQuiet mode\n```' },
        ...{ merged: null, isOpen: true },
      }),
      pullOf(8, { title: 'fix: launch twice', body: '', merged: null }),
      pullOf(9, {
        ...{ title: 'Handle rain', body: '', labels: [] },
        commits: { base: shaOf(2), head: shaOf(3) },
      }),
    ],
  });
  const page = `${new URL(forgejo.url).origin}/acme/rocket/pulls`;
  const environment = { FORGEJO_API_URL: forgejo.url };
  const show = (...words: string[]) =>
    cliJson(folder.path, ['preview', ...words, '--provider', 'forgejo'], { environment });
  const open = {
    ...{ reference: 'acme/rocket#7', state: 'open', title: 'Engines are quieter' },
    drafts: [{ entries: [{ line: expect.stringContaining('Quiet mode') }] }],
  };
  expect(await show('acme/rocket#7')).toMatchObject(open);
  expect(await show(`${page}/7/files`)).toMatchObject(open);
  expect(await show(`${page}/8`)).toMatchObject({
    state: 'closed',
    drafts: [{ entries: [{ group: 'Fixed', line: expect.stringContaining('Launch twice') }] }],
  });
  expect(await show(`${page}/9`)).toMatchObject({
    state: 'merged',
    drafts: [
      { entries: [{ group: 'Security' }], because: { group: expect.stringContaining('trailer Changelog') } },
    ],
  });
});

const WEB = "outside of the trigger's filter by path";

test.each([11, 12, 13])('a filter by path sees all files of #%d, however it is merged', async (number) => {
  const commits = [
    { message: 'feat: in api', paths: ['packages/api/a.ts'] },
    { message: 'docs: tidy', paths: ['docs/a.md'] },
  ];
  const project = projectOf(github.repositories[0] ?? expect.unreachable(), systemClock);
  project.happen({ close: 11, title: 'feat: in api', commits });
  project.happen({ merge: 12, title: 'feat: in api', commits });
  project.happen({ merge: 13, title: 'feat: in api', commits, how: 'rebase' });
  const add = await connect('github', 'acme/rocket');
  await add('--event', 'push', '--path', 'packages/api/**');
  await add('--event', 'push', '--path', 'packages/web/**');
  expect(await preview(`acme/rocket#${number}`)).toMatchObject({
    drafts: [{ leftOut: null }, { entries: [], leftOut: WEB }],
  });
});

test('GitLab and Forgejo: a connected name needs no --provider, and filters see files and authors', async () => {
  using gitlab = startGitlabApi();
  using forgejo = startForgejoApi();
  const { commitOf, mergeOf, shaOf } = gitlabRocket;
  const commits = [commitOf(3), commitOf(2), commitOf(1)];
  const author = { id: 9, username: 'renovate' };
  gitlab.addProject('acme/tools', {
    visibility: 'public',
    commits,
    mergeRequests: [
      mergeOf(7, { state: 'opened', base: shaOf(1), sha: shaOf(3) }),
      mergeOf(8, { state: 'opened', base: shaOf(1), sha: shaOf(3), author, assignees: [] }),
    ],
  });
  forgejo.addRepository('acme/engine', {
    isPrivate: false,
    commits: [3, 2, 1].map(forgejoRocket.commitOf),
    pulls: [
      forgejoRocket.pullOf(7, {
        ...{ merged: null, isOpen: true },
        commits: { base: forgejoRocket.shaOf(1), head: forgejoRocket.shaOf(3) },
      }),
    ],
  });
  for (const [provider, repository] of [
    ['gitlab', 'acme/tools'],
    ['forgejo', 'acme/engine'],
  ] as const) {
    const add = await connect(provider, repository);
    // The first commit of two is in `api`, the second in `web`.
    await add('--event', 'push', '--path', 'packages/api/**', '--exclude-author', 'renovate');
    await add('--event', 'push', '--path', 'docs/**');
  }
  const environment = { GITLAB_API_URL: gitlab.url, FORGEJO_API_URL: forgejo.url };
  const show = (request: string) => cliJson(folder.path, ['preview', request], { environment });
  const drafts = [{ leftOut: null }, { entries: [], leftOut: WEB }];
  expect(await show('acme/tools#7')).toMatchObject({ reference: 'acme/tools!7', drafts });
  expect(await show('acme/engine#7')).toMatchObject({ reference: 'acme/engine#7', drafts });
  expect(await show('acme/tools!8')).toMatchObject({ drafts: [{ leftOut: 'author renovate' }, {}] });
});
