import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { DatabaseMoved } from '../../db/failures.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { type Composer, threadedComposer } from '../../src/drafting/thread.ts';
import { listRuns, retryRuns } from '../../src/drafting/triggers/queue-store.ts';
import { createTriggerWorker, runTriggers } from '../../src/drafting/triggers/run.ts';
import {
  changeTrigger,
  createTrigger,
  deleteTrigger,
  type NewTrigger,
  switchTrigger,
} from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { AppError } from '../../src/lib/app-error.ts';
import type { Post } from '../../src/posts/model.ts';
import { listPostPage } from '../../src/posts/store.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { testEngine } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { refuseWrites } from '../support/faults.ts';
import { changed } from '../support/payloads.ts';
import { allRows } from '../support/rows.ts';
import { limitOfStuckThreads } from '../support/stuck-thread.ts';
import type { TestApp } from '../support/test-app.ts';

let app: TestApp;
let connected: Connected;
let composer: Composer;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  // The bounds of a template are tested here, and not the time limit of the thread.
  composer = threadedComposer({ after: () => () => undefined });
});

afterEach(() => composer.close());

const inThisThread: Compose = async (recipe, material) => composeDraft(recipe, material);

/** One pass of the worker. Returns how many runs it did. */
const pass = (compose: Compose = composer.compose) => runTriggers(app.deps, compose);

function create(fields: Partial<NewTrigger> = {}) {
  const { integrationId } = connected;
  return createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog', ...fields });
}

/** Passes the checks, as the sample lists changes, and fails on a release that lists none. */
const PER_CHANGE = '{{ release.name }}\n\nEach is {{ 100 | divided_by: changes.size }} % of it.';
const PER_CHANGE_FAILS = 'body template, line 3, column 9: the result of divided_by is not a number';

const createFailing = (fields: Partial<NewTrigger> = {}) =>
  create({ contentType: 'linkedin_post', bodyTemplate: PER_CHANGE, ...fields });

let releases = 0;
/** Each release is an hour after the one before. */
async function deliverRelease(notes = 'Words, and no list.', tag = `v1.${releases}.0`): Promise<void> {
  const now = new Date(Date.UTC(2026, 0, 1, releases++));
  const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now }) ?? {};
  const payload = changed(sample, { 'release.tag_name': tag, 'release.name': tag, 'release.body': notes });
  const response = await app.request(...githubRequest(connected, payload, { event: 'release' }));
  expect(response.status).toBe(200);
}

async function posts(): Promise<Post[]> {
  const selection = { statuses: ['draft', 'published'], contentTypes: ['changelog', 'linkedin_post'] };
  const page = { ...selection, limit: 100, page: 1, sort: 'asc' } as Parameters<typeof listPostPage>[2];
  return (await app.db.read((tx) => listPostPage(tx, 'org_a', page))).posts;
}

/** Which triggers have posts, one entry for each post. */
const madeBy = async () => (await posts()).map(({ sourceMetadata }) => sourceMetadata?.triggerId).sort();

const runs = () => app.db.read((tx) => listRuns(tx, {}));
const retry = (triggerId?: string) => app.db.write((tx) => retryRuns(tx, triggerId, app.clock.now()));

