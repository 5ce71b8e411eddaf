import { beforeEach, describe, expect, test } from 'bun:test';
import { addPlace } from '../../src/integrations/places.ts';
import { getIntegration } from '../../src/integrations/store.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { sampleFor } from '../../src/providers/index.ts';
import { execute, valuesOf } from '../support/database.ts';
import { appWithGithub, claimCount, githubRequest, logOf } from '../support/deliveries.ts';
import { releaseOf } from '../support/hooks.ts';
import type { Payload } from '../support/payloads.ts';
import type { TestApp } from '../support/test-app.ts';

// A payload must be about the repository of its URL.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
});

const release = (id: number, name: string, tag = 'v1.0.0') => releaseOf({ id, name }, tag);

async function send(payload: Payload, event = 'release', to: Connected = connected) {
  const response = await app.request(...githubRequest(to, payload, { event }));
  return { status: response.status, ...((await response.json()) as { error?: string }) };
}

/** The repositories of the integration, as `name id`. */
async function repositories() {
  const { repositories: all } = await app.db.read((tx) => getIntegration(tx, connected.integrationId));
  return all.map(({ fullName, providerId }) => `${fullName} ${providerId}`);
}

/** The names of the repository that events were kept under. */
const eventNames = async () => (await valuesOf(app.db, 'SELECT repository FROM events')).flat();

const REFUSED = { status: 403, error: 'Repository does not belong to the integration' };

describe('before the id is known, the name decides:', () => {
  test('another repository is refused, named in the log, and leaves nothing else', async () => {
    expect(await send(release(666, 'evil/other'))).toEqual(REFUSED);
    expect(await logOf(app)).toMatchObject([
      {
        status: 'rejected',
        statusCode: 403,
        title: 'Repository does not belong to the integration',
        reason:
          "The delivery is about evil/other, but the webhook's URL is for acme/rocket. Correct the URL at GitHub, or connect evil/other too. If acme/rocket was renamed, remove it from the integration and add it under its new name.",
        payload: { event: 'release', action: null, data: { repository: 'evil/other' } },
        repositoryId: connected.repositoryId as string,
      },
    ]);
    expect(await repositories()).toEqual(['acme/rocket null']);
    expect([await claimCount(app), await eventNames()]).toEqual([0, []]);
  });

  test.each(['release', 'ping', 'gollum'])(
    'a verified %s of that name teaches the id and the spelling',
    async (event) => {
      expect(await send(release(7, 'Acme/Rocket'), event)).toMatchObject({ status: 200 });
      expect(await repositories()).toEqual(['Acme/Rocket 7']);
    },
  );

  test('a delivery that is not taken teaches nothing', async () => {
    const forged = githubRequest(connected, release(7, 'acme/rocket'), { event: 'release', secret: 'wrong' });
    expect((await app.request(...forged)).status).toBe(401);
    const { release: _, ...malformed } = release(7, 'acme/rocket');
    expect((await send(malformed)).status).toBe(400);
    expect(await repositories()).toEqual(['acme/rocket null']);
  });

  test('a delivery that fails teaches nothing', async () => {
    await execute(app.db, 'ALTER TABLE events RENAME TO former_events');
    expect((await send(release(7, 'acme/rocket'))).status).toBe(500);
    await execute(app.db, 'ALTER TABLE former_events RENAME TO events');
    expect(await repositories()).toEqual(['acme/rocket null']);
  });

  test('a payload that names no repository is taken as before', async () => {
    expect((await send({ zen: 'Keep it logically awesome.', hook_id: 1 }, 'ping')).status).toBe(200);
    expect(await repositories()).toEqual(['acme/rocket null']);
  });
});

describe('once the id is known, it decides:', () => {
  beforeEach(async () => {
    await send(release(7, 'acme/rocket'));
  });

  test('a renamed repository stays connected, and its posts say the new name', async () => {
    expect((await send(release(7, 'moon/lander', 'v2.0.0'))).status).toBe(200);
    expect(await repositories()).toEqual(['moon/lander 7']);
    expect((await eventNames()).sort()).toEqual(['acme/rocket', 'moon/lander']);
    expect(await send(release(8, 'acme/rocket', 'v3.0.0'))).toEqual(REFUSED);
  });

  test('another repository under the same name is refused, with advice', async () => {
    expect(await send(release(8, 'acme/rocket', 'v2.0.0'))).toEqual(REFUSED);
    const [refused] = (await logOf(app)).filter(({ status }) => status === 'rejected');
    expect(refused?.reason).toBe(
      'GitHub has another repository under the name acme/rocket now: its ID is 8, not 7. Remove the repository from the integration and add it again.',
    );
    expect(await repositories()).toEqual(['acme/rocket 7']);
  });

  test('a duplicate and a name that cannot be one change nothing', async () => {
    const request = githubRequest(connected, release(7, 'acme/rocket', 'v2.0.0'), {
      event: 'release',
      delivery: 'd',
    });
    await app.request(...request);
    const renamed = githubRequest(connected, release(7, 'acme/new', 'v2.0.0'), {
      event: 'release',
      delivery: 'd',
    });
    expect((await app.request(...renamed)).status).toBe(200);
    expect((await send(release(7, 'not a name', 'v3.0.0'))).status).toBe(200);
    expect(await repositories()).toEqual(['acme/rocket 7']);
  });

  test('a sample goes by its name', async () => {
    const integration = await app.db.read((tx) => getIntegration(tx, connected.integrationId));
    const sample = sampleFor(integration, 'release', { now: app.clock.now() }) ?? {};
    expect((await send(sample)).status).toBe(200);
    expect(await repositories()).toEqual(['acme/rocket 7']);
  });

  test('a second entry for the same repository is served, and learns no id that is taken', async () => {
    const second = await addPlace(app.deps, connected.integrationId, 'moon/lander');
    const to = { ...connected, webhookUrl: second.webhookUrl };
    expect((await send(release(7, 'moon/lander', 'v2.0.0'), 'release', to)).status).toBe(200);
    expect(await repositories()).toEqual(['acme/rocket 7', 'moon/lander null']);
  });
});

test('a name in a log entry is one line of limited length', async () => {
  await send(release(1, `evil/\u0000\u001b[2J\n${'x'.repeat(10_000)}`));
  const [refused] = await logOf(app);
  expect(String(refused?.payload.data?.repository)).toHaveLength(200);
  expect(refused?.reason).toMatch(/^The delivery is about evil\/ \[2J x{100,}/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must be gone
  expect(JSON.stringify(refused)).not.toMatch(/[\u0000-\u001f]|\\u00/);
});

test('a sample is of the repository that it is sent to', async () => {
  const second = await addPlace(app.deps, connected.integrationId, 'acme/engine');
  const integration = await app.db.read((tx) => getIntegration(tx, connected.integrationId));
  const options = { now: app.clock.now(), repositoryId: second.repositoryId };
  const sample = sampleFor(integration, 'release', options) ?? {};
  const to = { ...connected, webhookUrl: second.webhookUrl };
  expect((await send(sample, 'release', to)).status).toBe(200);
});
