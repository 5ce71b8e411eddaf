import { expect, test } from 'bun:test';
import { sign } from '@octokit/webhooks-methods';
import type { Connected } from '../../src/integrations/model.ts';
import { github } from '../../src/providers/github/provider.ts';
import { sampleEvents, samplePayload } from '../../src/providers/index.ts';
import { SAMPLE_REPOSITORY_ID } from '../../src/providers/provider.ts';
import {
  appWithGithub,
  connectGithub,
  connectLinear,
  githubRequest,
  linearRequest,
  logOf,
} from '../support/deliveries.ts';
import { githubExamples } from '../support/github.ts';
import { appWithOrganization } from '../support/test-app.ts';

// Each sample once through the whole receiver.

test.each(sampleEvents('github'))('GitHub: %s', async (event) => {
  const { app, connected } = await appWithGithub();
  const payload = samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() });
  const response = await app.request(...githubRequest(connected, payload, { event }));
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  expect(data.event).toBe(event);
  if (event !== 'ping') {
    expect(data.processed).toBeDefined();
    expect(data.repository).toEqual({ id: SAMPLE_REPOSITORY_ID, fullName: 'acme/rocket' });
  }
  expect(await logOf(app)).toMatchObject([{ status: 'processed', payload: { event } }]);
});

test.each(sampleEvents('linear'))('Linear: %s', async (event) => {
  const app = await appWithOrganization();
  const connected = await connectLinear(app, 'org_a');
  const payload = samplePayload('linear', event, { now: app.clock.now() });
  const response = await app.request(...linearRequest(connected, payload, { event }));
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: Record<string, unknown> };
  expect(data).toMatchObject({ event, processed: { data: { id: expect.any(String) } } });
  expect(await logOf(app)).toMatchObject([{ status: 'processed', payload: { event } }]);
});

test("all of GitHub's published examples, signed by GitHub's own library, are answered with 200 and logged", async () => {
  const app = await appWithOrganization();
  const byRepository = new Map<unknown, Connected>();
  const examples = await githubExamples();
  expect(examples).toHaveLength(329);
  for (const { event, payload } of examples) {
    const repository = github.repositoryOf(payload);
    const connected =
      byRepository.get(repository?.id) ?? (await connectGithub(app, 'org_a', repository?.fullName));
    byRepository.set(repository?.id, connected);
    const body = JSON.stringify(payload);
    const headers = { 'x-hub-signature-256': await sign(connected.secret, body) };
    const response = await app.request(...githubRequest(connected, body, { event, headers }));
    expect(response.status, `${event} ${payload.action}`).toBe(200);
  }
  const log = await logOf(app);
  expect(log).toHaveLength(329);
  const counts = Object.entries(Object.groupBy(log, ({ status }) => status)).map(([status, all]) => [
    status,
    all.length,
  ]);
  expect(Object.fromEntries(counts)).toEqual({ processed: 20, ignored: 309 });
});
