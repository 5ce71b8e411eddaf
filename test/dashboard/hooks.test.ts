import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { listHooks, updateHook } from '../../src/integrations/hook-store.ts';
import {
  acceptedSecrets,
  getIntegration,
  getSealedIntegration,
  listIntegrations,
  revealSecret,
} from '../../src/integrations/store.ts';
import { secretBox } from '../../src/lib/secret-box.ts';
import { cookieOf, pageVisitor, type VisitPage } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { connectGithub, connectLinear } from '../support/deliveries.ts';
import {
  type addRocket,
  connectRocket,
  hiddenFields,
  type ProviderApp,
  startProviderApp,
} from '../support/provider-app.ts';
import { allRows } from '../support/rows.ts';

const LIST = '/dashboard/org_a/integrations';

let started: ProviderApp;
let visit: VisitPage;
let token: string;
let rocket: ReturnType<typeof addRocket>['repository'];
/** Of an integration that was connected with the token. */
let id: string;
let path: string;

beforeEach(async () => {
  started = await startProviderApp();
  ({ token, repository: rocket, integrationId: id } = await connectRocket(started));
  path = `${LIST}/${id}`;
  visit = await pageVisitor(started.app);
});

afterEach(() => started[Symbol.asyncDispose]());

const textOf = async (of = path) => (await visit(of)).text();
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');
const repositoriesOf = async (of = id) =>
  (await started.app.db.read((tx) => getIntegration(tx, of))).repositories.map(({ fullName }) => fullName);

/** Refused at the page, with these words, and without a command that nobody here can type. */
async function expectRefused(refused: Response, says: string): Promise<string> {
  expect(refused.status).toBe(400);
  const html = await refused.text();
  expect(html).toContain(says);
  expect(html).not.toMatch(/tidings integration|--force/);
  return html;
}

/** One more repository that Ann administers, connected too. */
async function addLander() {
  const lander = started.github.addRepository('acme/lander', { rights: { ann: 'admin' } });
  const added = await visit(`${path}/add`, { place: 'acme/lander' });
  expect(noticeOf(added)).toContain('Connected: acme/lander. GitHub can reach Tidings.');
  return lander;
}

test('a new secret that could not be set at GitHub, as the token cannot be read, is shown', async () => {
  const lost = secretBox(new Uint8Array(32).fill(9)).seal('nobody can read this', 'any more');
  await execute(started.app.db, sql`UPDATE integrations SET token = ${lost}`);
  const told = await (await visit(`${path}/secret`, {})).text();
  expect(told).toContain(await revealSecret(started.app.deps, id));
  expect(told).toContain('set it at GitHub');
});

describe('the webhooks of an integration', () => {
  test('show their events, their problem, and the time of the next attempt', async () => {
    const { app } = started;
    const [hook] = await app.db.read((tx) => listHooks(tx, id));
    if (hook === undefined) return expect.unreachable();
    expect(await textOf()).toContain('>OK</span>');
    expect(await textOf()).toContain('pull_request, push, release');
    await app.db.write((tx) => updateHook(tx, hook, { hasPresentSecret: false }));
    expect(await textOf()).toContain('It does not have the current secret yet.');
    await app.db.write((tx) => updateHook(tx, hook, { remoteId: null }));
    expect(await textOf()).toContain('Tidings has not created it yet.');
    const retryAt = app.clock.now().getTime() + 600_000;
    await app.db.write((tx) =>
      updateHook(tx, hook, { problem: 'GitHub failed with <b>status</b> 500.', retryAt }),
    );
    const html = await textOf();
    expect(html).toContain('GitHub failed with &lt;b>status&lt;/b> 500.');
    expect(html).toMatch(/Next retry <time[^>]*>in 10 min<\/time>/);
  });

  test('are visible to members, without the changes of owners', async () => {
    const member = await pageVisitor(started.app, { role: 'member' });
    const html = await (await member(path)).text();
    expect(html).toContain('>OK</span>');
    expect(html).not.toMatch(/action="[^"]*integrations|\/(check|token|add|missed)"/);
  });

  test('that a person set up offer a token', async () => {
    const { integrationId } = await connectGithub(started.app, 'org_a', 'acme/by-hand');
    const html = await textOf(`${LIST}/${integrationId}`);
    expect(html).toContain('set up by hand');
    expect(html).toContain(`${LIST}/${integrationId}/token"`);
    expect(html).not.toContain('/repair"');
  });
});

