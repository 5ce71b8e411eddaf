import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { builtInTemplates } from '../../src/drafting/starters.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import type { Delivery } from '../../src/integrations/deliveries/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { tidings } from '../../src/lib/build.ts';
import type { Post } from '../../src/posts/model.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { createApp } from '../../src/server/app.ts';
import { readConfig } from '../../src/server/config.ts';
import { openDataFolder } from '../../src/server/data-folder.ts';
import { openServices } from '../../src/server/services.ts';
import { cli, cliJson, temporaryFolder } from '../support/cli.ts';
import { githubRequest } from '../support/deliveries.ts';
import { compose } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { allRows } from '../support/rows.ts';
import { PUBLIC_URL } from '../support/test-app.ts';

let folder: ReturnType<typeof temporaryFolder>;
let github: Connected;
let linear: Connected;

/** The state at the beginning of every test. */
const first = temporaryFolder();

beforeAll(async () => {
  folder = first;
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const connect = ['integration', 'connect'];
  github = await json(...connect, 'github', '--organization', 'acme', '--repository', 'acme/rocket');
  linear = await json(...connect, 'linear', '--organization', 'acme');
});

beforeEach(() => {
  folder = temporaryFolder();
  cpSync(first.path, folder.path, { recursive: true });
});

afterEach(() => folder.remove());
afterAll(() => first.remove());

const dataDir = () => join(folder.path, 'data');
const environment = { PUBLIC_URL };
const run = (...words: string[]) => cli(dataDir(), words, { environment });
const json = (...words: string[]) => cliJson(dataDir(), words, { environment });

/** The output of a command for people, with `…` for varying parts and two spaces between columns. */
async function said(...words: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await run(...words);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout
    .replaceAll(/\b(trg|int|repo|dlv|post)_\w+/g, '$1_…')
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g, 'TIME')
    .replaceAll(/\d{4}-\d\d-\d\d/g, 'DAY')
    .replaceAll(/(?<=\S) {3,}/g, '  ');
}

/** The only output of a failed command. */
async function fails(exitCode: number, ...words: string[]): Promise<string> {
  const result = await run(...words);
  expect(result).toMatchObject({ exitCode, stdout: '' });
  expect(result.stderr).toStartWith('error: ');
  return result.stderr.slice('error: '.length);
}

async function write(name: string, text: string): Promise<string> {
  const path = join(folder.path, name);
  await Bun.write(path, text);
  return path;
}

const create = (...words: string[]) => [
  'trigger',
  'create',
  '--integration',
  github.integrationId,
  '--event',
  ...words,
];

/** A delivery as GitHub sends it, and what the triggers make of it; without a server. Returns the answer's status. */
async function deliver(
  event: string,
  changes: Record<string, unknown> = {},
  { delivery = 'my-delivery', ...options }: Parameters<typeof githubRequest>[2] = {},
): Promise<number> {
  const config = readConfig({ DATA_DIR: dataDir() }, { LOG_LEVEL: 'silent' });
  const services = await openServices(config);
  try {
    const app = createApp({ ...services, compose, publicUrl: () => PUBLIC_URL });
    const sample = samplePayload('github', event, { repository: 'acme/rocket', now: new Date() }) ?? {
      action: 'x',
    };
    const [path, init] = githubRequest(github, changed(sample, changes), { event, delivery, ...options });
    const response = await app.fetch(new Request(`http://localhost${path}`, init));
    await runTriggers(services, compose);
    return response.status;
  } finally {
    await services.close();
  }
}

/** An edit of the sample's release, a minute from now. */
const edit = (notes: string) =>
  deliver(
    'release',
    {
      action: 'edited',
      'release.body': notes,
      'release.updated_at': new Date(Date.now() + 60_000).toISOString(),
    },
    { delivery: crypto.randomUUID() },
  );

const listPosts = (): Promise<Post[]> => json('post', 'list', '--organization', 'acme');

async function onlyPost(): Promise<Post> {
  const posts = await listPosts();
  expect(posts).toHaveLength(1);
  return posts[0] as Post;
}

/** True if a command changes nothing. */
async function changesNothing(command: () => Promise<unknown>): Promise<void> {
  const rows = async () => {
    const { db, close } = openDataFolder(dataDir());
    const all = await allRows(db);
    close();
    return all;
  };
  const before = await rows();
  await command();
  expect(await rows()).toEqual(before);
}

const plain = () => ({
  id: expect.stringMatching(/^trg_\w+$/),
  organizationId: 'acme',
  integrationId: github.integrationId,
  integrationType: 'github',
  repositoryId: null,
  event: 'release',
  action: 'published',
  filters: {},
  contentType: 'changelog',
  titleTemplate: null,
  bodyTemplate: null,
  publish: false,
  suggests: false,
  enabled: true,
  createdAt: expect.stringMatching(/Z$/),
  updatedAt: expect.stringMatching(/Z$/),
});

