import { describe, expect, test } from 'bun:test';
import { isoTime } from '../../../src/providers/provider.ts';
import type {
  PageOf,
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
} from '../../../src/providers/reader.ts';
import type { Happening } from '../../support/github-api/project.ts';
import { eventsIn, READS, startReading } from '../../support/github-api/reading.ts';
import { problemOf } from '../../support/github-api/rocket.ts';

const day = (number: number, hour = 12) =>
  new Date(Date.UTC(2026, 0, number, hour, 30, 15)).toISOString().replace('.000Z', 'Z');

const START: Happening[] = [{ at: day(1), push: ['chore: start'] }];

/** A project with everything that drafts are made of. */
const LIFE: Happening[] = [
  ...START,
  { at: day(2), by: 'ben', push: ['feat: quiet mode', 'fix(gauge): midnight\n\nBREAKING CHANGE: no gauge'] },
  {
    at: day(3),
    merge: 12,
    title: 'feat: softer start',
    body: 'BREAKING CHANGE: louder end',
    labels: ['feature', 'engine'],
    author: 'ben',
  },
  { at: day(4), merge: 13, title: 'fix: a leak', how: 'merge', commits: ['find it', 'fix: a leak'] },
  {
    at: day(5),
    merge: 14,
    title: 'docs',
    how: 'rebase',
    commits: ['docs: one', 'docs: two'],
    author: 'cleo',
  },
  { at: day(6), release: 'v1.0.0', name: 'One', notes: '### Added\r\n- Quiet mode\r\n' },
  { at: day(7), push: [{ message: 'fix: ü', author: { name: 'Zoë', login: null } }] },
  { at: day(8), release: 'v1.1.0-rc.1', isPrerelease: true },
  { at: day(9), close: 15, title: 'An idea' },
  { at: day(10), by: 'dependabot[bot]', push: ['build: bump'], branch: 'side' },
  { at: day(11), release: 'v1.1.0', notes: '', target: 'side' },
];

/** All pages, one after the other. */
async function readAll(
  read: (request: { cursor: string | null }) => Promise<PageOf<ReadDelivery> | null>,
): Promise<ReadDelivery[]> {
  const items: ReadDelivery[] = [];
  let cursor: string | null = null;
  do {
    const page: PageOf<ReadDelivery> | null = await read({ cursor });
    if (page === null) throw new Error('a page without an ETag has changed');
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null);
  return items;
}

const releasesOf = (reader: RepositoryReader, repository: RemoteRepository) =>
  readAll(async (request) => reader.listReleases(repository, request));
const mergedOf = (reader: RepositoryReader, repository: RemoteRepository) =>
  readAll(async (request) => reader.listMerged(repository, request));

const numbers = (deliveries: readonly ReadDelivery[]) =>
  deliveries.map(({ payload }) => (payload as { number: number }).number);
const tags = (deliveries: readonly ReadDelivery[]) =>
  deliveries.map(({ payload }) => (payload as { release: { tag_name: string } }).release.tag_name);

