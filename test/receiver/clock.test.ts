import { beforeEach, expect, test } from 'bun:test';
import { findNewestDeliveryTime } from '../../src/integrations/deliveries/count-store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { execute } from '../support/database.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import type { TestApp } from '../support/test-app.ts';

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

const HOUR_MS = 3_600_000;
const deliver = async (delivery: string) => {
  await app.request(...githubRequest(connected, { zen: 'x' }, { delivery }));
  return (await logOf(app)).find(
    ({ referenceId, status }) => referenceId === delivery && status !== 'duplicate',
  );
};

test('a folder without deliveries has no newest one', async () => {
  expect(await app.db.read((tx) => findNewestDeliveryTime(tx))).toBeNull();
});

test('the newest delivery is found in the log after the claims were swept', async () => {
  await deliver('one');
  await execute(app.db, 'DELETE FROM delivery_claims');
  expect(await app.db.read((tx) => findNewestDeliveryTime(tx))).toEqual(app.clock.now());
});

test('when the clock is set back, duplicates stay duplicates and new deliveries are accepted', async () => {
  expect(await deliver('one')).toMatchObject({ status: 'processed' });
  app.clock.advance(-48 * HOUR_MS);
  await deliver('one');
  expect(await deliver('two')).toMatchObject({ status: 'processed' });
  await deliver('two');
  const statuses = (await logOf(app)).map(({ referenceId, status }) => `${referenceId} ${status}`);
  expect(statuses.sort()).toEqual(['one duplicate', 'one processed', 'two duplicate', 'two processed']);
});
