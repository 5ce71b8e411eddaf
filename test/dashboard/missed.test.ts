import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { recoverDue } from '../../src/intake/recovery.ts';
import { connectWithToken, setEnabled } from '../../src/integrations/connect.ts';
import { addPlace } from '../../src/integrations/places.ts';
import { trackUptime } from '../../src/integrations/uptime.ts';
import { pageVisitor, signedIn, type VisitPage } from '../support/dashboard.ts';
import { connectGithub, connectLinear, logOf } from '../support/deliveries.ts';
import { releaseOf } from '../support/hooks.ts';
import {
  type addRocket,
  connectRocket,
  hiddenFields,
  type ProviderApp,
  startProviderApp,
} from '../support/provider-app.ts';
import { MINUTE_MS, startRecovery } from '../support/recovery.ts';

const LIST = '/dashboard/org_a/integrations';

let started: ProviderApp;
let visit: VisitPage;
let rocket: ReturnType<typeof addRocket>['repository'];
let id: string;
let path: string;

beforeEach(async () => {
  started = await startProviderApp();
  ({ repository: rocket, integrationId: id } = await connectRocket(started));
  path = `${LIST}/${id}/missed`;
  visit = await pageVisitor(started.app);
});

afterEach(() => started[Symbol.asyncDispose]());

const textOf = async (of = path) => (await visit(of)).text();
/** So many deliveries that are refused while the integration is disabled. Resolves to their ids. */
async function miss(count: number): Promise<string[]> {
  const { app, github } = started;
  await setEnabled(app.deps, id, false);
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    app.clock.advance(1000);
    for (const { guid } of await github.emit(rocket, 'release', releaseOf(rocket, `v1.${number}.0`)))
      ids.push(guid);
  }
  await setEnabled(app.deps, id, true);
  expect(ids).toHaveLength(count);
  return ids;
}

/** The deliveries of the log that were taken. */
const taken = async () => {
  await started.github.settled();
  const entries = await logOf(started.app);
  return entries.flatMap(({ statusCode, referenceId, payload }) =>
    statusCode === 200 && payload.event !== 'ping' ? [referenceId] : [],
  );
};

