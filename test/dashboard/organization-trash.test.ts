import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/lib/time.ts';
import { ORGANIZATION_TRASH_DAYS } from '../../src/people/organization-store.ts';
import { deleteOrganization } from '../../src/people/organizations.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { cookieOf, form, hostile, isHarmed, signedIn } from '../support/dashboard.ts';
import { execute, executeBeforeNextWrite, valuesOf } from '../support/database.ts';
import { formOf } from '../support/form-of.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, type TestApp } from '../support/test-app.ts';

const SETTINGS = '/dashboard/org_a/settings';
const DELETE = `${SETTINGS}/delete`;
const RESTORE = '/dashboard/~/organizations/restore';
const ACCOUNT = '/dashboard/~/account';
const NAME = 'Organization org_a';

async function owned(options: Parameters<typeof appWithOrganization>[0] = {}) {
  const app = await appWithOrganization(options);
  const visit = await signedIn(app, { organizationId: 'org_a' });
  const html = async (path: string) => (await visit(path)).text();
  return { app, visit, html };
}

const moveToTrash = (app: TestApp) => deleteOrganization(app.deps, 'org_a', NAME);

const trashed = async (app: TestApp) =>
  (await valuesOf(app.db, 'select id from organizations where deleted_at is not null')).flat();

/** The page after a redirect, with its notice. */
async function follow(
  visit: (path: string, init?: RequestInit) => Promise<Response>,
  cookie: string,
  answer: Response,
) {
  const cookies = [cookie, cookieOf(answer, 'tidings_notice')].join('; ');
  return visit(answer.headers.get('location') ?? '', { headers: { cookie: cookies } });
}

