import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { Storage } from '../../db/engine.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { listAuditEvents } from '../../src/people/audit.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { listPosts } from '../../src/posts/list-store.ts';
import { cancelSchedule, findSchedule, publishDuePosts, schedulePost } from '../../src/posts/schedule.ts';
import { createPost, datePost, deletePost, editPost, removePost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import { createSharedDatabase } from '../support/database.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

// The clock stands at 2026-11-20T12:00:00.000Z until a test moves it.

const START = new Date('2026-11-20T12:00:00.000Z');

let app: TestApp;
let id: string;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  const draft = { title: 'A draft', markdown: 'Text', contentType: 'changelog' } as const;
  id = (await createPost(app.deps, 'org_a', draft)).id;
});

const ann = { type: 'user', id: 'usr_1', name: 'ann@acme.example', address: null } as const;
const schedule = (publishAt: string, timeZone = 'UTC', postId = id) =>
  schedulePost({ ...app.deps, actor: ann }, postId, { publishAt, timeZone });
const publishDue = (runningSince = START) => publishDuePosts(app.deps, { runningSince });
const stored = (postId = id) => app.db.read((tx) => readPost(tx, postId));
const waiting = (postId = id) => app.db.read((tx) => findSchedule(tx, postId));
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error) => error,
  );
const events = () => app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 100));

