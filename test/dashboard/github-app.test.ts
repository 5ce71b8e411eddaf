import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { revealSecret } from '../../src/integrations/store.ts';
import { cookieOf, form, hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { executeBeforeNextWrite } from '../support/database.ts';
import { makeKeys } from '../support/github-api/apps.ts';
import {
  type AppWorld,
  agreeAtGithub,
  createdApp,
  formOf,
  installedApp,
  integrationOf,
  LIST,
  NEW_APP,
  namesOf,
  startAppWorld,
} from '../support/github-app.ts';
import { allRows } from '../support/rows.ts';

let world: AppWorld;

beforeEach(async () => {
  world = await startAppWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const locationOf = (response: Response) => response.headers.get('location') ?? '';
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');
const conversions = () => world.github.requests.filter(({ path }) => path.endsWith('/conversions')).length;
const connectedCount = async () => (await allRows(world.app.db)).integrations?.length ?? 0;

describe('the form for GitHub', () => {
  test('goes to GitHub alone, from that page alone', async () => {
    const { visit, github } = world;
    const page = await visit(NEW_APP);
    expect(page.headers.get('content-security-policy')).toContain(`form-action 'self' ${github.url};`);
    const { action, fields } = formOf(await page.text());
    expect(action).toStartWith(`${github.url}/settings/apps/new?state=`);
    const { hook_attributes, redirect_url, name } = JSON.parse(fields.manifest ?? '');
    const publicUrl = world.app.deps.publicUrl();
    expect(name).toBe('Tidings for Organization org_a');
    expect(redirect_url).toBe(`${publicUrl}${LIST}/github-app/created`);
    expect(hook_attributes.url).toMatch(
      new RegExp(`^${publicUrl}/api/webhooks/github-app/org_a/[A-Za-z0-9_-]+$`),
    );
    const list = await visit(LIST);
    expect(list.headers.get('content-security-policy')).toContain("form-action 'self';");
    expect(await list.text()).toContain(`href="${NEW_APP}"`);
  });

  test('can be for an organization', async () => {
    const page = await (await world.visit(`${NEW_APP}?owner=acme`)).text();
    expect(formOf(page).action).toStartWith(
      `${world.github.url}/organizations/acme/settings/apps/new?state=`,
    );
  });

  test('explains a wrong name of an organization, and allows no other site', async () => {
    const page = await world.visit(`${NEW_APP}?owner=${encodeURIComponent(hostile)}`);
    const html = await page.text();
    expect(page.status).toBe(400);
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self';");
    expect(html).toContain('The organization must be the name of an organization at GitHub');
    expect(isHarmed(html)).toBe(false);
  });

  test('says plainly that GitHub cannot deliver to a laptop, and offers polling', async () => {
    const html = await (await world.visit(NEW_APP)).text();
    expect(html).toContain("GitHub can't reach http://127.0.0.1");
    expect(html).toContain('--organization org_a --repository OWNER/NAME --poll');
  });

  test('is for owners', async () => {
    const member = await signedIn(world.app, { organizationId: 'org_a', role: 'member' });
    for (const path of [NEW_APP, `${LIST}/github-app/created?code=x&state=y`]) {
      expect((await member(path)).status).toBe(403);
    }
    expect(await (await member(LIST)).text()).not.toContain(NEW_APP);
  });
});

describe('GitHub sends the browser back', () => {
  test('and the App is connected, with its key and secret sealed', async () => {
    const { app, visit, github } = world;
    const back = await agreeAtGithub(visit);
    const done = await visit(back);
    const [stored] = github.apps;
    const id = locationOf(done).slice(LIST.length + 1);
    expect(done.status).toBe(303);
    expect(noticeOf(done)).toContain('GitHub App created. Install it');
    expect(stored?.hook.config.url).toEndWith(`/api/webhooks/github-app/org_a/${id}`);
    expect(await revealSecret(app.deps, id)).toBe(stored?.hook.config.secret ?? '');
    expect(await integrationOf(world, id)).toMatchObject({
      type: 'github',
      enabled: true,
      hasToken: true,
      app: { appId: stored?.id, slug: stored?.slug, installationId: null, suspendedAt: null },
      repositories: [],
    });
    const rows = JSON.stringify(await allRows(app.db));
    expect(rows).not.toContain('BEGIN RSA');
    expect(rows).not.toContain(stored?.hook.config.secret ?? 'none');
    const page = await (await visit(locationOf(done))).text();
    expect(page).toContain('The App is not installed');
    expect(page).toContain(`href="${github.url}/apps/${stored?.slug}/installations/new"`);
  });

  test('once: a reload connects nothing else', async () => {
    const { visit } = world;
    const back = await agreeAtGithub(visit);
    const first = await visit(back);
    const second = await visit(back);
    expect(locationOf(second)).toBe(locationOf(first));
    expect(noticeOf(second)).toContain('already opened');
    expect(conversions()).toBe(1);
    expect(await connectedCount()).toBe(1);
  });

  test('both of two requests at once lead to one App', async () => {
    const { visit } = world;
    const back = await agreeAtGithub(visit);
    await Promise.all([visit(back), visit(back)]);
    expect(conversions()).toBe(1);
    expect(await connectedCount()).toBe(1);
  });

  const refusals: [name: string, change: (back: string) => Promise<string> | string][] = [
    ['without a state', (back) => back.replace(/&?state=[^&]*/, '')],
    [
      'with a changed state',
      (back) => back.replace(/(state=.{40})(.)/, (_, start, each) => start + (each === 'A' ? 'B' : 'A')),
    ],
    [
      'after an hour',
      (back) => {
        world.app.clock.advance(3_600_001);
        return back;
      },
    ],
  ];
  test.each(refusals)('%s: nothing is connected, and GitHub is not asked', async (_, change) => {
    const { visit } = world;
    const path = await change(await agreeAtGithub(visit));
    const refused = await visit(path);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('Nothing was connected');
    expect(conversions()).toBe(0);
    expect(await connectedCount()).toBe(0);
  });

  test('to another session of the same person: nothing is connected', async () => {
    const back = await agreeAtGithub(world.visit);
    const other = await signedIn(world.app, { organizationId: 'org_a' });
    expect((await other(back)).status).toBe(400);
    expect(conversions()).toBe(0);
  });

  test("with another organization's state: nothing is connected", async () => {
    const back = await agreeAtGithub(world.visit);
    const other = await signedIn(world.app, { organizationId: 'org_b' });
    const theirs = back.replace('/org_a/', '/org_b/');
    expect((await other(theirs)).status).toBe(400);
    expect((await other(back)).status).toBe(404);
    expect(conversions()).toBe(0);
    expect(await connectedCount()).toBe(0);
  });

  test.each([
    ['before GitHub is asked', 1, 0],
    ['while GitHub creates the App', 2, 1],
  ])('to an owner who was removed %s: nothing is connected', async (_, write, asked) => {
    const { app, visit, github } = world;
    const back = await agreeAtGithub(visit);
    executeBeforeNextWrite(app.db, 'delete from memberships', write);
    expect((await visit(back)).status).toBe(404);
    expect(conversions()).toBe(asked);
    expect(await connectedCount()).toBe(0);
    // Only its owner at GitHub can delete it.
    const found = app.logged.filter(({ msg }) =>
      String(msg).startsWith('an App was created at the provider'),
    );
    expect(found.map(({ app: url }) => url)).toEqual(
      github.apps.slice(0, asked).map(({ slug }) => expect.stringContaining(slug)),
    );
  });

  test('with a code that GitHub refuses: it says what to do, and the same page can be tried again', async () => {
    const { visit } = world;
    const back = await agreeAtGithub(visit);
    const wrong = await visit(back.replace(/code=[^&]*/, 'code=0000'));
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain('Delete the new App at GitHub');
    expect(await connectedCount()).toBe(0);
    expect((await visit(back)).status).toBe(303);
  });

  test.each([
    ['answers 502 with a page', 'GitHub failed with status 502'],
    ['answers 500', 'GitHub failed with status 500'],
  ] as const)('while GitHub %s', async (fault, sentence) => {
    const back = await agreeAtGithub(world.visit);
    world.github.failNext(fault);
    const page = await world.visit(back);
    expect(page.status).toBe(400);
    expect(await page.text()).toContain(sentence);
    expect(await connectedCount()).toBe(0);
  });

  test('and a conversion that is nonsense connects nothing', async () => {
    const back = await agreeAtGithub(world.visit);
    world.github.failNext(() => Response.json({ id: 1, pem: 'x' }, { status: 201 }));
    const page = await world.visit(back);
    expect(page.status).toBe(400);
    expect(await page.text()).toContain('unexpected response');
    expect(await connectedCount()).toBe(0);
  });
});

describe('the page of an App', () => {
  test('after the installation, its repositories are there, even if the event is late', async () => {
    const { visit, github, rocket } = world;
    const { stored, id, path } = await createdApp(world);
    github.failNext('answers 500');
    const failed = await visit(`${path}/installed?installation_id=1&setup_action=install`);
    expect(failed.status).toBe(400);
    expect(await failed.text()).toContain('GitHub failed');

    github.installApp(stored, [rocket]);
    const done = await visit(`${path}/installed?installation_id=999&setup_action=install`);
    await github.settled();
    expect(locationOf(done)).toBe(path);
    expect(noticeOf(done)).toMatch(/Added acme\/rocket\.|up to date/);
    const integration = await integrationOf(world, id);
    // The id comes from GitHub, not from the address.
    expect(integration?.app?.installationId).toBe(stored.installation?.id ?? 0);
    expect(namesOf(integration)).toEqual(['acme/rocket']);
    const page = await (await visit(path)).text();
    expect(page).toContain('Repositories of the installation');
    expect(page).not.toContain('The App is not installed');
    expect(page).not.toContain('Add token');
  });

  test('shows that somebody suspended or uninstalled it', async () => {
    const { visit, github, rocket } = world;
    const { stored, path, id } = await installedApp(world, rocket);
    github.suspendApp(stored);
    await github.settled();
    expect(await (await visit(path)).text()).toContain('Somebody suspended the App at GitHub');
    github.suspendApp(stored, false);
    await github.settled();
    expect(await (await visit(path)).text()).not.toContain('Somebody suspended');
    github.uninstallApp(stored);
    await github.settled();
    expect(await (await visit(path)).text()).toContain('The App is not installed');
    // For when it is installed again.
    expect(namesOf(await integrationOf(world, id))).toEqual(['acme/rocket']);
  });

  test('takes a new key that GitHub knows, and keeps the old one otherwise', async () => {
    const { visit, rocket } = world;
    const { stored, path } = await installedApp(world, rocket);
    expect(await (await visit(`${path}/key`)).text()).toContain('Private key');
    const { privateKey, publicKey } = makeKeys();
    const unknown = await visit(`${path}/key`, form({ key: privateKey }));
    const html = await unknown.text();
    expect(unknown.status).toBe(400);
    expect(html).toContain('GitHub rejected the private key');
    expect(html).not.toContain(privateKey.slice(40, 80));
    const none = await visit(`${path}/key`, form({ key: 'ssh-rsa AAAA' }));
    expect(none.status).toBe(400);
    expect(await none.text()).toContain('from BEGIN to END');
    expect(noticeOf(await visit(`${path}/refresh`, form()))).toContain('up to date');

    stored.publicKeys.push(publicKey);
    expect(locationOf(await visit(`${path}/key`, form({ key: `\n${privateKey}\n` })))).toBe(path);
    stored.publicKeys.shift();
    expect(noticeOf(await visit(`${path}/refresh`, form()))).toContain('up to date');
  });

  test('has no form for a token, and no way to add repositories here', async () => {
    const { visit, rocket } = world;
    const { path } = await installedApp(world, rocket);
    const token = await visit(`${path}/token`, form({ apiToken: 'ghp_x' }));
    expect([token.status, await token.text()]).toEqual([400, expect.stringContaining('needs no token')]);
    const added = await visit(`${path}/add`, form({ repository: 'acme/engine' }));
    expect([added.status, await added.text()]).toEqual([400, expect.stringContaining('/installations/new')]);
  });

  test('uninstalls the App when it is disconnected, and says how to delete it', async () => {
    const { visit, rocket } = world;
    const { stored, path, id } = await installedApp(world, rocket);
    const page = await (await visit(path)).text();
    expect(page).toContain('Tidings uninstalls the App at GitHub');
    const done = await visit(`${path}/disconnect`, form());
    expect(noticeOf(done)).toContain(`/settings/apps/${stored.slug}/advanced`);
    expect(stored.installation).toBeNull();
    expect(await integrationOf(world, id)).toBeNull();
    expect((await allRows(world.app.db)).github_apps).toEqual([]);
  });

  test.each(['key', 'installed'])('of another organization is out of reach: %s', async (page) => {
    const { path } = await createdApp(world);
    const other = await signedIn(world.app, { organizationId: 'org_b' });
    expect((await other(`${path}/${page}`)).status).toBe(404);
    expect((await other(`${path.replace('org_a', 'org_b')}/${page}`)).status).toBe(404);
  });

  test('members see it, and change nothing', async () => {
    const { path } = await createdApp(world);
    const member = await signedIn(world.app, { organizationId: 'org_a', role: 'member' });
    const html = await (await member(path)).text();
    expect(html).toContain('The App is not installed');
    expect(html).not.toContain('Install App');
    for (const page of ['key', 'installed']) expect((await member(`${path}/${page}`)).status).toBe(403);
    expect((await member(`${path}/refresh`, form())).status).toBe(403);
  });
});
