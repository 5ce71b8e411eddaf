import { beforeEach, expect, test } from 'bun:test';
import { hasSuggestionFor } from '../../../src/drafting/suggestions.ts';
import { createTrigger } from '../../../src/drafting/triggers/service.ts';
import type { Connected } from '../../../src/integrations/words.ts';
import { editPost } from '../../../src/posts/service.ts';
import { readPost } from '../../../src/posts/store.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { form, hostile, isHarmed, signedIn, type Visit } from '../../support/dashboard.ts';
import { execute } from '../../support/database.ts';
import { appWithGithub, githubRequest, logOf } from '../../support/deliveries.ts';
import { postsOf, runAll } from '../../support/drafts.ts';
import { changed } from '../../support/payloads.ts';
import type { TestApp } from '../../support/test-app.ts';

// A release whose draft somebody edited, and which was edited itself after that.

let app: TestApp;
let connected: Connected;
let visit: Visit;
let path: string;
let id: string;

async function deliver(changes: Record<string, unknown> = {}): Promise<void> {
  const sample = samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() });
  const request = githubRequest(connected, changed(sample ?? {}, changes), { event: 'release' });
  expect((await app.request(...request)).status).toBe(200);
  await runAll(app);
}

function edited(body: string, minute = 30) {
  return deliver({
    action: 'edited',
    'release.body': body,
    'release.updated_at': `2026-11-20T12:${minute}:00Z`,
  });
}

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  await deliver();
  id = (await postsOf(app))[0]?.id ?? '';
  path = `/dashboard/org_a/posts/${id}`;
  visit = await signedIn(app, { organizationId: 'org_a', role: 'member' });
});

/** Fields of the note's forms. */
async function choice(choice: 'take' | 'keep') {
  const page = await (await visit(path)).text();
  const html = page.slice(page.indexOf('id="suggestion"'));
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
  return { choice, suggestedAt: field('suggestedAt'), seen: field('seen') };
}

const choose = (fields: Record<string, string>) => visit(`${path}/suggestion`, form(fields));

test('a draft says where it came from, down to the delivery in the log', async () => {
  const [entry] = await logOf(app);
  const html = await (await visit(path)).text();
  expect(html).toContain('2.4.0 of acme/rocket on GitHub</a>');
  expect(html).toContain('href="https://github.com/acme/rocket/releases/tag/v2.4.0"');
  expect(html).toContain(`href="/dashboard/org_a/deliveries/${entry?.id}"`);
  // Expired entries of the log have no link.
  await execute(app.db, 'delete from deliveries');
  expect(await (await visit(path)).text()).not.toContain('Open delivery');
});

test('a newer text is shown beside the edited one, line by line, and can be taken', async () => {
  await editPost(app.deps, id, { markdown: 'My words' });
  await edited(`Second words\n\n${hostile}`);
  const html = await (await visit(path)).text();
  expect(html).toContain('There is a suggestion for this post.');
  expect(html).toContain('<del>My words</del>');
  expect(html).toContain('<ins>Second words</ins>');
  expect(isHarmed(html)).toBe(false);
  expect((await choose(await choice('take'))).headers.get('location')).toBe(path);
  expect((await app.db.read((tx) => readPost(tx, id)))?.markdown).toStartWith('Second words');
  expect(await (await visit(path)).text()).not.toContain('new version');
});

test('keeping the edited text dismisses the newer one', async () => {
  await editPost(app.deps, id, { markdown: 'My words' });
  await edited('Second words');
  expect((await choose(await choice('keep'))).status).toBe(303);
  expect((await app.db.read((tx) => readPost(tx, id)))?.markdown).toBe('My words');
  expect(await hasSuggestionFor(app.deps, id)).toBe(false);
});

test.each(['take', 'keep'] as const)('%s applies only to the version that the page showed', async (word) => {
  await editPost(app.deps, id, { markdown: 'My words' });
  await edited('Second words');
  const read = await choice(word);
  app.clock.advance(1000);
  await edited('Third words', 40);
  expect((await choose(read)).status).toBe(303);
  const again = await choice(word);
  await editPost(app.deps, id, { markdown: 'Other words' });
  expect((await choose(again)).status).toBe(303);
  expect((await app.db.read((tx) => readPost(tx, id)))?.markdown).toBe('Other words');
  expect(await hasSuggestionFor(app.deps, id)).toBe(true);
});

test('an unknown choice is refused; a choice without a newer text changes nothing', async () => {
  expect((await choose({ choice: 'take' })).status).toBe(303);
  await editPost(app.deps, id, { markdown: 'My words' });
  await edited('Second words');
  const read = await choice('take');
  expect((await choose({ ...read, choice: 'both' })).status).toBe(400);
  expect((await app.db.read((tx) => readPost(tx, id)))?.markdown).toBe('My words');
});

test('a newer text that is too different to compare has a page of its own', async () => {
  await editPost(app.deps, id, { markdown: 'mine\n'.repeat(10_000) });
  await edited(`newer\n\n${hostile}\n${'newer\n'.repeat(10_000)}`);
  const html = await (await visit(path)).text();
  expect(html.includes('too different to compare them line by line')).toBe(true);
  expect(html.includes(`href="${path}/suggestion"`)).toBe(true);
  const page = await (await visit(`${path}/suggestion`)).text();
  expect(page.includes('<pre class="stored">newer\n')).toBe(true);
  expect(isHarmed(page)).toBe(false);
  expect((await choose(await choice('take'))).headers.get('location')).toBe(path);
  expect((await visit(`${path}/suggestion`)).status).toBe(404);
});
