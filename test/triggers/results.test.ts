import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { retryRuns } from '../../src/drafting/triggers/queue-store.ts';
import { listResults, settleWaiting } from '../../src/drafting/triggers/results-store.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { deleteTrigger, type NewTrigger } from '../../src/drafting/triggers/service.ts';
import { replayDelivery } from '../../src/intake/receiver/send.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { sweep } from '../../src/server/sweep.ts';
import { signedIn } from '../support/dashboard.ts';
import { execute, testSqlite, valuesOf } from '../support/database.ts';
import { appWithGithub, logOf } from '../support/deliveries.ts';
import { createTriggerFor, deliverSample, postsOf, runAll } from '../support/drafts.ts';
import { plansOf } from '../support/plans.ts';
import type { TestApp } from '../support/test-app.ts';

// The result of a delivery for each trigger that received its event.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

const create = (event: string, more?: Partial<NewTrigger>) => createTriggerFor(app, connected, event, more);
const deliver = (event: string, changes?: Record<string, unknown>) =>
  deliverSample(app, connected, event, changes);

let commits = 0;
function push(): Promise<string> {
  const sha = Bun.SHA1.hash(`commit ${commits++}`, 'hex');
  const timestamp = app.clock.now().toISOString();
  const commit = {
    id: sha,
    message: `feat: change ${commits}`,
    author: { name: 'Ann' },
    url: 'https://github.com/acme/rocket/commit/1',
    timestamp,
  };
  const pushedAt = Math.floor(app.clock.now().getTime() / 1000);
  return deliver('push', { commits: [commit], after: sha, 'repository.pushed_at': pushedAt });
}

const results = (id: string) => app.db.read((tx) => listResults(tx, 'org_a', [id]));

/** The outcomes of an entry, each with the title of its post. */
async function outcomes(id: string) {
  return (await results(id)).map(({ outcome, post }) =>
    post === null ? outcome : `${outcome}: ${post.title}`,
  );
}

const RELEASE = 'Rocket 2.4.0: quieter engines';
const UNRELEASED = 'Unreleased: acme/rocket';