/** Every option of `create`, but for those of issue trackers. */
async function createWhole(...words: string[]): Promise<string[]> {
  const template = await write('body.liquid', 'Merged:\n{{ changes.size }}\n');
  const rule = ['pull_request', '--action', 'merged', '--repository', 'Acme/Rocket'];
  const filters = ['--branch', 'main', 'release/*', '--label', 'feature', 'bug', 'bug', '--tag', 'v*'];
  const more = ['--prereleases', 'no', '--content-type', 'linkedin_post', '--disabled'];
  return create(...rule, ...filters, ...more, '--title', 'In {{ branch }}', '--template', template, ...words);
}

describe('trigger create', () => {
  test("makes a trigger of nothing but an event, by our name or the provider's", async () => {
    expect(await json(...create('release'))).toEqual(plain());
    const words = ['trigger', 'create', '--integration', linear.integrationId, '--event'];
    expect(await json(...words, 'ProjectUpdate')).toMatchObject({
      event: 'project_update',
      action: 'created',
    });
    expect(await json(...words, 'Issue', '--team', 'ENG', '--project', 'Quiet', 'Loud')).toMatchObject({
      event: 'issue',
      action: 'completed',
      filters: { project: ['Loud', 'Quiet'], team: ['ENG'] },
    });
  });

  test('takes every option; values of filters come sorted, each once', async () => {
    expect(await json(...(await createWhole()))).toEqual({
      ...plain(),
      repositoryId: github.repositoryId as string,
      event: 'pull_request',
      action: 'merged',
      filters: { branch: ['main', 'release/*'], label: ['bug', 'feature'], prereleases: false, tag: ['v*'] },
      contentType: 'linkedin_post',
      titleTemplate: 'In {{ branch }}',
      bodyTemplate: 'Merged:\n{{ changes.size }}\n',
      enabled: false,
    });
    expect(await json(...create('release', '--publish'))).toEqual({ ...plain(), publish: true });
  });

  test('tells people what it made', async () => {
    expect(await said(...create('release', '--publish'))).toBe(
      `Trigger  trg_…
Event  release published
Creates  changelog, published at once
Filters  –
Templates  title built in, body built in
Integration  int_… (github)
Status  active
`,
    );
    expect(await said(...(await createWhole()))).toBe(
      `Trigger  trg_…
Event  pull_request merged
Creates  linkedin_post, as a draft
Filters  branch main, release/*; label bug, feature; tag v*; no pre-releases
Templates  title custom, body custom
Integration  int_… (github)
Repository  acme/rocket
Status  disabled
`,
    );
  });

  const all = (...words: string[]) => words;
  test.each<[string, string[], string]>([
    [
      'an event of another provider',
      all('Issue'),
      'The event Issue does not apply to a GitHub integration. Choose from: release, push, pull_request.',
    ],
    [
      'no event',
      all('constructor'),
      'The event constructor does not apply to a GitHub integration. Choose from: release, push, pull_request.',
    ],
    [
      'an action that starts nothing',
      all('release', '--action', 'edited'),
      'The action edited does not apply to release. Choose from: published.',
    ],
    [
      'a filter that says nothing about the event',
      all('release', '--label', 'bug'),
      'The filter label does not apply to release. Choose from: branch, path, prereleases, tag.',
    ],
    [
      'a filter of another provider',
      all('push', '--team', 'ENG'),
      'The filter team does not apply to push. Choose from: branch, path, prereleases, tag.',
    ],
    [
      'too many values',
      all('push', '--branch', ...Array.from({ length: 21 }, (_, n) => `b${n}`)),
      '--branch must be 1 to 20 branches of at most 200 characters',
    ],
    [
      'to publish a rolling draft at once',
      all('push', '--publish'),
      "A rolling draft of push events can't be published at once. Choose one of these events: release, project, project_update.",
    ],
    [
      'an unknown repository',
      all('release', '--repository', 'acme/pad'),
      'Integration INT has no repository acme/pad. It has: acme/rocket.',
    ],
    [
      'a variable that there is not',
      all('release', '--title', '{{ relase.name }}'),
      'title template, line 1, column 4: there is no variable relase.name. Choose from: repository, branch, isDefaultBranch, release, changes, groups, omitted, highlights, moreCount, authors, summary, compareUrl, url.',
    ],
    [
      'a variable that the event has not',
      all('push', '--title', 'In {{ team.name }}'),
      'title template, line 1, column 7: there is no variable team.name. Choose from: repository, branch, isDefaultBranch, release, changes, groups, omitted, highlights, moreCount, authors, summary, compareUrl, url.',
    ],
    [
      'a template file that there is not',
      all('release', '--template', '/nowhere/body.liquid'),
      '/nowhere/body.liquid: no such file',
    ],
  ])('refuses %s', async (_, words, message) => {
    const expected = message.replace('INT', github.integrationId);
    const exitCode = /no repository|no such file/.test(message) ? 1 : 2;
    await changesNothing(async () =>
      expect(await fails(exitCode, ...create(...words))).toBe(`${expected}\n`),
    );
  });

  test('makes drafts of past releases when asked, and says how many', async () => {
    const last = [...create('release', '--publish', '--last', '5')];
    expect(await said(...last)).toEndWith('\n\nPast releases: none match the filters.\n');
    await deliver('release');
    await deliver('release', { 'release.tag_name': 'v3' }, { delivery: 'two' });
    const one = await json(...last, '--tag', 'v3', '--disabled');
    expect(Object.keys(one)).toEqual(Object.keys((await json('trigger', 'list'))[0]));
    expect(await said(...last, '--tag', '*', '--disabled')).toEndWith(
      '\n\nPast releases: 2 drafts queued until the trigger is enabled.\n',
    );
    expect(await said(...last, '--tag', 'v*', '--content-type', 'linkedin_post')).toEndWith(
      '\n\nPast releases: 2 drafts queued.\n',
    );
    expect(await fails(2, ...create('push', '--last', '5'))).toBe(
      'Only a release trigger can create drafts of past releases, not a trigger on push.\n',
    );
  });

  test('names the line of a template in a file', async () => {
    const path = await write(
      'body.liquid',
      '# {{ release.name }}\n\n{% for change in changes %}\n- {{ change.name }}{% endfor %}',
    );
    expect(await fails(2, ...create('release', '--template', path))).toBe(
      'body template, line 4, column 6: there is no variable change.name. Choose from: change.text, change.scope, change.group, change.isBreaking, change.breakingNote, change.references, change.authors, change.line.\n',
    );
    const empty = await write('empty.liquid', '\n');
    expect(await fails(2, ...create('release', '--template', empty))).toBe(
      'body template: it is empty; omit it to use the built-in one\n',
    );
  });

  test('refuses an integration that there is not, and a second trigger that does the same', async () => {
    expect(await fails(1, 'trigger', 'create', '--integration', 'int_none', '--event', 'release')).toBe(
      'Integration int_none not found. "integration list" lists those that exist.\n',
    );
    const { id } = await json(...create('release', '--branch', 'b', 'a', '--title', 'A'));
    expect(await fails(1, ...create('release', '--branch', 'a', 'b', '--title', 'B', '--publish'))).toBe(
      `Trigger ${id} has the same rule. Change that trigger, or choose other filters.\n`,
    );
    expect(await json('trigger', 'list')).toHaveLength(1);
  });

  test.each<[string[], string]>([
    [['trigger', 'create', '--event', 'release'], "required option '--integration <id>' not specified"],
    [['trigger', 'create', '--integration', 'x'], "required option '--event <event>' not specified"],
    [
      ['trigger', 'create', '--integration', 'x', '--event', 'release', '--content-type', 'blog'],
      'Allowed choices are changelog, linkedin_post.',
    ],
    [
      ['trigger', 'create', '--integration', 'x', '--event', 'push', '--prereleases', 'maybe'],
      'Allowed choices are yes, no.',
    ],
    [
      ['trigger', 'create', '--integration', 'x', '--event', 'push', '--branch'],
      "option '--branch <pattern...>' argument missing",
    ],
    [
      ['trigger', 'create', '--integration', 'x', '--event', 'push', '--no-branch'],
      "unknown option '--no-branch'",
    ],
    ...['0', '51', '1.5', 'all'].map((last): [string[], string] => [
      ['trigger', 'create', '--integration', 'x', '--event', 'release', '--last', last],
      'It must be a whole number from 1 to 50.',
    ]),
    [['trigger', 'change'], "missing required argument 'id'"],
    [
      ['trigger', 'change', 'x', '--json'],
      'nothing to change. Add a filter, a template, --content-type or --publish',
    ],
    ...['organization', 'integration', 'event', 'since'].map((filter): [string[], string] => [
      ['delivery', 'replay', 'x', `--${filter}`, '30d'],
      `IDs and --${filter} cannot be combined`,
    ]),
    [['trigger', 'rehearse', 'x', '--since', 'yesterday'], 'a span such as 90m, 24h or 30d.'],
    [['trigger', 'preview', 'x'], "required option '--delivery <id>' not specified"],
    [['trigger', 'runs', '--status', 'done'], 'Allowed choices are queued, failed.'],
    [['trigger', 'rename', 'x'], "unknown command 'rename'"],
  ])('%p are wrong words', async (words, message) => {
    const text = await fails(2, ...words);
    expect(text).toContain(message);
    expect(text).toMatch(/\nRun ".+ --help" for usage\.\n$/);
  });
});

