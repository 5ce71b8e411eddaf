import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { logOf } from '../support/deliveries.ts';
import { runAll } from '../support/drafts.ts';
import { createRepository, draftsOf } from '../support/histories.ts';
import { OCTOKIT_REPOSITORY, octokitDeliveries } from '../support/octokit.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { HOW_TO_PIN, pinsOf, readPins } from '../support/pins.ts';
import { rounds } from '../support/rounds.ts';

// Real deliveries of GitHub and GitHub Enterprise Server.

const servers = ['api.github.com', 'ghes-31', 'ghes-32', 'ghes-33', 'ghes-34', 'ghes-35'];
const byServer = new Map(
  await Promise.all(servers.map(async (server) => [server, await octokitDeliveries(server)] as const)),
);

describe('the drafts of the examples are those of the files', async () => {
  const pins = pinsOf(await draftsOf(await octokitDeliveries(), OCTOKIT_REPOSITORY));
  const files = await readPins('octokit');
  test(`by name; ${HOW_TO_PIN}`, () => {
    expect(Object.keys(pins)).toEqual(Object.keys(files));
  });
  test.each(Object.entries(pins))(`%s; ${HOW_TO_PIN}`, (name, pin) => {
    expect(pin).toBe(files[name] ?? '');
  });
});

test.each(servers)('the examples of %s give the same drafts in every order', async (server) => {
  const tellings = byServer.get(server) ?? [];
  const drafts = await draftsOf(tellings, OCTOKIT_REPOSITORY);
  expect(drafts.map(({ title }) => title)).toContain('0.0.1');
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(tellings, { minLength: tellings.length }), async (shuffled) => {
      expect(await draftsOf(shuffled, OCTOKIT_REPOSITORY)).toEqual(drafts);
    }),
    { numRuns: rounds(5, 60), endOnFailure: true },
  );
});

test('all examples make drafts in one repository', async () => {
  const { app, deliver, drafts } = await createRepository(OCTOKIT_REPOSITORY);
  // Each server numbers the repository anew.
  for (const { payload, ...telling } of [...byServer.values()].flat()) {
    await deliver({ ...telling, payload: changed(payload as Payload, { 'repository.id': 1 }) });
  }
  await runAll(app);
  expect(await app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
  expect(await drafts()).not.toEqual([]);
  const statuses = new Set((await logOf(app)).map(({ status }) => status));
  expect([...statuses].sort()).toEqual(['ignored', 'processed']);
});
