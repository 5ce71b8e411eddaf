import { beforeEach, describe, expect, test } from 'bun:test';
import { dismissSuggestion, getSuggestion, takeSuggestion } from '../../src/drafting/suggestions.ts';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { createTrigger, type NewTrigger, switchTrigger } from '../../src/drafting/triggers/service.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { refuseRows } from '../support/faults.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { refusalOf } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';

// A release and its draft: made once, kept up to date, and left alone once a person has touched it.

const DELIVERY = '72d3162e-cc78-11e3-81ab-4c9367dc0958';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

function trigger(given: Partial<NewTrigger> = {}) {
  const { integrationId } = connected;
  return createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog', ...given });
}

function sample(changes: Record<string, unknown> = {}): Payload {
  const release = samplePayload('github', 'release', { repository: 'acme/rocket', now: app.clock.now() });
  return changed(release ?? {}, changes);
}

async function deliver(payload: Payload, delivery?: string): Promise<void> {
  const options = { event: 'release', ...(delivery === undefined ? {} : { delivery }) };
  expect((await app.request(...githubRequest(connected, payload, options))).status).toBe(200);
  await runAll(app);
}

const edited = (body: string, minute = 30) =>
  sample({ action: 'edited', 'release.body': body, 'release.updated_at': `2026-11-20T12:${minute}:00Z` });

async function only() {
  const posts = await postsOf(app);
  expect(posts).toHaveLength(1);
  const [post] = posts;
  if (post === undefined) throw new Error('there is no post');
  return post;
}

test('a draft is not dated in the future, however far ahead the clock of the provider is', async () => {
  await trigger();
  await deliver(sample({ 'release.published_at': '2026-11-20T13:00:00Z' }));
  expect((await only()).createdAt).toBe(app.clock.now().toISOString());
});