describe('a delivery', () => {
  test('is queued for each trigger that its event concerns, and then has its draft', async () => {
    await create('release');
    await create('release', { contentType: 'linkedin_post' });
    await create('pull_request', { filters: { branch: ['other'] } });
    const id = await deliver('release');
    expect(await outcomes(id)).toEqual(['queued', 'queued']);
    await runAll(app);
    const settled = await results(id);
    expect(settled.map(({ outcome }) => outcome)).toEqual(['created', 'created']);
    const posts = await postsOf(app);
    expect(settled.map(({ post }) => post?.id ?? '').sort()).toEqual(posts.map((each) => each.id).sort());
    expect(settled.map(({ run }) => run)).toEqual([null, null]);
  });

  test('without a trigger has no result', async () => {
    const id = await deliver('release');
    await runAll(app);
    expect(await outcomes(id)).toEqual([]);
  });

  test('has a result of the triggers that were enabled when it arrived', async () => {
    await create('release', { enabled: false });
    expect(await outcomes(await deliver('release'))).toEqual([]);
  });

  test('updates a draft that is there', async () => {
    await create('push');
    const first = await push();
    await runAll(app);
    const second = await push();
    await runAll(app);
    expect(await outcomes(first)).toEqual([`created: ${UNRELEASED}`]);
    expect(await outcomes(second)).toEqual([`updated: ${UNRELEASED}`]);
  });

  test('changes nothing when it is replayed', async () => {
    await create('release');
    await deliver('release');
    await runAll(app);
    const [entry] = await logOf(app);
    const replay = entry && (await replayDelivery(app.deps, entry));
    expect(await outcomes(replay?.id ?? '')).toEqual([`queued`]);
    await runAll(app);
    expect(await outcomes(replay?.id ?? '')).toEqual([`unchanged: ${RELEASE}`]);
  });

  test('waits as a suggestion beside a post that a person has edited', async () => {
    await create('push');
    await push();
    await runAll(app);
    const [post] = await postsOf(app);
    await editPost(app.deps, post?.id ?? '', { title: 'Mine' });
    const id = await push();
    await runAll(app);
    expect(await outcomes(id)).toEqual(['suggested: Mine']);
  });

  test('leaves what a person has deleted or published', async () => {
    await create('release');
    await deliver('release');
    await runAll(app);
    const [post] = await postsOf(app);
    await deletePost(app.deps, post?.id ?? '');
    const edited = await deliver('release', { action: 'edited', 'release.body': 'Other words' });
    await runAll(app);
    expect(await outcomes(edited)).toEqual(['kept']);
  });

  test('is kept out of the next rolling draft once its post is published', async () => {
    await create('push');
    await push();
    await runAll(app);
    const [post] = await postsOf(app);
    await editPost(app.deps, post?.id ?? '', { status: 'published' });
    const [entry] = await logOf(app);
    await push();
    await runAll(app);
    const replay = entry && (await replayDelivery(app.deps, entry));
    await runAll(app);
    expect(await outcomes(replay?.id ?? '')).toEqual(['kept']);
  });

  test('removes its draft when it leaves nothing to announce', async () => {
    await create('release', { filters: { prereleases: false } });
    await deliver('release');
    await runAll(app);
    const id = await deliver('release', { action: 'edited', 'release.prerelease': true });
    await runAll(app);
    expect(await outcomes(id)).toEqual(['removed']);
    expect(await postsOf(app)).toEqual([]);
  });

  test('of a push waits for the release that it belongs to', async () => {
    await create('release');
    const id = await push();
    await runAll(app);
    expect(await outcomes(id)).toEqual(['waiting']);
  });

  describe('of a push that waited', () => {
    let id: string;
    let triggerId: string;
    const later = () => new Date(app.clock.now().getTime() + 60_000).toISOString();
    beforeEach(async () => {
      ({ id: triggerId } = await create('release'));
      id = await push();
      await runAll(app);
      expect(await outcomes(id)).toEqual(['waiting']);
    });

    test('has the draft of a release without notes', async () => {
      await deliver('release', { 'release.body': null, 'release.published_at': later() });
      app.clock.advance(60_000);
      const next = await push();
      await runAll(app);
      expect(await outcomes(id)).toEqual([`created: ${RELEASE}`]);
      // This one belongs to the next release.
      expect(await outcomes(next)).toEqual(['waiting']);
    });

    test('ends with a release that has notes of its own, also for a late one', async () => {
      const publishedAt = new Date(app.clock.now().getTime() + DAY_MS).toISOString();
      await deliver('release', { 'release.published_at': publishedAt });
      await runAll(app);
      expect(await outcomes(id)).toEqual(['unchanged']);
      const late = await push();
      await runAll(app);
      expect(await outcomes(late)).toEqual(['unchanged']);
    });

    test('goes on waiting for a release that the filters exclude, or of another trigger or branch', async () => {
      await deliver('release', { 'release.target_commitish': 'old', 'release.published_at': later() });
      await runAll(app);
      expect(await outcomes(id)).toEqual(['waiting']);
    });

    test('is settled when the draft is made by a retry', async () => {
      await deliver('release', { 'release.body': null, 'release.published_at': later() });
      await runTriggers(app.deps, () => Promise.reject(new Error('no luck')));
      expect(await outcomes(id)).toEqual(['waiting']);
      app.clock.advance(3_600_000);
      await runAll(app);
      expect(await outcomes(id)).toEqual([`created: ${RELEASE}`]);
    });

    test('ends with the trigger', async () => {
      await deleteTrigger(app.deps, triggerId);
      expect(await outcomes(id)).toEqual(['unchanged']);
    });

    test('is shown as ended when its integration is gone', async () => {
      const visit = await signedIn(app, { organizationId: 'org_a' });
      const cell = async () => await (await visit('/dashboard/org_a/deliveries')).text();
      expect(await cell()).toContain('Waits for a release');
      await execute(app.db, 'delete from triggers');
      expect(await cell()).not.toContain('>Waits for a release</a>');
      expect(await (await visit(`/dashboard/org_a/deliveries/${id}`)).text()).toContain(
        'The trigger was deleted before it wrote a draft.',
      );
    });
  });

  test('of a late push has the draft of its release', async () => {
    await create('release');
    await deliver('release', {
      'release.body': null,
      'release.published_at': new Date(app.clock.now().getTime() + DAY_MS).toISOString(),
    });
    await runAll(app);
    const id = await push();
    await runAll(app);
    expect((await results(id)).map(({ outcome, post }) => [outcome, post?.status])).toEqual([
      ['updated', 'draft'],
    ]);
  });

  test('is filtered, at once', async () => {
    await create('release', { filters: { tag: ['nightly-*'] } });
    expect(await outcomes(await deliver('release'))).toEqual(['filtered']);
  });

  test('is filtered when its pull request lacks the label', async () => {
    await create('pull_request', { filters: { label: ['public'] } });
    const id = await deliver('pull_request', { 'pull_request.labels': [] });
    await runAll(app);
    expect(await outcomes(id)).toEqual(['filtered']);
  });

  test('that is an edit of an unknown event is unchanged', async () => {
    await create('release');
    const id = await deliver('release', { action: 'edited' });
    await runAll(app);
    expect(await outcomes(id)).toEqual(['unchanged']);
  });

  test('fails with the error of the run, and has its draft after a retry', async () => {
    const { id: triggerId } = await create('release');
    const id = await deliver('release');
    const broken = () => Promise.reject(new Error('no luck'));
    await runTriggers(app.deps, broken);
    expect(await results(id)).toMatchObject([
      { outcome: 'failed', error: 'no luck', run: { status: 'queued', attempts: 1 } },
    ]);
    for (let attempt = 2; attempt <= 5; attempt++) {
      app.clock.advance(3_600_000);
      await runTriggers(app.deps, broken);
    }
    expect(await results(id)).toMatchObject([{ outcome: 'failed', run: { status: 'failed' } }]);
    await app.db.write((tx) => retryRuns(tx, triggerId, app.clock.now()));
    await runAll(app);
    expect(await results(id)).toMatchObject([{ outcome: 'created', error: null, run: null }]);
  });

  test('that arrives during a run is left to the next one', async () => {
    await create('release');
    const first = await deliver('release');
    let second = '';
    await runTriggers(app.deps, async () => {
      if (second === '') second = await deliver('release', { 'release.tag_name': 'v3.0.0' });
      const text = { title: 'Title', markdown: 'Text', content: 'Text', sourceMetadata: {} };
      return { text, leftOut: [] };
    });
    expect((await results(first))[0]).toMatchObject({ outcome: 'created', post: { title: 'Title' } });
    expect((await results(second))[0]).toMatchObject({ outcome: 'created', post: { title: 'Title' } });
    expect(await postsOf(app)).toHaveLength(2);
  });

  test('has the draft that a new trigger makes of its past release', async () => {
    const id = await deliver('release');
    await create('release', { last: 1 });
    expect(await outcomes(id)).toEqual(['queued']);
    await runAll(app);
    expect(await outcomes(id)).toEqual([`created: ${RELEASE}`]);
  });
});