describe('a scheduled draft', () => {
  test('stays a draft until its time, and is published once', async () => {
    await schedule('2026-11-24T09:00', 'Europe/Berlin');
    app.clock.set('2026-11-24T07:59:59.999Z');
    expect(await publishDue()).toBe(0);
    expect(await stored()).toMatchObject({ status: 'draft' });
    app.clock.set('2026-11-24T08:00:00.700Z');
    expect(await publishDue()).toBe(1);
    expect(await stored()).toMatchObject({
      status: 'published',
      createdAt: '2026-11-24T08:00:00.000Z',
      updatedAt: '2026-11-24T08:00:00.700Z',
    });
    expect(await waiting()).toBeNull();
    expect(await publishDue()).toBe(0);
    const [published, scheduled, ...others] = await events();
    expect(published).toMatchObject({
      action: 'post.published',
      actor: { type: 'server', name: 'ann@acme.example' },
      summary: 'published the post “A draft” as scheduled',
    });
    expect(scheduled?.summary).toBe('scheduled the post “A draft” for Nov 24, 2026, 09:00 (Europe/Berlin)');
    expect(others.filter(({ action }) => action.startsWith('post.'))).toEqual([]);
  });

  test('leaves the list of drafts that nobody has scheduled, which has those of one organization', async () => {
    const draft = { title: 'Another', markdown: 'Text', contentType: 'changelog' } as const;
    const other = await createPost(app.deps, 'org_a', draft);
    await createPost(app.deps, 'org_b', draft);
    await schedule('2026-11-24T09:00');
    const filter = { status: 'draft', contentType: undefined, hasSuggestion: false, q: '', page: 1 } as const;
    const { posts, totalItems } = await app.db.read((tx) => listPosts(tx, 'org_a', filter, 10));
    expect([posts.map((post) => post.id), totalItems]).toEqual([[other.id], 1]);
  });

  test('keeps a date that somebody set', async () => {
    await datePost(app.deps, id, new Date('2020-01-31T00:00:00.000Z'));
    await schedule('2026-11-24T09:00');
    app.clock.set('2026-11-24T09:00:00.000Z');
    await publishDue();
    expect(await stored()).toMatchObject({ status: 'published', createdAt: '2020-01-31T00:00:00.000Z' });
  });

  test.each([
    [59_999, START, ' as scheduled'],
    [600_000, START, ' 10 min late'],
    [7_200_000, new Date('2026-11-24T10:59:00.000Z'), ' 2 h late: Tidings was not running'],
    [3 * DAY_MS, new Date('2026-11-27T08:59:00.000Z'), ' 3 days late: Tidings was not running'],
  ])('that is %p ms late is published, and the audit log says why', async (lateMs, runningSince, words) => {
    await schedule('2026-11-24T09:00');
    app.clock.set(new Date(Date.parse('2026-11-24T09:00:00.000Z') + lateMs).toISOString());
    expect(await publishDue(runningSince)).toBe(1);
    expect(await stored()).toMatchObject({ createdAt: '2026-11-24T09:00:00.000Z' });
    expect((await events())[0]?.summary).toBe(`published the post “A draft”${words}`);
  });

  test('waits for its time on a clock that is set back, and is not published again', async () => {
    await schedule('2026-11-24T09:00');
    app.clock.set('2026-11-19T09:00:00.000Z');
    expect(await publishDue()).toBe(0);
    app.clock.set('2026-11-24T09:00:00.000Z');
    expect(await publishDue()).toBe(1);
    app.clock.set('2026-11-19T09:00:00.000Z');
    expect(await publishDue()).toBe(0);
    app.clock.set('2027-01-01T00:00:00.000Z');
    expect(await publishDue()).toBe(0);
    expect((await events()).filter(({ action }) => action === 'post.published')).toHaveLength(1);
  });

  test('moves with a new schedule', async () => {
    await schedule('2026-11-24T09:00');
    await schedule('2026-11-25T09:00');
    app.clock.set('2026-11-24T09:00:01.000Z');
    expect(await publishDue()).toBe(0);
    app.clock.set('2026-11-25T09:00:00.000Z');
    expect(await publishDue()).toBe(1);
  });

  test('keeps its schedule when its text changes, also by an import', async () => {
    await schedule('2026-11-24T09:00');
    await editPost(app.deps, id, { title: 'Another title' });
    const text = JSON.stringify([{ id, title: 'Imported', markdown: 'New' }]);
    const options = { organizationId: 'org_a', status: 'draft', contentType: 'changelog' } as const;
    await importFile(app.deps, { name: 'posts.json', text }, options);
    expect(await waiting()).not.toBeNull();
    app.clock.set('2026-11-24T09:00:00.000Z');
    await publishDue();
    expect(await stored()).toMatchObject({ title: 'Imported', status: 'published' });
  });

  test('that an import published is left alone', async () => {
    await schedule('2026-11-24T09:00');
    const text = JSON.stringify([{ id, title: 'Imported', markdown: 'New', status: 'published' }]);
    const options = { organizationId: 'org_a', status: 'draft', contentType: 'changelog' } as const;
    await importFile(app.deps, { name: 'posts.json', text }, options);
    const before = await stored();
    app.clock.set('2026-11-24T09:00:00.000Z');
    expect(await publishDue()).toBe(0);
    expect(await stored()).toEqual(before);
    expect(await waiting()).toBeNull();
  });

  test.each([
    ['published by hand', () => editPost(app.deps, id, { status: 'published' })],
    ['unpublished', () => editPost(app.deps, id, { status: 'draft' })],
    ['deleted', () => deletePost(app.deps, id)],
    ['removed by its trigger', () => app.db.write((tx) => removePost(tx, app.deps, id))],
    ['canceled', () => cancelSchedule(app.deps, id)],
  ])('that is %s has no schedule any more', async (_, change: () => Promise<unknown>) => {
    await schedule('2026-11-24T09:00');
    await change();
    expect(await waiting()).toBeNull();
    app.clock.set('2026-11-24T09:00:00.000Z');
    expect(await publishDue()).toBe(0);
  });
});