test.each<[string, ...string[]]>([
  ['show'],
  ['change', '--publish'],
  ['enable'],
  ['disable'],
  ['delete'],
  ['rehearse'],
  ['retry'],
])('trigger %s of one that there is not', async (verb, ...options) => {
  expect(await fails(1, 'trigger', verb, 'trg_none', ...options)).toBe(
    'Trigger trg_none not found. "trigger list" lists those that exist.\n',
  );
});

describe('trigger list and show', () => {
  test('all, or those of an organization or an integration, oldest first', async () => {
    expect(await json('trigger', 'list')).toEqual([]);
    expect(await said('trigger', 'list')).toBe(
      `No triggers yet. Create one: ${tidings} trigger create --integration ID --event release --content-type changelog\n`,
    );
    const first = await json(...create('release', '--publish'));
    const second = await json(...create('push', '--prereleases', 'no', '--disabled'));
    const third = await json('trigger', 'create', '--integration', linear.integrationId, '--event', 'issue');
    expect(await json('trigger', 'list')).toEqual([first, second, third]);
    const list = ['trigger', 'list'];
    expect(await json(...list, '--integration', github.integrationId)).toEqual([first, second]);
    expect(await json(...list, '--organization', 'acme')).toHaveLength(3);
    for (const [option, what] of [
      ['--organization', 'Organization'],
      ['--integration', 'Integration'],
    ] as const) {
      expect(await fails(1, ...list, option, 'other')).toContain(`${what} other not found`);
    }
    expect(await said('trigger', 'list')).toBe(
      `ID  EVENT  CREATES  FILTERS  STATUS  INTEGRATION
trg_…  release published  changelog, published  –  active  int_…
trg_…  push pushed  changelog  no pre-releases  disabled  int_…
trg_…  issue completed  changelog  –  active  int_…
`,
    );
  });

  test('what would be published waits where publishing needs a second person', async () => {
    const { id } = await json(...create('release', '--publish'));
    await json('organization', 'set-approval', 'acme', 'on');
    expect(await said('trigger', 'list')).toContain('changelog, for approval');
    expect(await said('trigger', 'show', id)).toContain('changelog, as a draft that waits for approval');
    expect(await json('trigger', 'show', id)).toMatchObject({ id, publish: true });
  });

  test('show prints the templates in force', async () => {
    const { id } = await json(...create('release'));
    expect(await json('trigger', 'show', id)).toEqual({ ...plain(), id });
    const { title, body } = builtInTemplates('release', 'changelog');
    const { stdout } = await run('trigger', 'show', id);
    expect(stdout).toEndWith(`\nStatus       active\n\nTitle:\n${title}\n\nBody:\n${body}\n`);
    const own = await json(...(await createWhole()));
    expect((await run('trigger', 'show', own.id)).stdout).toEndWith(
      '\n\nTitle:\nIn {{ branch }}\n\nBody:\nMerged:\n{{ changes.size }}\n\n',
    );
  });
});

