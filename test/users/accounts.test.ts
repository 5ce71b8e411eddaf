import { describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import {
  addToOrganization,
  deleteAccount,
  disableAccount,
  enableAccount,
  listAccounts,
} from '../../src/people/accounts.ts';
import { acceptInvitation, createPasswordLink, invite } from '../../src/people/links.ts';
import { listMembers } from '../../src/people/store.ts';
import {
  EMAIL as ANN,
  cookieOf,
  form,
  PASSWORD,
  setPassword,
  signedIn,
  tokenIn,
  visitor,
} from '../support/dashboard.ts';
import { execute, executeBeforeNextWrite } from '../support/database.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const BOB = 'bob@acme.example';
const ACCOUNT = '/dashboard/~/account';
const MEMBERS = '/dashboard/org_a/settings/members';

/** Two owners of an organization, both signed in; Bob has a password. */
async function withOwners() {
  const app = await appWithOrganization();
  const ann = await signedIn(app, { organizationId: 'org_a', email: ANN });
  const bob = await signedIn(app, { organizationId: 'org_a', email: BOB });
  await setPassword(app, { email: BOB });
  return { app, ann, bob };
}

const signIn = (app: TestApp, password = PASSWORD) =>
  visitor(app)('/dashboard/~/sign-in', form({ email: BOB, password }));

describe('a disabled account', () => {
  test('is signed out at once, and cannot sign in', async () => {
    const { app, ann, bob } = await withOwners();
    expect(await disableAccount(app.deps, BOB)).toMatchObject({
      email: BOB,
      disabledAt: app.clock.now().toISOString(),
    });
    expect((await bob(ACCOUNT)).status).toBe(303);
    const refused = await signIn(app);
    expect([refused.status, cookieOf(refused)]).toEqual([403, undefined]);
    expect(await refused.text()).toContain('This account is disabled');
    expect((await allRows(app.db)).sessions).toHaveLength(1);
    expect((await ann(ACCOUNT)).status).toBe(200);
  });

  test('is reported only after the right password', async () => {
    const { app } = await withOwners();
    await disableAccount(app.deps, BOB);
    const refused = await signIn(app, 'wrong');
    expect([refused.status, await refused.text()]).toEqual([
      401,
      expect.stringContaining('The email address or the password is wrong.'),
    ]);
  });

  test('stays out with a session that another process has just begun', async () => {
    const { app, bob } = await withOwners();
    const session = (await allRows(app.db)).sessions?.find(({ user_id }) => user_id === bob.user.id);
    await disableAccount(app.deps, BOB);
    await execute(
      app.db,
      sql`insert into sessions (hash, user_id, created_at, expires_at)
      values (${session?.hash}, ${bob.user.id}, ${session?.created_at}, ${session?.expires_at})`,
    );
    expect((await bob(ACCOUNT)).status).toBe(303);
  });

  test('loses its links and the invitations that it may have kept', async () => {
    const { app } = await withOwners();
    await app.addOrganization('org_b');
    const { path } = await createPasswordLink(app.deps, BOB);
    const kept = await invite(app.deps, 'org_a', 'owner');
    const other = await invite(app.deps, 'org_b', 'member');
    await disableAccount(app.deps, BOB);
    const stranger = visitor(app);
    const statuses = await Promise.all(
      [path, kept, other].map(async (each) => (await stranger(each)).status),
    );
    expect(statuses).toEqual([404, 404, 200]);
    expect(createPasswordLink(app.deps, BOB)).rejects.toThrow('is disabled');
  });

  test('accepts no invitation, even while it is being disabled', async () => {
    const { app, bob } = await withOwners();
    await app.addOrganization('org_b');
    const token = tokenIn(await invite(app.deps, 'org_b', 'member'));
    executeBeforeNextWrite(app.db, "update users set disabled_at = '2026'");
    const accepted = acceptInvitation(app.deps, token, bob.user);
    await expect(accepted).rejects.toThrow('This link does not work');
    expect(await app.db.read((tx) => listMembers(tx, 'org_b'))).toEqual([]);
    expect((await allRows(app.db)).one_time_links).toHaveLength(1);
  });

  test('is marked in the list of members, and no longer counts as an owner', async () => {
    const { app, ann } = await withOwners();
    await disableAccount(app.deps, BOB);
    const html = await (await ann(MEMBERS)).text();
    expect(html).toMatch(/bob@acme\.example<\/strong>.{0,20}<span class="tag disabled">Disabled/);
    const left = await ann(`${MEMBERS}/${ann.user.id}/remove`, form());
    expect([left.status, await left.text()]).toEqual([
      409,
      expect.stringContaining('t remove the last owner'),
    ]);
    const demoted = await ann(`${MEMBERS}/${ann.user.id}/role`, form({ role: 'member' }));
    expect(demoted.status).toBe(409);
  });

  test('can be removed from the organization by its last active owner', async () => {
    const { app, ann, bob } = await withOwners();
    await disableAccount(app.deps, BOB);
    expect((await ann(`${MEMBERS}/${bob.user.id}/remove`, form())).status).toBe(303);
    expect((await app.db.read((tx) => listMembers(tx, 'org_a'))).map(({ email }) => email)).toEqual([ANN]);
  });

  test('signs in again once it is enabled, without its old sessions', async () => {
    const { app, bob } = await withOwners();
    await disableAccount(app.deps, BOB);
    const first = (await allRows(app.db)).users;
    app.clock.advance(1000);
    await disableAccount(app.deps, BOB);
    expect((await allRows(app.db)).users).toEqual(first);
    expect(await enableAccount(app.deps, BOB)).toMatchObject({ email: BOB, disabledAt: null });
    expect((await bob(ACCOUNT)).status).toBe(303);
    expect((await signIn(app)).status).toBe(303);
  });
});

describe('a deleted account', () => {
  test('is gone with its sessions, memberships and links; its posts stay', async () => {
    const { app, bob } = await withOwners();
    await createPasswordLink(app.deps, BOB);
    const kept = await invite(app.deps, 'org_a', 'owner');
    const posted = await bob('/dashboard/org_a/posts/~/new', form({ title: 'Kept', markdown: 'Words' }));
    expect(posted.status).toBe(303);
    const { posts } = await allRows(app.db);
    expect(posts).toHaveLength(1);
    await deleteAccount(app.deps, BOB);
    const after = await allRows(app.db);
    expect(after.posts).toEqual(posts);
    expect(after.users).toMatchObject([{ email: ANN }]);
    expect(after.memberships).toHaveLength(1);
    expect(after.sessions).toHaveLength(1);
    expect(after.one_time_links).toEqual([]);
    expect(JSON.stringify([after.users, after.memberships, after.sessions])).not.toContain(bob.user.id);
    expect((await bob(ACCOUNT)).status).toBe(303);
    expect((await signIn(app)).status).toBe(401);
    expect((await visitor(app)(kept)).status).toBe(404);
  });
});

describe('the last owner', () => {
  test.each([
    ['disabled', disableAccount],
    ['deleted', deleteAccount],
  ])('is not %s without force', async (_, end) => {
    const { app } = await withOwners();
    await app.addOrganization('org_b');
    await addToOrganization(app.deps, BOB, 'org_b', 'owner');
    await app.addOrganization('org_c');
    await addToOrganization(app.deps, BOB, 'org_c', 'member');
    const before = await allRows(app.db);
    expect(end(app.deps, BOB)).rejects.toMatchObject({
      status: 409,
      code: 'last_owner',
      details: { email: BOB, organizations: ['org_b'] },
    });
    await end(app.deps, BOB).catch(() => undefined);
    expect(await allRows(app.db)).toEqual(before);
    await end(app.deps, BOB, { force: true });
    expect((await signIn(app)).status).not.toBe(303);
  });

  test('is the only owner whose account is enabled', async () => {
    const { app } = await withOwners();
    await disableAccount(app.deps, BOB);
    expect(disableAccount(app.deps, ANN)).rejects.toThrow("You can't remove the last owner of org_a");
    // A disabled owner is none to keep.
    await deleteAccount(app.deps, BOB);
    expect(await listAccounts(app.deps)).toHaveLength(1);
  });
});

describe('the organizations of an account', () => {
  test('are added to, and a member becomes an owner', async () => {
    const { app } = await withOwners();
    await app.addOrganization('org_b');
    const rolesOf = async () =>
      (await listAccounts(app.deps, 'org_b')).map(({ email, organizations }) => [
        email,
        organizations.map(({ organizationId, role }) => `${organizationId}: ${role}`),
      ]);
    await addToOrganization(app.deps, BOB, 'org_b', 'member');
    expect(await rolesOf()).toEqual([[BOB, ['org_a: owner', 'org_b: member']]]);
    await addToOrganization(app.deps, BOB, 'org_b', 'owner');
    await addToOrganization(app.deps, BOB, 'org_b', 'member');
    expect(await rolesOf()).toEqual([[BOB, ['org_a: owner', 'org_b: owner']]]);
  });
});