describe('a failing trigger does not hold up the others', () => {
  const bullets = (count: number) =>
    Array.from({ length: count }, (_, index) => `- Change ${index}\n`).join('');
  const loop = (body: string, ...names: string[]) =>
    names.reduceRight((inner, name) => `{% for ${name} in changes %}${inner}{% endfor %}`, body);

  test.each([
    ['divides by a number that is zero this time', { bodyTemplate: PER_CHANGE }, 'Words.', PER_CHANGE_FAILS],
    [
      'loops in loops over more than there were',
      { bodyTemplate: loop('{{ a.text }}{{ b.text }}', 'a', 'b', 'c') },
      bullets(60),
      /^body template, line 1, column \d+: it (writes more than 1,000,000 characters|takes longer than 500 milliseconds)/,
    ],
    [
      'has a title that comes out empty',
      { titleTemplate: '{{ changes.first.text }}' },
      'Words.',
      /^title template: the title is empty/,
    ],
    [
      'takes too long',
      // Little work with the few changes of the sample, which the check of a new trigger renders.
      { bodyTemplate: loop('{% assign x = changes | group_by: "text" %}', 'a', 'b') },
      bullets(1_000),
      /^body template, line 1, column \d+: it (takes longer than 500 milliseconds|uses too much memory)/,
    ],
  ])('one that %s', async (_, templates, notes, error) => {
    const before = await create({ filters: { prereleases: false } });
    const failing = await createFailing(templates);
    const after = await create();
    await deliverRelease(notes);
    expect(await pass()).toBe(3);
    expect(await madeBy()).toEqual([before.id, after.id].sort());
    expect(await runs()).toMatchObject([{ triggerId: failing.id, status: 'queued', attempts: 1 }]);
    const [{ error: said } = { error: null }] = await runs();
    if (typeof error === 'string') expect(said).toBe(error);
    else expect(said).toMatch(error);
  });

  test('one for which drafts cannot be made at all', async () => {
    const failing = await create();
    const healthy = await create({ contentType: 'linkedin_post' });
    await deliverRelease();
    await pass(async (recipe, material) => {
      if (recipe.triggerId === failing.id) throw 'not even an error';
      return composeDraft(recipe, material);
    });
    expect(await madeBy()).toEqual([healthy.id]);
    expect(await runs()).toMatchObject([{ triggerId: failing.id, error: 'not even an error' }]);
  });

  test('one whose thread is stuck', async () => {
    const failing = await create();
    const healthy = await create({ contentType: 'linkedin_post' });
    const main = new URL('../support/odd-thread.ts', import.meta.url);
    using limit = limitOfStuckThreads();
    const odd = threadedComposer({ after: limit.after, main });
    await deliverRelease();
    await pass((recipe, material) =>
      odd.compose(recipe.triggerId === failing.id ? { ...recipe, triggerId: 'stuck' } : recipe, material),
    );
    odd.close();
    expect(await madeBy()).toEqual([healthy.id]);
    expect(await runs()).toMatchObject([
      { triggerId: failing.id, error: 'The draft took more than 2 s to write. Simplify its template' },
    ]);
  });

  test('while many of its drafts fail: the others come first after each', async () => {
    const failing = await createFailing();
    const healthy = await create();
    for (let n = 0; n < 5; n++) await deliverRelease();
    const order: string[] = [];
    await pass((recipe, material) => {
      order.push(recipe.triggerId ?? '');
      return inThisThread(recipe, material);
    });
    const times = (id: string, count: number) => Array.from({ length: count }, () => id);
    expect(order).toEqual([failing.id, ...times(healthy.id, 5), ...times(failing.id, 4)]);
  });

  test('a failing draft does not stop the others of its run', async () => {
    const failing = await createFailing();
    await deliverRelease('- One\n- Two', 'v1');
    await deliverRelease('None.', 'v2');
    await deliverRelease('- One\n- Two\n- Three\n- Four', 'v3');
    expect(await pass()).toBe(1);
    expect((await posts()).map(({ title, content }) => [title, content])).toEqual([
      ['v1', 'v1\n\nEach is 50 % of it.'],
      ['v3', 'v3\n\nEach is 25 % of it.'],
    ]);
    expect(await runs()).toMatchObject([{ triggerId: failing.id, error: PER_CHANGE_FAILS }]);
  });
});

