import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/lib/time.ts';
import { listAuditEvents } from '../../src/people/audit.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { countPosts, countSuggestions, type ListFilter, listPosts } from '../../src/posts/list-store.ts';
import { schedulePost } from '../../src/posts/schedule.ts';
import { changePosts, deletePost, duplicatePost, editPost } from '../../src/posts/service.ts';
import { readPost } from '../../src/posts/store.ts';
import {
  emptyTrash,
  eraseDeletedPost,
  erasePost,
  findDeletedPost,
  restorePost,
  restorePosts,
} from '../../src/posts/trash.ts';
import { sweep } from '../../src/server/sweep.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, type TestApp } from '../support/test-app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await app.addPosts('org_a', { id: 'one', title: 'One' }, { id: 'two', title: 'Two', status: 'draft' });
  await app.addPosts('org_b', { id: 'theirs', title: 'Theirs' });
});

const stored = (id: string) => app.db.read((tx) => readPost(tx, id));
const inTrash = (id: string) => app.db.read((tx) => findDeletedPost(tx, id));
const numbers = (organizationId = 'org_a') => app.db.read((tx) => countPosts(tx, organizationId));
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error) => error,
  );
const actions = async () =>
  (await app.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 100)))
    .map(({ action, summary }) => `${action}: ${summary}`)
    .filter((event) => event.startsWith('post.'));
const importPost = (organizationId: string, id: string) =>
  importFile(
    app.deps,
    { name: 'posts.json', text: JSON.stringify([{ id, title: 'Imported', markdown: 'New' }]) },
    { organizationId, status: 'draft', contentType: 'changelog' },
  );
/** Ids that the API returns for an organization. */
async function apiIds(organizationId = 'org_a'): Promise<string[]> {
  const path = `/v1/${organizationId}/posts?limit=100&status=draft&status=published`;
  const response = await app.request(path, bearer(await app.addKey(organizationId)));
  return (await response.json()).posts.map(({ id }: { id: string }) => id);
}

