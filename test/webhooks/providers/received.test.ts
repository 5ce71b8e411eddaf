import { expect, test } from 'bun:test';
import { githubSamples, sampleGithub } from '../../../src/client/samples/github/index.ts';
import { linearSamples, sampleLinear } from '../../../src/client/samples/linear/index.ts';
import {
  connectGithub,
  connectLinear,
  githubRequest,
  linearRequest,
  logOf,
} from '../../support/deliveries.ts';
import { createTestApp } from '../../support/test-app.ts';

// Each sample once through the whole receiver.

async function setUp() {
  const app = createTestApp();
  await app.addOrganization('org_a');
  return app;
}

test.each(githubSamples)('GitHub: %s', async (event) => {
  const app = await setUp();
  const connected = await connectGithub(app, 'org_a');
  const payload = sampleGithub(event, { repository: 'acme/rocket', now: app.clock.now() });
  const response = await app.request(...githubRequest(connected, payload, { event }));
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  expect(data.event).toBe(event);
  if (event !== 'ping') {
    expect(data.processed).toBeDefined();
    expect(data.repository).toEqual({ id: 512_408_771, fullName: 'acme/rocket' });
  }
  expect(await logOf(app)).toMatchObject([{ status: 'processed', payload: { event } }]);
});

test.each(linearSamples)('Linear: %s', async (event) => {
  const app = await setUp();
  const connected = await connectLinear(app, 'org_a');
  const payload = sampleLinear(event, { now: app.clock.now() });
  const response = await app.request(...linearRequest(connected, payload, { event }));
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  expect(data).toMatchObject({ event, processed: { data: { id: expect.any(String) } } });
  expect(await logOf(app)).toMatchObject([{ status: 'processed', payload: { event } }]);
});