describe('missed deliveries', () => {
  test('there are none', async () => {
    const html = await textOf();
    expect(html).toContain('No deliveries are missing: 0 arrived, 0 failed, 0 never arrived');
    expect(html).not.toContain('<form method="post" action="/dashboard/org_a/integrations');
  });

  test('are listed, redelivered, and then in the log', async () => {
    const missed = await miss(2);
    const html = await textOf();
    expect(html).toContain('0 arrived, 2 failed, 0 never arrived');
    expect(html).toContain('release published');
    expect(html).toContain('value="chosen"');
    const rows = Array.from(html.matchAll(/name="delivery" value="([^"]+)"/g), ([, value]) => value);
    expect(rows).toEqual(missed);
    const fields = Object.fromEntries(hiddenFields(html, path));
    const asked = await visit(path, { ...fields, which: 'all' });
    expect(asked.status).toBe(200);
    const answer = await asked.text();
    expect(answer).toContain('<h1>Requested 2 deliveries from GitHub</h1>');
    expect(answer).toContain(`/dashboard/org_a/deliveries?integration=${id}"`);
    expect((await taken()).sort()).toEqual([...missed].sort());
    expect(await textOf()).toContain('No deliveries are missing: 2 arrived');
    expect((await visit(path, { ...fields, which: 'all' })).status).toBe(303);
  });

  test('that never arrived are counted apart', async () => {
    const [hook] = rocket.hooks;
    if (hook === undefined) return expect.unreachable();
    const { url } = hook.config;
    hook.config.url = 'http://127.0.0.1:1';
    await started.github.emit(rocket, 'release', releaseOf(rocket, 'v1.0.0'));
    hook.config.url = url;
    const html = await textOf();
    expect(html).toContain('0 failed, 1 never arrived');
    expect(html).toContain('failed to connect to host');
    // There is nothing to choose from.
    expect(html).not.toContain('value="chosen"');
  });

  test('that are chosen are redelivered', async () => {
    const [first = '', second = '', third = ''] = await miss(3);
    const owner = await signedIn(started.app, { organizationId: 'org_a' });
    const body = new URLSearchParams([
      ['which', 'chosen'],
      ['delivery', first],
      ['delivery', third],
    ]);
    const asked = await owner(path, { method: 'POST', body });
    expect(await asked.text()).toContain('Requested 2 deliveries from GitHub');
    expect((await taken()).sort()).toEqual([first, third].sort());
    expect(await textOf()).toContain(`value="${second}"`);
  });

  test.each([
    ['nothing chosen', { which: 'chosen' }, 'Select at least one delivery.'],
    ['one that is not missing', { delivery: 'guid' }, 'Delivery guid is not missing.'],
  ])('%s: is refused, and requests nothing', async (_, fields: Record<string, string>, says) => {
    await miss(1);
    const refused = await visit(path, fields);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain(says);
    expect(await taken()).toEqual([]);
  });

  test('that GitHub does not redeliver are listed with the reason', async () => {
    const missed = await miss(2);
    started.github.failNext('answers 500', { after: 1 });
    const refused = await visit(path, { which: 'all' });
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('GitHub refused to redeliver');
    expect(html).toContain(missed[0] ?? 'none');
    expect(html).toContain('GitHub failed with status 500');
    expect(await taken()).toEqual([]);
  });

  test('are unknown if GitHub fails', async () => {
    started.github.failNext('answers 401');
    const page = await visit(path);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('GitHub rejected the token');
    started.github.failNext('answers 500', { times: 2 });
    const refused = await visit(path, { which: 'all' });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('Tidings could not compare the deliveries.');
  });

  test('are unknown at Linear and without a token', async () => {
    const linear = await connectLinear(started.app, 'org_a');
    expect(await textOf(`${LIST}/${linear.integrationId}/missed`)).toContain(
      'Linear lists no deliveries. It retries a failed one for up to 7 hours',
    );
    const github = await connectGithub(started.app, 'org_a', 'acme/by-hand');
    expect(await textOf(`${LIST}/${github.integrationId}/missed`)).toContain('Add token');
    for (const { integrationId } of [linear, github]) {
      expect((await visit(`${LIST}/${integrationId}/missed`, { which: 'all' })).status).toBe(400);
    }
  });
});

describe('after a pause of the server', () => {
  const HOUR_MS = 3_600_000;
  const NOTE = 'Tidings was not running from';

  /** The server ran, was away for so long, and runs again. */
  async function pause(awayMs: number): Promise<void> {
    const { deps, clock } = started.app;
    await trackUptime({ ...deps, process: 'test' }).begin();
    clock.advance(awayMs);
    await trackUptime({ ...deps, process: 'test' }).begin();
  }

  const byHand = async () =>
    `${LIST}/${(await connectGithub(started.app, 'org_a', 'acme/by-hand')).integrationId}`;

  test('an integration without a token says what would bring its deliveries back', async () => {
    const page = await byHand();
    expect(await textOf(page)).not.toContain(NOTE);
    await pause(HOUR_MS);
    const html = await textOf(page);
    expect(html).toContain('Nov 20, 2026, 12:00</time>');
    expect(html).toContain('Nov 20, 2026, 13:00</time>');
    expect(html).toContain('GitHub keeps deliveries for 3 days');
    expect(html).toContain(`href="${page}/token">Add token`);
    const member = await pageVisitor(started.app, { role: 'member' });
    const seen = await (await member(page)).text();
    expect(seen).toContain('Owners can add a token.');
    expect(seen).not.toContain('/token"');
  });

  test('Linear says how long it retries', async () => {
    const { integrationId } = await connectLinear(started.app, 'org_a');
    await pause(HOUR_MS);
    expect(await textOf(`${LIST}/${integrationId}`)).toContain('It retries a failed one for up to 7 hours');
  });

  test('with a token Tidings asks for them, so there is no note', async () => {
    await pause(HOUR_MS);
    expect(await textOf(`${LIST}/${id}`)).not.toContain(NOTE);
  });

  test.each([
    ['that was a restart', () => pause(60_000)],
    [
      'that GitHub tells nothing of any more',
      async () => {
        await pause(HOUR_MS);
        started.app.clock.advance(72 * HOUR_MS);
      },
    ],
  ])('a pause %s shows no note', async (_, happen) => {
    const page = await byHand();
    await happen();
    visit = await pageVisitor(started.app);
    expect(await textOf(page)).not.toContain(NOTE);
  });
});