describe('an owner deletes an organization', () => {
  test('by its name, and sees where to restore it until when', async () => {
    const { app, visit, html } = await owned();
    const key = await app.addKey('org_a');
    await changePublication(app.deps, 'org_a', { slug: 'acme', isPageOn: true });
    const statuses = async () => [
      (await app.request('/v1/org_a/posts', bearer(key))).status,
      (await app.fetch(new Request('http://localhost/changelog/acme'))).status,
      (await visit(SETTINGS)).status,
    ];
    expect(await statuses()).toEqual([200, 200, 200]);
    const opened = formOf(await html(SETTINGS), DELETE);
    expect([...opened.keys()]).toEqual(['confirm']);

    const answer = await visit(DELETE, form({ confirm: ` ${NAME} ` }));
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard']);
    expect(await trashed(app)).toEqual(['org_a']);
    expect(await statuses()).toEqual([401, 404, 404]);
    const [event] = await valuesOf(
      app.db,
      "select actor_name, summary from audit_events where action = 'organization.deleted'",
    );
    expect(event).toEqual([visit.user.email, `deleted the organization “${NAME}”`]);

    const page = await (await follow(visit, visit.cookie, answer)).text();
    expect(page).toContain(`“${NAME}” is in the trash until Dec 20, 2026. Restore it under Your account.`);
    expect(page).toContain("doesn't belong to an organization. Restore one from the trash");
    const restore = formOf(page, RESTORE);
    expect(Object.fromEntries(restore)).toEqual({ id: 'org_a' });

    const restored = await visit(RESTORE, { method: 'POST', body: restore });
    expect([restored.status, restored.headers.get('location')]).toEqual([303, '/dashboard/org_a']);
    expect(await trashed(app)).toEqual([]);
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(await html(ACCOUNT)).not.toContain(RESTORE);
  });

  test('and comes to another organization, if there is one', async () => {
    const { app, visit } = await owned({ organizations: ['org_a', 'org_b'] });
    await execute(
      app.db,
      `insert into memberships (user_id, organization_id, role, created_at) values ('${visit.user.id}', 'org_b', 'member', '')`,
    );
    const answer = await visit(DELETE, form({ confirm: NAME }));
    const first = await follow(visit, visit.cookie, answer);
    expect(first.headers.get('location')).toBe('/dashboard/org_b');
    expect(cookieOf(first, 'tidings_notice')).toBeUndefined();
    const page = await (await visit(ACCOUNT)).text();
    expect(Object.fromEntries(formOf(page, RESTORE))).toEqual({ id: 'org_a' });
  });

  test.each(['', 'org_a', NAME.toLowerCase(), `${NAME}!`])('not by %p', async (confirm) => {
    const { app, visit } = await owned();
    const before = await allRows(app.db);
    const answer = await visit(DELETE, form({ confirm }));
    expect(answer.status).toBe(400);
    const html = await answer.text();
    expect(html).toContain(
      `id="field-confirm-error">The confirmation must be the name of the organization: ${NAME}.`,
    );
    expect(html.match(/data-problem/g)).toHaveLength(1);
    // The other form of the page shows what is stored.
    expect(formOf(html, SETTINGS).get('name')).toBe(NAME);
    expect(formOf(html, DELETE).get('confirm')).toBe(confirm);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('and the error of the settings is not at this form', async () => {
    const { visit } = await owned();
    const html = await (await visit(SETTINGS, form({ name: '', plan: 'free' }))).text();
    expect(html).toContain('id="field-name-error"');
    expect(html).not.toContain('field-confirm-error');
    expect(html.match(/data-problem/g)).toHaveLength(1);
  });

  test('and a member or an owner of another one does not', async () => {
    const { app } = await owned({ organizations: ['org_a', 'org_b'] });
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const other = await signedIn(app, { organizationId: 'org_b' });
    expect(await (await member(SETTINGS)).text()).not.toContain(DELETE);
    const before = await allRows(app.db);
    expect((await member(DELETE, form({ confirm: NAME }))).status).toBe(403);
    expect((await other(DELETE, form({ confirm: NAME }))).status).toBe(404);
    expect(await allRows(app.db)).toEqual(before);
  });
});

describe('an organization in the trash', () => {
  test('is restored by each of its owners, for 30 days, and once', async () => {
    const { app, visit, html } = await owned();
    const second = await signedIn(app, { organizationId: 'org_a' });
    /** A session lasts as long as it is used. */
    async function pass(ms: number) {
      for (let left = ms; left > 0; left -= 10 * DAY_MS) {
        app.clock.advance(Math.min(left, 10 * DAY_MS));
        for (const owner of [visit, second]) await owner(ACCOUNT);
      }
    }
    await moveToTrash(app);
    await pass(ORGANIZATION_TRASH_DAYS * DAY_MS - 1);
    expect(await html('/dashboard')).toContain(NAME);
    // Both of them press the button.
    for (const owner of [visit, second]) {
      const answer = await owner(RESTORE, form({ id: 'org_a' }));
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/dashboard/org_a']);
    }
    const events = "select actor_name from audit_events where action = 'organization.restored'";
    expect(await valuesOf(app.db, events)).toEqual([[visit.user.email]]);

    await moveToTrash(app);
    await pass(ORGANIZATION_TRASH_DAYS * DAY_MS);
    expect(await html('/dashboard')).not.toContain(NAME);
    expect((await visit(RESTORE, form({ id: 'org_a' }))).status).toBe(404);
    expect(await trashed(app)).toEqual(['org_a']);
  });

  test.each([
    ['a member', { organizationId: 'org_a', role: 'member' }],
    ['an owner of another', { organizationId: 'org_b' }],
    ['a person without any', {}],
  ] as const)('is for %s one that never was', async (_, membership) => {
    const { app } = await owned({ organizations: ['org_a', 'org_b'] });
    const visit = await signedIn(app, membership);
    await moveToTrash(app);
    const before = await allRows(app.db);
    for (const path of ['/dashboard', ACCOUNT]) {
      const page = await (await visit(path)).text();
      expect(page).not.toContain(NAME);
      expect(page).not.toContain(RESTORE);
    }
    const answer = await visit(RESTORE, form({ id: 'org_a' }));
    const never = await visit(RESTORE, form({ id: 'org_z' }));
    expect([answer.status, never.status]).toEqual([404, 404]);
    const words = async (response: Response, id: string) => (await response.text()).replaceAll(id, 'ID');
    expect(await words(answer, 'org_a')).toBe(await words(never, 'org_z'));
    expect(await allRows(app.db)).toEqual(before);
  });

  test.each([
    ['is no owner any more', "update memberships set role = 'member'", 404],
    ['is no member any more', 'delete from memberships', 404],
    ['has a disabled account', "update users set disabled_at = '2026'", 401],
  ])('stays there when its owner, right before the write, %s', async (_, change, status) => {
    const { app, visit } = await owned();
    await moveToTrash(app);
    executeBeforeNextWrite(app.db, change);
    expect((await visit(RESTORE, form({ id: 'org_a' }))).status).toBe(status);
    expect(await trashed(app)).toEqual(['org_a']);
  });

  test.each([
    ['an owner', 'owner', true],
    ['a member', 'member', false],
  ] as const)('lets %s create another: %s, %s', async (_, role, mayCreate) => {
    const { app } = await owned();
    const visit = await signedIn(app, { organizationId: 'org_a', role });
    await moveToTrash(app);
    for (const path of ['/dashboard', ACCOUNT])
      expect((await (await visit(path)).text()).includes('action="/dashboard/~/organizations"')).toBe(
        mayCreate,
      );
    const answer = await visit('/dashboard/~/organizations', form({ name: 'Next' }));
    expect(answer.status).toBe(mayCreate ? 303 : 403);
  });

  test('has its name as text', async () => {
    const { visit, html } = await owned();
    await visit(SETTINGS, form({ name: hostile, plan: 'free' }));
    expect(isHarmed(await html(SETTINGS))).toBe(false);
    const answer = await visit(DELETE, form({ confirm: hostile }));
    expect(answer.status).toBe(303);
    const page = await (await follow(visit, visit.cookie, answer)).text();
    expect(page).toContain('&lt;script>');
    expect(isHarmed(page)).toBe(false);
  });
});