describe('trigger change', () => {
  test('changes what is named, and nothing else', async () => {
    const before = await json(...(await createWhole()));
    const change = async (...words: string[]) => {
      const { updatedAt, ...after } = await json('trigger', 'change', before.id, ...words);
      expect(updatedAt >= before.updatedAt).toBe(true);
      return after;
    };
    const { updatedAt: _, ...same } = before;
    const { branch, label, tag } = before.filters;
    expect(await change('--title', 'Now {{ branch }}')).toEqual({
      ...same,
      titleTemplate: 'Now {{ branch }}',
    });
    expect(await change('--no-title')).toEqual({ ...same, titleTemplate: null });
    expect(await change('--no-template')).toEqual({ ...same, titleTemplate: null, bodyTemplate: null });
    same.titleTemplate = null;
    same.bodyTemplate = null;
    expect(await change('--content-type', 'changelog')).toEqual({ ...same, contentType: 'changelog' });
    same.contentType = 'changelog';
    expect(await change('--no-branch', '--label', 'docs')).toEqual({
      ...same,
      filters: { label: ['docs'], prereleases: false, tag },
    });
    expect(await change('--no-tag', '--prereleases', 'yes')).toEqual({
      ...same,
      filters: { label: ['docs'] },
    });
    expect(await change('--no-label')).toEqual({ ...same, filters: {} });
    const template = await write('other.liquid', 'Other\n');
    expect(
      await change('--branch', ...branch, '--label', ...label, '--tag', ...tag, '--template', template),
    ).toEqual({ ...same, filters: { branch, label, tag }, bodyTemplate: 'Other\n' });
    expect(await json('trigger', 'list')).toHaveLength(1);
  });

  test('publishes or not; takes filters of issue trackers away', async () => {
    const { id } = await json(...create('release'));
    expect(await json('trigger', 'change', id, '--publish')).toMatchObject({ publish: true });
    expect(await json('trigger', 'change', id, '--title', 'A')).toMatchObject({ publish: true });
    expect(await json('trigger', 'change', id, '--no-publish')).toMatchObject({ publish: false });
    expect(await json('trigger', 'change', id, '--suggest-wording')).toMatchObject({ suggests: true });
    expect(await json('trigger', 'change', id, '--no-suggest-wording')).toMatchObject({ suggests: false });
    const words = ['--event', 'issue', '--team', 'ENG', '--project', 'Quiet'];
    const issues = await json('trigger', 'create', '--integration', linear.integrationId, ...words);
    expect(await json('trigger', 'change', issues.id, '--no-team')).toMatchObject({
      filters: { project: ['Quiet'] },
    });
    expect(await json('trigger', 'change', issues.id, '--no-project')).toMatchObject({ filters: {} });
  });

  test('tells people how it is now', async () => {
    const { id } = await json(...create('release'));
    expect(await said('trigger', 'change', id, '--title', 'A', '--tag', 'v*')).toContain(
      '\nFilters  tag v*\nTemplates  title custom, body built in\n',
    );
  });

  test('refuses what create refuses', async () => {
    const { id } = await json(...create('push'));
    const other = await json(...create('push', '--tag', 'v*'));
    const change = ['trigger', 'change', id];
    await changesNothing(async () => {
      expect(await fails(2, ...change, '--label', 'bug')).toBe(
        'The filter label does not apply to push. Choose from: branch, path, prereleases, tag.\n',
      );
      expect(await fails(2, ...change, '--publish')).toContain("can't be published at once");
      expect(await fails(2, ...change, '--title', '{{')).toBe(
        'title template, line 1, column 1: output "{{" not closed\n',
      );
      expect(await fails(1, ...change, '--template', 'none.liquid')).toBe('none.liquid: no such file\n');
      expect(await fails(1, ...change, '--tag', 'v*')).toBe(
        `Trigger ${other.id} has the same rule. Change that trigger, or choose other filters.\n`,
      );
    });
  });
});

