import { expect, test } from 'bun:test';
import { describePollInterval } from '../../src/integrations/poll-store.ts';
import { listIntegrations } from '../../src/integrations/store.ts';
import { cookieOf, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { READER, startPolling } from '../support/polling.ts';
import { allRows } from '../support/rows.ts';

const LIST = '/dashboard/org_a/integrations';

async function open(options: Parameters<typeof startPolling>[0] = {}) {
  const world = await startPolling(options);
  const visit: VisitPage = await pageVisitor(world.app);
  const path = `${LIST}/${world.integrationId}`;
  const textOf = async (of = path) => (await visit(of)).text();
  return { ...world, visit, path, textOf };
}

const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');

test('connecting by polling needs a repository alone', async () => {
  await using world = await open();
  const { visit, github, app } = world;
  const engine = github.addRepository('acme/engine', { isPrivate: false });
  const connected = await visit(`${LIST}/github/poll`, { polled: 'acme/engine' });
  expect(noticeOf(connected)).toContain(
    'Connected by polling: acme/engine. Polling starts now and skips earlier releases.',
  );
  const [, added] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
  expect(added).toMatchObject({ isPolled: true, hasToken: false });
  expect(engine.hooks).toEqual([]);
});

test('a refused repository says why, keeps what was typed, and connects nothing', async () => {
  await using world = await open();
  const refused = await world.visit(`${LIST}/github/poll`, { polled: 'acme/none', apiToken: '' });
  expect(refused.status).toBe(400);
  const html = await refused.text();
  expect(html).toContain('GitHub has no public repository acme/none');
  expect(html).toContain('value="acme/none"');
  expect((await allRows(world.app.db)).integrations).toHaveLength(1);
});

test('polling is suggested where the public URL is local', async () => {
  await using world = await open();
  // The stand-in's app listens on 127.0.0.1.
  const html = await world.textOf(LIST);
  expect(html).toContain('Polling (no public URL needed)');
  expect(html).toContain('Suggested here, because GitHub can');
  expect(html).toContain('A token needs the permissions “Contents: read” and “Pull requests: read”.');
  expect(describePollInterval({ type: 'gitlab', hasToken: false }, 1_000)).toContain(
    'GitLab answers 30,000 requests an hour',
  );
  // The others are folded.
  expect(html.split('<details class="more" open').length - 1).toBe(1);
  const refused = await world.visit(`${LIST}/gitlab/choose`, { apiToken: 'x y' });
  const opened = (await refused.text()).match(/<details class="more" open[^>]*><summary>[^<]*/g);
  expect(opened).toEqual([expect.stringContaining('Webhook (needs a public URL)')]);
});

test('the page shows how often, the last and the next poll, and the budget', async () => {
  await using world = await open();
  const html = await world.textOf();
  expect(html).toContain(
    'Tidings asks every 5 minutes, because GitHub answers 60 requests an hour without a token.',
  );
  expect(html).toContain('of 60 requests left');
  expect(html).toContain('Last poll');
  expect(html).not.toContain('Repair webhooks');
  world.repository.isPrivate = true;
  const polled = await world.visit(`${world.path}/poll`, {});
  expect(noticeOf(polled)).toContain('Could not poll acme/rocket.');
  expect(await world.textOf()).toContain('a private repository needs a token');
  expect(await world.textOf(`${world.path}/check`)).toContain('The last round failed');
});

test('"Poll now" asks at once, and the log marks and filters what it found', async () => {
  await using world = await open({ token: READER });
  world.project.happen({ push: ['feat: a'] });
  const polled = await world.visit(`${world.path}/poll`, {});
  expect(noticeOf(polled)).toContain('1 event found.');
  const log = '/dashboard/org_a/deliveries';
  expect(await world.textOf(`${log}?via=polling`)).toContain('1 commit pushed to main');
  expect(await world.textOf(`${log}?via=webhook`)).not.toContain('1 commit pushed to main');
  const [entry] = (await allRows(world.app.db)).deliveries ?? [];
  const page = await world.textOf(`${log}/${entry?.id}`);
  expect(page).toContain('Polled');
  expect(page).not.toContain('Response time');
});

test('an owner changes to a webhook and back', async () => {
  await using world = await open({ token: READER });
  const { visit, path, repository, github } = world;
  expect(await world.textOf(`${path}/webhook`)).toContain('Create webhook');
  const created = await visit(`${path}/webhook`, { apiToken: '' });
  expect(noticeOf(created)).toContain('Polling ends after its first delivery.');
  await github.settled();
  expect(await world.textOf()).toContain('A webhook takes over.');
  await world.poll();
  expect(await world.textOf()).not.toContain('id="polling"');
  const back = await visit(`${path}/polling`, {});
  expect(noticeOf(back)).toContain('Tidings deletes the webhook after the next round.');
  await world.poll();
  expect(repository.hooks).toEqual([]);
});

test('a webhook can be set up by hand, with a secret that is shown once', async () => {
  await using world = await open();
  const html = await (await world.visit(`${world.path}/webhook-by-hand`, {})).text();
  expect(html).toContain('Webhook URL of acme/rocket');
  expect(html).toContain('Copy secret');
});

test('another organization reaches nothing of it', async () => {
  await using world = await open();
  const other = world.path.replace('org_a', 'org_b');
  for (const name of ['poll', 'webhook', 'polling', 'webhook-by-hand']) {
    expect((await world.visit(`${other}/${name}`, {})).status).toBe(404);
  }
});
