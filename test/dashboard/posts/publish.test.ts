import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { seenOf } from '../../../src/dashboard/edit.ts';
import { createTrigger } from '../../../src/drafting/triggers/service.ts';
import { connectIntegration } from '../../../src/integrations/connect.ts';
import { findSchedule, publishDuePosts, schedulePost } from '../../../src/posts/schedule.ts';
import { deletePost } from '../../../src/posts/service.ts';
import { readPost } from '../../../src/posts/store.ts';
import { findDeletedPost } from '../../../src/posts/trash.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, type Visit } from '../../support/dashboard.ts';
import { execute } from '../../support/database.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

// Everything about a post but its text. The clock stands at 2026-11-20T12:00:00.000Z.

const ALL = '/dashboard/org_a/posts';

let app: TestApp;
let visit: Visit & { cookie: string };

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
  await app.addPosts(
    'org_a',
    { id: 'd', title: 'A draft', status: 'draft' },
    { id: 'p', title: 'A post', status: 'published' },
  );
  await app.addPosts('org_b', { id: 'theirs', title: 'Theirs', status: 'draft' });
});

const read = async (path: string) => (await visit(path)).text();
const stored = (id: string) => app.db.read((tx) => readPost(tx, id));
const schedule = (id: string) => app.db.read((tx) => findSchedule(tx, id));
const inTrash = (id: string) => app.db.read((tx) => findDeletedPost(tx, id));

function noticeOf(response: Response): string[] {
  return decodeURIComponent(cookieOf(response, 'tidings_notice')?.split('=')[1] ?? '').split('\n');
}

/** Sends a form that has several values of `selected`. */
function select(path: string, selected: string[], fields: Record<string, string> = {}) {
  const body = new URLSearchParams({ ...fields });
  for (const id of selected) body.append('selected', id);
  return visit(path, { method: 'POST', body });
}