test('a run settles the results that a crash left queued', async () => {
  await create('release');
  const id = await deliver('release');
  await runAll(app);
  await execute(app.db, sql`update delivery_results set outcome = 'queued', post_id = null`);
  const [entry] = await logOf(app);
  const again = entry && (await replayDelivery(app.deps, entry));
  await runAll(app);
  expect(await outcomes(id)).toEqual([`unchanged: ${RELEASE}`]);
  expect(await outcomes(again?.id ?? '')).toEqual([`unchanged: ${RELEASE}`]);
});

test('the results of another organization name none of its posts', async () => {
  await create('release');
  const id = await deliver('release');
  await runAll(app);
  const foreign = await app.db.read((tx) => listResults(tx, 'org_b', [id]));
  expect(foreign.map(({ post }) => post)).toEqual([null]);
});

test('results are deleted with their log entry', async () => {
  await create('release');
  await deliver('release');
  const count = async () => Number((await valuesOf(app.db, 'select count(*) from delivery_results'))[0]?.[0]);
  const [entry] = await logOf(app);
  const expiry = app.clock.now().getTime() + (entry?.retentionDays ?? 0) * DAY_MS;
  await sweep(app.deps, { confirmed: new Date(expiry - 1) });
  expect(await count()).toBe(1);
  await sweep(app.deps, { confirmed: new Date(expiry) });
  expect(await count()).toBe(0);
  expect(await logOf(app)).toEqual([]);
});

testSqlite('a run over many releases reads the results of its own deliveries alone', async () => {
  const draft = { eventKeys: [], outcome: 'created', postId: null } as const;
  const waiting = { deliveryId: 'log', eventKey: 'push 6dcb09b', outcome: 'waiting' } as const;
  const plans = await plansOf((db) =>
    db.write((tx) => settleWaiting(tx, { triggerId: 't', scope: 'r main' }, [waiting], draft, new Date())),
  );
  expect(plans.join()).toContain('SEARCH delivery_results USING');
  expect(plans.join()).not.toContain('SCAN delivery_results');
});
