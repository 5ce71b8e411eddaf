import { expect, test } from 'bun:test';
import { setEnabled } from '../../src/integrations/connect.ts';
import { disconnectIntegration } from '../../src/integrations/places.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { appWithGithub, claimCount, githubRequest, logOf } from '../support/deliveries.ts';
import { createTestApp } from '../support/test-app.ts';
import { openTogether } from '../support/together.ts';

// The receiver keeps the address of a verified delivery. The address as it is now decides about the next delivery and
// about its log entry, also when another process changed it.

const ping = { zen: 'x' };

/** The receiver has kept the address, and the log has the one delivery that it was kept from. */
async function setUp() {
  const { databases } = openTogether();
  const { app, connected } = await appWithGithub({ db: databases[0] });
  const deliver = (...request: ReturnType<typeof githubRequest>) => app.request(...request);
  expect((await deliver(...githubRequest(connected, ping))).status).toBe(200);
  return { app, other: createTestApp({ db: databases[1] }), connected, deliver };
}

/** A delivery that ends in the middle of its body, or at its end, after `meanwhile`. */
function slowRequest(
  connected: Connected,
  isAborted: boolean,
  meanwhile: () => Promise<unknown> = async () => undefined,
): [path: string, init: RequestInit] {
  const [path, init] = githubRequest(connected, ping);
  const body = new ReadableStream({
    async pull(controller) {
      await meanwhile();
      if (isAborted) controller.error(new Error('the connection was closed'));
      else {
        controller.enqueue(new TextEncoder().encode(String(init.body)));
        controller.close();
      }
    },
  });
  return [path, { ...init, body }];
}

test('an upload to a disabled integration that is cut off is refused as disabled', async () => {
  const { app, other, connected, deliver } = await setUp();
  await setEnabled(other.deps, connected.integrationId, false);
  expect((await deliver(...slowRequest(connected, true))).status).toBe(403);
  expect((await logOf(app)).map(({ statusCode, count }) => `${statusCode} ${count}`).sort()).toEqual([
    '200 1',
    '403 1',
  ]);
});

test('an upload to an integration that is gone leaves nothing in the log when it is cut off', async () => {
  const { app, other, connected, deliver } = await setUp();
  await disconnectIntegration(other.deps, connected.integrationId);
  const before = await logOf(app);
  expect((await deliver(...slowRequest(connected, true))).status).toBe(404);
  expect(await logOf(app)).toEqual(before);
});

test('a delivery with a secret that was rotated during its upload is taken, and logged from its arrival', async () => {
  const { app, other, connected } = await setUp();
  const { secret } = await rotateSecret(other.deps, connected.integrationId, { now: true });
  const arrivedAt = app.clock.now().toISOString();
  const request = slowRequest({ ...connected, secret: secret ?? '' }, false, async () =>
    app.clock.advance(5_000),
  );
  expect((await app.request(...request)).status).toBe(200);
  expect(await logOf(app)).toMatchObject([
    { status: 'processed', createdAt: arrivedAt },
    { status: 'processed', createdAt: arrivedAt },
  ]);
  expect(await claimCount(app)).toBe(2);
});
