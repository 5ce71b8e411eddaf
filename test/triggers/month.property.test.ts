import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { runAll } from '../support/drafts.ts';
import { createRepository, type Draft, draftsOf, type Telling, type triggers } from '../support/histories.ts';
import { deliveryIdOf, monthOfDeliveries } from '../support/month/month.ts';
import { rounds } from '../support/rounds.ts';

// A month of a repository, told in any order: the drafts follow from what happened, not from how it was told.

const month = await monthOfDeliveries();
/** Everything that is told, in the order in which it happened; some of it is told under a second delivery id. */
const tellings: Telling[] = month.flatMap((telling, index) =>
  index % 3 === 0 ? [telling, { ...telling, deliveryId: deliveryIdOf(`${telling.about} again`) }] : [telling],
);
const inOrder = await draftsOf(tellings);

const titlesOf = (drafts: Draft[], trigger: keyof typeof triggers) =>
  drafts.filter((draft) => draft.trigger === trigger).map(({ title }) => title);

test('the month has drafts of every trigger, as its filters say', () => {
  const releases = ['Helm charts 1.3.0', 'Rocket 2.4: quieter nights', 'Rocket 2.5: to the moon', 'v2.4.1'];
  const rolling = [
    'Rocket 2.4: quieter nights',
    'Rocket 2.5: to the moon',
    'Unreleased: acme/rocket',
    'v2.4.1',
    'v2.5.0-rc.1',
  ];
  expect(titlesOf(inOrder, 'release-changelog')).toEqual([...releases, 'v2.5.0-rc.1']);
  expect(titlesOf(inOrder, 'release-linkedin')).toEqual([...releases, 'v2.5.0-rc.1']);
  expect(titlesOf(inOrder, 'stable-release-changelog')).toEqual(releases);
  expect(titlesOf(inOrder, 'push-since-v-tag-changelog')).toEqual(rolling);
  expect(titlesOf(inOrder, 'push-changelog')).toEqual(['Helm charts 1.3.0', ...rolling]);
  expect(titlesOf(inOrder, 'pull-request-changelog')).toEqual(['Helm charts 1.3.0', ...rolling]);
});

test('of two delivery ids the smaller is named', () => {
  const ids = new Set(inOrder.map(({ sourceMetadata }) => sourceMetadata.deliveryId));
  const told = Map.groupBy(tellings, ({ payload }) => payload);
  const named = [...told.values()].filter((same) => same.some(({ deliveryId }) => ids.has(deliveryId)));
  expect(named.some((same) => same.length === 2)).toBe(true);
  for (const same of named) {
    const [smallest] = same.map(({ deliveryId }) => deliveryId).sort();
    expect(ids).toContain(smallest);
  }
});

const anyPlace = fc.nat(tellings.length - 1);

/** How a month is told: what is put off by how many places, what comes again, and when the triggers run. */
const tellingOfMonth = fc
  .record({
    // From nearly in order, as networks do it, to any order at all.
    spread: fc.constantFrom(3, 20, 10 * tellings.length),
    delays: fc.array(fc.nat(1000), { minLength: tellings.length, maxLength: tellings.length }),
    repeated: fc.array(fc.record({ index: anyPlace, place: anyPlace }), { maxLength: tellings.length }),
    together: fc.integer({ min: 1, max: 10 }),
    runsEvery: fc.constantFrom(3, 15, Number.POSITIVE_INFINITY),
  })
  .map(({ spread, delays, repeated, together, runsEvery }) => {
    const placed = tellings.map((telling, index) => ({
      telling,
      place: index + (spread * (delays[index] ?? 0)) / 1000,
    }));
    const again = repeated.flatMap(({ index, place }) => {
      const telling = tellings[index];
      return telling === undefined ? [] : { telling, place };
    });
    const sorted = [...placed, ...again].sort((one, other) => one.place - other.place);
    return { batches: batchesOf(sorted, together), runsEvery };
  });

function batchesOf(placed: { telling: Telling }[], size: number): Telling[][] {
  const groups = Map.groupBy(placed.entries(), ([index]) => Math.floor(index / size));
  return Array.from(groups.values(), (group) => group.map(([, { telling }]) => telling));
}

test('every order and every repetition of the deliveries gives the same drafts', async () => {
  await fc.assert(
    fc.asyncProperty(tellingOfMonth, async ({ batches, runsEvery }) => {
      const repository = await createRepository();
      let running = Promise.resolve(0);
      for (const [index, batch] of batches.entries()) {
        if (index % runsEvery === 1) {
          await running;
          // As in the server, the triggers run while deliveries come in.
          running = runAll(repository.app);
        }
        await Promise.all(batch.map(repository.deliver));
      }
      await Promise.all([running, runAll(repository.app)]);
      // A run that waited for the commits of a release looks again later.
      repository.app.clock.advance(1_000);
      await runAll(repository.app);
      expect(await repository.app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
      expect(await repository.drafts()).toEqual(inOrder);
    }),
    // Skip shrinking: the rest of two hundred deliveries says no more than the seed.
    { numRuns: rounds(2, 400), endOnFailure: true },
  );
}, 3_600_000);
