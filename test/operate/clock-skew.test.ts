import { expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { listDuePlaces } from '../../src/intake/silence.ts';
import { listDueTokens } from '../../src/integrations/token.ts';
import { randomIds } from '../../src/lib/text.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { createGuard } from '../../src/people/guard.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { fixedClock } from '../support/clock.ts';
import { signedIn, visitor } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, connectGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

// Two processes on one database. They follow the server's clock; were that of one ten minutes ahead, this is what it would cost.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SKEW_MS = 10 * MINUTE_MS;

async function setUp() {
  const [behind, ahead] = openTogether().databases.map((db) =>
    createTestApp({ db, ids: randomIds, clock: fixedClock() }),
  );
  if (behind === undefined || ahead === undefined) throw new Error('two are opened');
  ahead.clock.advance(SKEW_MS);
  await behind.addOrganization('org_a');
  const connected = await connectGithub(behind, 'org_a');
  /** Lets time pass for both. */
  const wait = (ms: number) => {
    for (const { clock } of [behind, ahead]) clock.advance(ms);
  };
  return { behind, ahead, connected, wait };
}

test('a delivery id is remembered for 24 hours, less or more by the difference of the clocks', async () => {
  const { behind, ahead, connected, wait } = await setUp();
  const ping = (delivery: string) => githubRequest(connected, { zen: 'x' }, { delivery });
  const messageFrom = async (app: typeof behind, delivery: string) =>
    ((await (await app.request(...ping(delivery))).json()) as { message: string }).message;
  const NEW = 'Webhook configured successfully';
  const KNOWN = /^Duplicate delivery/;
  // At once, whichever process was first.
  expect(await messageFrom(behind, 'one')).toBe(NEW);
  expect(await messageFrom(ahead, 'one')).toMatch(KNOWN);
  expect(await messageFrom(ahead, 'two')).toBe(NEW);
  expect(await messageFrom(behind, 'two')).toMatch(KNOWN);
  wait(24 * HOUR_MS - SKEW_MS - MINUTE_MS);
  expect(await messageFrom(ahead, 'one')).toMatch(KNOWN);
  expect(await messageFrom(behind, 'two')).toMatch(KNOWN);
  wait(2 * MINUTE_MS);
  expect(await messageFrom(ahead, 'one')).toBe(NEW);
  wait(2 * SKEW_MS);
  expect(await messageFrom(behind, 'two')).toBe(NEW);
});

test('a run that the process ahead queued is due there at once, and on the other ten minutes later', async () => {
  const { behind, ahead, connected, wait } = await setUp();
  const { integrationId } = connected;
  await createTrigger(behind.deps, { integrationId, event: 'release', contentType: 'changelog' });
  const release = samplePayload('github', 'release', { now: new Date('2026-11-20T12:00:00Z') });
  expect((await ahead.request(...githubRequest(connected, release, { event: 'release' }))).status).toBe(200);
  expect(await runAll(behind)).toBe(0);
  wait(SKEW_MS);
  expect(await runAll(behind)).toBe(1);
  expect(await postsOf(behind)).toHaveLength(1);

  const edited = { ...release, action: 'edited' };
  expect((await ahead.request(...githubRequest(connected, edited, { event: 'release' }))).status).toBe(200);
  expect(await runAll(ahead)).toBe(1);
  expect(await postsOf(ahead)).toHaveLength(1);
});

test('a session that either process knows is known to both, and ends ten minutes apart', async () => {
  const { behind, ahead, wait } = await setUp();
  const ann = await signedIn(ahead, { organizationId: 'org_a' });
  const visit = (app: typeof behind) => visitor(app, ann.cookie)('/dashboard/org_a/posts');
  for (const app of [behind, ahead, behind]) expect((await visit(app)).status).toBe(200);
  wait(30 * 24 * HOUR_MS - MINUTE_MS);
  expect((await visit(ahead)).status).toBe(200);
  wait(30 * 24 * HOUR_MS + MINUTE_MS);
  expect((await visit(ahead)).status).toBe(303);
});

test('the limit on guesses for an account holds, whichever process is asked', async () => {
  const { behind, ahead } = await setUp();
  const guards = [behind, ahead].map(({ deps }) => createGuard(deps));
  let taken = 0;
  for (let attempt = 0; attempt < 200; attempt++) {
    const guess = guards[attempt % 2]?.signIn('ann@acme.example', `10.0.0.${attempt}`, false);
    const isTaken = guess?.count().then(
      () => true,
      () => false,
    );
    taken += Number(await isTaken);
  }
  expect(taken).toBeGreaterThan(0);
  // 100 at once, and one more for each ten seconds that the process ahead believes to have passed.
  expect(taken).toBeLessThanOrEqual(160);
});

test('nothing waits for a time that a clock days ahead computed', async () => {
  const { app, connected } = await appWithGithub({ repository: 'acme/rocket' });
  const { db, clock } = app;
  const now = clock.now();
  const { integrationId, repositoryId = '' } = connected;
  const due = async () => ({
    tokens: (await db.read((tx) => listDueTokens(tx, now, 9))).length,
    places: (await db.read((tx) => listDuePlaces(tx, now, 9))).length,
  });
  await execute(db, `UPDATE integrations SET token = 'sealed' WHERE id = '${integrationId}'`);
  await execute(db, `INSERT INTO token_states (integration_id, due_at) VALUES ('${integrationId}', 0)`);
  await execute(
    db,
    `INSERT INTO silences (integration_id, repository_id, is_proven, due_at) VALUES ('${integrationId}', '${repositoryId}', 0, 0)`,
  );
  const dueIn = async (ms: number) => {
    for (const table of ['token_states', 'silences'])
      await execute(db, `UPDATE ${table} SET due_at = ${now.getTime() + ms}`);
    return due();
  };
  expect(await dueIn(0)).toEqual({ tokens: 1, places: 1 });
  for (const ms of [1, DAY_MS]) expect(await dueIn(ms)).toEqual({ tokens: 0, places: 0 });
  expect(await dueIn(DAY_MS + 1)).toEqual({ tokens: 1, places: 1 });
});