describe('a check', () => {
  test('finds a healthy integration and changes nothing at GitHub', async () => {
    const before = structuredClone(rocket.hooks);
    const html = await textOf(`${path}/check`);
    expect(html).toContain('<h1>1 warning</h1>');
    expect(html).toContain('is active and delivers');
    expect(html).toContain('GitHub has delivered only pings since');
    expect(rocket.hooks).toEqual(before);
  });

  const cases: [what: string, harm: () => unknown, says: string, offers: string][] = [
    ['deleted', () => rocket.hooks.splice(0), 'Somebody deleted the webhook', 'Repair webhooks'],
    [
      'switched off',
      () => {
        for (const hook of rocket.hooks) hook.isActive = false;
      },
      'is switched off',
      'Repair webhooks',
    ],
    ['revoked', () => started.github.tokens.clear(), 'GitHub rejected the token', 'Replace token'],
    ['disabled', () => visit(`${path}/disable`, {}), 'The integration is disabled', 'Enable integration'],
  ];
  test.each(cases)('of a webhook that is %s offers the button that helps', async (_, harm, says, offers) => {
    await harm();
    const html = await textOf(`${path}/check`);
    expect(html).toMatch(/<h1>\d problems?\b/);
    expect(html).toContain(says);
    expect(html).toMatch(new RegExp(`<(a|button)[^>]*>${offers}</`));
    expect(html).not.toMatch(/tidings (integration|send)/);
  });

  test.each(['github', 'linear'] as const)('of %s by hand offers a token and a test event', async (type) => {
    const make = type === 'github' ? connectGithub : connectLinear;
    const { integrationId } = await make(started.app, 'org_b');
    const owner = await pageVisitor(started.app, { organizationId: 'org_b' });
    const html = await (await owner(`/dashboard/org_b/integrations/${integrationId}/check`)).text();
    expect(html).toMatch(/<a[^>]*\/token">Add token</);
    expect(html).toMatch(/<a[^>]*#test">Send test event</);
    expect(html).not.toMatch(/tidings (integration|send)/);
  });
});

describe('repairing webhooks', () => {
  test('creates a deleted webhook once for each form', async () => {
    rocket.hooks.splice(0);
    const fields = Object.fromEntries(hiddenFields(await textOf(), `${path}/repair`));
    const done = await visit(`${path}/repair`, fields);
    expect(noticeOf(done)).toContain('Repaired: acme/rocket. GitHub can reach Tidings.');
    expect(rocket.hooks).toHaveLength(1);
    const asked = started.github.requests.length;
    expect(noticeOf(await visit(`${path}/repair`, fields))).toContain('already submitted');
    expect(started.github.requests).toHaveLength(asked);
  });

  test("shows GitHub's error", async () => {
    started.github.failNext('answers 500');
    await expectRefused(await visit(`${path}/repair`, {}), 'GitHub failed with status 500');
  });

  test('without a token is refused', async () => {
    const { integrationId } = await connectGithub(started.app, 'org_a', 'acme/by-hand');
    const refused = await visit(`${LIST}/${integrationId}/repair`, {});
    await expectRefused(refused, `Integration ${integrationId} has no usable GitHub token.`);
  });
});

describe('a token', () => {
  test('takes over a webhook that was set up by hand', async () => {
    const { app, github } = started;
    const lander = github.addRepository('acme/lander', { rights: { ann: 'admin' } });
    const { integrationId, repositoryId = '' } = await connectGithub(app, 'org_a', 'acme/lander');
    const form = `${LIST}/${integrationId}/token`;
    expect(await textOf(form)).toContain('type="password"');
    const done = await visit(form, { apiToken: token });
    expect(noticeOf(done)).toContain('Managed by Tidings: acme/lander. GitHub can reach Tidings.');
    expect(lander.hooks.map(({ config }) => config.url)).toEqual([
      `${started.publicUrl}/api/webhooks/github/org_a/${integrationId}/${repositoryId}`,
    ]);
    expect((await app.db.read((tx) => getIntegration(tx, integrationId))).hasToken).toBe(true);
  });

  test.each([
    ['unknown', () => 'github_pat_unknown', 'GitHub rejected the token'],
    ['none', () => '', 'The token must be'],
    [
      'without the right',
      () => started.github.addToken({ user: 'bob', permissions: { repository_hooks: 'write' } }),
      'acme/rocket',
    ],
  ])('that is %s is refused, and the old one stays', async (_, given, says) => {
    const apiToken = given();
    const before = (await allRows(started.app.db)).integrations;
    const html = await expectRefused(await visit(`${path}/token`, { apiToken }), says);
    expect(html).toContain('id="field-token-github-error"');
    if (apiToken !== '') expect(html).not.toContain(apiToken);
    expect((await allRows(started.app.db)).integrations).toEqual(before);
  });

  test('that is stored despite a failure says so', async () => {
    const newer = started.github.addToken({ user: 'ann', permissions: { repository_hooks: 'write' } });
    started.github.failNext('answers 500', { after: 1 });
    const html = await expectRefused(
      await visit(`${path}/token`, { apiToken: newer }),
      'GitHub failed with status 500. Try again later. The token is stored, and Tidings keeps trying to set the webhooks.',
    );
    expect(html).toContain('Replace token');
  });
});

describe('repositories', () => {
  test('are added with the token, and removed with their webhook', async () => {
    started.github.addRepository('acme/foreign', { rights: { ann: 'read' } });
    const lander = await addLander();
    const offered = await textOf(`${path}/add`);
    expect(offered).toContain("acme/foreign – the token's owner can't administer it");
    expect(offered).not.toContain('value="acme/lander"');
    expect(await repositoriesOf()).toEqual(['acme/lander', 'acme/rocket']);
    expect(lander.hooks).toHaveLength(1);

    expect(hiddenFields(await textOf(), `${path}/remove`)).toEqual([['place', 'acme/lander']]);
    const removed = await visit(`${path}/remove`, { place: 'acme/lander' });
    expect(noticeOf(removed)).toContain('acme/lander is disconnected.');
    expect(await repositoriesOf()).toEqual(['acme/rocket']);
    expect(lander.hooks).toEqual([]);
  });

  test.each([
    ['a form without a repository', {}, 'Choose a repository.'],
    ['a repository that is already connected', { place: 'acme/rocket' }, 'already has acme/rocket'],
    ['a repository that the token cannot see', { place: 'acme/nothing' }, 'no repository acme/nothing'],
    ['an invalid name', { place: 'x' }, 'OWNER/NAME'],
  ])('%s cannot be added', async (_, fields: Record<string, string>, says) => {
    const before = await allRows(started.app.db);
    await expectRefused(await visit(`${path}/add`, fields), says);
    const after = await allRows(started.app.db);
    expect([after.hooks, after.repositories]).toEqual([before.hooks, before.repositories]);
  });

  test('that GitHub fails at are not added, and the choice stays', async () => {
    const lander = started.github.addRepository('acme/lander', { rights: { ann: 'admin' } });
    started.github.failNext('answers 500', { after: 1 });
    const refused = await visit(`${path}/add`, { place: 'acme/lander' });
    const html = await expectRefused(refused, 'Nothing was added.');
    expect(html).toContain('value="acme/lander" checked');
    expect([await repositoriesOf(), lander.hooks]).toEqual([['acme/rocket'], []]);
  });

  test('can be typed when GitHub does not list them', async () => {
    started.github.failNext('answers 500');
    const html = await textOf(`${path}/add`);
    expect(html).toContain('GitHub failed with status 500');
    expect(html).toContain('name="repository"');
  });

  test('are not removed if GitHub does not delete their webhook, or if there is only one', async () => {
    const only = await visit(`${path}/remove`, { place: 'acme/rocket' });
    await expectRefused(only, `Integration ${id} has only acme/rocket.`);
    const lander = await addLander();
    started.github.failNext('answers 500');
    const refused = await visit(`${path}/remove`, { place: 'acme/lander' });
    await expectRefused(refused, 'Nothing was removed.');
    await expectRefused(await visit(`${path}/remove`, { place: 'acme/nothing' }), 'has no acme/nothing');
    expect(await repositoriesOf()).toEqual(['acme/lander', 'acme/rocket']);
    expect(lander.hooks).toHaveLength(1);
  });

  test('that GitHub does not delete are removed with force', async () => {
    const lander = await addLander();
    started.github.repositories.splice(started.github.repositories.indexOf(lander), 1);
    const html = await expectRefused(
      await visit(`${path}/remove`, { place: 'acme/lander' }),
      'Nothing was removed.',
    );
    expect(html).toContain('Remove acme/lander anyway');
    expect(html).toContain('Its webhook stays at GitHub until you delete it there.');
    const forced = Object.fromEntries(hiddenFields(html, `${path}/remove`));
    expect(forced).toEqual({ place: 'acme/lander', force: 'yes' });
    const removed = await visit(`${path}/remove`, forced);
    expect(noticeOf(removed)).toContain(
      'acme/lander is disconnected. Its webhook may still exist. Delete it at GitHub.',
    );
    expect(await repositoriesOf()).toEqual(['acme/rocket']);
  });

  test('by hand have a URL each', async () => {
    const { integrationId } = await connectGithub(started.app, 'org_b', 'acme/by-hand');
    const owner = await pageVisitor(started.app, { organizationId: 'org_b' });
    const page = `/dashboard/org_b/integrations/${integrationId}`;
    const wrong = await owner(`${page}/add`, { repository: 'nothing' });
    expect(await expectRefused(wrong, 'must be OWNER/NAME')).toContain('value="nothing"');
    const added = await owner(`${page}/add`, { repository: 'https://github.com/acme/second/issues' });
    expect(noticeOf(added)).toContain('Added acme/second. Set up its webhook at GitHub');
    const html = await (await owner(page)).text();
    expect(html).toContain('Webhook URL of acme/second');
    const place =
      (await started.app.db.read((tx) => getIntegration(tx, integrationId))).repositories[0]?.id ?? '';
    expect((await owner(`${page}/remove`, { place })).status).toBe(303);
    expect(await repositoriesOf(integrationId)).toEqual(['acme/second']);
  });

  test('Linear by hand chooses its teams at Linear', async () => {
    const { integrationId } = await connectLinear(started.app, 'org_a');
    expect(await textOf(`${LIST}/${integrationId}`)).not.toContain('/add"');
    const refused = await visit(`${LIST}/${integrationId}/add`, { place: 'ENG' });
    await expectRefused(refused, 'set up by hand. Choose its teams at Linear.');
  });
});

describe('a rotation', () => {
  test('sets the new secret at GitHub, and shows it to nobody', async () => {
    const { app } = started;
    const before = await revealSecret(app.deps, id);
    const done = await visit(`${path}/secret`, {});
    expect(done.status).toBe(303);
    expect(noticeOf(done)).toContain('Created a new secret and set it at GitHub.');
    const secret = await revealSecret(app.deps, id);
    expect(secret).not.toBe(before);
    expect(rocket.hooks[0]?.config.secret).toBe(secret);
    expect(await textOf()).not.toContain(secret);
  });

  test('that ends the old secret now says so', async () => {
    const { app } = started;
    const page = await textOf();
    expect(page).toMatch(/name="now" value="yes"[^>]*><button[^>]*>Replace secret now/);
    const before = await revealSecret(app.deps, id);
    const done = await visit(`${path}/secret`, { now: 'yes' });
    expect(noticeOf(done)).toContain('The old one no longer works.');
    const accepted = acceptedSecrets(app.deps, await app.db.read((tx) => getSealedIntegration(tx, id)));
    expect(accepted).toEqual([rocket.hooks[0]?.config.secret ?? '']);
    expect(accepted).not.toContain(before);
  });

  test('that GitHub refuses changes nothing', async () => {
    const { app, github } = started;
    const before = await revealSecret(app.deps, id);
    github.failNext('answers 403 for the permission');
    const html = await expectRefused(await visit(`${path}/secret`, {}), 'The secret was not rotated.');
    expect(html).toMatch(/<details class="danger" open[^>]*><summary>Rotate secret/);
    expect(await revealSecret(app.deps, id)).toBe(before);
    expect(rocket.hooks[0]?.config.secret).toBe(before);
  });
});

describe('disconnecting', () => {
  test('deletes the webhooks', async () => {
    await createTrigger(started.app.deps, { integrationId: id, event: 'release', contentType: 'changelog' });
    const done = await visit(`${path}/disconnect`, {});
    expect(noticeOf(done)).toContain('acme/rocket is disconnected.');
    expect(await started.app.db.read((tx) => listIntegrations(tx))).toEqual([]);
    expect(rocket.hooks).toEqual([]);
  });

  test('fails if GitHub fails, and succeeds with force', async () => {
    const { app, github } = started;
    // Each of the two tries deletes, then looks whether that was done.
    github.failNext('answers 500', { times: 4 });
    const html = await expectRefused(await visit(`${path}/disconnect`, {}), 'Nothing was disconnected.');
    expect(await app.db.read((tx) => listIntegrations(tx))).toHaveLength(1);
    const forced = html.slice(html.lastIndexOf(`action="${path}/disconnect"`));
    expect(forced).toContain('Disconnect anyway');
    const done = await visit(
      `${path}/disconnect`,
      Object.fromEntries(hiddenFields(forced, `${path}/disconnect`)),
    );
    expect(noticeOf(done)).toContain('A webhook remains at acme/rocket. Delete it there.');
    expect(await app.db.read((tx) => listIntegrations(tx))).toEqual([]);
    expect(rocket.hooks).toHaveLength(1);
  });
});
