import { expect, test } from 'bun:test';
import { recoverDue } from '../../src/intake/recovery.ts';
import { connectWithToken } from '../../src/integrations/connect.ts';
import { tidings } from '../../src/lib/build.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { connectRocket, startProviderApp } from '../support/provider-app.ts';
import type { TestApp } from '../support/test-app.ts';

const HOUR_MS = 3_600_000;

async function look(app: TestApp) {
  app.clock.advance(HOUR_MS);
  await recoverDue(app.deps);
  const items = await app.db.read((tx) => findInDatabase(tx, app.clock.now(), ['webhook_off']));
  return items.map(({ message, action }) => ({ message, action }));
}

test('a webhook that was switched off at GitHub is an item until it is on again', async () => {
  await using provider = await startProviderApp();
  const { app } = provider;
  const { repository, integrationId } = await connectRocket(provider);
  const [hook] = repository.hooks;
  if (hook === undefined) throw new Error('no hook was made');
  expect(await look(app)).toEqual([]);
  hook.isActive = false;
  expect(await look(app)).toEqual([
    {
      message: 'acme/rocket: the webhook is switched off or deleted at GitHub',
      action: `${tidings} integration repair ${integrationId}`,
    },
  ]);
  hook.isActive = true;
  expect(await look(app)).toEqual([]);
});

test('a webhook that was switched off, or deleted, at Linear is an item, and asked about once an hour', async () => {
  await using provider = await startProviderApp();
  const { app, linear } = provider;
  await connectWithToken(app.deps, {
    type: 'linear',
    organizationId: 'org_a',
    token: linear.adminKey,
    places: ['ENG'],
  });
  const [hook] = linear.workspace.hooks;
  if (hook === undefined) throw new Error('no webhook was made');
  expect(await look(app)).toEqual([]);
  const asked = () => linear.operations.filter(({ fields }) => fields.includes('webhook')).length;
  const before = asked();
  app.clock.advance(600_000);
  await recoverDue(app.deps);
  expect(asked()).toBe(before);
  hook.enabled = false;
  expect(await look(app)).toMatchObject([
    { message: 'Engineering (ENG): the webhook is switched off or deleted at Linear' },
  ]);
  hook.enabled = true;
  expect(await look(app)).toEqual([]);
  linear.workspace.hooks.splice(0);
  expect(await look(app)).toHaveLength(1);
});