describe('a time', () => {
  test.each([
    ['2026-11-24T09:00', 'UTC', '2026-11-24T09:00:00.000Z', null],
    ['2026-11-24 09:00:30', 'America/New_York', '2026-11-24T14:00:30.000Z', null],
    ['2026-11-24T09:00+01:00', 'America/New_York', '2026-11-24T08:00:00.000Z', null],
    // Clocks show it twice: the earlier one.
    ['2027-10-31T02:30', 'Europe/Berlin', '2027-10-31T00:30:00.000Z', 'repeated'],
    // Clocks skip it.
    ['2027-03-28T02:30', 'Europe/Berlin', '2027-03-28T01:30:00.000Z', 'skipped'],
  ])('%s in %s is %s', async (publishAt, timeZone, at, clockChange) => {
    const scheduled = await schedule(publishAt, timeZone);
    expect(new Date(scheduled.schedule.publishAt).toISOString()).toBe(at);
    expect(scheduled).toMatchObject({ clockChange, schedule: { timeZone } });
  });

  test.each([
    ['2026-11-20T12:00', 'UTC', { publishAt: 'must be in the future. Nov 20, 2026, 12:00 UTC has passed' }],
    ['2026-11-20T12:59', 'Europe/Berlin', { publishAt: expect.stringContaining('12:59 (Europe/Berlin)') }],
    ['2100-01-01T00:00', 'UTC', { publishAt: 'must be before the year 2100' }],
    ['2026-02-30T12:00', 'UTC', { publishAt: expect.stringContaining('must be a date and a time') }],
    ['', 'UTC', { publishAt: expect.stringContaining('must be a date and a time') }],
    ['tomorrow', 'UTC', { publishAt: expect.stringContaining('must be a date and a time') }],
    ['2027-11-20T12:00', 'Mars/Base', { timeZone: 'must be an IANA name, such as Europe/Berlin' }],
    ['2027-11-20T12:00', '', { timeZone: 'must be an IANA name, such as Europe/Berlin' }],
    ['2027-11-20T12:00', 'x'.repeat(100), { timeZone: 'must be an IANA name, such as Europe/Berlin' }],
  ])('%p in %p is refused', async (publishAt, timeZone, fields) => {
    expect(await failureOf(schedule(publishAt, timeZone))).toMatchObject({ status: 400, fields });
    expect(await waiting()).toBeNull();
  });
});

test('a published post, and one that does not exist, cannot be scheduled', async () => {
  await editPost(app.deps, id, { status: 'published' });
  expect(await failureOf(schedule('2026-11-24T09:00'))).toMatchObject({ code: 'post_is_published' });
  expect(await failureOf(schedule('2026-11-24T09:00', 'UTC', 'nothing'))).toMatchObject({ status: 404 });
});

test('several processes publish each post once', async () => {
  const ids = [id];
  for (let number = 0; number < 20; number++) {
    const text = { title: `Draft ${number}`, markdown: 'Text', contentType: 'changelog' } as const;
    ids.push((await createPost(app.deps, 'org_a', text)).id);
  }
  for (const each of ids) await schedule('2026-11-24T09:00', 'UTC', each);
  app.clock.set('2026-11-24T09:00:00.000Z');
  const published = await Promise.all([publishDue(), publishDue(), publishDue()]);
  expect(published.reduce((sum, each) => sum + each)).toBe(ids.length);
  const targets = (await events())
    .filter(({ action }) => action === 'post.published')
    .map(({ target }) => target?.id);
  expect(targets.sort()).toEqual(ids.sort());
});

test('two processes on one database publish each post once', async () => {
  const shared = createSharedDatabase();
  const [one, two] = [shared.open(), shared.open()];
  const own = await appWithOrganization({ db: one });
  for (let number = 0; number < 20; number++) {
    const text = { title: `Draft ${number}`, markdown: 'Text', contentType: 'changelog' } as const;
    const { id } = await createPost(own.deps, 'org_a', text);
    await schedulePost(own.deps, id, { publishAt: '2026-11-24T09:00', timeZone: 'UTC' });
  }
  own.clock.set('2026-11-24T09:00:00.000Z');
  const publishOn = (db: Storage) => publishDuePosts({ ...own.deps, db }, { runningSince: START });
  const published = await Promise.all([publishOn(one), publishOn(two)]);
  expect(published.reduce((sum, each) => sum + each)).toBe(20);
  const recorded = await one.read((tx) => listAuditEvents(tx, 'org_a', { actions: ['post.published'] }, 100));
  expect(new Set(recorded.map(({ target }) => target?.id)).size).toBe(20);
  expect(recorded).toHaveLength(20);
});

test('of more than a hundred that are due each is published', async () => {
  for (let number = 0; number < 101; number++) {
    const text = { title: `Draft ${number}`, markdown: 'Text', contentType: 'changelog' } as const;
    await schedule('2026-11-24T09:00', 'UTC', (await createPost(app.deps, 'org_a', text)).id);
  }
  app.clock.set('2026-11-24T09:00:00.000Z');
  expect(await publishDue()).toBe(101);
});