describe('an event that is read equals the event that is delivered', () => {
  test.each([READS, null])('with the token %j', async (token) => {
    using world = await startReading(LIFE, { token });
    const { reader, rocket, project, repository } = world;
    const delivered = eventsIn(project.past.flat());
    const byType = (type: string) =>
      delivered.filter((event) => event.type === type).sort((a, b) => (a.key < b.key ? -1 : 1));
    const sorted = (read: readonly ReadDelivery[]) => eventsIn(read).sort((a, b) => (a.key < b.key ? -1 : 1));

    expect(sorted(await releasesOf(reader, rocket))).toEqual(byType('release'));
    expect(byType('release')).toHaveLength(3);
    expect(sorted(await mergedOf(reader, rocket))).toEqual(byType('pull_request'));
    expect(byType('pull_request')).toHaveLength(3);

    const first = repository.code.activity[0]?.after ?? '';
    const head = repository.code.branches.get('main') ?? '';
    const { pushes, isCut } = (await reader.listPushes?.(rocket, first, head)) ?? {};
    expect(isCut).toBe(false);
    const afterFirst = byType('push').filter(({ key }) => key !== first);
    expect(sorted(pushes ?? [])).toEqual(afterFirst);
    expect(afterFirst).toHaveLength(5);
    // Oldest first.
    expect(eventsIn(pushes ?? []).map(({ occurredAt }) => occurredAt)).toEqual(
      afterFirst.map(({ occurredAt }) => occurredAt).sort(),
    );
  });

  test('the first push of a repository has its whole history', async () => {
    using world = await startReading(LIFE.slice(0, 2));
    const { activity, branches } = world.repository.code;
    const read = await world.reader.listPushes?.(world.rocket, '0'.repeat(40), branches.get('main') ?? '');
    expect(activity).toHaveLength(2);
    const [first, second] = eventsIn(world.project.past.flat());
    // GitHub's page for the changes of a first push is none that two commits lead to.
    const data = { ...first?.data, compareUrl: null };
    expect(eventsIn(read?.pushes ?? [])).toEqual([{ ...first, data } as never, second as never]);
  });

  test('a forced push brings what it added, and keeps what it dropped', async () => {
    using world = await startReading([
      ...LIFE.slice(0, 2),
      { at: day(3), push: ['feat: loud mode'] },
      { at: day(4), push: ['feat: quieter mode'], drop: 1 },
      { at: day(5), push: ['docs: end'] },
    ]);
    const { activity, branches } = world.repository.code;
    const before = activity[1]?.after ?? '';
    const read = await world.reader.listPushes?.(world.rocket, before, branches.get('main') ?? '');
    const delivered = eventsIn(world.project.past.flat()).slice(2);
    expect(eventsIn(read?.pushes ?? [])).toEqual(delivered);
    expect(delivered).toHaveLength(3);
  });

  test('where GitHub no longer lists the pushes, one has all commits', async () => {
    using world = await startReading(LIFE);
    const { code } = world.repository;
    code.activity.splice(0, 3);
    const [before, after] = [code.commits.values().next().value?.sha ?? '', code.branches.get('main') ?? ''];
    const { pushes } = (await world.reader.listPushes?.(world.rocket, before, after)) ?? {};
    const { commits } = await world.reader.listCommits(world.rocket, before, after);
    expect(pushes).toEqual([world.reader.pushOf(world.rocket, before, commits)]);
    const [event] = eventsIn(pushes ?? []);
    expect(event).toMatchObject({
      type: 'push',
      key: after,
      branch: 'main',
      occurredAt: '2026-01-07T12:30:15.000Z',
    });
  });

  test('an edit of notes is read as they are now, and a comment changes nothing that drafts show', async () => {
    using world = await startReading(LIFE);
    const { project, reader, rocket } = world;
    const [before] = eventsIn(await mergedOf(reader, rocket)).filter(({ key }) => key === '12');
    const [edited] = eventsIn(project.happen({ at: day(12), edit: 'v1.0.0', notes: 'Better' }));
    project.happen({ at: day(12), comment: 12 });
    const [release] = eventsIn(await releasesOf(reader, rocket)).filter(({ key }) => key === 'v1.0.0');
    expect({ ...release, version: '' } as unknown).toEqual({ ...edited, version: '' });
    // The webhook's edit stays the newer of the two.
    expect((edited?.version ?? '') > (release?.version ?? '')).toBe(true);
    const [after] = eventsIn(await mergedOf(reader, rocket)).filter(({ key }) => key === '12');
    expect({ ...after, version: '' } as unknown).toEqual({ ...before, version: '' });
    expect((after?.version ?? '') > (before?.version ?? '')).toBe(true);
  });
});