describe('the trash', () => {
  test('keeps a deleted post as it was, out of the reach of the API', async () => {
    const before = await stored('one');
    await deletePost(app.deps, 'one');
    expect([await stored('one'), await apiIds()]).toEqual([null, ['two']]);
    expect(await inTrash('one')).toMatchObject({
      title: 'One',
      actorName: 'Tidings',
      expiresAt: app.clock.now().getTime() + 30 * DAY_MS,
    });
    expect(await numbers()).toMatchObject({ all: 1, trash: 1 });
    app.clock.advance(DAY_MS);
    await restorePost(app.deps, 'one');
    expect(await stored('one')).toEqual(before);
    expect([await inTrash('one'), await apiIds()]).toEqual([null, ['two', 'one']]);
    expect((await actions()).slice(0, 2)).toEqual([
      'post.restored: restored the post “One”',
      'post.deleted: deleted the post “One”',
    ]);
  });

  test('refuses to restore a post whose id an import took', async () => {
    await deletePost(app.deps, 'one');
    await importPost('org_a', 'one');
    expect(await failureOf(restorePost(app.deps, 'one'))).toMatchObject({ code: 'post_id_taken' });
    expect(await restorePosts(app.deps, 'org_a', ['one'])).toEqual({ restored: 0, taken: 1, missing: 0 });
    expect(await stored('one')).toMatchObject({ title: 'Imported' });
    // Deleting that one replaces the earlier one.
    await deletePost(app.deps, 'one');
    expect(await inTrash('one')).toMatchObject({ title: 'Imported' });
  });

  test("keeps an id for its organization: another's import gets another id", async () => {
    await deletePost(app.deps, 'one');
    expect(await importPost('org_b', 'one')).toMatchObject({ created: 1, reassignedIds: 1 });
    await restorePost(app.deps, 'one');
    expect(await stored('one')).toMatchObject({ title: 'One', organizationId: 'org_a' });
  });

  test("does not show, restore or delete another organization's posts", async () => {
    await deletePost(app.deps, 'theirs');
    expect(await restorePosts(app.deps, 'org_a', ['theirs'])).toMatchObject({ missing: 1 });
    expect(await failureOf(eraseDeletedPost(app.deps, 'org_a', 'theirs'))).toMatchObject({ status: 404 });
    expect(await emptyTrash(app.deps, 'org_a')).toBe(0);
    expect([await inTrash('theirs'), (await numbers()).trash]).toEqual([expect.anything(), 0]);
  });

  test('is swept after 30 days', async () => {
    await deletePost(app.deps, 'one');
    app.clock.advance(30 * DAY_MS - 1);
    await sweep(app.deps, { confirmed: app.clock.now() });
    expect(await inTrash('one')).not.toBeNull();
    app.clock.advance(1);
    await sweep(app.deps, { confirmed: app.clock.now() });
    expect(await inTrash('one')).toBeNull();
  });

  test('deletes for good only what was there when somebody saw it', async () => {
    await deletePost(app.deps, 'one');
    const seenAt = app.clock.now().toISOString();
    app.clock.advance(1);
    await restorePost(app.deps, 'one');
    await deletePost(app.deps, 'one');
    const erasing = eraseDeletedPost(app.deps, 'org_a', 'one', seenAt);
    expect(await failureOf(erasing)).toMatchObject({ code: 'not_in_trash' });
    expect(await inTrash('one')).not.toBeNull();
    await eraseDeletedPost(app.deps, 'org_a', 'one', app.clock.now().toISOString());
    expect(await inTrash('one')).toBeNull();
  });

  test('deletes for good: one post, all posts, or an existing post', async () => {
    await deletePost(app.deps, 'one');
    await eraseDeletedPost(app.deps, 'org_a', 'one');
    expect(await failureOf(restorePost(app.deps, 'one'))).toMatchObject({ code: 'not_in_trash' });
    await erasePost(app.deps, 'two');
    expect([await stored('two'), await inTrash('two')]).toEqual([null, null]);
    expect(await failureOf(erasePost(app.deps, 'two'))).toMatchObject({ status: 404 });
    const many = Array.from({ length: 120 }, (_, number) => ({ id: `m${number}` }));
    await app.addPosts('org_a', ...many);
    for (const { id } of many) await deletePost(app.deps, id);
    expect(await emptyTrash(app.deps, 'org_a')).toBe(120);
    expect((await allRows(app.db)).deleted_posts).toEqual([]);
    const erased = (await actions()).map((event) => /deleted (\d+) posts? in the trash/.exec(event)?.[1]);
    expect(erased.reduce((sum, number) => sum + Number(number ?? 0), 0)).toBe(120);
  });
});

describe('several posts', () => {
  const change = (ids: string[], action: 'publish' | 'unpublish' | 'delete') =>
    changePosts(app.deps, 'org_a', ids, action);

  test('are published, made drafts and deleted in one transaction', async () => {
    expect(await change(['one', 'two', 'two', 'theirs', 'gone'], 'publish')).toEqual({
      changed: ['two'],
      unchanged: 1,
      missing: 2,
      withoutText: 0,
      unseen: 0,
      unapproved: 0,
    });
    expect(await stored('two')).toMatchObject({ status: 'published' });
    expect(await change(['one', 'two'], 'unpublish')).toMatchObject({ changed: ['one', 'two'] });
    expect(await change(['one', 'two', 'theirs'], 'delete')).toMatchObject({
      changed: ['one', 'two'],
      missing: 1,
    });
    expect([await apiIds(), await apiIds('org_b')]).toEqual([[], ['theirs']]);
    expect(await restorePosts(app.deps, 'org_a', ['one', 'two'])).toMatchObject({ restored: 2 });
  });

  test('beyond 100 are changed too', async () => {
    const ids = Array.from({ length: 101 }, (_, number) => `p${number}`);
    await app.addPosts('org_a', ...ids.map((id) => ({ id })));
    expect(await change(ids, 'delete')).toMatchObject({ changed: ids, missing: 0 });
  });
});

