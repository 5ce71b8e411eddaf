import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { changeTrigger, createTrigger } from '../../src/drafting/triggers/service.ts';
import { readDueHistories, readHistory } from '../../src/intake/history/read.ts';
import { startHistory, stopHistory } from '../../src/intake/history/service.ts';
import { execute, valuesOf } from '../support/database.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { type Happening, projectOf } from '../support/github-api/project.ts';
import { day, goOn, importAll, request, startProject, textsOf } from '../support/import.ts';
import { startPolling } from '../support/polling.ts';
import { connectRocket, startProviderApp } from '../support/provider-app.ts';

const NOTED: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), release: 'v1.0.0', name: 'One', notes: '### Added\n\n- Quiet mode\n' },
  { at: day(3), push: ['fix: a leak'] },
  { at: day(4), release: 'v1.1.0', notes: '### Fixed\n\n- A leak\n' },
  { at: day(5), release: 'v1.2.0-rc.1', notes: 'Try it.', isPrerelease: true },
];

const UNNOTED: Happening[] = [
  { at: day(1), push: ['chore: start'] },
  { at: day(2), merge: 1, title: 'feat: engines' },
  { at: day(3), release: 'v1.0.0' },
  { at: day(4), merge: 2, title: 'feat: quiet mode' },
  { at: day(5), merge: 3, title: 'fix: a leak' },
  { at: day(6), release: 'v1.1.0', notes: 'Written by hand.' },
  { at: day(7), merge: 4, title: 'feat: softer start' },
  { at: day(8), release: 'v1.2.0' },
];

const titlesOf = async (app: Parameters<typeof postsOf>[0]) => (await postsOf(app)).map(({ title }) => title);