describe('a schedule', () => {
  const send = (publishAt: string, timeZone = 'Europe/Berlin', id = 'd') =>
    visit(`${ALL}/${id}/schedule`, form({ publishAt, timeZone }));

  test('is offered for tomorrow at nine in the zone of the person', async () => {
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const field = async (cookie: string) =>
      /<input type="datetime-local"[^>]*value="([^"]*)"/.exec(
        await (await visit(`${ALL}/d`, { headers: { cookie: `${bob.cookie}; ${cookie}` } })).text(),
      )?.[1];
    expect(await field('')).toBe('2026-11-21T09:00');
    // There it is the 21st already.
    expect(await field('tidings_zone=Pacific%2FKiritimati')).toBe('2026-11-22T09:00');
  });

  test('is shown in the zone of the person, and can be canceled', async () => {
    const response = await send('2026-11-24T09:00');
    expect([response.status, response.headers.get('location')]).toEqual([303, `${ALL}/d`]);
    expect(noticeOf(response)).toEqual([
      'Scheduled for Nov 24, 2026, 08:00.',
      `${ALL}/d/schedule/cancel?seen=${encodeURIComponent(seenOf({ publishAt: new Date('2026-11-24T08:00Z') }))}`,
    ]);
    const html = await read(`${ALL}/d`);
    expect(html).toContain(
      '<time datetime="2026-11-24T08:00:00.000Z" title="Nov 24, 2026, 08:00:00">Nov 24, 2026, 08:00</time>',
    );
    expect(html).toContain('by bob@acme.example');
    expect(html).toContain('value="2026-11-24T08:00"');
    expect(html).toContain('Times are in <a href="/dashboard/~/account#appearance">UTC</a>.');
    expect(await read(`${ALL}?status=scheduled`)).toContain('<span class="tag scheduled">Scheduled</span>');
    const canceled = await visit(`${ALL}/d/schedule/cancel`, form());
    expect(noticeOf(canceled)).toEqual(['Canceled the schedule. The post stays a draft.']);
    expect(await schedule('d')).toBeNull();
  });

  test.each([
    [
      '2027-03-28T02:30',
      'Mar 28, 2027, 03:30. The clocks go forward that night, so the time you chose does not exist.',
      '2027-03-28T03:30',
      'Time zone: Europe/Berlin.<',
    ],
    [
      '2027-10-31T02:30',
      'Oct 31, 2027, 02:30 UTC+2. The clocks go back that night, so the time you chose comes twice. This is the first of the two.',
      '2027-10-31T02:30',
      'Time zone: Europe/Berlin. The clocks go back that night, so the time you chose comes twice. This is the first of the two.<',
    ],
    [
      '2027-10-31T02:30+01:00',
      'Oct 31, 2027, 02:30 UTC+1.',
      '2027-10-31T02:30',
      'Time zone: Europe/Berlin.<',
    ],
  ])('at %s says what the clocks do', async (publishAt, notice, value, hint) => {
    const headers = { cookie: `${visit.cookie}; tidings_zone=Europe/Berlin` };
    const sendAs = (fields: Record<string, string>) => {
      const sent = form({ timeZone: 'Europe/Berlin', ...fields });
      return visit(`${ALL}/d/schedule`, { ...sent, headers: { ...sent.headers, ...headers } });
    };
    expect(noticeOf(await sendAs({ publishAt }))[0]).toBe(`Scheduled for ${notice}`);
    const { publishAt: at } = (await schedule('d')) ?? { publishAt: 0 };
    const html = await (await visit(`${ALL}/d`, { headers })).text();
    expect(html).toContain(`value="${value}"`);
    expect(html).toContain(hint);
    // Sent again as it is, it stays the one of the two.
    await sendAs({ publishAt: value, openedWith: new Date(at).toISOString() });
    expect((await schedule('d'))?.publishAt).toBe(at);
  });

  test.each([
    ['2026-11-20T12:00', 'UTC', 'The time must be in the future. Nov 20, 2026, 12:00 UTC has passed.'],
    ['', 'UTC', 'The time must be a date and a time, such as 2027-01-31T09:00.'],
    [hostile, hostile, 'must'],
  ])('%p in %p is refused beside its field', async (publishAt, timeZone, words) => {
    const response = await send(publishAt, timeZone);
    expect(response.status).toBe(400);
    const html = await response.text();
    expect(html).toContain(words);
    expect(html).toContain('aria-invalid="true"');
    expect(html).not.toContain('PublishAt');
    expect(isHarmed(html)).toBe(false);
    expect(await schedule('d')).toBeNull();
  });

  test('of a published post is refused in words', async () => {
    const response = await send('2026-11-24T09:00', 'UTC', 'p');
    expect([response.status, await response.text()]).toEqual([
      409,
      expect.stringContaining('The post is published. Unpublish it first.'),
    ]);
  });

  test('that was missed says so on the page of the post', async () => {
    await send('2026-11-24T09:00', 'UTC');
    app.clock.set('2026-11-24T11:00:00.000Z');
    await publishDuePosts(app.deps, { runningSince: app.clock.now() });
    expect(await read(`${ALL}/d`)).toContain(
      'Tidings for bob@acme.example published the post “A draft” 2 h late: Tidings was not running.',
    );
  });
});

test('the date of a post can be set, and follow from its publication again', async () => {
  const set = await visit(`${ALL}/d/date`, form({ createdAt: '2020-01-31T09:00', timeZone: 'Asia/Tokyo' }));
  expect(noticeOf(set)).toEqual(['Set the date to Jan 31, 2020, 00:00.']);
  expect(await stored('d')).toMatchObject({ createdAt: '2020-01-31T00:00:00.000Z', isDateSet: true });
  await visit(`${ALL}/d/date/reset`, form());
  expect(await stored('d')).toMatchObject({ isDateSet: false });
  expect(await read(`${ALL}/d`)).toContain('Date: when published');
  const wrong = await visit(`${ALL}/d/date`, form({ createdAt: '1969-12-31T09:00', timeZone: 'UTC' }));
  expect([wrong.status, await wrong.text()]).toEqual([
    400,
    expect.stringContaining('The date must be between the years 1970 and 2099.'),
  ]);
});

test('the type can change, and a post can be copied', async () => {
  await visit(`${ALL}/d`, form({ contentType: 'linkedin_post' }));
  expect(await stored('d')).toMatchObject({ contentType: 'linkedin_post' });
  const copied = await visit(`${ALL}/d/duplicate`, form());
  const copy = copied.headers.get('location')?.split('/').at(-1) ?? '';
  expect(await stored(copy)).toMatchObject({ title: 'Copy of A draft', contentType: 'linkedin_post' });
});

