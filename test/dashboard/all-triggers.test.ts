import { beforeEach, expect, test } from 'bun:test';
import { createTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import { pageVisitor, signedIn, type VisitPage } from '../support/dashboard.ts';
import { connectGithub } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let visit: VisitPage;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  visit = await pageVisitor(app);
});

const PAGE = '/dashboard/org_a/triggers';

/** The text of the page as a person reads it. */
const read = async (path = PAGE, by: (path: string) => Promise<Response> = visit) => {
  const main = /<main.*<\/main>/s.exec(await (await by(path)).text())?.[0] ?? '';
  return main.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
};

test('without triggers, the page says what one is and offers the first', async () => {
  expect(await read()).toContain('A trigger turns an event, such as a release, into a draft');
  expect(await read()).toContain('Connect a repository first');
  const { integrationId } = await connectGithub(app, 'org_a');
  const html = await (await visit(PAGE)).text();
  expect(html).toContain(
    `/dashboard/org_a/integrations/${integrationId}/triggers/new?event=release&amp;contentType=changelog`,
  );
  const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  expect(await read(PAGE, member)).toContain('Ask an owner of');
});

test('a trigger is a sentence, with its state and its last draft', async () => {
  const { integrationId } = await connectGithub(app, 'org_a');
  const release = await createTrigger(app.deps, {
    integrationId,
    event: 'release',
    contentType: 'changelog',
    filters: { tag: ['v2.*'] },
  });
  await createTrigger(app.deps, {
    integrationId,
    event: 'release',
    contentType: 'linkedin_post',
    publish: true,
  });
  await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog' });
  const text = await read();
  expect(text).toContain('When acme/rocket publishes a release → a changelog draft');
  expect(text).toContain('Only: tag v2.*');
  expect(text).toContain('publishes a release → a LinkedIn post, published at once');
  expect(text).toContain('receives a push → an entry in the open changelog draft');
  expect(text).toContain('No post yet.');

  await switchTrigger(app.deps, release.id, false);
  expect(await read()).toContain('Disabled');
  expect(await read()).toContain('New events create nothing until you enable it.');

  await visit(`/dashboard/org_a/integrations/${integrationId}/test`, { event: 'release' });
  await runAll(app);
  const [post] = await postsOf(app);
  const html = await (await visit(PAGE)).text();
  expect(html).toContain(`/dashboard/org_a/posts/${post?.id}`);
});

test('the form leads to the page of the new trigger', async () => {
  const { integrationId } = await connectGithub(app, 'org_a');
  const chosen = await visit(`${PAGE}/new?when=${integrationId}+push&contentType=changelog`);
  expect(chosen.headers.get('location')).toBe(
    `/dashboard/org_a/integrations/${integrationId}/triggers/new?event=push&contentType=changelog`,
  );
  expect(await read(`${PAGE}/new?when=`)).toBe('');
});

test('the list has pages, and shows nothing of another organization', async () => {
  const own = await connectGithub(app, 'org_a');
  const other = await connectGithub(app, 'org_b');
  const tagged = (integrationId: string, tag: string) =>
    createTrigger(app.deps, {
      integrationId,
      event: 'release',
      contentType: 'changelog',
      filters: { tag: [tag] },
    });
  for (let at = 0; at < 26; at++) await tagged(own.integrationId, `v${at}.*`);
  await tagged(other.integrationId, 'secret');
  const [first, second] = [await read(), await read(`${PAGE}?page=2`)];
  const tagsIn = (text: string) => text.match(/tag v\d+/g) ?? [];
  expect(tagsIn(first)).toHaveLength(25);
  expect(new Set([...tagsIn(first), ...tagsIn(second)]).size).toBe(26);
  expect(`${first}${second}`).not.toContain('secret');
  expect(Buffer.byteLength(await (await visit(PAGE)).text())).toBeLessThan(45_000);
});

test('the pages of a trigger stand below Triggers', async () => {
  const { integrationId } = await connectGithub(app, 'org_a');
  const { id } = await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const html = await (await visit(`/dashboard/org_a/integrations/${integrationId}/triggers/${id}`)).text();
  expect(html).toMatch(/<a href="\/dashboard\/org_a\/triggers" aria-current="page">/);
});