describe('a run that fails', () => {
  /** Lets a run fail until it is given up. Returns how it stood after each attempt, times as seconds from then. */
  async function failUntilGivenUp() {
    const states: [status: string, attempts: number, secondsToNext: number | null][] = [];
    for (;;) {
      expect(await pass()).toBe(1);
      // Nothing is due before its time.
      expect(await pass()).toBe(0);
      const [run] = await runs();
      if (run === undefined) throw new Error('the run did not fail');
      const next = run.nextAttemptAt === null ? null : Date.parse(run.nextAttemptAt);
      const waitMs = next === null ? null : next - app.clock.now().getTime();
      states.push([run.status, run.attempts, waitMs === null ? null : waitMs / 1000]);
      if (waitMs === null) return states;
      app.clock.advance(waitMs - 1);
      expect(await pass()).toBe(0);
      app.clock.advance(1);
    }
  }

  test('is retried with a growing backoff, then given up with its error', async () => {
    const { id: triggerId } = await createFailing();
    await deliverRelease();
    expect(await failUntilGivenUp()).toEqual([
      ['queued', 1, 1],
      ['queued', 2, 10],
      ['queued', 3, 60],
      ['queued', 4, 600],
      ['failed', 5, null],
    ]);
    const failed = {
      triggerId,
      organizationId: 'org_a',
      scope: `${connected.repositoryId} main`,
      status: 'failed' as const,
      attempts: 5,
      nextAttemptAt: null,
      deliveryId: expect.any(String),
      error: PER_CHANGE_FAILS,
      queuedAt: '2026-11-20T12:00:00.000Z',
    };
    expect(await app.db.read((tx) => listRuns(tx, { organizationId: 'org_a', status: 'failed' }))).toEqual([
      failed,
    ]);
    expect(await app.db.read((tx) => listRuns(tx, { status: 'queued' }))).toEqual([]);
    expect(await app.db.read((tx) => listRuns(tx, { organizationId: 'org_b' }))).toEqual([]);
    const tries = app.logged.filter(({ triggerId: id }) => id === triggerId);
    expect(tries.map(({ level, attempts }) => [level, attempts])).toEqual([
      ['warn', 1],
      ['warn', 2],
      ['warn', 3],
      ['warn', 4],
      ['error', 5],
    ]);
    app.clock.advance(365 * 24 * 3_600_000);
    expect(await pass()).toBe(0);
  });

  test('is retried when a person asks', async () => {
    const failing = await createFailing();
    const other = await createFailing({ filters: { prereleases: false } });
    await deliverRelease();
    await pass();
    app.clock.advance(400);
    expect(await retry('trg_none')).toBe(0);
    expect(await pass()).toBe(0);
    // One that still waits for its next attempt is retried too.
    expect(await retry(failing.id)).toBe(1);
    expect(await failUntilGivenUpOf(failing.id)).toBe(5);
    expect(await retry()).toBe(2);
    expect(await pass()).toBe(2);
    expect(await runs()).toMatchObject([
      { triggerId: failing.id, status: 'queued', attempts: 1 },
      { triggerId: other.id, status: 'queued', attempts: 1 },
    ]);
  });

  async function failUntilGivenUpOf(triggerId: string): Promise<number> {
    for (let attempts = 1; ; attempts++) {
      await pass();
      const run = (await runs()).find((each) => each.triggerId === triggerId);
      if (run?.status === 'failed') return attempts;
      app.clock.advance(600_000);
    }
  }

  test('is retried after it was given up when a new delivery comes', async () => {
    await createFailing();
    await deliverRelease();
    await failUntilGivenUp();
    await deliverRelease('- One', 'v9');
    expect(await runs()).toMatchObject([{ status: 'queued', attempts: 0 }]);
    expect(await pass()).toBe(1);
    expect(await posts()).toMatchObject([{ title: 'v9' }]);
    expect(await runs()).toMatchObject([{ status: 'queued', attempts: 1 }]);
  });

  test('is retried when an event came during its last attempt', async () => {
    await createFailing();
    await deliverRelease();
    for (let attempt = 1; attempt < 5; attempt++) {
      await pass();
      app.clock.advance(600_000);
    }
    let isLast = true;
    await pass(async (recipe, material) => {
      if (isLast) await deliverRelease('- One', 'v9');
      isLast = false;
      return composeDraft(recipe, material);
    });
    expect(await posts()).toMatchObject([{ title: 'v9' }]);
  });

  test('succeeds at once when its template is fixed', async () => {
    const failing = await createFailing();
    await deliverRelease();
    await failUntilGivenUp();
    await changeTrigger(app.deps, failing.id, { bodyTemplate: '{{ changes.size }} changes.' });
    expect(await pass()).toBe(1);
    expect(await posts()).toMatchObject([{ content: '0 changes.' }]);
    expect(await runs()).toEqual([]);
  });

  test('succeeds when its template is fixed during its last attempt', async () => {
    const failing = await createFailing();
    await deliverRelease();
    for (let attempt = 1; attempt < 5; attempt++) {
      await pass();
      app.clock.advance(600_000);
    }
    let isFirst = true;
    await pass(async (recipe, material) => {
      if (isFirst) await changeTrigger(app.deps, failing.id, { bodyTemplate: '{{ changes.size }} changes.' });
      isFirst = false;
      return composeDraft(recipe, material);
    });
    expect(await posts()).toMatchObject([{ content: '0 changes.' }]);
    expect(await runs()).toEqual([]);
  });
});

