import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Database } from '../../../db/engine.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { runTriggers } from '../../../src/drafting/triggers/run.ts';
import { createTrigger } from '../../../src/drafting/triggers/service.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { sweep } from '../../../src/server/sweep.ts';
import { signedIn } from '../../support/dashboard.ts';
import { execute } from '../../support/database.ts';
import { appWithGithub, githubRequest } from '../../support/deliveries.ts';
import { compose } from '../../support/drafts.ts';
import { changed } from '../../support/payloads.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.ts';
import { bearer } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

// How often a request waits for the database, which costs the delay of the network each time. docs/postgresql.md states
// these numbers.

/** Keeps the parts of a request apart: what is sent at once arrives before any answer. */
const DELAY_MS = 20;

const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

let proxy: TcpProxy;
let db: Database;
let world: Awaited<ReturnType<typeof setUp>>;

beforeAll(async () => {
  const url = await (await sharedPostgres()).createDatabase();
  proxy = await startTcpProxy({ port: Number(new URL(url).port) });
  db = await openPostgres(through(proxy, url), 'server', { poolSize: 2, limits: LIMITS });
  world = await setUp();
}, 120_000);

afterAll(async () => {
  await db?.close();
  await proxy?.[Symbol.asyncDispose]();
});

async function setUp() {
  const { app, connected } = await appWithGithub({ db });
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const posts = Array.from({ length: 30 }, (_, at) => ({ id: `post_${at}` }));
  await app.addPosts('org_a', ...posts);
  const key = await app.addKey('org_a');
  return { app, connected, key };
}

/**
 * The round trips of `work`, which is repeated until its statements are prepared on the connections that it gets: which
 * ones depends on the order of the answers. `makeReady` is called before each time.
 */
async function tripsOf<Result>(
  work: () => Promise<Result>,
  makeReady: () => Promise<void> = () => Promise.resolve(),
): Promise<{ result: Result; trips: number }> {
  for (;;) {
    await makeReady();
    await until(async () => proxy.isQuiet, Boolean);
    const before = { trips: proxy.roundTrips, preparations: proxy.preparations };
    proxy.delayMs = DELAY_MS;
    const result = await work();
    proxy.delayMs = 0;
    const trips = proxy.roundTrips - before.trips;
    if (proxy.preparations === before.preparations) return { result, trips };
  }
}

/** The round trips of one request, and its response. */
async function count(send: () => Promise<Response>): Promise<{ status: number; trips: number }> {
  // Both connections are open.
  await Promise.all([send(), send()]);
  const { result, trips } = await tripsOf(send);
  return { status: result.status, trips };
}

describe('a delivery', () => {
  const release = (tag: string) =>
    changed(samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {}, {
      'release.tag_name': tag,
    });
  let tags = 0;

  test('takes two: all that it depends on, and all that it writes', async () => {
    const { app, connected } = world;
    const deliver = () =>
      app.request(...githubRequest(connected, release(`v${++tags}`), { event: 'release' }));
    expect(await count(deliver)).toEqual({ status: 200, trips: 2 });
  });

  test('takes two when it is ignored, and three when it is a duplicate', async () => {
    const { app, connected } = world;
    const ping = () => app.request(...githubRequest(connected, { zen: 'x' }));
    expect(await count(ping)).toEqual({ status: 200, trips: 2 });
    const again = () =>
      app.request(...githubRequest(connected, release('v1'), { event: 'release', delivery: 'one' }));
    expect(await count(again)).toEqual({ status: 200, trips: 3 });
  });
});

test('a save of the editor takes three: the session; the check and the post; what it changes and the commit', async () => {
  const { app } = world;
  const ann = await signedIn(app, { organizationId: 'org_a' });
  let number = 0;
  const save = async () => {
    // Without the version of the form, because the warm-up sends two at once.
    const fields = { title: 'Title', markdown: `Text ${++number}`, mark: '', explicit: 'true' };
    const response = await ann('/dashboard/org_a/posts/post_1/autosave', {
      body: new URLSearchParams(fields),
    });
    expect(await response.clone().text()).toContain('data-outcome="saved"');
    return response;
  };
  expect(await count(save)).toEqual({ status: 200, trips: 3 });
});

test('a release becomes a draft in at most 12, and two commits', async () => {
  const { app, connected } = world;
  const payload = (number: number) =>
    changed(samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {}, {
      'release.tag_name': `draft-${number}`,
      'release.target_commitish': `branch-${number}`,
    });
  const deps = { ...app.deps, db };
  // Those of the tests before it.
  await runTriggers(deps, compose);
  const statements: string[] = [];
  proxy.losesAnswerTo = (sent) => {
    statements.push(...sent);
    return false;
  };
  let number = 0;
  const { result, trips } = await tripsOf(
    () => runTriggers(deps, compose),
    async () => {
      await app.request(...githubRequest(connected, payload(++number), { event: 'release' }));
      statements.length = 0;
    },
  );
  proxy.losesAnswerTo = () => false;
  expect(result).toBe(1);
  // The lease is taken by a statement of its own.
  const commits = statements.filter((sent) => /^(COMMIT|\s*WITH wanted|DELETE FROM leases)/.test(sent));
  expect(commits).toHaveLength(2);
  expect(trips).toBeLessThanOrEqual(12);
  expect(trips).toBeGreaterThan(4);
});

test('the sweeper takes two for each 500 rows that it removes', async () => {
  const { app } = world;
  const claims =
    "INSERT INTO delivery_claims SELECT 'int_past', number::text, 1 FROM generate_series(1, 2000) AS number";
  const idle = await tripsOf(() => sweep(app.deps));
  const busy = await tripsOf(
    () => sweep(app.deps),
    () => execute(db, claims),
  );
  expect([idle.result.deliveryIds, busy.result.deliveryIds]).toEqual([0, 2_000]);
  expect(busy.trips - idle.trips).toBeLessThanOrEqual(8);
});

describe('a reader', () => {
  const get =
    (path: string, headers = {}) =>
    async () =>
      world.app.request(path, { headers: { ...bearer(world.key).headers, ...headers } });

  test('gets a list in two, a 304 too: its key, and the page', async () => {
    const etag = (await get('/v1/org_a/posts')()).headers.get('etag');
    expect(await count(get('/v1/org_a/posts'))).toEqual({ status: 200, trips: 2 });
    expect(await count(get('/v1/org_a/posts', { 'if-none-match': etag }))).toEqual({ status: 304, trips: 2 });
  });

  test('gets a post in two', async () => {
    expect(await count(get('/v1/org_a/posts/post_1'))).toEqual({ status: 200, trips: 2 });
  });

  test('is refused in one', async () => {
    const refused = () => world.app.request('/v1/org_a/posts', bearer('tdk_unknown'));
    expect(await count(refused)).toEqual({ status: 401, trips: 1 });
  });
});
