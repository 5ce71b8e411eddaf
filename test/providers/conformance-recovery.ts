import { describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { recoverDue } from '../../src/intake/recovery.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import { logOf } from '../support/deliveries.ts';
import { textsOf } from '../support/drafts.ts';
import { MINUTE_MS, type Shipped, type Subject, startBeside } from '../support/provider-kit.ts';

// Events of a time when nobody answers come back without a person, by whichever way the provider has.

const BEFORE: Shipped[] = [
  { push: ['feat: first', 'fix: second'] },
  { merge: 11, title: 'feat: eleven', labels: ['feature'] },
  { release: 'v1.0.0', notes: '- First' },
];

const AWAY: Shipped[] = [
  { push: ['feat: third', 'fix: fourth'] },
  { merge: 12, title: 'fix: twelve' },
  { push: ['feat: fifth'] },
  { release: 'v1.1.0' },
  { merge: 13, title: 'feat: thirteen' },
  { release: 'v1.2.0', notes: '- Third' },
];

const AFTER: Shipped[] = [{ push: ['fix: sixth', 'feat: seventh'] }, { merge: 14, title: 'fix: fourteen' }];

export function recoveryTests(subject: Subject): void {
  const { provider } = subject;
  const { id: type, api, reader } = provider;

  async function start() {
    const beside = await startBeside(subject);
    const { app, deps, world } = beside;
    const request = { type, organizationId: 'org_a', token: world.token, places: [world.place] } as const;
    const { integrationId } = await connectWithToken(deps, request);
    await world.settled();
    for (const event of ['release', 'push', 'pull_request'] as const)
      await createTrigger(deps, { integrationId, event, contentType: 'changelog' });
    const live = async (some: readonly Shipped[]) => {
      for (const each of some) {
        app.clock.advance(MINUTE_MS);
        await world.code?.happen(each);
      }
    };
    const run = async (ms: number, beatMs = 10_000) => {
      for (let left = ms; left >= 0; left -= beatMs) {
        await recoverDue(deps);
        await world.settled();
        await pollDue(deps);
        app.clock.advance(beatMs);
      }
    };
    return { ...beside, integrationId, live, run };
  }

  type Started = Awaited<ReturnType<typeof start>>;

  // Each stand-in has a port of its own.
  const texts = async ({ app }: Started) =>
    (await textsOf(app)).map((text) => text.replaceAll(/127\.0\.0\.1:\d+/g, 'host'));

  const taken = async ({ app }: Started) =>
    (await logOf(app)).flatMap(({ status, title, payload }) =>
      status === 'processed' && payload.data !== null ? title : [],
    );

  test.skipIf(api === null)('what a webhook did not deliver can be read', () => {
    expect(reader !== null || api?.changes === true).toBe(true);
  });

  describe.skipIf(api === null || reader === null)('a webhook that nobody answers', () => {
    test('loses nothing, and brings nothing twice', async () => {
      await using undisturbed = await start();
      await undisturbed.run(0);
      await undisturbed.live([...BEFORE, ...AWAY, ...AFTER]);
      const expected = await texts(undisturbed);

      await using disturbed = await start();
      await disturbed.run(0);
      await disturbed.live(BEFORE);
      disturbed.goAway();
      await disturbed.live(AWAY);
      disturbed.comeBack();
      await disturbed.live(AFTER);
      await disturbed.run(15 * MINUTE_MS);
      expect(await texts(disturbed)).toEqual(expected);
      const once = await taken(disturbed);
      await disturbed.run(25 * 60 * MINUTE_MS, 10 * MINUTE_MS);
      expect(await taken(disturbed)).toEqual(once);
    });

    test('is read while somebody has switched it off', async () => {
      await using undisturbed = await start();
      await undisturbed.run(0);
      await undisturbed.live([...BEFORE, ...AWAY]);
      const expected = await texts(undisturbed);

      await using disturbed = await start();
      await disturbed.run(0);
      await disturbed.live(BEFORE);
      disturbed.world.switchOffHooks();
      await disturbed.live(AWAY);
      await disturbed.run(75 * MINUTE_MS);
      expect(await texts(disturbed)).toEqual(expected);
    });
  });
}