test('a copy is a draft with the same text', async () => {
  const copy = await duplicatePost(app.deps, 'one');
  const { id, title, status, createdAt, updatedAt, ...rest } = copy;
  expect(await stored('one')).toMatchObject(rest);
  expect([title, status, createdAt]).toEqual(['Copy of One', 'draft', app.clock.now().toISOString()]);
  await app.addPosts('org_a', { id: 'long', title: 'x'.repeat(500) });
  expect((await duplicatePost(app.deps, 'long')).title).toHaveLength(500);
  expect(await failureOf(duplicatePost(app.deps, 'gone'))).toMatchObject({ status: 404 });
});

test('another type derives the plain text again', async () => {
  await app.addPosts('org_a', { id: 'list', markdown: '- one\n- two', content: '- one\n- two' });
  expect(await editPost(app.deps, 'list', { contentType: 'linkedin_post' })).toMatchObject({
    contentType: 'linkedin_post',
    content: '• one\n• two',
  });
  expect(await editPost(app.deps, 'list', { contentType: 'changelog' })).toMatchObject({
    content: '- one\n- two',
  });
});

test('lists tell drafts from scheduled posts, and find those with a new version', async () => {
  await app.addPosts(
    'org_a',
    { id: 'late', title: 'Late words', status: 'draft' },
    { id: 'soon', title: 'Soon words', status: 'draft', contentType: 'linkedin_post' },
  );
  const at = (publishAt: string) => ({ publishAt, timeZone: 'UTC' });
  await schedulePost(app.deps, 'late', at('2026-12-24T09:00'));
  await schedulePost(app.deps, 'soon', at('2026-12-01T09:00'));
  const list = async (filter: Partial<ListFilter>) => {
    const all = { status: undefined, contentType: undefined, hasSuggestion: false, q: '', page: 1 };
    const page = await app.db.read((tx) => listPosts(tx, 'org_a', { ...all, ...filter }, 25));
    expect(page.totalItems).toBe(page.posts.length);
    return page.posts.map(({ id }) => id);
  };
  expect(await list({ status: 'draft' })).toEqual(['two']);
  expect(await list({ status: 'scheduled' })).toEqual(['soon', 'late']);
  expect(await list({ status: 'scheduled', contentType: 'changelog' })).toEqual(['late']);
  expect(await list({ status: 'scheduled', q: 'words' })).toEqual(['soon', 'late']);
  expect(await list({ status: 'draft', q: 'words' })).toEqual([]);
  expect(await list({ status: 'published' })).toEqual(['one']);
  expect(await list({})).toHaveLength(4);
  expect(await list({ hasSuggestion: true })).toEqual([]);
  expect(await numbers()).toMatchObject({ all: 4, draft: 1, scheduled: 2, published: 1, trash: 0 });
  expect(await app.db.read((tx) => countSuggestions(tx, 'org_a'))).toBe(0);
  await editPost(app.deps, 'soon', { status: 'published' });
  expect(await numbers()).toMatchObject({ draft: 1, scheduled: 1, published: 2 });
});

test('deleting a post for good keeps the versions of the one with its id in the trash', async () => {
  await editPost(app.deps, 'two', { markdown: 'edited' });
  await deletePost(app.deps, 'two');
  await app.addPosts('org_a', { id: 'two', status: 'draft' });
  await erasePost(app.deps, 'two');
  expect((await inTrash('two'))?.markdown).toBe('edited');
  expect((await allRows(app.db)).post_versions).toHaveLength(2);
  await erasePost(app.deps, 'two');
  expect((await allRows(app.db)).post_versions).toEqual([]);
});
