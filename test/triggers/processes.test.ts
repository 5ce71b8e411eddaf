import { describe, expect, test } from 'bun:test';
import type { Lease } from '../../db/engine.ts';
import { DatabaseUnavailable } from '../../db/failures.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { randomIds } from '../../src/lib/text.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { connectGithub, githubRequest } from '../support/deliveries.ts';
import { postsOf } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

// Two processes on one database. Their drafts are composed by the tests, which so decide when each goes on.

const composeAtOnce: Compose = async (recipe, material) => composeDraft(recipe, material);

async function setUp() {
  const together = openTogether();
  const [one, other] = together.databases.map((db) => {
    const app = createTestApp({ db, ids: randomIds });
    return { app, deps: { ...app.deps, db } };
  });
  if (one === undefined || other === undefined) throw new Error('two are opened');
  const { app } = one;
  await app.addOrganization('org_a');
  const connected = await connectGithub(app, 'org_a');
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
  return {
    ...together,
    app,
    one: one.deps,
    other: other.deps,
    logged: app.logged,
    runs: () => app.db.read((tx) => listRuns(tx, {})),
    /** Queues a run of its own for each release, as each has its branch. */
    async deliverReleases(count: number, name = 'Release') {
      for (let release = 0; release < count; release++) {
        const sample = samplePayload('github', 'release', {
          repository: 'acme/rocket',
          now: new Date(Date.UTC(2026, 0, 1, release)),
        });
        const payload = changed(sample ?? {}, {
          'release.tag_name': `v${release}`,
          'release.name': `${name} ${release}`,
          'release.target_commitish': `branch-${release}`,
        });
        const response = await app.request(...githubRequest(connected, payload, { event: 'release' }));
        expect(response.status).toBe(200);
      }
    },
  };
}

describe('two processes', () => {
  test('do different runs at the same time, and each run once', async () => {
    // More than one process takes at a time.
    const count = 20;
    const { one, other, app, deliverReleases, runs } = await setUp();
    await deliverReleases(count);
    expect(await runs()).toHaveLength(count);
    // Neither goes on before both are at work.
    const both = Promise.withResolvers<void>();
    const atWork = new Set<string>();
    const composed: string[] = [];
    const composeAs =
      (name: string): Compose =>
      async (recipe, material) => {
        const composition = composeDraft(recipe, material);
        composed.push(composition.text?.title ?? '');
        if (atWork.add(name).size === 2) both.resolve();
        await both.promise;
        return composition;
      };
    const done = await Promise.all([
      runTriggers(one, composeAs('one')),
      runTriggers(other, composeAs('other')),
    ]);
    expect(done[0] + done[1]).toBe(count);
    expect(composed.sort()).toEqual(
      Array.from({ length: count }, (_, release) => `Release ${release}`).sort(),
    );
    expect(await postsOf(app)).toHaveLength(count);
    expect(await runs()).toEqual([]);
  });

  test('leave a run alone that was done before they took it', async () => {
    const { one, other, app, deliverReleases } = await setUp();
    await deliverReleases(1);
    const lease = async (names: readonly string[]): Promise<Lease | null> => {
      await runTriggers(one, composeAtOnce);
      return other.db.lease(names);
    };
    const { pace, read, write, version } = other.db;
    const never: Compose = () => Promise.reject(new Error('there is nothing to do'));
    expect(await runTriggers({ ...other, db: { pace, read, write, version, lease } }, never)).toBe(0);
    expect(await postsOf(app)).toHaveLength(1);
  });
});

test('a run whose process hangs is taken over, and what that process writes later is refused', async () => {
  const { one, other, app, logged, deliverReleases, runs, endLeases } = await setUp();
  await deliverReleases(1, 'Old name');
  const hangs = Promise.withResolvers<void>();
  const wakesUp = Promise.withResolvers<void>();
  const hanging = runTriggers(one, async (recipe, material) => {
    const text = composeDraft(recipe, material);
    hangs.resolve();
    await wakesUp.promise;
    return text;
  });
  await hangs.promise;
  expect(await runTriggers(other, composeAtOnce)).toBe(0);
  await deliverReleases(1, 'New name');
  await endLeases();
  expect(await runTriggers(other, composeAtOnce)).toBe(1);
  expect((await postsOf(app)).map(({ title }) => title)).toEqual(['New name 0']);
  wakesUp.resolve();
  expect(await hanging).toBe(0);
  expect((await postsOf(app)).map(({ title }) => title)).toEqual(['New name 0']);
  expect(await runs()).toEqual([]);
  expect(logged.map(({ msg }) => msg)).toContain('another process took over a trigger run');
});

test('a run that a process gave back after a failure of the database can be taken by another', async () => {
  const { one, other, app, deliverReleases } = await setUp();
  await deliverReleases(2);
  const failing = async () => {
    throw new DatabaseUnavailable(new Error('gone'));
  };
  const { pace, read, lease, version } = one.db;
  const broken = { ...one, db: { pace, read, lease, version, write: failing } };
  await expect(runTriggers(broken, composeAtOnce)).rejects.toThrow('The database is not available');
  expect(await runTriggers(other, composeAtOnce)).toBe(2);
  expect(await postsOf(app)).toHaveLength(2);
});
