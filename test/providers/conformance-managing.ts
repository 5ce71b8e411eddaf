import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { connectWithToken, listPlaces } from '../../src/integrations/connect.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { findMissed, redeliverMissed } from '../../src/integrations/missed.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import { repairHooks, rotateSecret } from '../../src/integrations/rotate.ts';
import { hookEventsFor } from '../../src/providers/index.ts';
import { logOf } from '../support/deliveries.ts';
import { type Beside, DAY_MS, MINUTE_MS, type Subject, startBeside } from '../support/provider-kit.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

// The webhook at the provider, which Tidings makes, repairs and deletes with a token.

const ROWS = ['integrations', 'repositories', 'hooks'];

export function managingTests(subject: Subject): void {
  const { provider } = subject;
  const { id: type, api } = provider;

  test.skipIf(api !== null)(
    'says how a person sets up its webhook, and how a missed delivery comes back',
    () => {
      const [steps, redelivery] = [provider.words.steps(subject.repository), provider.words.redelivery];
      expect(steps.length).toBeGreaterThanOrEqual(2);
      expect(redelivery).toBeString();
    },
  );

  describe.skipIf(api === null)('a webhook that Tidings manages', () => {
    let beside: Beside;
    let integrationId: string;
    const connect = (place = beside.world.place, token = beside.world.token) =>
      connectWithToken(beside.deps, { type, organizationId: 'org_a', token, places: [place] });
    const rowCounts = async () => {
      const rows = await allRows(beside.app.db);
      return ROWS.map((table) => rows[table]?.length ?? 0);
    };
    const problemCodes = async () => {
      const { findings } = await diagnose(beside.deps, integrationId);
      return findings.filter(({ status }) => status === 'failed').map(({ code }) => code);
    };

    beforeEach(async () => {
      beside = await startBeside(subject);
      ({ integrationId } = await connect());
      await beside.world.settled();
    });
    afterEach(() => beside[Symbol.asyncDispose]());

    test('is made for all events that triggers need, and delivers', async () => {
      const { app, world } = beside;
      const { hooks } = await allRows(app.db);
      expect(hooks).toMatchObject([{ events: JSON.stringify(hookEventsFor(provider, [])), problem: null }]);
      expect(world.hooks()).toEqual([{ url: expect.stringContaining(`/${integrationId}`), isActive: true }]);
      expect(await problemCodes()).toEqual([]);
      expect(await world.ship(1)).toEqual([200]);
      await world.settled();
      const log = await logOf(app);
      expect(new Set(log.map(({ status }) => status))).toContain('processed');
      expect(log.filter(({ status }) => status === 'rejected' || status === 'failed')).toEqual([]);
      expect((await allRows(app.db)).events?.length).toBeGreaterThan(0);
    });

    test('answers the test delivery that it asks for', async () => {
      const [pinged] = await repairHooks(beside.deps, integrationId);
      await beside.world.settled();
      expect(pinged?.hasPinged).toBe(subject.ping === null ? null : true);
      const pings = (await logOf(beside.app)).filter(({ payload }) => payload.event === 'ping');
      expect(pings.length > 0).toBe(subject.ping !== null);
    });

    test.each([
      ['deleted', 'hook_deleted', () => beside.world.deleteHooks()],
      ['switched off', 'hook_differs', () => beside.world.switchOffHooks()],
    ] as const)('that somebody %s is found by the doctor, and repaired', async (_, code, harm) => {
      harm();
      expect(await problemCodes()).toContain(code);
      await repairHooks(beside.deps, integrationId);
      await beside.world.settled();
      expect(await problemCodes()).toEqual([]);
      expect(beside.world.hooks()).toMatchObject([{ isActive: true }]);
      expect(await beside.world.ship(1)).toEqual([200]);
    });

    test('gets a rotated secret, and the old one is accepted for a day', async () => {
      const { app, deps, world } = beside;
      const useOldSecret = world.keepSecrets();
      expect(await rotateSecret(deps, integrationId)).toMatchObject({ isSetAtProvider: true });
      expect(await world.ship(1)).toEqual([200]);
      useOldSecret();
      app.clock.advance(DAY_MS - MINUTE_MS);
      expect(await world.ship(2)).toEqual([200]);
      app.clock.advance(2 * MINUTE_MS);
      expect(await world.ship(3)).toEqual([401]);
      expect(await problemCodes()).toContain('secret_refused');
    });

    test('is deleted with the integration', async () => {
      expect(await disconnectIntegration(beside.deps, integrationId)).toEqual({ left: [] });
      expect(beside.world.hooks()).toEqual([]);
      expect(await rowCounts()).toEqual([0, 0, 0]);
      expect(await beside.world.ship(1)).toEqual([]);
    });

    test('is not made twice for one place', async () => {
      const before = [beside.world.hooks(), await rowCounts()];
      expect(await rejection(connect())).toMatchObject({ status: 409 });
      expect([beside.world.hooks(), await rowCounts()]).toEqual(before);
    });

    test.each([
      ['an unknown token', 'bad-token', (world: Beside['world']) => [world.place, 'unknown-token']],
      ['an unknown place', 'place-not-found', (world: Beside['world']) => [`${world.place}-2`, world.token]],
    ] as const)('is not made with %s, and nothing is stored', async (_, kind, words) => {
      await disconnectIntegration(beside.deps, integrationId);
      const [place, token = ''] = words(beside.world);
      const refused = await rejection(connect(place, token));
      expect(refused).toMatchObject({ kind });
      expect(refused.message).not.toContain(token);
      expect([beside.world.hooks(), await rowCounts()]).toEqual([[], [0, 0, 0]]);
    });

    test('can be made at each place that the token may administer', async () => {
      const { places, isCut } = await listPlaces(beside.deps, type, beside.world.token);
      expect(isCut).toBe(false);
      expect(places.filter(({ canAdminister }) => canAdminister).length).toBeGreaterThan(0);
    });

    test('keeps its secret and the token out of every log', async () => {
      await beside.world.ship(1);
      expect(JSON.stringify([beside.app.logged, await logOf(beside.app)])).not.toContain(beside.world.token);
    });

    test.skipIf(api?.redelivery === null)('sends again what nobody answered, once', async () => {
      const { app, deps, world } = beside;
      app.clock.advance(MINUTE_MS);
      beside.goAway();
      await world.ship(1);
      beside.comeBack();
      const { missed } = await findMissed(deps, integrationId);
      expect(missed.length).toBeGreaterThan(0);
      expect(missed.every(({ fate }) => fate === 'never-arrived')).toBe(true);
      expect(await problemCodes()).toContain('deliveries_missed');
      const redelivered = await redeliverMissed(deps, integrationId, 'all');
      expect(redelivered.map(({ problem }) => problem)).toEqual(missed.map(() => null));
      await world.settled();
      expect((await findMissed(deps, integrationId)).missed).toEqual([]);
      expect((await allRows(app.db)).events).toHaveLength(1);
    });

    test.skipIf(api?.redelivery !== null)('says that the provider lists no deliveries', async () => {
      expect(await rejection(findMissed(beside.deps, integrationId))).toMatchObject({
        problem: { code: 'no_delivery_list' },
      });
      expect(provider.words.redelivery).toBeString();
    });
  });
}