test('a release becomes a draft with its source', async () => {
  const { id: triggerId } = await trigger();
  await deliver(sample(), DELIVERY);
  const url = 'https://github.com/acme/rocket/releases/tag/v2.4.0';
  expect(await only()).toMatchObject({
    title: 'Rocket 2.4.0: quieter engines',
    contentType: 'changelog',
    status: 'draft',
    createdAt: '2026-11-20T11:59:00.000Z',
    updatedAt: '2026-11-20T12:00:00.000Z',
    sourceMetadata: {
      platform: 'github',
      repository: 'acme/rocket',
      version: '2.4.0',
      author: 'ann',
      url,
      deliveryId: DELIVERY,
      triggerId,
    },
  });
  const { markdown, content } = await only();
  expect(markdown).toContain('### Added\n- Quiet mode: engines start 40 % softer\n- `rocket status --json`');
  expect(content).toContain('Added\n\n- Quiet mode: engines start 40 % softer\n- rocket status --json');
  expect(await app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
});

test('the same release under another delivery id changes nothing', async () => {
  await trigger();
  const payload = sample();
  await deliver(payload, DELIVERY);
  const before = await only();
  app.clock.advance(60_000);
  await deliver(payload, 'ffffffff-cc78-11e3-81ab-4c9367dc0958');
  expect(await only()).toEqual(before);
});

test('an edit changes the draft, even when it comes before the release', async () => {
  await trigger();
  await deliver(edited('Second words'));
  expect(await postsOf(app)).toEqual([]);
  await deliver(sample());
  expect((await only()).markdown).toBe('Second words');
  await deliver(edited('Third words', 40));
  expect((await only()).markdown).toBe('Third words');
});

describe('a person has', () => {
  test('edited it: it stays, and the newer text becomes a suggestion', async () => {
    await trigger();
    await deliver(sample());
    const { id } = await only();
    const mine = { title: 'Mine', markdown: 'My *own* words' };
    await editPost(app.deps, id, mine);
    await deliver(sample());
    expect(await refusalOf(getSuggestion(app.deps, id))).toMatchObject({ status: 404 });
    await deliver(edited('Second words'));
    expect(await only()).toMatchObject({ ...mine, content: 'My own words' });
    const suggestion = await getSuggestion(app.deps, id);
    expect(suggestion).toMatchObject({ title: 'Rocket 2.4.0: quieter engines', markdown: 'Second words' });
    expect(suggestion.changes).toEqual([
      { kind: 'removed', line: 'Mine' },
      { kind: 'added', line: 'Rocket 2.4.0: quieter engines' },
      { kind: 'same', line: '' },
      { kind: 'removed', line: 'My *own* words' },
      { kind: 'added', line: 'Second words' },
    ]);
    const { suggestedAt } = await getSuggestion(app.deps, id);
    const seen = { suggestedAt, updatedAt: (await postsOf(app))[0]?.updatedAt ?? '' };
    for (const stale of [
      { ...seen, suggestedAt: '2026-01-01T00:00:00.000Z' },
      { ...seen, updatedAt: '2026-01-01T00:00:00.000Z' },
    ])
      for (const decide of [takeSuggestion, dismissSuggestion])
        expect(await refusalOf(decide(app.deps, id, stale))).toMatchObject({ status: 409 });
    await takeSuggestion(app.deps, id, seen);
    expect(await only()).toMatchObject({
      markdown: 'Second words',
      content: 'Second words',
      status: 'draft',
    });
    // From here on the text is the trigger's own again.
    await deliver(edited('Third words', 40));
    expect((await only()).markdown).toBe('Third words');
    expect(await refusalOf(getSuggestion(app.deps, id))).toMatchObject({ status: 404 });
  });

  test('dismissed the suggestion: it does not come back, another one may', async () => {
    await trigger();
    await deliver(sample());
    const { id } = await only();
    await editPost(app.deps, id, { title: 'Mine' });
    await deliver(edited('Second words'));
    await dismissSuggestion(app.deps, id);
    await deliver(edited('Second words'));
    expect(await refusalOf(takeSuggestion(app.deps, id))).toMatchObject({ status: 404 });
    await deliver(edited('Third words', 40));
    expect(await getSuggestion(app.deps, id)).toMatchObject({ markdown: 'Third words' });
  });

  test('published it: no event changes it', async () => {
    await trigger();
    await deliver(sample());
    const { id } = await only();
    const published = await editPost(app.deps, id, { status: 'published' });
    await deliver(edited('Second words'));
    expect(await only()).toEqual(published);
    expect(await getSuggestion(app.deps, id)).toMatchObject({ markdown: 'Second words' });
  });

  test('deleted it: it does not come back', async () => {
    await trigger();
    await deliver(sample());
    await deletePost(app.deps, (await only()).id);
    await deliver(edited('Second words'));
    expect(await postsOf(app)).toEqual([]);
  });

  test('written the same text: it is the trigger’s own again', async () => {
    await trigger();
    await deliver(sample());
    const { id } = await only();
    await editPost(app.deps, id, { markdown: 'Second words' });
    await deliver(edited('Second words'));
    await deliver(edited('Third words', 40));
    expect((await only()).markdown).toBe('Third words');
  });
});

test('a trigger that publishes makes a published post, which later edits do not change', async () => {
  await trigger({ publish: true });
  await deliver(sample());
  const post = await only();
  expect(post.status).toBe('published');
  await deliver(edited('Second words'));
  expect(await only()).toEqual(post);
});

test('filters: pre-releases, tags, branches', async () => {
  await trigger({ filters: { prereleases: false, tag: ['v*'], branch: ['main', 'release/*'] } });
  for (const changes of [
    { 'release.prerelease': true },
    { 'release.tag_name': 'web-v2.4.0' },
    { 'release.target_commitish': 'next' },
  ]) {
    await deliver(sample(changes));
    expect(await postsOf(app)).toEqual([]);
  }
  await deliver(sample({ 'release.target_commitish': 'release/2.4' }));
  await only();
});

test('a release that becomes a pre-release removes its draft, unless a person has edited it', async () => {
  await trigger({ filters: { prereleases: false } });
  await deliver(sample());
  await only();
  const asPrerelease = { action: 'edited', 'release.prerelease': true };
  await deliver(sample({ ...asPrerelease, 'release.updated_at': '2026-11-20T12:10:00Z' }));
  expect(await postsOf(app)).toEqual([]);
  await deliver(edited('Words'));
  await editPost(app.deps, (await only()).id, { title: 'Mine' });
  await deliver(sample({ ...asPrerelease, 'release.updated_at': '2026-11-20T12:40:00Z' }));
  expect((await only()).title).toBe('Mine');
});

test('a delivery makes no draft without a trigger, and a later trigger knows its event', async () => {
  await deliver(sample());
  expect(await postsOf(app)).toEqual([]);
  await trigger();
  const [delivery] = await logOf(app);
  if (delivery === undefined) throw new Error('the log is empty');
  const replay = await replayDelivery(app.deps, delivery);
  expect(replay).toMatchObject({
    replayOf: delivery.id,
    referenceId: delivery.referenceId,
    status: 'processed',
  });
  await runAll(app);
  const post = await only();
  await replayDelivery(app.deps, replay);
  await runAll(app);
  expect(await only()).toEqual(post);
  expect((await logOf(app)).map(({ replayOf }) => replayOf)).toEqual([delivery.id, delivery.id, null]);
});

test('a trigger does its queued runs once it is enabled', async () => {
  const { id } = await trigger();
  await app.request(...githubRequest(connected, sample(), { event: 'release' }));
  await switchTrigger(app.deps, id, false);
  expect(await runAll(app)).toBe(0);
  expect(await postsOf(app)).toEqual([]);
  await switchTrigger(app.deps, id, true);
  await runAll(app);
  await only();
});

test('two triggers make two posts of one release', async () => {
  await trigger();
  await trigger({ contentType: 'linkedin_post' });
  await deliver(sample());
  expect((await postsOf(app)).map(({ contentType }) => contentType).sort()).toEqual([
    'changelog',
    'linkedin_post',
  ]);
});

test('a delivery that cannot be logged leaves no event, run or claim', async () => {
  await trigger();
  await refuseRows(app.db, 'insert', 'deliveries', 'full');
  const response = await app.request(...githubRequest(connected, sample(), { event: 'release' }));
  expect(response.status).toBe(500);
  expect(await allRows(app.db)).toMatchObject({ events: [], trigger_runs: [], delivery_claims: [] });
});
