import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/lib/time.ts';
import { cookieOf, form, hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, PUBLIC_URL, type TestApp } from '../support/test-app.ts';
import { createUnkeyApp } from '../support/unkey-app.ts';
import { permissionOn } from '../support/unkey-server.ts';

const KEYS = '/dashboard/org_a/settings/keys';
const noticeOf = (response: Response) => decodeURIComponent(cookieOf(response, 'tidings_notice') ?? '');
const KEY = /tdk_[1-9A-HJ-NP-Za-km-z]{40,}/;

async function owned(given?: TestApp) {
  const app = given ?? (await appWithOrganization());
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const html = async (path = KEYS) => (await visit(path)).text();
  /** Makes a key as a person does. */
  async function make(fields: Record<string, string> = {}) {
    const response = await visit(KEYS, form({ name: 'Website', expiry: '', ...fields }));
    const text = await response.text();
    return { response, text, key: KEY.exec(text)?.[0] ?? '' };
  }
  const list = () => app.deps.keys.listKeys('org_a');
  return { app, visit, html, make, list };
}

describe('a key from the dashboard', () => {
  test('is made, read with, revoked and deleted', async () => {
    const { app, visit, make, list, html } = await owned();
    const { response, text, key } = await make();
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(text).toContain(
      `curl -H &quot;Authorization: Bearer ${key}&quot; &quot;${PUBLIC_URL}/v1/org_a/posts&quot;`,
    );
    expect(text).toContain(`data-copy="${key}"`);
    const [made] = await list();
    expect(made).toMatchObject({ name: 'Website', permissions: ['api.read'], expiresAt: null });

    expect((await app.request('/v1/org_a/posts', bearer(key))).status).toBe(200);
    const revoked = await visit(`${KEYS}/${made?.id}/revoke`, form());
    expect([revoked.status, revoked.headers.get('location')]).toEqual([303, KEYS]);
    expect((await app.request('/v1/org_a/posts', bearer(key))).status).toBe(401);
    expect(await html()).toContain('tag revoked');

    expect((await visit(`${KEYS}/${made?.id}/delete`, form())).status).toBe(303);
    expect(await list()).toEqual([]);
    expect(await html()).toContain('No keys yet');
  });

  test('tells its value in that one answer: in no other, no header, no log line, no row', async () => {
    const { app, visit, make, list, html } = await owned();
    const { response, key } = await make();
    const secret = key.slice(8);
    const id = (await list())[0]?.id;
    await app.request('/v1/org_a/posts', bearer(key));
    const others = [
      await html(),
      await html('/dashboard/org_a/start'),
      await html('/dashboard/org_a/settings'),
      await (await visit(`${KEYS}/${id}/revoke`, form())).text(),
      JSON.stringify([...response.headers]),
      JSON.stringify(app.logged),
      JSON.stringify(await allRows(app.db)),
    ];
    for (const other of others) expect(other).not.toContain(secret);
  });

  test.each([
    ['never', { expiry: '' }, null],
    ['30 days', { expiry: '30' }, '2026-12-20T12:00:00.000Z'],
    ['90 days', { expiry: '90' }, '2027-02-18T12:00:00.000Z'],
    ['a year', { expiry: '365' }, '2027-11-20T12:00:00.000Z'],
    ['a date', { expiry: 'date', date: '2027-01-31' }, '2027-01-31T00:00:00.000Z'],
    ['a date that was not meant', { expiry: '', date: '2027-01-31' }, null],
  ])('expires: %s', async (_, fields, expiresAt) => {
    const { make, list } = await owned();
    expect((await make(fields)).response.status).toBe(200);
    expect((await list())[0]?.expiresAt).toBe(expiresAt);
  });

  test.each([
    ['no name', { name: '' }, 'The name must not be empty'],
    ['a name of spaces', { name: '   ' }, 'The name must not be empty'],
    ['a name that is too long', { name: 'x'.repeat(101) }, 'The name must have at most 100 characters'],
    ['no date', { expiry: 'date', date: '' }, 'Choose a day in the future'],
    ['a date that has passed', { expiry: 'date', date: '2026-11-20' }, 'Choose a day in the future'],
    ['no date at all', { expiry: 'date', date: '2026-02-30' }, 'Choose a day in the future'],
    ['an expiry that is no choice', { expiry: '7' }, 'Choose a day in the future'],
  ])('%s is refused, and the form stays filled in', async (_, fields, message) => {
    const { make, list } = await owned();
    const { response, text } = await make({ name: 'My "site" & more', ...fields });
    expect(response.status).toBe(400);
    expect(text).toContain(message);
    expect(text).toContain('<details class="create" open');
    if (!('name' in fields)) expect(text).toContain('value="My &quot;site&quot; &amp; more"');
    expect(await list()).toEqual([]);
  });

  test('is made once, however often its form is sent', async () => {
    const { make, list, html } = await owned();
    const mark = /name="mark" value="([^"]+)"/.exec(await html())?.[1] ?? '';
    expect(mark).not.toBe('');
    const first = await make({ mark });
    const again = await make({ mark });
    expect([first.response.status, again.response.status]).toEqual([200, 409]);
    expect(again.text).toContain('This form was already submitted');
    expect(again.key).toBe('');
    expect(await list()).toHaveLength(1);
  });

  test('is made by a refused form after it is corrected', async () => {
    const { make } = await owned();
    const statuses = [];
    for (const name of ['', 'Website', 'Website']) {
      statuses.push((await make({ name, mark: 'the same' })).response.status);
    }
    expect(statuses).toEqual([400, 200, 409]);
  });

  test('keys of another organization can be neither seen, revoked nor deleted', async () => {
    const { app, visit, html } = await owned();
    await app.addOrganization('org_b');
    const other = await app.deps.keys.createKey({
      organizationId: 'org_b',
      name: 'Not yours',
      permissions: ['api.read'],
      expiresAt: null,
    });
    expect(await html()).not.toContain('Not yours');
    const before = await allRows(app.db);
    for (const what of ['revoke', 'delete']) {
      for (const id of [other.id, 'key_no', '..', '%2e%2e%2f', "'--"]) {
        const { status } = await visit(`${KEYS}/${encodeURIComponent(id)}/${what}`, form());
        // `keys/../delete` is the form that deletes the organization, without its confirmation.
        expect([400, 404, 405]).toContain(status);
      }
    }
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('the list', () => {
  test('says when a key can go', async () => {
    const { app, visit, make, list, html } = await owned();
    const { key } = await make({ name: 'Old site' });
    await make({ name: 'Spare' });
    app.clock.advance(29 * DAY_MS);
    expect(await html()).not.toContain('safe to revoke');
    app.clock.advance(DAY_MS);
    expect(await html()).toContain('Never used in 30 days: safe to revoke');

    await app.request('/v1/org_a/posts', bearer(key));
    await app.deps.keys.flush({ all: true });
    expect((await html()).match(/safe to revoke/g)).toHaveLength(1);
    app.clock.advance(20 * DAY_MS);
    expect(await html()).not.toContain('Not used for');
    app.clock.advance(21 * DAY_MS);
    expect(await html()).toContain('Not used for 41 days: safe to revoke');

    for (const { id } of await list()) await visit(`${KEYS}/${id}/revoke`, form());
    expect(await html()).not.toContain('safe to revoke');
  });

  test('is newest first, and continues on the next page', async () => {
    const { app, html } = await owned();
    for (let number = 1; number <= 60; number++) {
      app.clock.advance(1000);
      await app.deps.keys.createKey({
        organizationId: 'org_a',
        name: `Key ${number}.`,
        permissions: [],
        expiresAt: null,
      });
    }
    const namesOn = async (page: string) =>
      [...(await html(`${KEYS}?page=${page}`)).matchAll(/<strong>Key (\d+)\./g)].map(([, number]) => number);
    expect(await namesOn('1')).toEqual(Array.from({ length: 50 }, (_, index) => String(60 - index)));
    expect(await namesOn('2')).toHaveLength(10);
    for (const odd of ['0', '-3', '99', 'x', '1e9']) expect(await namesOn(odd)).not.toBeEmpty();
  });

  test('shows a member everything but the means to change it', async () => {
    const { app, make } = await owned();
    await make();
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const html = await (await member(KEYS)).text();
    expect(html).toContain('Website');
    expect(html).toContain('Owners create and revoke them');
    expect(html).not.toContain('Create New API Key');
    expect(html).not.toContain('/revoke');
  });

  test('shows hostile names as text', async () => {
    const { make, html } = await owned();
    const { text } = await make({ name: hostile });
    expect(isHarmed(text)).toBe(false);
    expect(isHarmed(await html())).toBe(false);
    expect(await html()).toContain('&lt;script>alert(1)');
  });
});

describe('with Unkey', () => {
  test('keys are made, listed and revoked there', async () => {
    using app = await createUnkeyApp();
    const { make, visit, html, list } = await owned(app);
    const { key } = await make();
    expect((await app.request('/v1/org_a/posts', bearer(key))).status).toBe(200);
    expect(await html()).toContain('Website');
    await visit(`${KEYS}/${(await list())[0]?.id}/revoke`, form());
    expect((await app.request('/v1/org_a/posts', bearer(key))).status).toBe(401);
  });

  test('an outage is a note on the page, and the form stays filled in', async () => {
    using app = await createUnkeyApp();
    const { make, visit, html, list } = await owned(app);
    await make();
    const id = (await list())[0]?.id;
    app.unkey.fault = 'answers 500';
    const shown = await visit(KEYS);
    expect(shown.status).toBe(200);
    expect(await shown.text()).toContain('does not respond');

    const refused = await make({ name: 'Second' });
    expect(refused.response.status).toBe(503);
    expect(refused.text).toContain('value="Second"');
    expect(refused.text).toContain('know if your change was made');
    const revoked = await visit(`${KEYS}/${id}/revoke`, form());
    expect(revoked.status).toBe(503);
    expect(await revoked.text()).toContain('does not respond');
    expect(await html('/dashboard/org_a/start')).toContain('Unknown: Unkey');

    app.unkey.fault = null;
    expect((await list()).map(({ name, status }) => [name, status])).toEqual([['Website', 'active']]);
  });

  test('a change that Unkey refuses is a refusal in its own words, not an uncertain outage', async () => {
    using app = await createUnkeyApp();
    const { make, visit, list } = await owned(app);
    await make();
    const before = await list();
    const id = before[0]?.id;
    for (const action of ['create_key', 'update_key', 'delete_key'] as const) {
      app.unkey.permissions.delete(permissionOn(action));
    }
    const answers = [
      [
        await make({ name: 'Second' }).then(({ response, text }) => ({ response, text })),
        'API was not found',
      ],
      ...(await Promise.all(
        (['revoke', 'delete'] as const).map(async (change) => {
          const response = await visit(`${KEYS}/${id}/${change}`, form());
          const action = change === 'revoke' ? 'update_key' : 'delete_key';
          return [{ response, text: await response.text() }, permissionOn(action)] as const;
        }),
      )),
    ] as const;
    for (const [{ response, text }, reason] of answers) {
      expect(response.status).toBe(502);
      expect(text).toContain('Unkey refused the request');
      expect(text).toContain(reason);
      expect(text).not.toContain('if your change was made');
      expect(text).toContain('Website');
    }
    expect(await list()).toEqual(before);
  });

  test('a new key that Unkey does not verify comes with a warning', async () => {
    using app = await createUnkeyApp();
    const { make } = await owned(app);
    expect((await make()).text).not.toContain('Check this key');
    app.unkey.permissions.delete(permissionOn('verify_key'));
    const { response, text, key } = await make();
    expect(response.status).toBe(200);
    expect(text).toContain('Check this key before you use it.');
    expect(text).toContain(permissionOn('verify_key'));
    const warned = JSON.stringify(app.logged.filter(({ level }) => level === 'warn'));
    expect(warned).toContain('Unkey answers NOT_FOUND for the new key');
    expect(warned).not.toContain(key);
  });

  test('a revocation says how long Unkey caches keys, before and after', async () => {
    using app = await createUnkeyApp();
    const { make, visit, html, list } = await owned(app);
    await make();
    expect(await html()).toContain('Unkey caches keys');
    const revoked = await visit(`${KEYS}/${(await list())[0]?.id}/revoke`, form());
    expect(noticeOf(revoked)).toEndWith(
      '“Website” is revoked. Unkey caches keys: a revoked or deleted key can work for 10 more seconds, in rare cases for 10 minutes.',
    );
  });

  test('an incomplete set-up names the missing setting', async () => {
    using app = await createUnkeyApp({ withoutApiId: true });
    const { html, make } = await owned(app);
    expect(await html()).toContain('UNKEY_API_ID must be set');
    expect((await make()).response.status).toBe(400);
  });
});