describe('lists', () => {
  const many: Happening[] = [
    ...START,
    ...Array.from({ length: 205 }, (_, index): Happening[] => [
      { at: day(2 + index), push: [`fix: ${index}`] },
      { at: day(2 + index, 13), release: `v0.${index}` },
      index % 2 === 0
        ? { at: day(2 + index, 14), merge: index + 1, title: `feat: ${index}` }
        : { at: day(2 + index, 14), close: index + 1, title: `idea: ${index}` },
    ]).flat(),
  ];

  test('releases come in pages of a hundred, newest first, without drafts', async () => {
    using world = await startReading([...many, { release: 'v9', isDraft: true }]);
    const { api, reader, rocket } = world;
    const page = await reader.listReleases(rocket);
    expect(page).toMatchObject({ next: '2', oldest: isoTime(day(107)) });
    expect(page?.items).toHaveLength(100);
    const all = tags(await releasesOf(reader, rocket));
    expect(all).toEqual(Array.from({ length: 205 }, (_, index) => `v0.${204 - index}`));
    const { query, path } = api.requests.at(-1) ?? {};
    expect({ query, path }).toEqual({
      path: '/repos/acme/rocket/releases',
      query: { per_page: '100', page: '3' },
    });
  });

  test('a draft stays out even with a token that sees it', async () => {
    using world = await startReading([...START, { release: 'v1' }, { release: 'v2', isDraft: true }], {
      token: { user: 'mona', permissions: { contents: 'write' } },
      about: { rights: { mona: 'write' } },
    });
    const { project, reader, rocket } = world;
    expect(tags(await releasesOf(reader, rocket))).toEqual(['v1']);
    project.happen({ publish: 'v2' });
    expect(tags(await releasesOf(reader, rocket))).toEqual(['v2', 'v1']);
  });

  test('pull requests come by their last change, merged ones alone', async () => {
    using world = await startReading(many);
    const { project, reader, rocket } = world;
    const page = await reader.listMerged(rocket);
    expect(page?.items).toHaveLength(50);
    expect(page).toMatchObject({ next: '2', oldest: isoTime(day(107, 14)) });
    project.happen({ at: day(300), comment: 1 });
    const all = numbers(await mergedOf(reader, rocket));
    expect(all).toHaveLength(103);
    expect(all.slice(0, 3)).toEqual([1, 205, 203]);
  });

  test('an empty repository has empty lists', async () => {
    using world = await startReading([]);
    const { reader, rocket } = world;
    const empty = { items: [], next: null, oldest: null };
    expect(await reader.listReleases(rocket)).toMatchObject(empty);
    expect(await reader.listMerged(rocket)).toMatchObject(empty);
    expect(await problemOf(reader.getHead(rocket, 'main'))).toMatchObject({
      kind: 'refused',
      message: 'acme/rocket has no branch main',
    });
    expect((await problemOf(reader.listCommits(rocket, null, 'main'))).kind).toBe('refused');
  });

  test('text that is not the number of a page is refused', async () => {
    using world = await startReading(START);
    for (const cursor of ['0', 'x', '-1', '1e3', '']) {
      await expect(Promise.resolve(world.reader.listReleases(world.rocket, { cursor }))).rejects.toThrow(
        'is not the number of a page',
      );
    }
    expect(world.api.requests).toEqual([]);
  });
});

describe('a page with its ETag', () => {
  test('the head of a branch is null until it moves, also of a branch with slashes', async () => {
    using world = await startReading([...START, { push: ['feat: a'], branch: 'feature/a b' }]);
    const { api, project, reader, rocket, repository } = world;
    for (const branch of ['main', 'feature/a b']) {
      const head = await reader.getHead(rocket, branch);
      expect(head?.sha).toBe(repository.code.branches.get(branch) ?? '');
      expect(await reader.getHead(rocket, branch, head?.etag)).toBeNull();
      project.happen({ push: ['fix: b'], branch });
      expect((await reader.getHead(rocket, branch, head?.etag))?.sha).toBe(
        repository.code.branches.get(branch) ?? '',
      );
    }
    expect(api.requests.at(-1)?.path).toBe('/repos/acme/rocket/git/ref/heads/feature/a b');
  });

  test('without a token a 304 costs a request', async () => {
    using world = await startReading(LIFE, { token: null });
    const { reader, rocket } = world;
    const page = await reader.listReleases(rocket);
    expect(reader.budget).toMatchObject({ limit: 60, remaining: 59 });
    expect(await reader.listReleases(rocket, { etag: page?.etag ?? '' })).toBeNull();
    expect(reader.budget.remaining).toBe(58);
  });
});

