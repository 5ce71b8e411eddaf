import { beforeEach, describe, expect, test } from 'bun:test';
import { seenOf } from '../../../src/dashboard/edit.ts';
import { changeOrganization } from '../../../src/people/organizations.ts';
import { readPost } from '../../../src/posts/store.ts';
import { form, hostile, isHarmed, signedIn, type Visit, visitor } from '../../support/dashboard.ts';
import { postsOf } from '../../support/drafts.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

// The requests that the script of the editor sends while a person types.

const ALL = '/dashboard/org_a/posts';

let app: TestApp;
let visit: Visit;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  await app.addPosts('org_a', { id: 'p', title: 'Title', markdown: 'one', status: 'draft' });
});

const stored = (id = 'p') => app.db.read((tx) => readPost(tx, id));

/** The version of the stored text. */
async function seenNow(): Promise<string> {
  const { title, markdown, contentType, status } = (await stored()) ?? {};
  return seenOf({ title, markdown, contentType, status });
}

/** Sends a text; without `seen`, based on the stored version. */
async function autosave(fields: Record<string, string>, path = `${ALL}/p/autosave`, by = visit) {
  const { title = '' } = (await stored()) ?? {};
  const response = await by(path, form({ title, seen: await seenNow(), ...fields }));
  const html = await response.text();
  return { status: response.status, html, outcome: /data-outcome="(\w+)"/.exec(html)?.[1] };
}

describe('a draft', () => {
  test('is saved, and the response has its new version', async () => {
    app.clock.advance(1000);
    const { html, ...answer } = await autosave({ markdown: 'two\r\n', title: ' New ' });
    expect(answer).toEqual({ status: 200, outcome: 'saved' });
    expect(html).toContain(`data-seen="${await seenNow()}" data-updated-at="2026-11-20T12:00:01.000Z"`);
    expect(html).toContain(`data-path="${ALL}/p"`);
    expect(await stored()).toMatchObject({ title: 'New', markdown: 'two\n', status: 'draft' });
  });

  test('keeps its title while the field is empty, unless the person saves', async () => {
    expect(await autosave({ markdown: 'two', title: '' })).toMatchObject({ outcome: 'saved' });
    expect(await stored()).toMatchObject({ title: 'Title', markdown: 'two' });
    const refused = await autosave({ markdown: 'three', title: '', explicit: 'on' });
    expect(refused).toMatchObject({ status: 200, outcome: 'invalid' });
    expect(refused.html).toContain('Title must not be empty.');
    expect((await stored())?.markdown).toBe('two');
  });

  test('that somebody else changed is not overwritten', async () => {
    const seen = await seenNow();
    await autosave({ markdown: hostile });
    const before = await allRows(app.db);
    const { html, outcome } = await autosave({ markdown: 'mine', seen });
    expect(outcome).toBe('conflict');
    expect(html).toContain('<ins>mine</ins>');
    expect(html).toContain(`data-seen="${await seenNow()}"`);
    expect(isHarmed(html)).toBe(false);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('takes the type along', async () => {
    await autosave({ markdown: '- one', contentType: 'linkedin_post' });
    expect(await stored()).toMatchObject({ contentType: 'linkedin_post', content: '• one' });
    await autosave({ markdown: '- one', contentType: 'unknown' });
    expect(await stored()).toMatchObject({ contentType: 'linkedin_post' });
  });

  test('whose title somebody else changed keeps that title, also with the text that is sent next', async () => {
    const opened = await seenNow();
    await autosave({ title: 'Theirs', markdown: 'one' });
    const { html } = await autosave({ title: 'Title', markdown: 'mine', seen: opened });
    const [, seen = ''] = /data-seen="([^"]*)"/.exec(html) ?? [];
    expect(await stored()).toMatchObject({ title: 'Theirs', markdown: 'mine' });
    await autosave({ title: 'Title', markdown: 'mine too', seen });
    expect(await stored()).toMatchObject({ title: 'Theirs', markdown: 'mine too' });
    expect(await autosave({ title: 'My title', markdown: 'mine too', seen })).toMatchObject({
      outcome: 'conflict',
    });
  });

  test('that is saved again after a lost response is no conflict', async () => {
    const seen = await seenNow();
    await autosave({ markdown: 'two', seen });
    expect(await autosave({ markdown: 'two', seen })).toMatchObject({ outcome: 'saved' });
  });

  test('with a text that is too long stays as it was', async () => {
    const { html, outcome } = await autosave({ markdown: 'x'.repeat(200_001) });
    expect(outcome).toBe('invalid');
    expect(html).toContain('Markdown must have at most');
    expect((await stored())?.markdown).toBe('one');
  });
});

