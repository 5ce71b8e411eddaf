import { beforeEach, expect, test } from 'bun:test';
import { readPost } from '../../../src/posts/store.ts';
import { listVersions } from '../../../src/posts/versions.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, type Visit } from '../../support/dashboard.ts';
import { allRows } from '../../support/rows.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';

const POST = '/dashboard/org_a/posts/p';

let app: TestApp;
let visit: Visit & { user: { email: string } };

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  await app.addPosts('org_a', { id: 'p', title: 'Title', markdown: 'one\n\nsame', status: 'draft' });
});

const edit = async (markdown: string) => {
  app.clock.advance(1000);
  await visit(POST, form({ title: 'Title', markdown }));
};
const read = async (path: string) => (await visit(path)).text();
const idsOf = async (post = 'p') => (await app.db.read((tx) => listVersions(tx, post))).map(({ id }) => id);
const stored = () => app.db.read((tx) => readPost(tx, 'p'));

test('a post without a change has an empty history, which the editor links', async () => {
  expect(await read(POST)).toContain(`href="${POST}/versions"`);
  expect(await read(`${POST}/versions`)).toContain('No changes yet.');
});

test('the history shows who changed what, newest first', async () => {
  await edit(`two\n\nsame`);
  await edit(`${hostile}\n\nsame`);
  const html = await read(`${POST}/versions`);
  expect(html).toContain('<del>two</del>');
  expect(html).toContain('Current version');
  expect(html).toContain(`${visit.user.email} edited the post`);
  expect(html).toContain('Original text');
  expect(html).not.toContain('Restore version');
  expect(isHarmed(html)).toBe(false);

  const [, second, first] = await idsOf();
  const earlier = await read(`${POST}/versions?version=${second}`);
  expect(earlier).toContain('<del>one</del>');
  expect(earlier).toContain('<ins>two</ins>');
  expect(earlier).toContain('Restore version');
  const oldest = await read(`${POST}/versions?version=${first}`);
  expect(oldest).toContain('one\n\nsame</pre>');
  expect(oldest).not.toContain('<ins>');
});

test('a version is restored by one button, and the notice takes it back', async () => {
  await edit('two');
  const [, first] = await idsOf();
  const response = await visit(`${POST}/versions/${first}/restore`, form());
  expect([response.status, response.headers.get('location')]).toEqual([303, POST]);
  expect((await stored())?.markdown).toBe('one\n\nsame');
  const [notice, undo] = decodeURIComponent(cookieOf(response, 'tidings_notice')?.split('=')[1] ?? '').split(
    '\n',
  );
  expect(notice).toBe('Version restored.');
  await visit(undo ?? '', form());
  expect((await stored())?.markdown).toBe('two');
  expect(await idsOf()).toHaveLength(4);
});

test('a version that is not there, or of another post or organization, is out of reach', async () => {
  await edit('two');
  await app.addPosts('org_a', { id: 'q', markdown: 'x' });
  await visit('/dashboard/org_a/posts/q', form({ title: 'Q', markdown: 'y' }));
  const [own] = await idsOf();
  const [other] = await idsOf('q');
  const stranger = await signedIn(app, { organizationId: 'org_b' });
  const before = await allRows(app.db);
  for (const version of ['nothing', other]) {
    expect((await visit(`${POST}/versions?version=${version}`)).status).toBe(404);
    expect((await visit(`${POST}/versions/${version}/restore`, form())).status).toBe(404);
  }
  for (const base of [POST, POST.replace('org_a', 'org_b')]) {
    expect((await stranger(`${base}/versions`)).status).toBe(404);
    expect((await stranger(`${base}/versions?version=${own}`)).status).toBe(404);
    expect((await stranger(`${base}/versions/${own}/restore`, form())).status).toBe(404);
  }
  expect(await allRows(app.db)).toEqual(before);
});

test('where texts are too different to compare, the page says so and links both', async () => {
  await edit('old\n'.repeat(20_000));
  await edit('new\n'.repeat(20_000));
  const html = await read(`${POST}/versions`);
  const [, before] = await idsOf();
  expect(html.includes('too different to compare them line by line')).toBe(true);
  expect(html.includes(`href="${POST}/versions?version=${before}"`)).toBe(true);
  expect(html.includes(`<pre class="stored">${'new\n'.repeat(20_000)}</pre>`)).toBe(true);
  expect(html.includes('<del>')).toBe(false);
});

test('a difference of few long lines is bounded too', async () => {
  await edit('<'.repeat(60_000));
  expect((await read(`${POST}/versions`)).includes('too different to compare them line by line')).toBe(true);
});