test('trigger enable, disable and delete; its posts stay', async () => {
  const { id } = await json(...create('release'));
  expect(await json('trigger', 'disable', id)).toMatchObject({ id, enabled: false });
  expect(await said('trigger', 'disable', id)).toBe('Disabled: trg_…\n');
  expect(await json('trigger', 'enable', id)).toMatchObject({ id, enabled: true });
  expect(await said('trigger', 'enable', id)).toBe('Enabled: trg_…\n');
  await deliver('release');
  const post = await onlyPost();
  expect(await json('trigger', 'delete', id)).toEqual({ id, deleted: true });
  expect(await json('trigger', 'list')).toEqual([]);
  expect(await onlyPost()).toEqual(post);
  const again = await json(...create('release'));
  expect(await said('trigger', 'delete', again.id)).toBe('Deleted: trg_…\n');
});

describe('trigger preview and rehearse change nothing', () => {
  let id: string;
  beforeEach(async () => {
    await deliver('release', { 'release.body': '- Quiet mode' });
    await deliver('star', {}, { delivery: 'a-star' });
    ({ id } = await json(...create('release')));
  });

  const whole = () => ({
    scope: `${github.repositoryId} main`,
    subject: 'release v2.4.0',
    contentType: 'changelog',
    status: 'draft',
    createdAt: expect.stringMatching(/Z$/),
    title: 'Rocket 2.4.0: quieter engines',
    markdown: '- Quiet mode',
    content: '- Quiet mode',
    sourceMetadata: expect.objectContaining({ triggerId: id, deliveryId: 'my-delivery' }),
    leftOut: [],
  });
  const forPeople = `Rocket 2.4.0: quieter engines
changelog, draft, release v2.4.0, DAY

- Quiet mode`;

  test('preview, by either id of the delivery', async () => {
    const [entry] = await json('delivery', 'list', '--organization', 'acme', '--event', 'release');
    const preview = ['trigger', 'preview', id, '--delivery'];
    await changesNothing(async () => {
      expect(await json(...preview, 'my-delivery')).toEqual([whole()]);
      expect(await json(...preview, entry.id)).toEqual([whole()]);
      expect(await said(...preview, 'my-delivery')).toBe(`${forPeople}\n`);
    });
  });

  test('a preview says why there is nothing to see', async () => {
    const later = await json(
      ...create('release', '--branch', 'release/*', '--content-type', 'linkedin_post'),
    );
    const words = ['trigger', 'create', '--integration', linear.integrationId, '--event', 'issue'];
    const issues = await json(...words);
    const message = async (...rest: string[]) =>
      (await fails(1, 'trigger', 'preview', ...rest)).replaceAll(/_\w+/g, '_…');
    const noPost = 'Trigger trg_… creates no post for delivery dlv_…: ';
    expect(await message(id, '--delivery', 'none')).toBe(
      'Delivery none not found. "delivery list" lists those that exist.\n',
    );
    expect(await message('trg_none', '--delivery', 'my-delivery')).toContain('not found');
    expect(await message(id, '--delivery', 'a-star')).toBe(`${noPost}its event creates no posts\n`);
    expect(await message(later.id, '--delivery', 'my-delivery')).toBe(
      `${noPost}its event, its repository or the filters do not match\n`,
    );
    expect(await message(issues.id, '--delivery', 'my-delivery')).toBe(
      `${noPost}it belongs to another integration\n`,
    );
  });

  test('rehearse', async () => {
    await deliver(
      'release',
      { 'release.tag_name': 'v3', 'release.name': 'v3', 'release.body': 'Loud.' },
      {
        delivery: 'two',
      },
    );
    await json('trigger', 'disable', id);
    const { id: other } = await json(...create('release', '--publish', '--tag', 'v3'));
    await changesNothing(async () => {
      const posts = await json('trigger', 'rehearse', id);
      expect(posts).toMatchObject([
        { subject: 'release v2.4.0' },
        { subject: 'release v3', markdown: 'Loud.' },
      ]);
      expect(posts[0]).toEqual(whole());
      expect(await json('trigger', 'rehearse', other, '--since', '1h')).toMatchObject([
        { subject: 'release v3', status: 'published' },
      ]);
      expect(await json('trigger', 'rehearse', id, '--since', '2099-01-01')).toEqual([]);
      expect(await said('trigger', 'rehearse', id)).toBe(
        `${forPeople}\n\n${'─'.repeat(60)}\n\nv3\nchangelog, draft, release v3, DAY\n\nLoud.\n\n2 posts. Nothing was changed.\n`,
      );
      expect(await said('trigger', 'rehearse', other)).toEndWith('\n\n1 post. Nothing was changed.\n');
      expect(await said('trigger', 'rehearse', id, '--since', '2099-01-01')).toBe(
        'No posts. No delivery since DAY matches this trigger.\n',
      );
    });
  });

  test('a template that fails on what was delivered says where', async () => {
    const template = await write('body.liquid', 'Each is\n{{ 100 | divided_by: changes.size }} %');
    await json('trigger', 'change', id, '--template', template);
    await deliver('release', { 'release.body': 'No list.' }, { delivery: 'no-list' });
    const why = 'body template, line 2, column 1: the result of divided_by is not a number\n';
    expect(await fails(1, 'trigger', 'rehearse', id)).toBe(why);
    expect(await fails(1, 'trigger', 'preview', id, '--delivery', 'no-list')).toBe(why);
  });
});

