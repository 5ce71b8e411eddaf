import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { describeConnected } from '../../src/dashboard/pages/integrations/subpage.tsx';
import { listHooks } from '../../src/integrations/hook-store.ts';
import { listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { insertMembership } from '../../src/people/store.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, type Visit, visitor } from '../support/dashboard.ts';
import { connectGithub, logOf } from '../support/deliveries.ts';
import { addRocket, hiddenFields, type ProviderApp, startProviderApp } from '../support/provider-app.ts';
import { allRows } from '../support/rows.ts';

const BASE = '/dashboard/org_a';
const LIST = `${BASE}/integrations`;
const CHOOSE = `${LIST}/github/choose`;
const CONNECT = `${LIST}/github/connect`;

let started: ProviderApp;
let visit: Awaited<ReturnType<typeof signedIn>>;
let token: string;
let rocket: ReturnType<typeof addRocket>['repository'];

beforeEach(async () => {
  started = await startProviderApp();
  ({ token, repository: rocket } = addRocket(started.github));
  visit = await signedIn(started.app, { organizationId: 'org_a' });
});

afterEach(() => started[Symbol.asyncDispose]());

const locationOf = (response: Response) => response.headers.get('location') ?? '';
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');

/** The fields of the second form for these repositories, after the first one got the token. */
async function chosen(places: string[], by: Visit = visit, given = token): Promise<URLSearchParams> {
  const page = await by(CHOOSE, form({ apiToken: given }));
  expect(page.status).toBe(200);
  const fields = hiddenFields(await page.text(), CONNECT);
  return new URLSearchParams([...fields, ...places.map((place) => ['place', place])]);
}

const connect = (body: URLSearchParams, by: Visit = visit) => by(CONNECT, { method: 'POST', body });

describe('GitHub', () => {
  test('is connected with a token: choose a repository, and its ping arrives', async () => {
    const { app, github } = started;
    const offered = await visit(CHOOSE, form({ apiToken: ` ${token} ` }));
    expect(offered.headers.get('cache-control')).toBe('no-store');
    expect(await offered.text()).toContain('name="place" value="acme/rocket"');

    const done = await connect(await chosen(['acme/rocket']));
    const [integration, ...others] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    const id = integration?.id ?? '';
    expect(others).toEqual([]);
    expect(done.status).toBe(303);
    expect(locationOf(done)).toBe(`${LIST}/${id}`);
    expect(noticeOf(done)).toContain('Connected: acme/rocket. GitHub can reach Tidings.');
    expect(rocket.hooks).toHaveLength(1);
    expect(rocket.hooks[0]).toMatchObject({
      isActive: true,
      config: { secret: await revealSecret(app.deps, id), content_type: 'json' },
    });
    expect(rocket.hooks[0]?.config.url).toStartWith(`${started.publicUrl}/api/webhooks/github/org_a/${id}/`);
    await github.settled();
    expect((await logOf(app)).map(({ payload }) => payload.event)).toContain('ping');

    const page = await (await visit(locationOf(done))).text();
    expect(page).toContain('>OK</span>');
    expect(page).toContain('Tidings manages these webhooks with a GitHub token');
  });

  test('several repositories become one integration', async () => {
    const { app, github } = started;
    const lander = github.addRepository('acme/lander', { rights: { ann: 'admin' } });
    const done = await connect(await chosen(['acme/rocket', 'acme/lander']));
    expect(noticeOf(done)).toContain('Connected: acme/rocket, acme/lander. GitHub can reach Tidings.');
    const integrations = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    expect(integrations.map(({ repositories }) => repositories.length)).toEqual([2]);
    expect([rocket.hooks.length, lander.hooks.length]).toEqual([1, 1]);
  });

  test('many repositories are counted, so that the notice keeps its end', () => {
    const places = Array.from({ length: 40 }, (_, at) => ({ place: `acme/rocket-${at}`, hasPinged: at > 0 }));
    expect(describeConnected('github', places)).toBe(
      'Connected: 40 repositories. The ping from GitHub has not arrived yet. Check again in a moment.',
    );
  });

  test('shows repositories that cannot be chosen, with the reason', async () => {
    const { app, github } = started;
    github.addRepository('acme/foreign', { rights: { ann: 'read' } });
    github.addRepository('acme/lander', { rights: { ann: 'admin' } });
    const { integrationId } = await connectGithub(app, 'org_a', 'Acme/Lander');
    await connectGithub(app, 'org_b', 'acme/rocket');
    const html = await (await visit(CHOOSE, form({ apiToken: token }))).text();
    const values = Array.from(html.matchAll(/name="place" value="([^"]+)"/g), ([, value]) => value);
    expect(values).toEqual(['acme/rocket']);
    expect(html).toContain("acme/foreign – the token's owner can't administer it");
    expect(html).toContain(`<a href="${LIST}/${integrationId}">Already connected</a>`);
  });

  test('a list is not all: others can be named', async () => {
    const { app, github } = started;
    for (let count = 0; count < 1001; count++) {
      github.addRepository(`acme/r${count}`, { rights: { ann: 'admin' } });
    }
    const fields = await chosen([]);
    fields.append('others', ' acme/r1000,acme/rocket ');
    expect((await connect(fields)).status).toBe(303);
    const [integration] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    expect(integration?.repositories.map(({ fullName }) => fullName)).toEqual(['acme/r1000', 'acme/rocket']);
  });

  test('a form that is sent again connects nothing more', async () => {
    const fields = await chosen(['acme/rocket']);
    const [one, other] = await Promise.all([connect(fields), connect(fields)]);
    expect([one, other].map(locationOf)).toContain(LIST);
    expect(locationOf(await connect(fields))).toBe(LIST);
    expect(await started.app.db.read((tx) => listIntegrations(tx, 'org_a'))).toHaveLength(1);
    expect(rocket.hooks).toHaveLength(1);
  });
});

describe('a token that does not do is refused where it was typed, and nothing is kept:', () => {
  const nothing = { given: () => '', says: 'The token must be 1 to 512 characters' };
  test.each([
    ['none', nothing],
    ['blanks', { ...nothing, given: () => '  ' }],
    ['with a space', { ...nothing, given: () => 'github pat' }],
    ['too long', { ...nothing, given: () => 'x'.repeat(513) }],
    [
      'unknown',
      { given: () => `github_pat_nobody${hostile.replaceAll(' ', '')}`, says: 'GitHub rejected the token' },
    ],
  ])('%s', async (_, { given, says }) => {
    const before = await allRows(started.app.db);
    const refused = await visit(CHOOSE, form({ apiToken: given() }));
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('id="field-token-github-error"');
    expect(html).toContain(says);
    expect(html).not.toContain('github_pat_nobody');
    expect(isHarmed(html)).toBe(false);
    expect(await allRows(started.app.db)).toEqual(before);
  });

  test.each([
    ['answers 500', 'GitHub failed with status 500'],
    ['answers 403 for its rate limit', 'accepts no more requests from this token until'],
    ['answers 200 with a page', 'GitHub'],
  ] as const)('GitHub %s', async (fault, says) => {
    started.github.failNext(fault);
    const refused = await visit(CHOOSE, form({ apiToken: token }));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain(says);
  });
});

describe('a failed connect keeps the choice and leaves nothing on either side:', () => {
  async function expectNothing(refused: Response, says: string, choice = 'acme/rocket'): Promise<string> {
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain(says);
    expect(html).toContain(`value="${choice}" checked`);
    expect(html).not.toContain(token);
    expect(await started.app.db.read((tx) => listIntegrations(tx, 'org_a'))).toEqual([]);
    expect((await allRows(started.app.db)).hooks).toEqual([]);
    expect(started.github.repositories.flatMap(({ hooks }) => hooks)).toEqual([]);
    return html;
  }

  test.each([
    ['answers 500', 'GitHub failed with status 500'],
    ['answers 401', 'GitHub rejected the token'],
    ['answers 403 for the permission', 'Webhooks: read and write'],
    ['answers 403 for its rate limit', 'accepts no more requests'],
  ] as const)('GitHub %s', async (fault, says) => {
    const fields = await chosen(['acme/rocket']);
    started.github.failNext(fault, { after: 1 });
    const html = await expectNothing(await connect(fields), says);
    expect(html).toContain('Nothing was connected.');
    // The same page, sent once more, does it.
    const again = new URLSearchParams([...hiddenFields(html, CONNECT), ['place', 'acme/rocket']]);
    expect((await connect(again)).status).toBe(303);
  });

  test('nobody answers at the public URL', async () => {
    const fields = await chosen(['acme/rocket']);
    started.publicUrl = 'http://127.0.0.1:1';
    const html = await expectNothing(await connect(fields), 'did not arrive');
    expect(html).toContain('PUBLIC_URL');
  });

  test('one of several may not be administered', async () => {
    const { github } = started;
    const foreign = github.addRepository('acme/foreign', { rights: { ann: 'admin' } });
    const fields = await chosen(['acme/rocket', 'acme/foreign']);
    foreign.rights = { ann: 'write' };
    await expectNothing(await connect(fields), 'role Admin in acme/foreign');
  });

  test('nothing is chosen', async () => {
    const refused = await connect(await chosen([]));
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('Choose at least one repository.');
    expect(rocket.hooks).toEqual([]);
  });

  test('somebody connected it meanwhile: no command is named, but the integration is linked', async () => {
    const fields = await chosen(['acme/rocket']);
    const { integrationId } = await connectGithub(started.app, 'org_a', 'acme/rocket');
    const refused = await connect(fields);
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain(`Integration ${integrationId} already has acme/rocket.`);
    expect(html).toContain(`<a href="${LIST}/${integrationId}">Already connected</a>`);
    expect(html).not.toContain('tidings integration');
    expect(rocket.hooks).toEqual([]);
  });
});

describe('the sealed token of the first form', () => {
  async function expectRefused(fields: URLSearchParams, by: Visit, path = CONNECT): Promise<void> {
    const before = (await allRows(started.app.db)).integrations;
    const refused = await by(path, { method: 'POST', body: fields });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('The form has expired or belongs to another account.');
    expect((await allRows(started.app.db)).integrations).toEqual(before);
    expect(rocket.hooks).toEqual([]);
  }

  test('does not work for somebody else of the organization', async () => {
    const other = await signedIn(started.app, { organizationId: 'org_a' });
    await expectRefused(await chosen(['acme/rocket']), other);
  });

  test("does not work in another of the person's organizations", async () => {
    const fields = await chosen(['acme/rocket']);
    const { app } = started;
    const { id: userId } = visit.user;
    await app.db.write((tx) =>
      insertMembership(tx, { userId, organizationId: 'org_b', role: 'owner', createdAt: '2026-01-01' }),
    );
    expect((await visit(LIST.replace('org_a', 'org_b'))).status).toBe(200);
    await expectRefused(fields, visit, CONNECT.replace('org_a', 'org_b'));
  });

  test('does not work for the other provider', async () => {
    await expectRefused(await chosen(['acme/rocket']), visit, `${LIST}/linear/connect`);
  });

  test('works for half an hour', async () => {
    const fields = await chosen(['acme/rocket']);
    started.app.clock.advance(30 * 60_000);
    await expectRefused(fields, visit);
    const again = await chosen(['acme/rocket']);
    started.app.clock.advance(30 * 60_000 - 1);
    expect((await connect(again)).status).toBe(303);
  });

  test('grows no younger by a try that fails', async () => {
    const fields = await chosen([]);
    started.app.clock.advance(20 * 60_000);
    const html = await (await connect(fields)).text();
    expect(html).toContain('Choose at least one repository.');
    started.app.clock.advance(10 * 60_000);
    const again = [...hiddenFields(html, CONNECT), ['place', 'acme/rocket']] as [string, string][];
    await expectRefused(new URLSearchParams(again), visit);
  });

  test.each([[''], ['x'], ['AAAA'.repeat(50)], [hostile]])('cannot be made up: %p', async (offer) => {
    await expectRefused(new URLSearchParams({ offer, place: 'acme/rocket' }), visit);
  });

  test('cannot be changed', async () => {
    const fields = await chosen(['acme/rocket']);
    const sealed = Buffer.from(fields.get('offer') ?? '', 'base64url');
    sealed[40] = (sealed[40] ?? 0) ^ 1;
    fields.set('offer', sealed.toString('base64url'));
    await expectRefused(fields, visit);
  });
});

describe('a token', () => {
  test('is in no page, no header, no log line, and nowhere in the database in the clear; nor is the secret', async () => {
    const answers: Response[] = [];
    const keep = async (response: Promise<Response>) => {
      const answer = await response;
      answers.push(answer.clone() as Response);
      return answer;
    };
    const page = await keep(visit(CHOOSE, form({ apiToken: token })));
    const fields = hiddenFields(await page.text(), CONNECT);
    const done = await keep(connect(new URLSearchParams([...fields, ['place', 'acme/rocket']])));
    await keep(visit(locationOf(done)));
    for (const path of ['', '/check', '/token', '/add', '/missed'])
      await keep(visit(`${locationOf(done)}${path}`));
    await keep(visit(`${locationOf(done)}/token`, form({ apiToken: token })));
    started.github.failNext('answers 401');
    await keep(visit(`${locationOf(done)}/token`, form({ apiToken: token })));
    const [integration] = await started.app.db.read((tx) => listIntegrations(tx, 'org_a'));
    const secret = await revealSecret(started.app.deps, integration?.id ?? '');
    const texts = await Promise.all(
      answers.map(async (answer) => JSON.stringify([...answer.headers]) + (await answer.text())),
    );
    texts.push(JSON.stringify(started.app.logged), JSON.stringify(await allRows(started.app.db)));
    expect(texts.length).toBeGreaterThan(9);
    const written = (['hex', 'base64', 'base64url'] as const).map((how) => Buffer.from(token).toString(how));
    for (const hidden of [token, secret, ...written]) {
      expect(texts.filter((text) => text.includes(hidden))).toEqual([]);
    }
    expect(await started.app.db.read((tx) => listHooks(tx, integration?.id ?? ''))).toHaveLength(1);
  });

  test('is not written into the page that tells that the session has ended', async () => {
    const answer = await visitor(started.app)(CHOOSE, form({ apiToken: token }));
    expect(answer.status).toBe(401);
    expect(await answer.text()).not.toContain(token);
  });

  test('is not asked for at github.com where GitHub is a server of its own', async () => {
    expect(await (await visit(LIST)).text()).toContain(
      'https://github.com/settings/personal-access-tokens/new',
    );
    await using own = await startProviderApp({
      providerUrls: { github: 'https://github.acme.test/api/v3' },
    });
    const person = await signedIn(own.app, { organizationId: 'org_a' });
    const html = await (await person(LIST)).text();
    expect(html).toContain('Webhooks: read and write');
    expect(html).not.toContain('https://github.com');
  });
});