describe('a repository whose releases have notes', () => {
  test('takes two requests, and gives a draft for each release with its date', async () => {
    await using it = await startProject(NOTED);
    const history = await importAll(it.app);
    expect(history).toMatchObject({ status: 'done', found: 3, read: 3, problem: null });
    expect(it.github.requests.map(({ path }) => path)).toEqual([
      '/repos/acme/rocket',
      '/repos/acme/rocket',
      '/repos/acme/rocket/releases',
    ]);
    expect((await postsOf(it.app)).map(({ title, status, createdAt }) => [title, status, createdAt])).toEqual(
      [
        ['v1.2.0-rc.1', 'draft', '2026-01-05T12:00:00.000Z'],
        ['v1.1.0', 'draft', '2026-01-04T12:00:00.000Z'],
        ['One', 'draft', '2026-01-02T12:00:00.000Z'],
      ],
    );
  });

  test('knows a release whose tag was edited since it was read, by webhook or before', async () => {
    await using it = await startProject(NOTED);
    await importAll(it.app);
    const before = await postsOf(it.app);
    it.app.clock.advance(60_000);
    it.project.happen({ edit: 'v1.1.0', tag: 'v1.1.1', name: 'v1.1.1', notes: 'Renamed.' });
    await importAll(it.app);
    const after = await postsOf(it.app);
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(after.map(({ title }) => title)).toEqual(['v1.2.0-rc.1', 'v1.1.1', 'One']);
    expect(after[1]?.markdown.trim()).toBe('Renamed.');
    const keys = await valuesOf(it.app.db, sql`select key from events where type = 'release' order by key`);
    expect(keys).toEqual([['v1.0.0'], ['v1.1.1'], ['v1.2.0-rc.1']]);
  });

  test('makes nothing twice when it is read again', async () => {
    await using it = await startProject(NOTED);
    await importAll(it.app);
    const before = await postsOf(it.app);
    it.app.clock.advance(60_000);
    await importAll(it.app);
    expect(await postsOf(it.app)).toEqual(before);
  });

  test('makes posts of what is new since', async () => {
    await using it = await startProject(NOTED);
    await importAll(it.app);
    it.project.happen({ at: day(9), release: 'v1.2.0', notes: 'Out.' });
    await importAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.2.0', 'v1.2.0-rc.1', 'v1.1.0', 'One']);
  });

  test('gives the same posts as webhooks, before them and after them', async () => {
    await using read = await startProject(NOTED);
    await importAll(read.app);
    const expected = await textsOf(read.app);

    await using sent = await startProviderApp();
    const { repository, integrationId } = await connectRocket(sent);
    repository.isPrivate = false;
    await createTrigger(sent.app.deps, { integrationId, event: 'release', contentType: 'changelog' });
    const { past, send } = projectOf(repository, sent.app.clock, NOTED);
    await send(past.flat());
    await runAll(sent.app);
    expect(await textsOf(sent.app)).toEqual(expected);
    await importAll(sent.app);
    expect(await textsOf(sent.app)).toEqual(expected);
    await send(past.flat().toReversed());
    await runAll(sent.app);
    expect(await textsOf(sent.app)).toEqual(expected);
    expect(await valuesOf(sent.app.db, sql`select count(*) from integrations`)).toEqual([[1]]);
  });

  test.each([
    [{ releases: 1 }, ['v1.2.0-rc.1']],
    [{ releases: 2 }, ['v1.2.0-rc.1', 'v1.1.0']],
    [{ since: new Date(day(4)) }, ['v1.2.0-rc.1', 'v1.1.0']],
    [{ since: new Date(day(20)) }, []],
  ])('is read as far as asked: %j', async (changes, titles) => {
    await using it = await startProject(NOTED);
    const history = await importAll(it.app, changes);
    expect(history).toMatchObject({ status: 'done', found: titles.length });
    expect(await titlesOf(it.app)).toEqual(titles);
  });

  test('is published only when a person asks for it', async () => {
    await using it = await startProject(NOTED);
    await importAll(it.app, { publish: true });
    expect((await postsOf(it.app)).map(({ status, createdAt }) => [status, createdAt.slice(0, 10)])).toEqual([
      ['published', '2026-01-05'],
      ['published', '2026-01-04'],
      ['published', '2026-01-02'],
    ]);
  });

  test.each([
    { publish: true, status: 'published' },
    { publish: false, status: 'draft' },
  ] as const)(
    'keeps what the person asked for when the release is delivered before its post is made: %j',
    async ({ publish, status }) => {
      await using world = await startPolling({ past: NOTED.slice(0, 2), events: ['release'] });
      const { app, project } = world;
      // The trigger does the opposite.
      await execute(app.db, sql`update triggers set publish = ${!publish}`);
      const { id } = await startHistory(app.deps, request({ publish }));
      await readHistory(app.deps, id);
      await world.deliver(project.past.flat().filter(({ event }) => event === 'release'));
      await runAll(app);
      expect((await postsOf(app)).map((post) => [post.title, post.status])).toEqual([['One', status]]);
    },
  );

  test('gives drafts even where the trigger publishes', async () => {
    await using it = await startProject(NOTED);
    const { integrationId } = await startHistory(it.app.deps, request({ releases: 1 }));
    await execute(it.app.db, sql`update triggers set publish = ${true}`);
    expect(integrationId).toStartWith('int_');
    await importAll(it.app);
    expect(new Set((await postsOf(it.app)).map(({ status }) => status))).toEqual(new Set(['draft']));
  });

  test('leaves a post that a person deleted or edited as it is', async () => {
    await using it = await startProject(NOTED);
    await importAll(it.app);
    await execute(it.app.db, sql`delete from posts where title = 'One'`);
    await execute(it.app.db, sql`update posts set title = 'Mine' where title = 'v1.1.0'`);
    await importAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.2.0-rc.1', 'Mine']);
  });
});