describe('trigger runs and retry', () => {
  const why = 'body template, line 1, column 1: the result of divided_by is not a number';
  let failing: string;
  beforeEach(async () => {
    const template = await write('body.liquid', '{{ 100 | divided_by: changes.size }} %');
    failing = (await json(...create('release', '--template', template))).id;
  });

  test('nothing to do', async () => {
    expect(await json('trigger', 'runs')).toEqual([]);
    expect(await said('trigger', 'runs')).toBe('No runs. All drafts are up to date.\n');
    expect(await json('trigger', 'retry')).toEqual({ retried: 0, failing: 0 });
    expect(await said('trigger', 'retry')).toBe('No failed runs.\n');
  });

  test('runs tell what fails, why, and when it is tried again', async () => {
    await deliver('release', { 'release.body': 'No list.' });
    const run = {
      triggerId: failing,
      organizationId: 'acme',
      scope: `${github.repositoryId} main`,
      status: 'queued',
      attempts: 1,
      nextAttemptAt: expect.stringMatching(/Z$/),
      deliveryId: 'my-delivery',
      error: why,
      queuedAt: expect.stringMatching(/Z$/),
    };
    expect(await json('trigger', 'runs')).toEqual([run]);
    expect(await json('trigger', 'runs', '--status', 'failed')).toEqual([]);
    expect(await json('trigger', 'runs', '--status', 'queued', '--organization', 'acme')).toEqual([run]);
    expect(await json('trigger', 'runs', '--organization', 'other')).toEqual([]);
    expect(await said('trigger', 'runs')).toBe(
      `QUEUED  STATUS  NEXT RETRY  TRIGGER  SCOPE  ERROR\nTIME  queued, 1 attempt  TIME  trg_…  acme/rocket main  ${why}\n`,
    );
  });

  test('retry runs it at once, and tells whether it fails still', async () => {
    const other = await json(...create('release', '--content-type', 'linkedin_post'));
    await deliver('release', { 'release.body': 'No list.' });
    expect(await json('trigger', 'retry')).toEqual({ retried: 1, failing: 1 });
    expect(await json('trigger', 'retry', other.id)).toEqual({ retried: 0, failing: 0 });
    expect(await said('trigger', 'retry', failing)).toBe('Retried 1; 1 still failing: see "trigger runs".\n');
    // The trigger is mended, and its run is due.
    await json('trigger', 'change', failing, '--no-template');
    expect(await json('trigger', 'retry', failing)).toEqual({ retried: 0, failing: 0 });
    expect(await json('trigger', 'runs')).toEqual([]);
    expect(await listPosts()).toHaveLength(2);
  });
});

