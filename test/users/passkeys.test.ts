import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { disableAccount } from '../../src/people/accounts.ts';
import { createPasswordLink } from '../../src/people/links.ts';
import { deleteOrganization } from '../../src/people/organizations.ts';
import { resetPasskeys } from '../../src/people/passkeys/service.ts';
import { createAuthenticator, OTHER_FORMAT, type Says, WITH_CERTIFICATE } from '../support/authenticator.ts';
import {
  addAnn,
  appWithAnn,
  cookieOf,
  EMAIL,
  form,
  PASSWORD,
  signedIn,
  tokenIn,
  visitor,
} from '../support/dashboard.ts';
import { contentOf, execute, valuesOf } from '../support/database.ts';
import { formOf } from '../support/form-of.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';

// Passkeys as the second factor and alone, recovery codes, and what a wrong or repeated answer can't do.

const SIGN_IN = '/dashboard/~/sign-in';
const SECOND = '/dashboard/~/second-factor';
const ALONE = '/dashboard/~/passkeys/sign-in';
const CONFIRM = '/dashboard/~/passkeys/confirm';
const ACCOUNT = '/dashboard/~/account';

/** A browser that keeps its cookies. */
function browser(app: TestApp) {
  const jar = new Map<string, string>();
  return async (path: string, init: RequestInit = {}) => {
    const cookie = Array.from(jar, (pair) => pair.join('=')).join('; ');
    const headers = { ...(init.headers as object), ...(cookie !== '' && { cookie }) };
    const response = await visitor(app)(path, { ...init, headers });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return response;
  };
}
type TestBrowser = ReturnType<typeof browser>;
type Authenticator = ReturnType<typeof createAuthenticator>;

const locationOf = (response: Response) => response.headers.get('location') ?? '';
const isIn = async (visit: TestBrowser) => (await visit(ACCOUNT)).status === 200;

/** The form of a passkey on a page: its fields, and the options for the browser. */
function passkeyForm(html: string, action: string) {
  const [, options = '{}'] =
    new RegExp(`action="${RegExp.escape(action)}"[^>]*data-passkey="([^"]*)"`).exec(html) ?? [];
  // The form for a recovery code goes to the same address.
  const { code: _, ...fields } = Object.fromEntries(formOf(html, action));
  return {
    fields,
    options: JSON.parse(options.replaceAll('&quot;', '"')),
  };
}

async function withPassword(visit: TestBrowser, email = EMAIL) {
  return visit(SIGN_IN, form({ email, password: PASSWORD }));
}

async function answer(
  visit: TestBrowser,
  page: string,
  action: string,
  authenticator: Authenticator,
  says?: Says,
) {
  const { fields, options } = passkeyForm(await (await visit(page)).text(), action);
  return visit(action, form({ ...fields, credential: authenticator.get(options, says) }));
}

async function add(visit: TestBrowser, authenticator: Authenticator, name = 'Laptop', says?: Says) {
  const action = `${ACCOUNT}/passkeys`;
  const { fields, options } = passkeyForm(await (await visit(ACCOUNT)).text(), action);
  return visit(action, form({ ...fields, name, credential: authenticator.create(options, says) }));
}

const codesIn = (html: string) => html.match(/\b(?:[0-9a-z]{4}-){3}[0-9a-z]{4}\b/g) ?? [];

/** Ann with a passkey, signed in, and her recovery codes. */
async function withPasskey() {
  const app = await appWithAnn();
  return { app, ...(await addTo(app, EMAIL)) };
}

/** The same for another person. */
async function withPasskeyOf(app: TestApp, email: string) {
  await addAnn(app, email);
  return addTo(app, email);
}

async function addTo(app: TestApp, email: string) {
  const visit = browser(app);
  await withPassword(visit, email);
  const authenticator = createAuthenticator();
  const added = await add(visit, authenticator);
  const codes = codesIn(await added.text());
  return { visit, authenticator, codes: [...new Set(codes)] };
}

const auditOf = async (app: TestApp) =>
  (await valuesOf<[string]>(app.db, 'select summary from audit_events order by id')).flat();

async function stateOf(app: TestApp) {
  const {
    throttles: _,
    form_marks: __,
    audit_events: ___,
    sqlite_sequence: ____,
    ...rows
  } = await allRows(app.db);
  return rows;
}

test('the sign-in page says nothing of passkeys before somebody has one', async () => {
  const app = await appWithAnn();
  expect(await (await visitor(app)(SIGN_IN)).text()).not.toContain('passkey');
  const { app: other } = await withPasskey();
  const html = await (await visitor(other)(SIGN_IN)).text();
  expect(html).toContain('Sign in with a passkey');
  expect(html).toContain('Passkeys need JavaScript.');
});