describe('several posts', () => {
  const send = (selected: string[], action: string, back = '') =>
    select(`${ALL}/~/selected`, selected, { action, back });

  test('are published, and what was left out is counted', async () => {
    const response = await send(['d', 'p', 'theirs'], 'publish', '?status=draft&q=a');
    expect(response.headers.get('location')).toBe(`${ALL}?status=draft&q=a`);
    expect(noticeOf(response)).toEqual([
      'Published 1 post. 1 post: published already. 1 post: deleted in the meantime.',
    ]);
    expect([(await stored('d'))?.status, (await stored('theirs'))?.status]).toEqual(['published', 'draft']);
  });

  test('are all of a list, also those of its other pages, unless they changed since', async () => {
    const many = Array.from({ length: 120 }, (_, at) => ({ id: `m${at}`, status: 'draft' as const }));
    await app.addPosts('org_a', ...many);
    const all = /name="all" value="([^"]*)"/.exec(await read(`${ALL}?status=draft`))?.[1] ?? '';
    expect(await read(`${ALL}?status=published`)).not.toContain('name="all"');
    app.clock.advance(1000);
    await visit(`${ALL}/m3`, form({ title: 'Changed' }));
    const response = await select(`${ALL}/~/selected`, ['d'], {
      action: 'publish',
      back: '?status=draft',
      all,
    });
    expect(noticeOf(response)).toEqual([
      'Published 120 posts. 1 post: changed after you opened the page. Look at it first.',
    ]);
    expect((await stored('m3'))?.status).toBe('draft');
  });

  test('are deleted, and come back by "Undo"', async () => {
    const [words, undo = ''] = noticeOf(await send(['d', 'p'], 'delete'));
    expect([words, undo]).toEqual([
      'Deleted 2 posts. Deleted posts stay in the trash for 30 days.',
      `${ALL}/~/trash/restore?ids=d.p&seen=2026-11-20T12%3A00%3A00.000Z`,
    ]);
    expect(await stored('d')).toBeNull();
    expect(noticeOf(await visit(undo, form()))).toEqual(['Restored 2 posts.']);
    expect(await stored('p')).toMatchObject({ status: 'published' });
  });

  test('"Undo" acts once, and never on another organization', async () => {
    const [, undo = ''] = noticeOf(await send(['d', 'p'], 'delete'));
    await visit(undo, form());
    const before = await app.db.read((tx) => readPost(tx, 'd'));
    expect(noticeOf(await visit(undo, form()))).toEqual([
      'Nothing was restored. No longer in the trash as you saw it: 2 posts.',
    ]);
    expect(await stored('d')).toEqual(before);
    await deletePost(app.deps, 'theirs');
    expect(noticeOf(await visit(`${ALL}/~/trash/restore?ids=theirs`, form()))).toEqual([
      'Nothing was restored. No longer in the trash as you saw it: 1 post.',
    ]);
    const other = `${ALL.replace('org_a', 'org_b')}/~/trash/restore?ids=theirs`;
    expect((await visit(other, form())).status).toBe(404);
    expect(await inTrash('theirs')).not.toBeNull();
  });

  test.each([
    [`${ALL}/~/trash/restore?ids=d.p&seen=2026-11-20T12%3A00%3A00.000Z`, true],
    [`${ALL}/d/versions/ver_1/restore`, true],
    [`${ALL}/d/schedule/cancel`, true],
    [`${ALL}/d/delete`, false],
    [`${ALL}/~/trash/empty`, false],
    [`${ALL}/~/trash/restore?ids=d&other=1`, false],
    [`${ALL}/~/trash/restore?ids=../../empty`, false],
    ['/dashboard/~/sign-out', false],
    ['//evil.example/dashboard/org_a/posts/~/trash/restore?ids=d', false],
  ])('a forged notice cannot make "Undo" post to %s', async (path, isShown) => {
    const notice = encodeURIComponent(`Saved.\n${path}`);
    const cookie = `${visit.cookie}; __Host-tidings_notice=${notice}`;
    const html = await (await app.request(ALL, { headers: { cookie } })).text();
    expect(html).toContain('Saved.');
    expect(html.includes('>Undo</button>')).toBe(isShown);
  });

  test.each([
    [[], 'delete', 303],
    [['d'], 'explode', 400],
  ])('%#: nothing happens to a wrong selection', async (selected, action, status) => {
    const response = await send(selected, action, 'https://evil.example/');
    expect(response.status).toBe(status);
    if (status === 303) expect(response.headers.get('location')).toBe(ALL);
    expect([await stored('d'), await inTrash('d')]).toEqual([expect.anything(), null]);
  });
});