describe('delivery replay', () => {
  const log = (): Promise<Delivery[]> => json('delivery', 'list', '--organization', 'acme');

  test('makes what a trigger that came later makes, once, and marks it in the log', async () => {
    await deliver('release');
    const [original] = await log();
    if (original === undefined) throw new Error('the delivery is not in the log');
    await json(...create('release'));
    const replayed = await json('delivery', 'replay', original.id);
    expect(replayed).toEqual([
      {
        ...original,
        id: expect.stringMatching(/^dlv_/),
        replayOf: original.id,
        durationMs: 0,
        createdAt: expect.any(String),
      },
    ]);
    expect(replayed[0].id).not.toBe(original.id);
    const post = await onlyPost();
    // Again by the provider's id, and a replay itself: still the one post, and each names the first.
    await json('delivery', 'replay', 'my-delivery');
    await json('delivery', 'replay', replayed[0].id);
    expect(await onlyPost()).toEqual(post);
    expect((await log()).map(({ replayOf }) => replayOf)).toEqual([
      original.id,
      original.id,
      original.id,
      null,
    ]);
    expect(await json('trigger', 'runs')).toEqual([]);
  });

  test('by filters: what was processed, oldest first, and no replays', async () => {
    await deliver('push', {}, { delivery: 'one' });
    await deliver('ping', {}, { delivery: 'two' });
    await deliver('release', {}, { delivery: 'three' });
    await deliver('release', {}, { delivery: 'four', secret: 'wrong' });
    const replay = async (...words: string[]) =>
      (await json('delivery', 'replay', ...words)).map(({ referenceId }: Delivery) => referenceId);
    const acme = ['--organization', 'acme'];
    expect(await replay(...acme)).toEqual(['one', 'three']);
    expect(await replay(...acme, '--event', 'release')).toEqual(['three']);
    expect(await replay(...acme, '--integration', linear.integrationId)).toEqual([]);
    expect(await replay(...acme, '--integration', github.integrationId, '--since', '1h')).toHaveLength(2);
    expect(await replay(...acme, '--since', '2099-01-01')).toEqual([]);
    expect(await replay('three', 'one')).toEqual(['three', 'one']);
  });

  test('tells people what it ran', async () => {
    await deliver('release');
    expect(await said('delivery', 'replay', 'my-delivery')).toBe(
      `TIME  STATUS  EVENT  TITLE  ID
TIME  processed  release  Release v2.4.0 published (replay)  dlv_…

Replayed 1.
`,
    );
    expect(await said('delivery', 'replay', '--organization', 'acme', '--event', 'push')).toBe(
      'No deliveries match. Nothing was replayed.\n',
    );
    const template = await write('body.liquid', '{{ 100 | divided_by: changes.size }} %');
    await json(...create('release', '--template', template));
    await deliver('release', { 'release.body': 'No list.' }, { delivery: 'no-list' });
    expect(await said('delivery', 'replay', 'my-delivery')).toEndWith(
      '\n\nReplayed 1; 1 still failing: see "trigger runs".\n',
    );
    expect(await said('delivery', 'show', 'no-list')).not.toContain('Replay of');
    expect(await said('delivery', 'show', 'my-delivery')).toContain('\nReplay of  dlv_…\n');
  });

  test.each([
    ['Rejected deliveries', 'Redeliver from GitHub.', 'release', { secret: 'wrong' }],
    ['Ignored deliveries', 'Redeliver from GitHub.', 'gollum', {}],
    ['This delivery', 'Its event creates no drafts.', 'ping', {}],
  ])('refuses one that holds nothing: %s', async (what, why, event, options) => {
    await deliver(event, {}, options);
    const [entry] = await log();
    await changesNothing(async () =>
      expect(await fails(1, 'delivery', 'replay', entry?.id ?? '')).toBe(
        `${what} can't be replayed. ${why}\n`,
      ),
    );
  });

  test("by the provider's id finds the one that was processed, not what came under its id later", async () => {
    await deliver('release');
    await deliver('release');
    await deliver('release', {}, { secret: 'wrong' });
    expect((await log()).map(({ status }) => status)).toEqual(['rejected', 'duplicate', 'processed']);
    const { id } = await json(...create('release'));
    expect(await json('trigger', 'preview', id, '--delivery', 'my-delivery')).toHaveLength(1);
    await json('delivery', 'replay', 'my-delivery');
    await json('delivery', 'replay', 'my-delivery');
    await onlyPost();
  });

  test('refuses what there is not, before anything is run', async () => {
    await deliver('release');
    await changesNothing(async () => {
      expect(await fails(1, 'delivery', 'replay', 'my-delivery', 'none')).toBe(
        'Delivery none not found. "delivery list" lists those that exist.\n',
      );
      expect(await fails(1, 'delivery', 'replay', '--organization', 'nobody')).toContain(
        'Organization nobody not found',
      );
      expect(await fails(2, 'delivery', 'replay')).toBe(
        `no deliveries chosen. Add their IDs, or --organization ID and filters\nRun "${tidings} delivery replay --help" for usage.\n`,
      );
      expect(await fails(2, 'delivery', 'replay', '--organization', 'acme', '--since', 'soon')).toContain(
        '30d',
      );
    });
    await json('integration', 'disconnect', github.integrationId);
    expect(await fails(1, 'delivery', 'replay', 'my-delivery')).toContain(
      `Integration ${github.integrationId} not found`,
    );
  });
});

describe('post edit', () => {
  let post: Post;
  beforeEach(async () => {
    await json(...create('release'));
    await deliver('release');
    post = await onlyPost();
  });

  test('changes the title, the text, or both; the plain text follows', async () => {
    const path = await write('text.md', '## New\r\n\r\n**Bold** words\r\n');
    const titled = await json('post', 'edit', post.id, '--title', ' Quieter ');
    expect(titled).toEqual({ ...post, title: 'Quieter', updatedAt: expect.any(String) });
    expect(await json('post', 'edit', post.id, '--markdown', path)).toMatchObject({
      title: 'Quieter',
      markdown: '## New\n\n**Bold** words\n',
      content: 'New\n\nBold words',
    });
    expect(await said('post', 'edit', post.id, '--title', 'Loud\u001b[31m', '--markdown', path)).toBe(
      'Changed: Loud [31m (post_…)\n',
    );
    expect(await json('post', 'show', post.id)).toMatchObject({ title: 'Loud\u001b[31m', status: 'draft' });
  });

  test('to what it is already changes nothing', async () => {
    await changesNothing(() => json('post', 'edit', post.id, '--title', post.title));
  });

  test('refusals', async () => {
    const long = await write('long.md', 'x'.repeat(200_001));
    const binary = join(folder.path, 'binary.md');
    await Bun.write(binary, new Uint8Array([0xff, 0xfe]));
    const words = ['post', 'edit', post.id];
    await changesNothing(async () => {
      expect(await fails(2, ...words)).toStartWith(
        'nothing to change. Add --title TEXT, --markdown FILE, or both\n',
      );
      expect(await fails(2, ...words, '--title', ' ')).toBe('--title must not be empty\n');
      expect(await fails(2, ...words, '--title', 'x'.repeat(501))).toBe(
        '--title must have at most 500 characters, not 501\n',
      );
      expect(await fails(2, ...words, '--markdown', long)).toBe(
        '--markdown must have at most 200000 characters, not 200001\n',
      );
      expect(await fails(1, ...words, '--markdown', 'none.md')).toBe('none.md: no such file\n');
      expect(await fails(1, ...words, '--markdown', binary)).toBe(`${binary}: is not UTF-8 text\n`);
      expect(await fails(1, 'post', 'edit', 'post_none', '--title', 'A')).toBe(
        'Post post_none not found. "post list" lists those that exist.\n',
      );
    });
  });
});

