import { beforeEach, expect, test } from 'bun:test';
import { connectIntegration } from '../../src/integrations/connect.ts';
import type { Connected } from '../../src/integrations/model.ts';
import { providerOf, samplePayload } from '../../src/providers/index.ts';
import { createTrigger } from '../../src/triggers/service.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { changed, type Payload } from '../support/payloads.ts';
import { appWithOrganization, PUBLIC_URL, type TestApp } from '../support/test-app.ts';

// A delivery of Forgejo from the request to the draft.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  app = await appWithOrganization();
  connected = await connectIntegration(app.deps, 'forgejo', 'org_a', 'acme/rocket');
});

function sample(event: string, changes: Payload = {}, action?: string): Payload {
  const options = { repository: 'acme/rocket', now: app.clock.now(), action };
  return changed(samplePayload('forgejo', event, options) ?? {}, changes);
}

/** As Forgejo sends it, with the headers that it adds for compatibility. */
function deliver(
  event: string,
  payload: Payload,
  { delivery = crypto.randomUUID(), secret = connected.secret }: { delivery?: string; secret?: string } = {},
) {
  const body = JSON.stringify(payload);
  const signed = providerOf('forgejo').sign({
    event,
    deliveryId: delivery,
    body,
    secret,
    now: app.clock.now(),
  });
  const headers = {
    ...signed,
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': delivery,
    'x-hub-signature-256': `sha256=${signed['x-forgejo-signature']}`,
  };
  return app.request(connected.webhookUrl.slice(PUBLIC_URL.length), { method: 'POST', headers, body });
}

test('a release becomes a draft, and its update changes the draft', async () => {
  await createTrigger(app.deps, {
    integrationId: connected.integrationId,
    event: 'release',
    contentType: 'changelog',
  });
  const response = await deliver('release', sample('release'));
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    message: 'Processed release: published',
    data: { event: 'release', repository: { fullName: 'acme/rocket' } },
  });
  await runAll(app);
  const [draft] = await postsOf(app);
  expect(draft).toMatchObject({
    title: 'Rocket 2.4.0: quieter engines',
    status: 'draft',
    markdown: expect.stringContaining('Quiet mode'),
    sourceMetadata: { platform: 'forgejo', repository: 'acme/rocket', version: '2.4.0', author: 'ann' },
  });

  app.clock.advance(60_000);
  expect((await deliver('release', sample('release', {}, 'updated'))).status).toBe(200);
  await runAll(app);
  const posts = await postsOf(app);
  expect(posts).toHaveLength(1);
  expect(posts[0]?.markdown).toContain('two pads');
});

test('pushes and merged pull requests become one rolling draft', async () => {
  for (const event of ['push', 'pull_request']) {
    await createTrigger(app.deps, {
      integrationId: connected.integrationId,
      event,
      contentType: 'changelog',
    });
    expect((await deliver(event, sample(event))).status).toBe(200);
  }
  await runAll(app);
  const texts = (await postsOf(app)).map(({ markdown }) => markdown);
  expect(texts.some((text) => text.includes('quiet mode'))).toBe(true);
  expect(texts.some((text) => text.includes("Show today's value after midnight"))).toBe(true);
});

test('a delivery is a row of the log, and the same id is a duplicate', async () => {
  expect((await deliver('push', sample('push'), { delivery: 'once' })).status).toBe(200);
  const again = await deliver('push', sample('push'), { delivery: 'once' });
  expect(await again.json()).toMatchObject({ message: expect.stringContaining('Duplicate delivery') });
  const [duplicate, processed] = await logOf(app);
  expect(duplicate?.status).toBe('duplicate');
  expect(processed).toMatchObject({
    status: 'processed',
    integrationType: 'forgejo',
    title: '2 commits pushed to main',
    payload: { event: 'push', action: 'pushed', data: { branch: 'main' } },
    headers: { 'x-forgejo-event': 'push', 'x-forgejo-delivery': 'once' },
  });
});

test('a wrong signature, a missing header and another repository are refused', async () => {
  expect((await deliver('push', sample('push'), { secret: 'wrong' })).status).toBe(401);
  const path = connected.webhookUrl.slice(PUBLIC_URL.length);
  const bare = await app.request(path, { method: 'POST', body: '{}' });
  expect(bare.status).toBe(400);
  expect(await bare.text()).toContain('Missing or invalid header: X-Forgejo-Event');
  const other = sample('push', { 'repository.full_name': 'acme/other' });
  expect((await deliver('push', other)).status).toBe(403);
});

test('a test delivery of Forgejo is a ping', async () => {
  const zeros = '0'.repeat(40);
  const response = await deliver('push', sample('push', { before: zeros, after: zeros }));
  expect(await response.json()).toMatchObject({ message: 'Webhook configured successfully' });
});