test.each(['http://[', '?q=%E0%A4%A', '//', '\\\\[', '?q=a\u0000'])(
  'the list shows after a change of selected posts, whatever its query was: %p',
  async (back) => {
    const response = await select(`${ALL}/~/selected`, ['d'], { action: 'publish', back });
    expect(response.status).toBe(303);
    expect(response.headers.get('location')).toStartWith(ALL);
    expect((await stored('d'))?.status).toBe('published');
  },
);

describe('the trash', () => {
  test('lists deleted posts, restores them, and deletes them for good', async () => {
    expect(await read(`${ALL}/~/trash`)).toContain('The trash is empty.');
    await deletePost(app.deps, 'd');
    await deletePost(app.deps, 'p');
    await deletePost(app.deps, 'theirs');
    const html = await read(`${ALL}/~/trash`);
    expect(html).toContain('A draft');
    expect(html).not.toContain('Theirs');
    expect(html).toContain('in 30 days');
    expect(await read(ALL)).toContain('Trash <small>2</small>');
    const restored = await select(`${ALL}/~/trash/restore`, ['p']);
    expect(restored.headers.get('location')).toBe(`${ALL}/p`);
    expect(noticeOf(restored)).toEqual(['Restored the post. It is published again.']);
    expect(noticeOf(await visit(`${ALL}/~/trash/erase`, form({ id: 'd' })))).toEqual([
      'Deleted the post for good.',
    ]);
    await deletePost(app.deps, 'p');
    expect(noticeOf(await visit(`${ALL}/~/trash/empty`, form()))).toEqual(['Deleted 1 post for good.']);
    expect([await inTrash('d'), await inTrash('p'), await inTrash('theirs')]).toEqual([
      null,
      null,
      expect.anything(),
    ]);
  });

  test('says when a post cannot come back', async () => {
    await deletePost(app.deps, 'd');
    await app.addPosts('org_a', { id: 'd', title: 'Another' });
    expect(noticeOf(await visit(`${ALL}/~/trash/restore?ids=d.theirs`, form()))).toEqual([
      'Nothing was restored. Not restored: 1 post, because an import created it again. Delete the new one first. No longer in the trash as you saw it: 1 post.',
    ]);
    expect(await stored('d')).toMatchObject({ title: 'Another' });
  });
});

test("another organization's posts are out of reach", async () => {
  await deletePost(app.deps, 'theirs');
  for (const path of ['~/trash/erase', 'theirs/schedule', 'theirs/date', 'theirs', 'theirs/duplicate']) {
    const fields = { id: 'theirs', publishAt: '2027-01-01T09:00', createdAt: '2020-01-01T09:00' };
    const response = await visit(
      `${ALL}/${path}`,
      form({ ...fields, timeZone: 'UTC', contentType: 'linkedin_post' }),
    );
    expect([path, response.status]).toEqual([path, 404]);
  }
  expect(await inTrash('theirs')).not.toBeNull();
});

test('the list marks posts with a new version, and can show them alone', async () => {
  const at = '2026-11-20T12:00:00.000Z';
  const suggestion = JSON.stringify({ title: 'T', markdown: 'M', content: 'M', eventKeys: [], until: at });
  const { integrationId, id } = await addTrigger();
  await execute(
    app.db,
    sql`insert into drafts (trigger_id, scope, subject, post_id, written_hash, event_keys, until, suggestion, suggested_at, left_out)
      values (${id}, ${integrationId}, 's', 'p', '', '[]', ${at}, ${suggestion}, ${at}, '[]')`,
  );
  expect(await read(ALL)).toContain('Suggestions <small>1</small>');
  const html = await read(`${ALL}?suggestion=1`);
  expect(html).toContain('>1 suggestion</a>');
  expect(html).not.toContain('A draft');
  await deletePost(app.deps, 'p');
  expect(await read(ALL)).not.toContain('Suggestions');
});

async function addTrigger() {
  const { integrationId } = await connectIntegration(app.deps, 'github', 'org_a', 'acme/rocket');
  const rule = { integrationId, event: 'release', contentType: 'changelog', publish: false } as const;
  return { integrationId, id: (await createTrigger(app.deps, rule)).id };
}

test('drafts to review leave out scheduled ones', async () => {
  expect(await read(ALL)).toContain('<small>1 draft</small>');
  await schedulePost(app.deps, 'd', { publishAt: '2027-01-01T09:00', timeZone: 'UTC' });
  expect(await read(ALL)).toContain('No drafts to review; 1 post published.');
});