describe('post suggestion', () => {
  let id: string;
  beforeEach(async () => {
    await json(...create('release'));
    await deliver('release', { 'release.body': '- Quiet mode\n- Kept' });
    ({ id } = await onlyPost());
    await json('post', 'edit', id, '--title', 'Our words');
    await edit('- Quieter mode\n- Kept');
  });

  const none = () => `Post ${id} has no suggestion\n`;

  test('show compares it with the post, and post show points to it', async () => {
    await changesNothing(async () => {
      expect(await json('post', 'suggestion', 'show', id)).toEqual({
        postId: id,
        title: 'Rocket 2.4.0: quieter engines',
        markdown: '- Quieter mode\n- Kept',
        content: '- Quieter mode\n- Kept',
        suggestedAt: expect.stringMatching(/Z$/),
        changes: [
          { kind: 'removed', line: 'Our words' },
          { kind: 'added', line: 'Rocket 2.4.0: quieter engines' },
          { kind: 'same', line: '' },
          { kind: 'removed', line: '- Quiet mode' },
          { kind: 'added', line: '- Quieter mode' },
          { kind: 'same', line: '- Kept' },
        ],
      });
      expect(await said('post', 'suggestion', 'show', id)).toBe(
        `Suggested TIME

- Our words
+ Rocket 2.4.0: quieter engines
  
- - Quiet mode
+ - Quieter mode
  - Kept
`,
      );
      expect(await said('post', 'show', id)).toEndWith(
        `\n\nThe source changed. Review the suggestion: ${tidings} post suggestion show post_…\n`,
      );
      expect(await json('post', 'show', id)).toMatchObject({ title: 'Our words' });
    });
  });

  test('accept puts it into the post, which then follows its events again', async () => {
    expect(await json('post', 'suggestion', 'accept', id)).toMatchObject({
      id,
      title: 'Rocket 2.4.0: quieter engines',
      markdown: '- Quieter mode\n- Kept',
      status: 'draft',
    });
    expect(await fails(1, 'post', 'suggestion', 'show', id)).toBe(none());
    expect(await said('post', 'show', id)).not.toContain('newer text');
    await edit('- Silent mode');
    expect(await onlyPost()).toMatchObject({ markdown: '- Silent mode' });
  });

  test('a published post keeps its status', async () => {
    await json('post', 'publish', id);
    expect(await said('post', 'suggestion', 'accept', id)).toBe(
      'Accepted: Rocket 2.4.0: quieter engines (post_…)\n',
    );
    expect(await onlyPost()).toMatchObject({ status: 'published', markdown: '- Quieter mode\n- Kept' });
    await edit('- Silent mode');
    expect(await onlyPost()).toMatchObject({ markdown: '- Quieter mode\n- Kept' });
    expect(await json('post', 'suggestion', 'show', id)).toMatchObject({ markdown: '- Silent mode' });
  });

  test('dismiss turns this one down, not the next', async () => {
    expect(await json('post', 'suggestion', 'dismiss', id)).toEqual({ id, dismissed: true });
    expect(await fails(1, 'post', 'suggestion', 'show', id)).toBe(none());
    await edit('- Quieter mode\n- Kept');
    await json('delivery', 'replay', '--organization', 'acme');
    expect(await fails(1, 'post', 'suggestion', 'show', id)).toBe(none());
    await edit('- Silent mode');
    expect(await json('post', 'suggestion', 'show', id)).toMatchObject({ markdown: '- Silent mode' });
    expect(await said('post', 'suggestion', 'dismiss', id)).toBe('Dismissed: post_…\n');
    expect(await onlyPost()).toMatchObject({ title: 'Our words', markdown: '- Quiet mode\n- Kept' });
  });

  test.each(['show', 'accept', 'dismiss'])('%s without one', async (verb) => {
    await json('post', 'suggestion', 'dismiss', id);
    await changesNothing(async () => {
      expect(await fails(1, 'post', 'suggestion', verb, id)).toBe(none());
      expect(await fails(1, 'post', 'suggestion', verb, 'post_none')).toStartWith(
        'Post post_none has no suggestion',
      );
    });
  });
});