test.each([
  ['text', { markdown: 'two' }],
  ['title', { markdown: 'one', title: 'Another' }],
  ['type', { markdown: 'one', contentType: 'linkedin_post' }],
])('a change of the %s that waits for approval is saved, and said to wait', async (_, fields) => {
  await app.addPosts('org_a', { id: 'p', title: 'Title', markdown: 'one', status: 'published' });
  await changeOrganization(app.deps, 'org_a', { needsApproval: true });
  const { outcome, html } = await autosave({ ...fields, explicit: 'on' });
  expect(outcome).toBe('saved');
  expect(html).toContain('>Saved. Readers see the change as soon as another person approves it.</p>');
  expect(await stored()).toMatchObject({ markdown: 'one', status: 'published' });
});

test('a published post is changed by the keys to save alone', async () => {
  await app.addPosts('org_a', { id: 'p', title: 'Title', markdown: 'one', status: 'published' });
  const before = await allRows(app.db);
  expect(await autosave({ markdown: 'two' })).toMatchObject({ status: 200, outcome: 'published' });
  expect(await allRows(app.db)).toEqual(before);
  expect(await autosave({ markdown: 'two', explicit: 'on' })).toMatchObject({ outcome: 'saved' });
  expect(await stored()).toMatchObject({ markdown: 'two', status: 'published' });
});

describe('a new post', () => {
  const NEW = `${ALL}/~/autosave`;
  const fields = { title: 'Fresh', markdown: 'one', contentType: 'linkedin_post', mark: 'mark-1' };
  const drafts = async () => (await postsOf(app)).filter(({ id }) => id !== 'p');

  test('becomes one draft, however often it is sent', async () => {
    const first = await autosave(fields, NEW);
    const [post] = await drafts();
    expect(first.html).toContain(`data-path="${ALL}/${post?.id}"`);
    expect(await autosave(fields, NEW)).toEqual(first);
    expect(await autosave({ ...fields, markdown: 'two' }, NEW)).toMatchObject({ outcome: 'saved' });
    expect(await drafts()).toMatchObject([
      { id: post?.id, title: 'Fresh', markdown: 'two', contentType: 'linkedin_post', status: 'draft' },
    ]);
  });

  test('gets a title when it has none', async () => {
    await autosave({ ...fields, title: ' ' }, NEW);
    expect(await drafts()).toMatchObject([{ title: 'Untitled', markdown: 'one' }]);
  });

  test('of another mark, person or organization is another draft', async () => {
    const colleague = await signedIn(app, { organizationId: 'org_a' });
    const stranger = await signedIn(app, { organizationId: 'org_b' });
    await autosave(fields, NEW);
    await autosave({ ...fields, mark: 'mark-2' }, NEW);
    await autosave(fields, NEW, colleague);
    await autosave(fields, NEW.replace('org_a', 'org_b'), stranger);
    expect(await drafts()).toHaveLength(3);
    expect(await postsOf(app, 'org_b')).toHaveLength(1);
  });

  test('needs a mark, and does not overwrite what somebody else made of the draft', async () => {
    expect(await autosave({ ...fields, mark: '' }, NEW)).toMatchObject({ outcome: 'invalid' });
    expect(await drafts()).toEqual([]);
    await autosave(fields, NEW);
    const [post] = await drafts();
    app.clock.advance(1000);
    await visit(`${ALL}/${post?.id}`, form({ title: 'Fresh', markdown: 'theirs' }));
    expect(await autosave({ ...fields, markdown: 'mine' }, NEW)).toMatchObject({ outcome: 'invalid' });
    expect(await drafts()).toMatchObject([{ markdown: 'theirs' }]);
  });
});

test.each([
  ['a stranger', () => visitor(app), 401],
  ['a person of another organization', () => signedIn(app, { organizationId: 'org_b' }), 404],
])('%s changes nothing', async (_, person, status) => {
  const by = await person();
  const before = await allRows(app.db);
  for (const path of [`${ALL}/p/autosave`, `${ALL}/~/autosave`]) {
    const answer = await autosave({ markdown: 'two', mark: 'm', title: 'T' }, path, by);
    expect(answer).toMatchObject({ status, outcome: undefined });
  }
  expect(await autosave({ markdown: 'two' }, `${ALL}/nothing/autosave`)).toMatchObject({ status: 404 });
  expect(await allRows(app.db)).toEqual(before);
});

test('a form of another site changes nothing', async () => {
  const init = { ...form({ title: 'T', markdown: 'two' }), headers: { 'sec-fetch-site': 'cross-site' } };
  expect((await visit(`${ALL}/p/autosave`, init)).status).toBe(403);
  expect((await stored())?.markdown).toBe('one');
});