describe('a failure of the system', () => {
  const coded = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });
  const warnings = () => app.logged.filter(({ level }) => level === 'warn' || level === 'error');

  test.each<[string, Error]>([
    ['a full disk', coded('SQLITE_FULL')],
    ['a full disk outside of the database', coded('ENOSPC')],
    ['a locked database', coded('SQLITE_BUSY')],
    ['a snapshot that another process outdated', coded('SQLITE_BUSY_SNAPSHOT')],
    ['a disk that fails', coded('SQLITE_IOERR_WRITE')],
    ['a database file that was deleted', new DatabaseMoved()],
    [
      'no file descriptors for a thread',
      new AppError(503, 'The draft could not be written: out of file descriptors', {
        cause: coded('EMFILE'),
      }),
    ],
  ])('does not count as a failure of the draft: %s', async (_, failure) => {
    const failing = await create();
    const healthy = await create({ contentType: 'linkedin_post' });
    await deliverRelease();
    let isFailing = true;
    const work = createTriggerWorker(app.deps, async (recipe, material) => {
      if (isFailing && recipe.triggerId === failing.id) throw failure;
      return composeDraft(recipe, material);
    });
    // The backoff of a draft that fails ends after 11 minutes.
    for (let seconds = 0; seconds < 720; seconds += 10) {
      await work();
      expect(await runs()).toMatchObject([
        { status: 'queued', attempts: 0, error: failure.message, nextAttemptAt: inSeconds(10) },
      ]);
      app.clock.advance(10_000);
    }
    expect(await madeBy()).toEqual([healthy.id]);
    expect(warnings()).toMatchObject([{ level: 'warn', triggerId: failing.id }]);

    isFailing = false;
    expect(await work()).toBe(1);
    expect(await madeBy()).toEqual([failing.id, healthy.id].sort());
    expect(await runs()).toEqual([]);
  });

  const inSeconds = (seconds: number) => new Date(app.clock.now().getTime() + seconds * 1_000).toISOString();

  test('keeps the count of earlier failures', async () => {
    await create();
    await deliverRelease();
    await pass(() => Promise.reject(new Error('broken')));
    app.clock.advance(1_000);
    await pass(() => Promise.reject(coded('SQLITE_FULL')));
    expect(await runs()).toMatchObject([{ attempts: 1, nextAttemptAt: inSeconds(10) }]);
  });

  test('the worker rests 10 s and logs once while the database takes no writes', async () => {
    await create();
    await create({ contentType: 'linkedin_post' });
    await deliverRelease();
    let composed = 0;
    const work = createTriggerWorker(app.deps, async (recipe, material) => {
      composed++;
      return composeDraft(recipe, material);
    });
    let allowWrites = await refuseWrites(app.db, 'read-only');
    for (let minute = 0; minute < 60; minute++) {
      // As often as the job asks.
      for (let time = 0; time < 40; time++) expect(await work()).toBe(0);
      app.clock.advance(60_000);
    }
    // Both runs each minute. On PostgreSQL a worker writes its lease of a run first.
    expect(composed).toBe(testEngine === 'sqlite' ? 120 : 0);
    expect(warnings()).toHaveLength(1);

    await allowWrites();
    expect(await work()).toBe(2);
    expect(await posts()).toHaveLength(2);
    expect(await runs()).toEqual([]);

    // The next one is a failure of its own.
    await deliverRelease();
    allowWrites = await refuseWrites(app.db, 'read-only');
    await work();
    expect(warnings()).toHaveLength(2);
    await allowWrites();
    // A clock that is set back does not prolong the rest.
    expect(await work()).toBe(0);
    app.clock.advance(-3_600_000);
    expect(await work()).toBe(2);
    expect(await posts()).toHaveLength(4);
  });

  test('a run whose end cannot be written is repeated', async () => {
    await create();
    await deliverRelease('Words.', 'v1');
    await pass();
    await deliverRelease('Words.', 'v1');
    const work = createTriggerWorker(app.deps, inThisThread);
    const allowWrites = await refuseWrites(app.db, 'read-only');
    expect(await work()).toBe(0);
    await allowWrites();
    expect(await runs()).toMatchObject([{ status: 'queued', attempts: 0 }]);
    app.clock.advance(10_000);
    expect(await work()).toBe(1);
    expect(await runs()).toEqual([]);
  });

  test('a manual run throws it', async () => {
    await create();
    await deliverRelease();
    const allowWrites = await refuseWrites(app.db, 'read-only');
    await expect(pass(inThisThread)).rejects.toThrow(testEngine === 'sqlite' ? 'readonly' : 'not available');
    await allowWrites();
    expect(await pass(inThisThread)).toBe(1);
  });

  test('a disk that is full for an hour loses no draft', async () => {
    await create();
    await deliverRelease(`- ${'word '.repeat(50_000)}`);
    const work = createTriggerWorker(app.deps, inThisThread);
    const emptyDisk = await refuseWrites(app.db, 'disk-full');
    for (let minute = 0; minute < 60; minute++) {
      await work();
      app.clock.advance(60_000);
    }
    expect(await posts()).toEqual([]);
    expect(await runs()).toMatchObject([
      // SQLite has room left to note the reason.
      { status: 'queued', attempts: 0, error: testEngine === 'sqlite' ? 'database or disk is full' : null },
    ]);
    expect(warnings()).toHaveLength(1);
    await emptyDisk();
    expect(await work()).toBe(1);
    expect(await posts()).toHaveLength(1);
  });
});

