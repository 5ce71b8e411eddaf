import { afterEach, beforeEach, expect, test } from 'bun:test';
import { systemClock } from '../../src/lib/time.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { type Happening, projectOf } from '../support/github-api/project.ts';
import { type GithubApi, startGithubApi } from '../support/github-api/server.ts';
import { day } from '../support/import.ts';

let folder: ReturnType<typeof temporaryFolder>;
let github: GithubApi;

beforeEach(async () => {
  folder = temporaryFolder();
  github = startGithubApi({ clock: systemClock });
  const repository = github.addRepository('acme/rocket', { isPrivate: false });
  projectOf(repository, systemClock, [
    { at: day(1), push: ['chore: start'] },
    { at: day(2), release: 'v1.2.0', notes: 'First.' },
    {
      at: day(3),
      merge: 7,
      title: 'Engines are quieter',
      labels: ['enhancement'],
      body: block('Quiet mode'),
    },
    { at: day(4), merge: 8, title: 'Bump the build', labels: ['skip-changelog'] },
    { at: day(5), push: ['fix: launch twice'] },
    { at: day(6), release: 'v1.3.0', notes: 'Second.' },
    { at: day(7), merge: 9, title: 'chore: tidy', labels: ['skip-changelog'] },
    { at: day(8), release: 'v1.3.1', notes: 'Third.' },
  ]);
  await cliJson(folder.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
});
afterEach(() => {
  github[Symbol.dispose]();
  folder.remove();
});

const block = (text: string) => `\`\`\`release-note\n${text}\n\`\`\``;
const options = () => ({ environment: { GITHUB_API_URL: github.url, PUBLIC_URL: 'http://tidings.test' } });
const run = (...words: string[]) => cli(folder.path, ['draft', ...words], options());
const posts = () => cliJson(folder.path, ['post', 'list', '--organization', 'acme']);
const connect = async (...words: string[]) => {
  const connected = await cliJson(
    folder.path,
    ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'],
    options(),
  );
  const { integrationId } = connected as { integrationId: string };
  const trigger = await cliJson(
    folder.path,
    ['trigger', 'create', '--integration', integrationId, ...words],
    options(),
  );
  return (trigger as { id: string }).id;
};

test('a range of a public repository becomes a draft, without an integration', async () => {
  const { exitCode, stdout, stderr } = await run('acme/rocket', 'v1.2.0..v1.3.0');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toContain('Draft written: v1.3.0\n');
  expect(stdout).toContain('3 commits, 2 pull requests');
  expect(stdout).toContain('http://tidings.test/dashboard/acme/posts/post_');
  expect(stdout).toContain('Left out:\n- #8 Bump the build (label skip-changelog)');
  const [post, ...others] = (await posts()) as { id: string }[];
  expect(others).toEqual([]);
  expect(await cliJson(folder.path, ['post', 'show', post?.id ?? ''])).toMatchObject({
    title: 'v1.3.0',
    status: 'draft',
    contentType: 'changelog',
    markdown: expect.stringMatching(
      /### Added\n\n- Quiet mode \(\[#7\]\(\S+\/pull\/7\)\)\n\n### Fixed\n\n- Launch twice/,
    ),
    sourceMetadata: { platform: 'github', repository: 'acme/rocket', version: '1.3.0' },
  });
  expect(await cliJson(folder.path, ['integration', 'list'])).toEqual([]);
});

test('with a trigger, its templates and rules make the draft', async () => {
  const id = await connect(
    '--event',
    'release',
    '--title',
    'Rocket {{ release.version }}',
    '--exclude-type',
    'fix',
  );
  const made = await cliJson(
    folder.path,
    ['draft', 'acme/rocket', 'v1.2.0...v1.3.0', '--trigger', id, '--content-type', 'linkedin_post'],
    options(),
  );
  expect(made).toMatchObject({
    post: { title: 'Rocket 1.3.0', contentType: 'linkedin_post', sourceMetadata: { triggerId: id } },
    commits: 3,
    pullRequests: 2,
    leftOut: [{ reason: 'label skip-changelog' }, { reason: 'type fix' }],
  });
});

/** The history of the repository after v1.3.1, up to the next tag. */
function happen(...happenings: Happening[]): void {
  const project = projectOf(github.repositories[0] ?? expect.unreachable(), systemClock);
  const all = [...happenings, { release: 'v1.4.0' }];
  for (const [index, each] of all.entries()) project.happen({ at: day(9 + index), ...each });
}

const listOf = async () => {
  const [post] = (await posts()) as { id: string }[];
  const { markdown } = (await cliJson(folder.path, ['post', 'show', post?.id ?? ''])) as { markdown: string };
  return markdown.split('\n').flatMap((line) => /^- (.+?)(?: \(\[|$)/.exec(line)?.[1] ?? []);
};

test('the trigger filters the range by path, whether changes were pushed, squashed or merged', async () => {
  const change = (message: string, path: string) => ({ message, paths: [path] });
  happen(
    { push: [change('feat: pushed in api', 'packages/api/a.ts'), change('feat: pushed in web', 'web/a.ts')] },
    ...(['squash', 'merge', 'rebase'] as const).flatMap((how, index) => [
      {
        ...{ merge: 20 + index, title: `feat: ${how} in api`, how },
        commits: [change('one', 'packages/api/b.ts'), change('two', 'docs/b.md')],
      },
      {
        ...{ merge: 30 + index, title: `feat: ${how} in web`, how },
        commits: [change(`feat: ${how} in web`, 'web/b.ts')],
      },
    ]),
  );
  const id = await connect('--event', 'push', '--path', 'packages/api/**');
  const { exitCode, stderr } = await run('acme/rocket', 'v1.3.1..v1.4.0', '--trigger', id);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(await listOf()).toEqual(['Pushed in api', 'Squash in api', 'Merge in api', 'Rebase in api']);
});

test('a block in the message of a squash commit is read, and the description wins', async () => {
  happen(
    { push: [`Start softer (#77)\n\n* one\n\n${block('Softer starts')}\n\nChangelog: fixed`] },
    { push: [`Tidy (#78)\n\n${block('NONE')}`] },
    {
      ...{ merge: 40, title: 'Land softer', body: block('Softer landings'), how: 'merge' },
      commits: [`Land\n\n${block('Soft landings')}`],
    },
  );
  const { stdout, stderr } = await run('acme/rocket', 'v1.3.1..v1.4.0');
  expect(stderr).toBe('');
  expect((await listOf()).toSorted()).toEqual(['Softer landings', 'Softer starts']);
  expect(stdout).toContain('Tidy (#78) (its author wrote that there is nothing to say)');
});

test('a range of more than 2,000 commits is refused, and of 2,000 is not', async () => {
  happen({ push: Array.from({ length: 2_000 }, (_, n) => `fix: gauge ${n}`) });
  const { exitCode, stderr } = await run('acme/rocket', 'v1.3.0..v1.4.0');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringContaining(
      'v1.3.0..v1.4.0 has more than 2,000 commits, the most that Tidings reads. Choose a shorter range.',
    ),
  });
  expect(await posts()).toEqual([]);
  expect(await run('acme/rocket', 'v1.3.1..v1.4.0')).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a private repository needs a token, connected by hand or not at all', async () => {
  (github.repositories[0] ?? expect.unreachable()).isPrivate = true;
  const message =
    'GitHub has no public repository acme/rocket. Check the name; a private repository needs a token.';
  expect((await run('acme/rocket', 'v1.2.0..v1.3.0')).stderr).toContain(message);
  await connect('--event', 'push');
  const { exitCode, stderr } = await run('acme/rocket', 'v1.2.0..v1.3.0');
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining(message) });
  expect(await posts()).toEqual([]);
});