test('the first passkey comes with ten recovery codes, shown once and kept as hashes', async () => {
  const { app, visit, codes } = await withPasskey();
  expect(codes).toHaveLength(10);
  const content = await contentOf(app.db);
  for (const code of codes) {
    expect(content).not.toContain(code);
    expect(content).not.toContain(code.replaceAll('-', ''));
  }
  const page = await (await visit(ACCOUNT)).text();
  expect(page).toContain('You have 10 recovery codes');
  expect(codesIn(page)).toEqual([]);
  // Another one brings no new codes.
  const second = await add(visit, createAuthenticator(), 'Phone');
  expect([second.status, locationOf(second)]).toEqual([303, ACCOUNT]);
  expect(await (await visit(ACCOUNT)).text()).toContain('Phone');
  expect((await auditOf(app)).slice(-4)).toEqual([
    ...['signed in', 'added the passkey “Laptop”', 'created new recovery codes', 'added the passkey “Phone”'],
  ]);
});

describe('after the password', () => {
  test('a passkey signs in, and nothing does without it', async () => {
    const { app, authenticator } = await withPasskey();
    const visit = browser(app);
    const first = await visit(
      SIGN_IN,
      form({ email: EMAIL, password: PASSWORD, to: '/dashboard/org_a/settings' }),
    );
    expect([first.status, locationOf(first)]).toEqual([303, SECOND]);
    expect([await isIn(visit), cookieOf(first)]).toEqual([false, undefined]);
    const response = await answer(visit, SECOND, SECOND, authenticator);
    expect([response.status, locationOf(response)]).toEqual([303, '/dashboard/org_a/settings']);
    expect(await isIn(visit)).toBe(true);
    expect((await auditOf(app)).at(-1)).toBe('signed in with the passkey “Laptop” as second factor');
    // The step is over.
    expect((await visit(SECOND)).status).toBe(400);
  });

  test('a recovery code signs in once, however it is typed', async () => {
    const { app, codes } = await withPasskey();
    const use = async (code: string) => {
      const visit = browser(app);
      await withPassword(visit);
      return (await visit(SECOND, form({ code, to: '' }))).status;
    };
    const [code = ''] = codes;
    expect(await use('0000-0000-0000-0000')).toBe(400);
    const typed = code.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l');
    expect(await use(` ${typed} `)).toBe(303);
    expect(await use(code)).toBe(400);
    expect(await auditOf(app)).toContain('used a recovery code; 9 are left');
  });

  test('of two that use the same code at once, one signs in', async () => {
    const { app, codes } = await withPasskey();
    const visits = [browser(app), browser(app), browser(app)];
    for (const visit of visits) await withPassword(visit);
    const sent = visits.map((visit) => visit(SECOND, form({ code: codes[0] ?? '' })));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([303, 400, 400]);
    expect(await valuesOf(app.db, 'select count(*) from recovery_codes')).toEqual([[9]]);
  });

  test('guesses are limited for each account, and a right code forgets them', async () => {
    const { app, codes } = await withPasskey();
    const other = await withPasskeyOf(app, 'ben@acme.example');
    const visit = browser(app);
    await withPassword(visit);
    const guess = async (times: number) => {
      const said: number[] = [];
      for (let each = 0; each < times; each++)
        said.push((await visit(SECOND, form({ code: `${each}` }))).status);
      return said;
    };
    expect(await guess(4)).toEqual([400, 400, 400, 400]);
    expect((await visit(SECOND, form({ code: codes[0] ?? '' }))).status).toBe(303);
    await withPassword(visit);
    expect(await guess(6)).toEqual([400, 400, 400, 400, 400, 429]);
    // Somebody else behind the same address is not held up.
    const ben = browser(app);
    await withPassword(ben, 'ben@acme.example');
    expect((await ben(SECOND, form({ code: other.codes[0] ?? '' }))).status).toBe(303);
  });

  test('a passkey of somebody else does not count', async () => {
    const { app } = await withPasskey();
    const other = await withPasskeyOf(app, 'ben@acme.example');
    const visit = browser(app);
    await withPassword(visit);
    expect((await answer(visit, SECOND, SECOND, other.authenticator)).status).toBe(400);
    expect((await visit(SECOND, form({ code: other.codes[0] ?? '' }))).status).toBe(400);
    expect(await isIn(visit)).toBe(false);
  });

  test('a password that changes, an account that is disabled, and ten minutes end the step', async () => {
    for (const end of [
      (app: TestApp) => execute(app.db, "update users set password_hash = 'other'"),
      (app: TestApp) => disableAccount(app.deps, EMAIL, { force: true }).then(() => undefined),
      async (app: TestApp) => app.clock.advance(600_001),
    ]) {
      const { app, codes } = await withPasskey();
      const visit = browser(app);
      await withPassword(visit);
      await end(app);
      const response = await visit(SECOND, form({ code: codes[0] ?? '' }));
      expect(response.status).toBe(400);
      expect(await isIn(visit)).toBe(false);
    }
  });

  test('of a link too: a new password alone does not sign in', async () => {
    const { app } = await withPasskey();
    const visit = browser(app);
    const token = tokenIn((await createPasswordLink(app.deps, EMAIL)).path);
    const response = await visit(
      '/dashboard/~/password',
      form({ token, password: 'quiet orange ladder wind' }),
    );
    expect([locationOf(response), await isIn(visit)]).toEqual([SECOND, false]);
  });
});

