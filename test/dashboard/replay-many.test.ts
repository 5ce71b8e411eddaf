import { beforeEach, expect, test } from 'bun:test';
import type { Connected } from '../../src/integrations/model.ts';
import { deleteIntegration } from '../../src/integrations/store.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { createTrigger } from '../../src/triggers/service.ts';
import { pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { appWithGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

const LOG = '/dashboard/org_a/deliveries';

let app: TestApp;
let visit: VisitPage;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  visit = await pageVisitor(app, { role: 'member' });
  for (const event of ['ping', 'push', 'release', 'gollum']) {
    const payload = samplePayload('github', event, { repository: 'acme/rocket', now: app.clock.now() }) ?? {};
    await app.request(...githubRequest(connected, payload, { event }));
  }
  await createTrigger(app.deps, {
    integrationId: connected.integrationId,
    event: 'release',
    contentType: 'changelog',
  });
});

/** Replayed entries of the log, by event. */
async function replayed(): Promise<(string | null)[]> {
  return (await logOf(app)).filter(({ replayOf }) => replayOf !== null).map(({ payload }) => payload.event);
}

test('the deliveries that match the filters are replayed and become drafts', async () => {
  const response = await visit(`${LOG}/replay`, { event: 'release' });
  expect(response.status).toBe(303);
  expect(response.headers.get('location')).toBe(`${LOG}?event=release`);
  expect(await replayed()).toEqual(['release']);
  await runAll(app);
  expect(await postsOf(app)).toMatchObject([{ title: 'Rocket 2.4.0: quieter engines', status: 'draft' }]);
});

test('without filters every delivery with data is replayed, but no replay', async () => {
  for (let times = 0; times < 2; times++) await visit(`${LOG}/replay`, {});
  expect((await replayed()).sort()).toEqual(['push', 'push', 'release', 'release']);
  await runAll(app);
  expect(await postsOf(app)).toHaveLength(1);
});

test.each([{ status: 'ignored' }, { event: 'star' }, { integration: 'int_other' }])(
  'deliveries that cannot be replayed are skipped: %p',
  async (filter) => {
    expect((await visit(`${LOG}/replay`, filter)).status).toBe(303);
    expect(await replayed()).toEqual([]);
  },
);

test('deliveries of a disconnected integration are skipped', async () => {
  await app.db.write((tx) => deleteIntegration(tx, connected.integrationId));
  expect((await visit(`${LOG}/replay`, {})).status).toBe(303);
  expect(await replayed()).toEqual([]);
});

test('the log offers a replay with its filters, only when an entry can be replayed', async () => {
  const html = async (query: string) => (await visit(`${LOG}${query}`)).text();
  expect(await html('?event=release')).toContain('<input type="hidden" name="event" value="release"/>');
  expect(await html('')).toContain('Replay these deliveries');
  expect(await html('?status=ignored')).not.toContain('Replay these deliveries');
});