test('a branch is not released yet', async () => {
  await run('acme/rocket', 'v1.2.0..main');
  expect(await posts()).toMatchObject([{ title: 'Unreleased: acme/rocket' }]);
});

test.each([
  ['acme/nope', 'v1.2.0..v1.3.0', 'GitHub has no public repository acme/nope.'],
  [
    'acme/rocket',
    'v1.2.0..v9',
    'GitHub cannot compare v1.2.0 and v9 of acme/rocket: one of them does not exist',
  ],
  ['acme/rocket', 'v1.3.0..v1.2.0', 'v1.2.0 of acme/rocket has no commits that v1.3.0 lacks.'],
  ['acme/rocket', 'v1.3.0..v1.3.1', 'Everything in v1.3.0..v1.3.1 is left out: #9 (label skip-changelog).'],
  ['acme/rocket', 'v1.3.0', 'Range must be two tags, branches or commits'],
  ['acme/rocket', 'v1..v2..v3', 'Range must be two tags, branches or commits'],
])('%s %s is refused, and leaves nothing', async (repository, range, message) => {
  const { exitCode, stderr } = await run(repository, range);
  expect(stderr).toContain(message);
  expect(exitCode).toBe(message.startsWith('Range') ? 2 : 1);
  expect(await posts()).toEqual([]);
});

test('a provider that is away, or wants a pause, leaves nothing', async () => {
  github.limits.anonymous = 2;
  const limited = await run('acme/rocket', 'v1.2.0..v1.3.0');
  expect(limited.stderr).toContain('GitHub accepts no more requests without a token until');
  const url = github.url;
  github[Symbol.dispose]();
  const away = await cli(folder.path, ['draft', 'acme/rocket', 'v1.2.0..v1.3.0'], {
    environment: { GITHUB_API_URL: url },
  });
  expect(away.exitCode).toBe(1);
  expect(await posts()).toEqual([]);
});

test('a trigger of another repository, or of no code, is refused', async () => {
  const id = await connect('--event', 'push');
  github.addRepository('acme/other', { isPrivate: false });
  const { stderr } = await run('acme/other', 'v1.2.0..v1.3.0', '--trigger', id);
  expect(stderr).toContain(
    '--trigger must be a trigger of the releases, pushes or pull requests of acme/other',
  );
});

test('several organizations need --organization', async () => {
  await cliJson(folder.path, ['organization', 'create', '--name', 'Beta', '--id', 'beta']);
  const { stderr } = await run('acme/rocket', 'v1.2.0..v1.3.0');
  expect(stderr).toContain('Name the organization with --organization.');
});

test.each(['draft', 'preview', 'history'])('%s says where OWNER/NAME is', async (command) => {
  const { stdout } = await cli(folder.path, [command, '--help']);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('(default: where the organization has it, else github)');
});