describe('a passkey alone', () => {
  test('signs in, and leads back to the page', async () => {
    const { app, authenticator } = await withPasskey();
    const visit = browser(app);
    const response = await answer(visit, `${SIGN_IN}?to=/dashboard/org_a/posts`, ALONE, authenticator);
    expect([response.status, locationOf(response), await isIn(visit)]).toEqual([
      303,
      '/dashboard/org_a/posts',
      true,
    ]);
    expect((await auditOf(app)).at(-1)).toBe('signed in with the passkey “Laptop”');
  });

  test.each<[name: string, says: Says]>([
    ['without a proof of the person', { isVerified: false }],
    ['for another site', { origin: 'https://tidings.test.evil.example' }],
    ['for another host', { rpId: 'evil.example' }],
    ['to another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['that was to create one', { type: 'webauthn.create' }],
    ['with a count that goes back', { counter: 1 }],
    ['with a count that begins again', { counter: 0 }],
    ['in a frame of another site', { crossOrigin: true }],
    ['that is kept for another account', { userHandle: 'dXNyX290aGVy' }],
  ])('is refused %s', async (_, says) => {
    const { app, authenticator } = await withPasskey();
    const before = await stateOf(app);
    const visit = browser(app);
    const response = await answer(visit, SIGN_IN, ALONE, authenticator, says);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('The passkey could not be verified.');
    expect([await isIn(visit), await stateOf(app)]).toEqual([false, before]);
  });

  test('is refused that nobody has added, that is another key, and that is no answer', async () => {
    const { app, authenticator } = await withPasskey();
    const visit = browser(app);
    expect((await answer(visit, SIGN_IN, ALONE, createAuthenticator())).status).toBe(400);
    const { fields, options } = passkeyForm(await (await visit(SIGN_IN)).text(), ALONE);
    const forged = JSON.parse(createAuthenticator().get(options));
    const credential = JSON.stringify({ ...forged, id: authenticator.id, rawId: authenticator.id });
    expect((await visit(ALONE, form({ ...fields, credential }))).status).toBe(400);
    for (const text of ['', 'null', '{"id":1}', '{"id":"x"}', '['.repeat(3_000)])
      expect((await visit(ALONE, form({ ...fields, credential: text }))).status).toBe(400);
    expect(await isIn(visit)).toBe(false);
  });

  test('answers each challenge once, within ten minutes', async () => {
    const { app, authenticator } = await withPasskey();
    const visit = browser(app);
    const { fields, options } = passkeyForm(await (await visit(SIGN_IN)).text(), ALONE);
    const sent = () => form({ ...fields, credential: authenticator.get(options) });
    expect((await visit(ALONE, sent())).status).toBe(303);
    const again = await browser(app)(ALONE, sent());
    expect(again.status).toBe(400);
    expect(await again.text()).toContain('this step was already done');
    const late = passkeyForm(await (await browser(app)(SIGN_IN)).text(), ALONE);
    app.clock.advance(600_001);
    const credential = authenticator.get(late.options);
    expect((await browser(app)(ALONE, form({ ...late.fields, credential }))).status).toBe(400);
  });

  test('does not answer the challenge of another step', async () => {
    const { app, authenticator } = await withPasskey();
    const visit = browser(app);
    await withPassword(visit);
    const alone = passkeyForm(await (await visit(SIGN_IN)).text(), ALONE);
    const credential = authenticator.get(alone.options);
    expect((await visit(SECOND, form({ ...alone.fields, credential }))).status).toBe(400);
    expect(await isIn(visit)).toBe(false);
  });

  test('of a disabled account is refused', async () => {
    const { app, authenticator } = await withPasskey();
    await disableAccount(app.deps, EMAIL, { force: true });
    expect((await answer(browser(app), SIGN_IN, ALONE, authenticator)).status).toBe(403);
  });
});

describe('a change of passkeys', () => {
  test('needs a sign-in, or a passkey, of the last ten minutes', async () => {
    const { app, visit, authenticator } = await withPasskey();
    app.clock.advance(600_000);
    const id = authenticator.id;
    const asked = await visit(`${ACCOUNT}/passkeys/remove`, form({ id }));
    expect(locationOf(asked)).toStartWith(CONFIRM);
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[1]]);
    expect(locationOf(await answer(visit, locationOf(asked), CONFIRM, authenticator))).toBe(ACCOUNT);
    expect((await visit(`${ACCOUNT}/passkeys/remove`, form({ id }))).status).toBe(303);
    // The recovery codes went with the last one, and the password is enough again.
    expect(
      await valuesOf(
        app.db,
        'select (select count(*) from passkeys) + (select count(*) from recovery_codes)',
      ),
    ).toEqual([[0]]);
    expect(locationOf(await withPassword(browser(app)))).toBe('/dashboard');
  });

  test('without one, needs a new sign-in', async () => {
    const app = await appWithAnn();
    const visit = browser(app);
    await withPassword(visit);
    app.clock.advance(600_000);
    const response = await add(visit, createAuthenticator());
    expect(response.status).toBe(403);
    expect(await response.text()).toContain('You signed in more than ten minutes ago.');
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[0]]);
  });

  test('new recovery codes replace the old ones', async () => {
    const { app, visit, codes } = await withPasskey();
    const made = codesIn(await (await visit(`${ACCOUNT}/passkeys/codes`, form({ mark: 'x' }))).text());
    expect(new Set(made).size).toBe(10);
    const other = browser(app);
    await withPassword(other);
    expect((await other(SECOND, form({ code: codes[0] ?? '' }))).status).toBe(400);
    expect((await other(SECOND, form({ code: made[0] ?? '' }))).status).toBe(303);
    // A reload shows nothing.
    expect((await visit(`${ACCOUNT}/passkeys/codes`, form({ mark: 'x' }))).status).toBe(303);
  });

  test('is of the own account alone', async () => {
    const { app, authenticator } = await withPasskey();
    const other = await signedIn(app, { organizationId: 'org_a' });
    await other(`${ACCOUNT}/passkeys/remove`, form({ id: authenticator.id }));
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[1]]);
  });

  test('does not take a passkey that somebody has', async () => {
    const { app, authenticator } = await withPasskey();
    await addAnn(app, 'ben@acme.example');
    const ben = browser(app);
    await withPassword(ben, 'ben@acme.example');
    const copy = createAuthenticator(Buffer.from(authenticator.id, 'base64url'));
    expect((await add(ben, copy)).status).toBe(400);
    expect((await answer(browser(app), SIGN_IN, ALONE, authenticator)).status).toBe(303);
  });

  test('does not answer the same challenge twice', async () => {
    const { app, visit } = await withPasskey();
    const action = `${ACCOUNT}/passkeys`;
    const { fields, options } = passkeyForm(await (await visit(ACCOUNT)).text(), action);
    const send = () =>
      visit(action, form({ ...fields, name: 'Two', credential: createAuthenticator().create(options) }));
    expect([(await send()).status, (await send()).status]).toEqual([303, 400]);
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[2]]);
  });

  test('without a proof of the person is refused', async () => {
    const app = await appWithAnn();
    const visit = browser(app);
    await withPassword(visit);
    for (const says of [
      { isVerified: false },
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { crossOrigin: true },
    ])
      expect((await add(visit, createAuthenticator(), 'Bad', says)).status).toBe(400);
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[0]]);
  });

  test('with a certificate is refused: nobody asked for it, and it could name an address to fetch', async () => {
    const app = await appWithAnn();
    const visit = browser(app);
    await withPassword(visit);
    for (const attestation of [WITH_CERTIFICATE, OTHER_FORMAT])
      expect((await add(visit, createAuthenticator(), 'Bad', { attestation })).status).toBe(400);
    expect((await add(visit, createAuthenticator(), 'Good')).status).toBe(200);
  });

  test('by the command line removes them all and ends the sessions', async () => {
    const { app, visit } = await withPasskey();
    expect(await resetPasskeys(app.deps, EMAIL)).toMatchObject({ email: EMAIL, removed: 1 });
    expect(await isIn(visit)).toBe(false);
    expect(locationOf(await withPassword(browser(app)))).toBe('/dashboard');
  });
});