describe('commits of a range', () => {
  const messages = (count: number) => Array.from({ length: count }, (_, index) => `fix: ${index}`);

  test.each([0, 1, 249, 250, 251, 350, 351, 1999, 2000])('all %d of them, oldest first', async (count) => {
    using world = await startReading([...START, { release: 'v1' }, { push: messages(count).concat('end') }]);
    const { reader, rocket } = world;
    const { commits, isCut } = await reader.listCommits(rocket, 'v1', 'main');
    const expected = messages(count).concat('end').slice(-2000);
    expect(commits.map(({ message }) => message)).toEqual(expected);
    expect(isCut).toBe(count === 2000);
  });

  test('most ranges take one request', async () => {
    using world = await startReading([...START, { release: 'v1' }, { push: messages(250) }]);
    await world.reader.listCommits(world.rocket, 'v1', 'main');
    expect(world.api.requests.map(({ path, query }) => ({ path, query }))).toEqual([
      { path: '/repos/acme/rocket/compare/v1...main', query: {} },
    ]);
  });

  test('of too many the newest', async () => {
    using world = await startReading([...START, { release: 'v1' }, { push: messages(2345) }]);
    for (const base of ['v1', null]) {
      const { commits, isCut } = await world.reader.listCommits(world.rocket, base, 'main');
      expect(commits.map(({ message }) => message)).toEqual(messages(2345).slice(-2000));
      expect(isCut).toBe(true);
    }
  });

  test('a commit has its login, or else its name', async () => {
    using world = await startReading(LIFE);
    const { commits } = await world.reader.listCommits(world.rocket, 'v1.0.0', 'main');
    expect(commits).toEqual([
      {
        sha: world.repository.code.branches.get('main') ?? '',
        message: 'fix: ü',
        author: 'Zoë',
        url: `https://github.com/acme/rocket/commit/${world.repository.code.branches.get('main')}`,
        committedAt: day(7),
        parents: [world.repository.code.tags.get('v1.0.0') ?? ''],
      },
    ]);
    const [, second] = (await world.reader.listCommits(world.rocket, null, 'v1.0.0')).commits;
    expect(second?.author).toBe('ben');
  });

  test('only what the head has and the base lacks', async () => {
    using world = await startReading(LIFE);
    const { reader, rocket } = world;
    const range = async (base: string, head: string) =>
      (await reader.listCommits(rocket, base, head)).commits.map(({ message }) => message);
    expect(await range('v1.0.0', 'side')).toEqual(['fix: ü', 'build: bump']);
    expect(await range('side', 'v1.0.0')).toEqual([]);
    expect(await range('main', 'main')).toEqual([]);
  });

  test('a name that does not exist, or cannot, is refused', async () => {
    using world = await startReading(LIFE);
    const { api, reader, rocket } = world;
    expect(await problemOf(reader.listCommits(rocket, 'v0', 'main'))).toMatchObject({
      kind: 'refused',
      message:
        'GitHub cannot compare v0 and main of acme/rocket: one of them does not exist, or they share no history',
    });
    expect((await problemOf(reader.listCommits(rocket, null, 'nowhere'))).message).toBe(
      'acme/rocket has no tag, branch or commit nowhere',
    );
    const sent = api.requests.length;
    for (const name of ['', 'a..b', 'mallory:main', 'a b', 'a\nb', 'x'.repeat(256)]) {
      expect((await problemOf(reader.listCommits(rocket, name, 'main'))).kind).toBe('refused');
      expect((await problemOf(reader.listCommits(rocket, null, name))).kind).toBe('refused');
    }
    expect(api.requests).toHaveLength(sent);
  });
});

describe('access', () => {
  test('a token that lacks a permission is named', async () => {
    using world = await startReading(LIFE, {
      token: { user: 'mona', permissions: { repository_hooks: 'write' } },
      about: { isPrivate: true },
    });
    expect(await problemOf(releasesOf(world.reader, world.rocket), world.token ?? '')).toMatchObject({
      kind: 'missing-permission',
      message: `The token can't read acme/rocket: it needs the repository permissions "Contents: read" and "Pull requests: read" (classic: the scope repo). Change it at ${new URL(world.api.url).origin}/settings/personal-access-tokens.`,
    });
  });

  test('a server that wants a token says so', async () => {
    using anonymous = await startReading(LIFE, { token: null });
    anonymous.api.failNext('answers 401');
    const { kind, message } = await problemOf(anonymous.reader.getRepository('acme/rocket'));
    expect(kind).toBe('bad-token');
    expect(message).toBe(
      `The server at ${anonymous.api.url} answers no requests without a token. Use a token.`,
    );
  });

  test('Enterprise Server is read below its path', async () => {
    using world = await startReading(LIFE, { basePath: '/api/v3' });
    expect(await world.reader.getRepository('acme/rocket')).toEqual(world.rocket);
    expect(await releasesOf(world.reader, world.rocket)).toHaveLength(3);
  });
});