describe('a repository whose releases lack notes', () => {
  test('is read with its pull requests', async () => {
    await using it = await startProject(UNNOTED);
    expect(await importAll(it.app)).toMatchObject({ status: 'done', found: 3, read: 3 });
    const posts = Object.fromEntries((await postsOf(it.app)).map(({ title, markdown }) => [title, markdown]));
    expect(Object.keys(posts)).toEqual(['v1.2.0', 'v1.1.0', 'v1.0.0']);
    expect(posts['v1.2.0']).toContain('Softer start');
    expect(posts['v1.2.0']).not.toContain('Quiet mode');
    expect(posts['v1.1.0']).toContain('Written by hand.');
    expect(posts['v1.0.0']).toContain('Engines');
  });

  test('reads the release before, and no pull request before that', async () => {
    const many: Happening[] = Array.from({ length: 250 }, (_, index) => ({
      at: new Date(Date.UTC(2025, 0, 1, index)).toISOString(),
      merge: 1_000 + index,
      title: `feat: old ${index}`,
    }));
    await using it = await startProject([
      { at: '2024-12-01T00:00:00Z', push: ['start'] },
      ...many,
      ...UNNOTED.slice(1),
    ]);
    await importAll(it.app, { releases: 1 });
    expect(await titlesOf(it.app)).toEqual(['v1.2.0']);
    expect(it.github.requests.filter(({ path }) => path.endsWith('/pulls'))).toHaveLength(1);
  });

  test('reads again the pull requests that changed meanwhile', async () => {
    const many: Happening[] = Array.from({ length: 150 }, (_, index) => ({
      at: new Date(Date.UTC(2026, 0, 10, index)).toISOString(),
      merge: 100 + index,
      title: `feat: part ${index}`,
    }));
    await using it = await startProject([
      { at: day(1), push: ['start'] },
      { at: day(2), release: 'v1.0.0', notes: 'First.' },
      ...many,
      { at: day(25), release: 'v2.0.0' },
    ]);
    let isCommented = false;
    const { id } = await startHistory(it.app.deps, request());
    await readHistory(it.app.deps, id, {
      onPage({ cursor }) {
        if (isCommented || cursor?.phase !== 'requests' || cursor.page === null) return;
        isCommented = true;
        // The oldest one moves from the second page to the first.
        it.project.happen({ at: it.app.clock.now().toISOString(), comment: 100 });
      },
    });
    await runAll(it.app);
    expect(isCommented).toBe(true);
    expect((await postsOf(it.app))[0]?.markdown).toContain('Part 0 ');
    const read = sql`select count(*) from events where type = 'pull_request'`;
    expect(await valuesOf(it.app.db, read)).toEqual([[150]]);
  });

  test('can be stopped: releases that wait for their pull requests make no posts', async () => {
    await using it = await startProject(UNNOTED);
    const { id } = await startHistory(it.app.deps, request());
    const abort = new AbortController();
    await readHistory(it.app.deps, id, { signal: abort.signal, onPage: () => abort.abort() });
    expect(await stopHistory(it.app.deps, 'org_a', id)).toMatchObject({ status: 'stopped' });
    await runAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.1.0']);
    // Later requests are not about them.
    await importAll(it.app, { releases: 1 });
    expect(await titlesOf(it.app)).toEqual(['v1.2.0', 'v1.1.0']);
  });

  test('can be asked for otherwise: releases that waited for their pull requests make no posts', async () => {
    await using it = await startProject(UNNOTED);
    const { id } = await startHistory(it.app.deps, request());
    const abort = new AbortController();
    await readHistory(it.app.deps, id, { signal: abort.signal, onPage: () => abort.abort() });
    await importAll(it.app, { releases: 1 });
    expect(await titlesOf(it.app)).toEqual(['v1.2.0', 'v1.1.0']);
  });
});