describe('a clock that was a year ahead', () => {
  const YEAR_MS = 365 * 24 * 3_600_000;
  /** Runs `work` while the clock is a year ahead. */
  async function aYearAhead(work: () => Promise<unknown>): Promise<void> {
    app.clock.advance(YEAR_MS);
    await work();
    app.clock.advance(-YEAR_MS);
  }

  test.each([
    ['was queued', async () => deliverRelease()],
    [
      'failed',
      async () => {
        await deliverRelease();
        await pass(() => Promise.reject(new Error('broken')));
      },
    ],
  ])('does not block a run that %s meanwhile: it runs at once', async (_, work) => {
    await create();
    await aYearAhead(work);
    expect(await pass()).toBe(1);
    expect(await posts()).toHaveLength(1);
    expect(await runs()).toEqual([]);
  });

  test('a new event moves the run to its own time', async () => {
    await create();
    await aYearAhead(() => deliverRelease());
    await deliverRelease();
    expect(await runs()).toMatchObject([{ nextAttemptAt: '2026-11-20T12:00:00.000Z' }]);
  });

  test('a new event keeps the backoff of a run that fails', async () => {
    await createFailing();
    await deliverRelease();
    await pass();
    await deliverRelease();
    expect(await runs()).toMatchObject([{ attempts: 1, nextAttemptAt: '2026-11-20T12:00:01.000Z' }]);
    expect(await pass()).toBe(0);
  });

  test('a retry reaches a run that never failed and waits', async () => {
    const { id } = await create();
    app.clock.advance(300_000);
    await deliverRelease();
    app.clock.advance(-300_000);
    // Within the longest backoff the worker waits.
    expect(await pass()).toBe(0);
    expect(await retry(id)).toBe(1);
    expect(await pass()).toBe(1);
    expect(await posts()).toHaveLength(1);
  });

  test('a retry leaves a run that is due anyway', async () => {
    await create();
    await deliverRelease();
    expect(await retry()).toBe(0);
  });
});