describe('an organization that requires a second factor', () => {
  const ENABLE = '/dashboard/org_a/settings/second-factor/enable';
  const SETTINGS = '/dashboard/org_a/settings';

  test('is closed to sessions without one, for reading and writing, until they use a passkey', async () => {
    const { app, visit } = await withPasskey();
    const member = await signedIn(app, { organizationId: 'org_a' });
    expect((await visit(ENABLE, form())).status).toBe(303);
    expect((await visit(SETTINGS)).status).toBe(200);
    const response = await member(SETTINGS);
    expect(locationOf(response)).toBe(`${CONFIRM}?to=${encodeURIComponent(SETTINGS)}`);
    expect(await (await member(locationOf(response))).text()).toContain(
      'Organization org_a requires a second factor. Add a passkey to your account first.',
    );
    const before = await stateOf(app);
    expect((await member(SETTINGS, form({ name: 'Stolen', plan: 'pro' }))).status).toBe(403);
    expect(await stateOf(app)).toEqual(before);
    const mine = createAuthenticator();
    const asMember = (path: string, init?: RequestInit) => member(path, init);
    expect((await add(asMember as TestBrowser, mine)).status).toBe(200);
    expect((await member(SETTINGS)).status).toBe(200);
    // Other organizations and the API are as they were.
    const { key } = await app.addKey('org_a');
    const headers = { authorization: `Bearer ${key}` };
    expect((await app.request('/v1/org_a/posts', { headers })).status).toBe(200);
    expect(await auditOf(app)).toContain('required a second factor');
  });

  test('is closed in the transaction of a write, too', async () => {
    const { app, visit } = await withPasskey();
    await execute(app.db, sql`update organizations set needs_second_factor = 1`);
    await execute(app.db, sql`update sessions set confirmed_at = null`);
    const before = await stateOf(app);
    expect((await visit(SETTINGS, form({ name: 'Stolen', plan: 'pro' }))).status).toBe(403);
    expect(await stateOf(app)).toEqual(before);
  });

  test('keeps the last passkey of its members', async () => {
    const { app, visit, authenticator } = await withPasskey();
    await visit(ENABLE, form());
    const second = createAuthenticator();
    await add(visit, second, 'Phone');
    const remove = (id: string) => visit(`${ACCOUNT}/passkeys/remove`, form({ id }));
    expect((await remove(authenticator.id)).status).toBe(303);
    const refused = await remove(second.id);
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain(
      'Organization org_a requires a passkey, and this is your last one.',
    );
    expect(await valuesOf(app.db, 'select count(*) from passkeys')).toEqual([[1]]);
    expect(await valuesOf(app.db, 'select count(*) from recovery_codes')).toEqual([[10]]);
  });

  test('is restored from the trash with it alone', async () => {
    const { app, visit, authenticator } = await withPasskey();
    await visit(ENABLE, form());
    await deleteOrganization(app.deps, 'org_a', 'Organization org_a');
    await execute(app.db, 'update sessions set confirmed_at = null');
    const restore = () => visit('/dashboard/~/organizations/restore', form({ id: 'org_a' }));
    const asked = await restore();
    expect(locationOf(asked)).toStartWith(CONFIRM);
    expect(await valuesOf(app.db, 'select count(*) from organizations where deleted_at is null')).toEqual([
      [0],
    ]);
    await answer(visit, locationOf(asked), CONFIRM, authenticator);
    expect(locationOf(await restore())).toBe('/dashboard/org_a');
    // Somebody else learns nothing of it.
    await deleteOrganization(app.deps, 'org_a', 'Organization org_a');
    const stranger = await signedIn(app, {});
    expect((await stranger('/dashboard/~/organizations/restore', form({ id: 'org_a' }))).status).toBe(404);
  });

  test('is not made by an owner without one, who could not enter it any more', async () => {
    const { app } = await withPasskey();
    const owner = await signedIn(app, { organizationId: 'org_a' });
    const response = await owner(ENABLE, form());
    expect(response.status).toBe(409);
    expect(await response.text()).toContain('Add a passkey to your own account first.');
    expect(
      await valuesOf(app.db, 'select count(*) from organizations where needs_second_factor = 1'),
    ).toEqual([[0]]);
  });
});