describe('limits', () => {
  test('the primary limit without a token ends with the hour', async () => {
    using world = await startReading(LIFE, { token: null });
    const { api, clock, reader, rocket } = world;
    api.limits.anonymous = 2;
    await reader.listReleases(rocket);
    await reader.listReleases(rocket);
    expect(reader.budget).toEqual({
      limit: 2,
      remaining: 0,
      resetAt: new Date('2026-11-21T04:49:18.000Z'),
      pollMs: null,
    });
    expect(await problemOf(releasesOf(reader, rocket))).toMatchObject({
      kind: 'rate-limited',
      message:
        'GitHub accepts no more requests without a token until 2026-11-21T04:49:18Z. Try again then, or use a token.',
      retryAt: new Date('2026-11-21T04:49:18.000Z'),
    });
    clock.advance(3_600_000);
    expect(await releasesOf(reader, rocket)).toHaveLength(3);
    expect(reader.budget.remaining).toBe(1);
  });

  test('the secondary limit ends when GitHub says', async () => {
    using world = await startReading(LIFE);
    const { api, clock, reader, rocket } = world;
    api.limits.perMinute = 1;
    await reader.listReleases(rocket);
    clock.advance(20_000);
    const problem = await problemOf(releasesOf(reader, rocket));
    expect(problem).toMatchObject({ kind: 'rate-limited', retryAt: new Date('2026-11-21T03:50:18.000Z') });
    clock.advance(40_000);
    expect(await releasesOf(reader, rocket)).toHaveLength(3);
  });

  test('a poll interval is kept, and nonsense is not', async () => {
    using world = await startReading(LIFE);
    const { api, reader, rocket } = world;
    const send = (headers: Record<string, string>) => api.failNext(() => Response.json([], { headers }));
    send({ 'x-poll-interval': '120', 'x-ratelimit-remaining': '7' });
    await reader.listReleases(rocket);
    expect(reader.budget).toEqual({ limit: null, remaining: 7, resetAt: null, pollMs: 120_000 });
    send({ 'x-poll-interval': '-1', 'x-ratelimit-remaining': '1e9', 'x-ratelimit-reset': 'soon' });
    await reader.listReleases(rocket);
    expect(reader.budget).toEqual({ limit: null, remaining: null, resetAt: null, pollMs: null });
  });
});

describe('failures', () => {
  const calls: [string, (reader: RepositoryReader, rocket: RemoteRepository) => Promise<unknown>][] = [
    ['getRepository', (reader) => reader.getRepository('acme/rocket')],
    ['listReleases', (reader, rocket) => reader.listReleases(rocket)],
    ['listMerged', (reader, rocket) => reader.listMerged(rocket)],
    ['getHead', (reader, rocket) => reader.getHead(rocket, 'main')],
    ['listCommits', (reader, rocket) => reader.listCommits(rocket, 'v1.0.0', 'main')],
    ['listCommits from the start', (reader, rocket) => reader.listCommits(rocket, null, 'main')],
  ];

  test.each(calls)('%s says when GitHub fails, or sends something else', async (_, call) => {
    using world = await startReading(LIFE);
    const { api, reader, rocket } = world;
    for (const fault of [
      'answers 500',
      'answers 502 with a page',
      'answers 200 with a page',
      'answers broken JSON',
      'answers JSON of another shape',
      'answers null',
      'answers with an empty body',
      'redirects without end',
    ] as const) {
      api.failNext(fault, { times: fault === 'redirects without end' ? 4 : 1 });
      const { kind } = await problemOf(call(reader, rocket), world.token ?? '');
      expect([fault, kind]).toEqual([fault, 'provider-failed']);
    }
    await call(reader, rocket);
  });

  test.each(calls)('%s says when the repository is gone', async (_, call) => {
    using world = await startReading(LIFE);
    world.api.repositories.length = 0;
    expect((await problemOf(call(world.reader, world.rocket))).kind).toBe('place-not-found');
  });

  test('a page that fails loses nothing: the same cursor reads it again', async () => {
    using world = await startReading([
      ...START,
      ...Array.from({ length: 150 }, (_, index) => ({ release: `v${index}` })),
    ]);
    const { api, reader, rocket } = world;
    const first = await reader.listReleases(rocket);
    const { remaining } = reader.budget;
    api.failNext(() => new Response('<html>', { status: 502 }));
    const second = { cursor: first?.next ?? null };
    expect((await problemOf(Promise.resolve(reader.listReleases(rocket, second)))).kind).toBe(
      'provider-failed',
    );
    expect(reader.budget.remaining).toBe(remaining);
    expect((await reader.listReleases(rocket, second))?.items).toHaveLength(50);
  });
});