test('a repository whose webhook is gone is named beside the missed deliveries of the others', async () => {
  const lander = started.github.addRepository('acme/lander', { rights: { ann: 'admin' } });
  await addPlace(started.app.deps, id, 'acme/lander');
  await started.github.settled();
  lander.hooks.splice(0);
  const [missing = ''] = await miss(1);
  const html = await textOf();
  expect(html).toContain('Tidings could not read the deliveries of acme/lander. ');
  expect(html).toContain(missing);
});

test('the page of the integration shows what was missing, and what came back', async () => {
  await using world = await startRecovery();
  const { app, integrationId } = world;
  const page = async () => (await (await pageVisitor(app))(`${LIST}/${integrationId}`)).text();
  expect(await page()).toContain('None yet');
  await world.start();
  world.goAway();
  for (const tag of ['v1.0.0', 'v1.1.0']) await world.happen({ release: tag });
  world.comeBack();
  await world.recover(11 * MINUTE_MS);
  expect(await page()).toContain('Requested again');
  await world.recover(20 * MINUTE_MS);
  const html = await page();
  expect(html).toContain('<h2 id="recovery">Missed deliveries</h2>');
  expect(html).toContain('2 of 2');
  expect(html).toContain('2 arrived');
  for (const hook of world.repository.hooks) hook.isActive = false;
  await world.happen({ release: 'v1.2.0' });
  await world.recover(90 * MINUTE_MS, 10 * MINUTE_MS);
  expect(await page()).toContain('The webhook is switched off. Tidings reads the changes.');
  expect(await page()).toContain('Read through the API');
});

test('the page of Linear shows what was read, and what its plan does not list', async () => {
  const { app, linear } = started;
  const { integrationId } = await connectWithToken(app.deps, {
    type: 'linear',
    organizationId: 'org_a',
    token: linear.adminKey,
    places: ['ENG'],
  });
  const page = () => textOf(`${LIST}/${integrationId}`);
  linear.workspace.lacks.add('releases');
  const [team] = linear.workspace.teams;
  const updatedAt = app.clock.now().toISOString();
  const state = { type: 'started', name: 'Doing' };
  const fields = { id: 'issue-1', identifier: 'ENG-1', title: 'Fuel gauge', url: 'https://linear.app/1' };
  linear.lose({
    type: 'Issue',
    action: 'update',
    data: { ...fields, teamId: team?.id, team, state, updatedAt, completedAt: null },
  });
  await recoverDue(app.deps);
  const html = await page();
  expect(html).toContain('Every 10 minutes, Tidings reads the changes at Linear');
  expect(html).toContain('Linear has no ping, so there is no heartbeat');
  expect(html).toContain('1 of 1');
  expect(html).toContain('Read through the API');
  expect(html).toContain('read Release: Linear rejected the request');
  for (const hook of linear.workspace.hooks) hook.enabled = false;
  app.clock.advance(60 * MINUTE_MS);
  await recoverDue(app.deps);
  expect(await page()).toContain('The webhook is switched off. Tidings reads the changes.');
});
