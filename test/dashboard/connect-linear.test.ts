import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { listIntegrations, revealSecret } from '../../src/integrations/store.ts';
import { cookieOf, form, signedIn, type Visit } from '../support/dashboard.ts';
import { logOf } from '../support/deliveries.ts';
import { hiddenFields, type ProviderApp, startProviderApp } from '../support/provider-app.ts';
import { allRows } from '../support/rows.ts';

const LIST = '/dashboard/org_a/integrations';
const CHOOSE = `${LIST}/linear/choose`;
const CONNECT = `${LIST}/linear/connect`;

let started: ProviderApp;
let visit: Visit;

beforeEach(async () => {
  started = await startProviderApp();
  visit = await signedIn(started.app, { organizationId: 'org_a' });
});

afterEach(() => started[Symbol.asyncDispose]());

const locationOf = (response: Response) => response.headers.get('location') ?? '';
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');
const teamId = (key: string) => started.linear.workspace.teams.find((team) => team.key === key)?.id ?? '';

/** The fields of the second form with these choices, after the first one got an admin's key. */
async function chosen(...choices: [name: string, value: string][]): Promise<URLSearchParams> {
  const page = await visit(CHOOSE, form({ apiToken: started.linear.adminKey }));
  expect(page.status).toBe(200);
  return new URLSearchParams([...hiddenFields(await page.text(), CONNECT), ...choices]);
}

const connect = (body: URLSearchParams) => visit(CONNECT, { method: 'POST', body });

describe('Linear', () => {
  test('is connected with all public teams, unless others are chosen', async () => {
    const { app, linear } = started;
    const page = await (await visit(CHOOSE, form({ apiToken: linear.adminKey }))).text();
    expect(page).toContain('name="which" value="all" checked');
    expect(page).toContain('Vault (VLT)');
    // The boxes count only with "Selected teams".
    const done = await connect(await chosen(['which', 'all'], ['place', teamId('VLT')]));
    expect(noticeOf(done)).toContain('Connected: All public teams.');
    const [integration] = await app.db.read((tx) => listIntegrations(tx, 'org_a'));
    const id = integration?.id ?? '';
    expect(locationOf(done)).toBe(`${LIST}/${id}`);
    expect(linear.workspace.hooks).toMatchObject([
      { allPublicTeams: true, enabled: true, secret: await revealSecret(app.deps, id) },
    ]);
    const html = await (await visit(`${LIST}/${id}`)).text();
    expect(html).toContain('Tidings manages these webhooks with a Linear token');
    expect(html).toContain('>OK</span>');
    expect(html).not.toContain('/missed"');
    expect(await (await visit(`${LIST}/${id}/missed`)).text()).toContain('Linear lists no deliveries');
    expect(await logOf(app)).toEqual([]);

    const again = await (await visit(CHOOSE, form({ apiToken: linear.adminKey }))).text();
    expect(again).toContain(`All public teams: <a href="${LIST}/${id}">already connected</a>`);
    expect(again).not.toContain('value="all"');
  });

  test('is connected with some teams; one is added, and one removed', async () => {
    const { app, linear } = started;
    await connect(await chosen(['which', 'chosen'], ['place', teamId('ENG')], ['place', teamId('VLT')]));
    const teams = () => linear.workspace.hooks.map((hook) => hook.teamId).sort();
    expect(teams()).toEqual([teamId('ENG'), teamId('VLT')].sort());
    const path = `${LIST}/${(await app.db.read((tx) => listIntegrations(tx, 'org_a')))[0]?.id}`;
    const offered = await (await visit(`${path}/add`)).text();
    expect(offered).toContain(`type="radio" name="place" value="${teamId('DES')}"`);
    expect(offered).not.toContain(`value="${teamId('ENG')}"`);
    const added = await visit(`${path}/add`, form({ place: teamId('DES') }));
    expect(noticeOf(added)).toContain('Connected: Design (DES).');
    const removed = await visit(`${path}/remove`, form({ place: teamId('ENG') }));
    expect(noticeOf(removed)).toContain('Engineering (ENG) is disconnected.');
    expect(teams()).toEqual([teamId('DES'), teamId('VLT')].sort());
    const gone = await visit(`${path}/disconnect`, form());
    expect(gone.status).toBe(303);
    expect(linear.workspace.hooks).toEqual([]);
  });

  test.each([
    ['of a member', () => started.linear.workspace.addKey(), 'Only admins can manage webhooks at Linear'],
    ['that is unknown', () => 'lin_api_unknown', 'Linear rejected the token'],
  ])('a key %s is refused where it was typed', async (_, given, says) => {
    const apiToken = given();
    const before = await allRows(started.app.db);
    const refused = await visit(CHOOSE, form({ apiToken }));
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('id="field-token-linear-error"');
    expect(html).toContain(says);
    expect(html).not.toContain(apiToken);
    expect(await allRows(started.app.db)).toEqual(before);
  });

  test("shows Linear's refusal, keeps the choice, and leaves nothing behind", async () => {
    const { app, linear } = started;
    const nothing = await connect(await chosen(['which', 'chosen']));
    expect(nothing.status).toBe(400);
    expect(await nothing.text()).toContain('Choose at least one team.');
    const fields = await chosen(['which', 'chosen'], ['place', teamId('DES')]);
    linear.fault = 'takes no more requests';
    const refused = await connect(fields);
    linear.fault = null;
    expect(refused.status).toBe(400);
    const html = await refused.text();
    expect(html).toContain('Linear accepts no more requests from this token until Nov 21, 2026, 04:10.');
    expect(html).toContain(`value="${teamId('DES')}" checked`);
    expect(html).toContain('name="which" value="chosen" checked');
    expect(html).not.toContain(linear.adminKey);
    expect(await app.db.read((tx) => listIntegrations(tx))).toEqual([]);
    expect(linear.workspace.hooks).toEqual([]);
  });
});