describe('a provider that refuses', () => {
  test('for its rate limit: reading pauses until it allows more, and drafts of what was read exist', async () => {
    await using it = await startProject(UNNOTED);
    it.github.limits.anonymous = 3;
    const paused = await importAll(it.app);
    expect(paused).toMatchObject({
      status: 'queued',
      problem:
        'GitHub allows 3 requests an hour without a token. To raise the limit, import again with a token.',
      dueAt: it.app.clock.now().getTime() + 3_600_000,
    });
    expect(await titlesOf(it.app)).toEqual(['v1.1.0']);
    await readDueHistories(it.app.deps);
    expect(it.github.requests).toHaveLength(4);
    it.app.clock.advance(3_600_000);
    await readDueHistories(it.app.deps);
    await runAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.2.0', 'v1.1.0', 'v1.0.0']);
  });

  test('for its rate limit: a new filter meanwhile loses no release that waits', async () => {
    await using it = await startProject(UNNOTED);
    it.github.limits.anonymous = 3;
    const { triggerId } = await importAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.1.0']);
    await changeTrigger(it.app.deps, triggerId, { filters: { prereleases: false } });
    it.app.clock.advance(3_600_000);
    await readDueHistories(it.app.deps);
    await runAll(it.app);
    expect(await titlesOf(it.app)).toEqual(['v1.2.0', 'v1.1.0', 'v1.0.0']);
  });

  test('for its secondary limit: it says how long', async () => {
    await using it = await startProject(NOTED);
    const { id } = await startHistory(it.app.deps, request());
    it.github.failNext('answers 403 for its secondary rate limit');
    expect(await goOn(it.app, id)).toMatchObject({
      status: 'queued',
      problem: 'GitHub asks Tidings to slow down.',
    });
  });

  test('with failures: reading backs off, goes on, and fails in the end', async () => {
    await using it = await startProject(NOTED);
    const { id } = await startHistory(it.app.deps, request());
    it.github.failNext('answers 502 with a page', { times: 2 });
    expect(await goOn(it.app, id)).toMatchObject({ status: 'queued', attempts: 1 });
    it.app.clock.advance(1_000);
    await readDueHistories(it.app.deps);
    expect(it.github.requests).toHaveLength(2);
    it.app.clock.advance(1_000);
    expect(await goOn(it.app, id)).toMatchObject({ attempts: 2 });
    it.app.clock.advance(10_000);
    expect(await goOn(it.app, id)).toMatchObject({ status: 'done', attempts: 0, problem: null });

    const again = await startHistory(it.app.deps, request());
    it.github.failNext('answers 500', { times: 100 });
    for (let attempt = 0; attempt < 20; attempt++) {
      await readHistory(it.app.deps, again.id);
      it.app.clock.advance(600_000);
    }
    expect(await goOn(it.app, again.id)).toMatchObject({ status: 'failed', attempts: 19 });
  });

  test('because the repository is gone: it fails, and says what to do', async () => {
    await using it = await startProject(NOTED);
    const { id } = await startHistory(it.app.deps, request());
    it.repository.isPrivate = true;
    expect(await goOn(it.app, id)).toMatchObject({
      status: 'failed',
      problem:
        'GitHub has no public repository acme/rocket. Check the name; a private repository needs a token.',
    });
  });
});

test('two processes that read the same page write it once', async () => {
  await using it = await startProject(NOTED);
  const { id } = await startHistory(it.app.deps, request());
  // The second claims what the first has claimed, as after a person asked again.
  const first = readHistory(it.app.deps, id);
  await startHistory(it.app.deps, request());
  await Promise.all([first, readHistory(it.app.deps, id)]);
  expect(await goOn(it.app, id)).toMatchObject({ status: 'done', found: 3 });
  expect(await titlesOf(it.app)).toHaveLength(3);
});

test('every trigger on the repository plans again', async () => {
  await using it = await startProject(NOTED);
  const { integrationId } = await startHistory(it.app.deps, request({ releases: 1 }));
  await createTrigger(it.app.deps, { integrationId, event: 'push', contentType: 'changelog' });
  await importAll(it.app);
  // No push has arrived: the history of releases makes no drafts of pushes.
  expect(await titlesOf(it.app)).toEqual(['v1.2.0-rc.1', 'v1.1.0', 'One']);
  expect(await valuesOf(it.app.db, sql`select count(*) from trigger_runs`)).toEqual([[0]]);
  expect(await textsOf(it.app)).toHaveLength(3);
});
