import { afterEach, beforeEach, expect, test } from 'bun:test';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { addPlace, disconnectIntegration, removePlace } from '../../src/integrations/places.ts';
import { rotateSecret } from '../../src/integrations/rotate.ts';
import { listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { listAuditEvents } from '../../src/people/audit.ts';
import { execute } from '../support/database.ts';
import { createHookWorld, type HookWorld } from '../support/hooks.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

// Changes that a provider takes part in: what it refuses is undone, event and all.

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
  await execute(world.db, 'DELETE FROM audit_events');
});

afterEach(() => world[Symbol.asyncDispose]());

const summaries = async () =>
  (await world.db.read((tx) => listAuditEvents(tx, 'org_a', {}, 100))).map(
    ({ action, summary }) => `${action}: ${summary}`,
  );

test('each change leaves one event, without the token or a secret', async () => {
  const id = await world.connect();
  const secrets = [world.token, await revealSecret(world.deps, id)];
  await addPlace(world.deps, id, 'acme/engine');
  secrets.push((await rotateSecret(world.deps, id)).secret);
  const token = world.github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
  await setToken(world.deps, id, token);
  await removePlace(world.deps, id, 'acme/engine');
  await disconnectIntegration(world.deps, id);
  expect(await summaries()).toEqual([
    'integration.disconnected: disconnected the GitHub integration acme/rocket',
    'integration.place_removed: removed acme/engine from the GitHub integration acme/engine and 1 more',
    'token.set: replaced the provider token of the GitHub integration acme/engine and 1 more',
    'secret.rotated: rotated the webhook secret of the GitHub integration acme/engine and 1 more',
    'integration.place_added: added acme/engine to the GitHub integration acme/rocket',
    'integration.connected: connected the GitHub integration acme/rocket',
  ]);
  const written = JSON.stringify([(await allRows(world.db)).audit_events, world.logged]);
  for (const secret of [...secrets, token]) expect(written).not.toContain(secret);
});

test('a token that is kept is an event, also when its webhooks cannot be made yet', async () => {
  const { integrationId } = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
  // The repository is found; what makes the webhook fails.
  world.github.failNext('answers 500', { after: 1, times: Number.POSITIVE_INFINITY });
  await rejection(setToken(world.deps, integrationId, world.token));
  const [integration] = await world.db.read((tx) => listIntegrations(tx, 'org_a'));
  expect(integration?.hasToken).toBe(true);
  expect((await summaries())[0]).toBe(
    'token.set: set a provider token for the GitHub integration acme/rocket',
  );
});

test('a token that is refused leaves no event', async () => {
  const { integrationId } = await connectIntegration(world.deps, 'github', 'org_a', 'acme/rocket');
  world.github.failNext('answers 401', { times: Number.POSITIVE_INFINITY });
  await rejection(setToken(world.deps, integrationId, world.token));
  expect(await summaries()).toHaveLength(1);
});

test('a connect that fails at the provider leaves neither an integration nor an event', async () => {
  // The first requests find the repository and its webhooks; the one that makes the webhook fails.
  for (const after of [0, 1, 2, 3]) {
    world.github.failNext('answers 403 for the permission', { after });
    const request = { type: 'github', organizationId: 'org_a', token: world.token } as const;
    const connecting = connectWithToken(world.deps, { ...request, places: ['acme/rocket'] });
    const isConnected = await connecting.then(
      () => true,
      () => false,
    );
    expect((await world.db.read((tx) => listIntegrations(tx, 'org_a'))).length).toBe(isConnected ? 1 : 0);
    expect((await summaries()).length).toBe(isConnected ? 1 : 0);
    if (isConnected) break;
  }
  expect(world.logged.map(({ msg }) => msg)).toContain(
    'Tidings undid the change because a later step failed',
  );
});

test('a repository that cannot be added, and a secret that cannot be rotated, leave no event', async () => {
  const id = await world.connect();
  world.github.failNext('answers 403 for the permission', { after: 2 });
  await rejection(addPlace(world.deps, id, 'acme/engine'));
  world.github.failNext('answers 403 for the permission');
  await rejection(rotateSecret(world.deps, id));
  expect(await summaries()).toEqual(['integration.connected: connected the GitHub integration acme/rocket']);
});

test('a disconnect that the provider refuses leaves no event', async () => {
  const id = await world.connect();
  world.github.failNext('answers 500');
  await rejection(disconnectIntegration(world.deps, id));
  expect(await summaries()).toHaveLength(1);
  world.github.failNext('answers 500');
  await disconnectIntegration(world.deps, id, { force: true });
  expect(await summaries()).toHaveLength(2);
});