test('an event that comes during a run is processed in the same run', async () => {
  await create();
  await deliverRelease('First.', 'v1');
  let isFirst = true;
  const done = await pass(async (recipe, material) => {
    if (isFirst) await deliverRelease('Second.', 'v2');
    isFirst = false;
    return composeDraft(recipe, material);
  });
  expect(done).toBe(1);
  expect((await posts()).map(({ title }) => title)).toEqual(['v1', 'v2']);
  expect(await runs()).toEqual([]);
});

test('two workers at once make each draft once', async () => {
  await create();
  await create({ contentType: 'linkedin_post' });
  for (let n = 0; n < 5; n++) await deliverRelease();
  await Promise.all([pass(inThisThread), pass(inThisThread), pass()]);
  expect(await posts()).toHaveLength(10);
  expect(await runs()).toEqual([]);
});

describe('a worker that is stopped', () => {
  test('starts no run', async () => {
    await create();
    await deliverRelease();
    expect(await runTriggers(app.deps, inThisThread, AbortSignal.abort())).toBe(0);
    expect(await posts()).toEqual([]);
  });

  test.each([
    ['makes the draft under way and leaves the rest', inThisThread, ['v1']],
    [
      'does not count it as a failure when the draft under way is given up',
      () => Promise.reject(new Error('stopping')),
      [],
    ],
  ] as const)('%s', async (_, composeLast, titles) => {
    await create();
    await deliverRelease('First.', 'v1');
    await deliverRelease('Second.', 'v2');
    const stopping = new AbortController();
    const compose: Compose = (recipe, material) => {
      stopping.abort();
      return composeLast(recipe, material);
    };
    await runTriggers(app.deps, compose, stopping.signal);
    expect((await posts()).map(({ title }) => title)).toEqual([...titles]);
    expect(await runs()).toMatchObject([{ status: 'queued', attempts: 0, error: null }]);
    expect(await pass()).toBe(1);
    expect((await posts()).map(({ title }) => title)).toEqual(['v1', 'v2']);
    expect(await runs()).toEqual([]);
  });
});

describe('a trigger that is disabled', () => {
  test('keeps its queued runs until it is enabled', async () => {
    const { id } = await create();
    await deliverRelease();
    await switchTrigger(app.deps, id, false);
    expect(await pass()).toBe(0);
    expect(await posts()).toEqual([]);
    expect(await runs()).toMatchObject([{ triggerId: id, status: 'queued', attempts: 0 }]);
    await switchTrigger(app.deps, id, true);
    expect(await pass()).toBe(1);
    expect(await madeBy()).toEqual([id]);
  });

  test('gets no runs', async () => {
    const { id } = await create({ enabled: false });
    await deliverRelease();
    expect(await runs()).toEqual([]);
    await switchTrigger(app.deps, id, true);
    expect(await pass()).toBe(0);
  });
});

describe('a trigger that is deleted', () => {
  const traces = async () => {
    const { triggers, trigger_runs, drafts, posts } = await allRows(app.db);
    return { triggers, trigger_runs, drafts, posts };
  };
  const nothing = { triggers: [], trigger_runs: [], drafts: [], posts: [] };

  test('while its run is queued leaves nothing', async () => {
    const { id } = await create();
    await deliverRelease();
    await deleteTrigger(app.deps, id);
    expect(await pass()).toBe(0);
    expect(await traces()).toEqual(nothing);
  });

  test('while its draft is made leaves nothing', async () => {
    const { id } = await create();
    await deliverRelease();
    await pass(async (recipe, material) => {
      await deleteTrigger(app.deps, id);
      return composeDraft(recipe, material);
    });
    expect(await traces()).toEqual(nothing);
    expect(app.logged.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
  });

  test('while its run waits for the next attempt leaves nothing', async () => {
    const { id } = await createFailing();
    await deliverRelease();
    await pass();
    await deleteTrigger(app.deps, id);
    app.clock.advance(600_000);
    expect(await pass()).toBe(0);
    expect(await traces()).toEqual(nothing);
  });

  test('keeps the posts that it made', async () => {
    const { id } = await create();
    await deliverRelease();
    await pass();
    await deleteTrigger(app.deps, id);
    expect(await posts()).toHaveLength(1);
  });
});