test('a schedule that moves right before its post is published holds', async () => {
  await schedule('2026-11-24T09:00');
  app.clock.set('2026-11-24T09:00:00.000Z');
  const db: Storage = {
    ...app.db,
    async write(work, options) {
      await schedule('2026-11-25T09:00');
      return app.db.write(work, options);
    },
  };
  expect(await publishDuePosts({ ...app.deps, db }, { runningSince: START })).toBe(0);
  expect((await stored())?.status).toBe('draft');
  expect(await waiting()).toMatchObject({ publishAt: Date.parse('2026-11-25T09:00:00.000Z') });
});

test('a draft that becomes a draft loses its schedule, which is recorded once', async () => {
  await schedule('2026-11-24T09:00');
  for (let times = 0; times < 2; times++) await editPost(app.deps, id, { status: 'draft' });
  expect(await waiting()).toBeNull();
  const actions = (await events()).map(({ action }) => action).filter((each) => each.startsWith('post.'));
  expect(actions).toEqual(['post.unscheduled', 'post.scheduled']);
});

test('a post that cannot be published does not hold up the others', async () => {
  const other = (
    await createPost(app.deps, 'org_a', { title: 'Other', markdown: '', contentType: 'changelog' })
  ).id;
  await schedule('2026-11-24T09:00');
  await schedule('2026-11-24T10:00', 'UTC', other);
  app.clock.set('2026-11-24T10:00:00.000Z');
  let writes = 0;
  const db: Storage = {
    pace: app.db.pace,
    read: (work, options) => app.db.read(work, options),
    version: app.db.version,
    write: (work, options) =>
      ++writes === 1 ? Promise.reject(new Error('broken')) : app.db.write(work, options),
  };
  const attempt = publishDuePosts({ ...app.deps, db }, { runningSince: START });
  expect(await failureOf(attempt)).toMatchObject({ message: 'broken' });
  expect([(await stored())?.status, (await stored(other))?.status]).toEqual(['draft', 'published']);
  expect(await publishDue()).toBe(1);
  expect(await stored()).toMatchObject({ status: 'published' });
});

describe('the date of a post', () => {
  const on = (iso: string) => datePost(app.deps, id, new Date(iso));

  test('is the time of the first publication, and stays when it is published again', async () => {
    app.clock.advance(60_000);
    const { createdAt } = await editPost(app.deps, id, { status: 'published' });
    expect(createdAt).toBe('2026-11-20T12:01:00.000Z');
    await editPost(app.deps, id, { status: 'draft' });
    app.clock.advance(60_000);
    expect(await editPost(app.deps, id, { status: 'published' })).toMatchObject({ createdAt });
  });

  test('may be set, and then stays', async () => {
    await on('1970-01-01T00:00:00.000Z');
    expect(await editPost(app.deps, id, { status: 'published' })).toMatchObject({
      createdAt: '1970-01-01T00:00:00.000Z',
    });
    expect(await on('2099-12-31T23:59:00.000Z')).toMatchObject({ createdAt: '2099-12-31T23:59:00.000Z' });
  });

  test('follows from the publication again after a reset', async () => {
    await on('2001-01-01T00:00:00.000Z');
    app.clock.advance(60_000);
    expect(await datePost(app.deps, id, null)).toMatchObject({ createdAt: '2026-11-20T12:01:00.000Z' });
    app.clock.advance(60_000);
    const published = await editPost(app.deps, id, { status: 'published' });
    expect(published.createdAt).toBe('2026-11-20T12:02:00.000Z');
    expect(await failureOf(datePost(app.deps, id, null))).toMatchObject({ code: 'post_is_published' });
  });

  test.each(['1969-12-31T23:59:59.999Z', '2100-01-01T00:00:00.000Z', 'nonsense'])(
    '%s is refused',
    async (iso) => {
      const before = await stored();
      expect(await failureOf(on(iso))).toMatchObject({
        fields: { createdAt: 'must be between the years 1970 and 2099' },
      });
      expect(await stored()).toEqual(before);
    },
  );
});

test('the schedule of a post ends with its organization', async () => {
  await schedule('2026-11-24T09:00');
  await app.db.write(async (tx) => void (await tx.run(sql`delete from organizations where id = 'org_a'`)));
  expect(await waiting()).toBeNull();
});
