import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/lib/time.ts';
import { deleteAccount, disableAccount } from '../../src/people/accounts.ts';
import { insertMembership, listMembers } from '../../src/people/store.ts';
import { sweep } from '../../src/server/sweep.ts';
import { cookieOf, form, hostile, isHarmed, signedIn, visitor } from '../support/dashboard.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, PUBLIC_URL } from '../support/test-app.ts';

const MEMBERS = '/dashboard/org_a/settings/members';
const JOIN = '/dashboard/~/invitation';
const PASSWORD = 'correct horse battery';

async function owned() {
  const app = await appWithOrganization();
  const visit = await signedIn(app, { organizationId: 'org_a', email: 'ann@acme.example' });
  /** Makes an invitation as an owner does. Returns its path and its token. */
  async function invite(role = 'member') {
    const response = await visit(`${MEMBERS}/invitations`, form({ role }));
    const html = await response.text();
    const token = /invitation\?token=(\w+)/.exec(html)?.[1] ?? '';
    return { response, html, token, path: `${JOIN}?token=${token}` };
  }
  const people = async () =>
    (await app.db.read((tx) => listMembers(tx, 'org_a'))).map(({ email, role }) => `${email}: ${role}`);
  const join = (token: string, fields: Record<string, string> = {}) =>
    visitor(app)(JOIN, form({ token, email: 'bob@acme.example', password: PASSWORD, ...fields }));
  return { app, visit, invite, people, join };
}

describe('an invitation', () => {
  test('is shown once, and lets somebody new in once', async () => {
    const { app, visit, invite, people, join } = await owned();
    const { response, html, token, path } = await invite();
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(html).toContain(`data-copy="${PUBLIC_URL}${path}"`);
    expect(await (await visit(MEMBERS)).text()).not.toContain(token);
    expect(JSON.stringify([app.logged, await allRows(app.db)])).not.toContain(token);

    expect(await (await visitor(app)(path)).text()).toContain('You are invited as a publisher');
    const joined = await join(token);
    expect([joined.status, joined.headers.get('location')]).toEqual([303, '/dashboard/org_a']);
    expect((await visitor(app, cookieOf(joined))(MEMBERS)).status).toBe(200);
    expect(await people()).toEqual(['ann@acme.example: owner', 'bob@acme.example: member']);
    const again = [await visitor(app)(path), await join(token, { email: 'eve@evil.example' })];
    expect(again.map(({ status }) => status)).toEqual([404, 404]);
    expect(JSON.stringify(app.logged)).not.toContain(token);
  });

  test('is accepted by a person who is signed in, under their own address', async () => {
    const { app, invite, people } = await owned();
    const { token, path } = await invite('owner');
    const bob = await signedIn(app, { email: 'bob@acme.example' });
    const html = await (await bob(path)).text();
    expect(html).toContain('You are signed in as bob@acme.example');
    expect(html).not.toContain('name="password"');
    expect((await bob(JOIN, form({ token, email: 'eve@evil.example' }))).status).toBe(303);
    expect(await people()).toEqual(['ann@acme.example: owner', 'bob@acme.example: owner']);
  });

  test.each([
    ['member', 'member'],
    ['owner', 'member'],
    ['owner', 'owner'],
  ] as const)(
    'is not used up by a person who has the role already: %s, invited as %s',
    async (role, invited) => {
      const { app, invite, people } = await owned();
      const { token, path } = await invite(invited);
      const bob = await signedIn(app, { organizationId: 'org_a', role, email: 'bob@acme.example' });
      for (const response of [await bob(path), await bob(JOIN, form({ token }))]) {
        expect([response.status, response.headers.get('location')]).toEqual([303, '/dashboard/org_a']);
      }
      expect((await visitor(app)(path)).status).toBe(200);
      expect(await people()).toContain(`bob@acme.example: ${role}`);
    },
  );

  test('as an owner makes a member one', async () => {
    const { app, invite, people } = await owned();
    const { token, path } = await invite('owner');
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    const html = await (await bob(path)).text();
    expect(html).toContain('<h1>Become an owner of Organization org_a</h1>');
    expect(await people()).toContain('bob@acme.example: member');
    const joined = await bob(JOIN, form({ token }));
    expect([joined.status, joined.headers.get('location')]).toEqual([303, '/dashboard/org_a']);
    expect(cookieOf(joined, 'tidings_notice')).toContain('You%20are%20now%20an%20owner');
    expect(await people()).toEqual(['ann@acme.example: owner', 'bob@acme.example: owner']);
    expect((await bob(`${MEMBERS}/invitations/withdraw`, form())).status).toBe(303);
    expect((await visitor(app)(path)).status).toBe(404);
  });

  test.each([
    ['no address', { email: 'bob' }, 400, 'The address must be an email address'],
    ['a hidden character', { email: 'ann\u200b@acme.example' }, 400, 'without invisible characters'],
    ['one that turns the rest', { email: 'ann\u202e@acme.example' }, 400, 'without invisible characters'],
    ['a short password', { password: 'short' }, 400, 'The password must have 10 to 200 characters'],
    ['an address that has an account', { email: 'ann@acme.example' }, 409, 'Sign in first'],
  ])('is not used up by %s, and the form stays filled in', async (_, fields, status, message) => {
    const { app, invite, join } = await owned();
    const { token, path } = await invite();
    const before = await allRows(app.db);
    const refused = await join(token, fields);
    expect(refused.status).toBe(status);
    const html = await refused.text();
    expect(html).toContain(message);
    expect(html).toContain(`value="${'email' in fields ? fields.email : 'bob@acme.example'}"`);
    expect(html).not.toContain(PASSWORD);
    expect(await allRows(app.db)).toEqual({ ...before, throttles: expect.anything() });
    expect((await visitor(app)(path)).status).toBe(200);
  });

  test('works for a week', async () => {
    const { app, visit, invite, join, people } = await owned();
    const { token, path } = await invite();
    app.clock.advance(7 * DAY_MS - 1);
    expect((await visitor(app)(path)).status).toBe(200);
    expect(await (await visit(MEMBERS)).text()).toContain('1 invitation link is not used yet');
    app.clock.advance(1);
    expect(await (await visit(MEMBERS)).text()).not.toContain('not used yet');
    expect([(await visitor(app)(path)).status, (await join(token)).status]).toEqual([404, 404]);
    expect(await people()).toHaveLength(1);
    await sweep(app.deps, { confirmed: app.clock.now() });
    expect((await allRows(app.db)).one_time_links).toEqual([]);
  });

  test('can be withdrawn', async () => {
    const { app, visit, invite } = await owned();
    const links = [await invite(), await invite('owner')];
    expect(await (await visit(MEMBERS)).text()).toContain('2 invitation links are not used yet');
    expect((await visit(`${MEMBERS}/invitations/withdraw`, form())).status).toBe(303);
    for (const { path } of links) expect((await visitor(app)(path)).status).toBe(404);
  });

  test('needs a role, and is made once for a form', async () => {
    const { app, visit, invite } = await owned();
    expect((await invite('admin')).response.status).toBe(400);
    const marked = form({ role: 'member', mark: 'the same' });
    const statuses = [];
    for (let time = 0; time < 2; time++) {
      statuses.push((await visit(`${MEMBERS}/invitations`, marked)).status);
    }
    expect(statuses).toEqual([200, 303]);
    expect((await allRows(app.db)).one_time_links).toHaveLength(1);
  });

  test('can be guessed five times; guesses do not hold up people with an invitation', async () => {
    const { app, invite, join } = await owned();
    const { path, token } = await invite();
    const guess = async () => (await visitor(app)(`${JOIN}?token=guessed`)).status;
    for (let attempt = 0; attempt < 5; attempt++) expect(await guess()).toBe(404);
    expect(await guess()).toBe(429);
    expect((await visitor(app)(path)).status).toBe(200);
    app.clock.advance(20_000);
    expect(await guess()).toBe(404);
    // A person with an invitation cannot quickly find out which addresses have an account, either.
    for (let attempt = 0; attempt < 5; attempt++) {
      expect((await join(token, { email: 'ann@acme.example' })).status).toBe(409);
    }
    expect((await join(token, { email: 'ann@acme.example' })).status).toBe(429);
    app.clock.advance(20_000);
    expect((await join(token)).status).toBe(303);
  });

  test('a link for something else is none', async () => {
    const { app } = await owned();
    for (const path of [JOIN, `${JOIN}?token=`, `${JOIN}?token=${'x'.repeat(5000)}`]) {
      const response = await visitor(app)(path);
      expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('was used')]);
    }
  });
});

describe('a member', () => {
  test('is removed, with all that they see', async () => {
    const { app, visit, invite, people } = await owned();
    const { path } = await invite();
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'owner', email: 'bob@acme.example' });
    expect((await bob(MEMBERS)).status).toBe(200);
    const removed = await visit(`${MEMBERS}/${bob.user.id}/remove`, form());
    expect([removed.status, removed.headers.get('location')]).toEqual([303, MEMBERS]);
    expect((await bob(MEMBERS)).status).toBe(404);
    expect(await people()).toEqual(['ann@acme.example: owner']);
    // They may have kept an invitation.
    expect((await bob(path)).status).toBe(404);
  });

  test('may leave, but for the last owner', async () => {
    const { app, visit, people } = await owned();
    await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    const remove = () => visit(`${MEMBERS}/${visit.user.id}/remove`, form());
    const refused = await remove();
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('t remove the last owner'),
    ]);
    await signedIn(app, { organizationId: 'org_a', email: 'cyd@acme.example' });
    expect((await remove()).headers.get('location')).toBe('/dashboard');
    expect(await people()).toEqual(['bob@acme.example: member', 'cyd@acme.example: owner']);
  });

  test('of another organization is not there', async () => {
    const { app, visit } = await owned();
    await app.addOrganization('org_b');
    const other = await signedIn(app, { organizationId: 'org_b', email: 'eve@evil.example' });
    const before = await allRows(app.db);
    for (const id of [other.user.id, 'usr_none', 'invitations']) {
      expect((await visit(`${MEMBERS}/${id}/remove`, form())).status).toBe(404);
      expect((await visit(`${MEMBERS}/${id}/role`, form({ role: 'member' }))).status).toBe(404);
    }
    expect(await allRows(app.db)).toEqual(before);
    expect(await (await visit(MEMBERS)).text()).not.toContain('eve@evil.example');
  });

  test('with a hostile address is shown as text', async () => {
    const { app, visit } = await owned();
    await signedIn(app, { organizationId: 'org_a', email: hostile });
    await signedIn(app, { organizationId: 'org_a', role: 'member', email: `2${hostile}` });
    for (const path of [MEMBERS, '/dashboard/~/account']) {
      expect(isHarmed(await (await visit(path)).text())).toBe(false);
    }
  });

  test('sees the people, and no means to change them', async () => {
    const { app } = await owned();
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    const html = await (await bob(MEMBERS)).text();
    expect(html).toContain('ann@acme.example');
    expect(html).not.toMatch(/\/(?:remove|role)"/);
    expect(html).not.toContain('invitations');
  });
});

describe('a role', () => {
  const role = (id: string, next?: string): [string, RequestInit] => [
    `${MEMBERS}/${id}/role`,
    form(next === undefined ? {} : { role: next }),
  ];

  test('is changed either way, and holds at once', async () => {
    const { app, visit, people } = await owned();
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    expect((await bob(`${MEMBERS}/invitations`, form({ role: 'member' }))).status).toBe(403);
    const made = await visit(...role(bob.user.id, 'owner'));
    expect([made.status, made.headers.get('location')]).toEqual([303, MEMBERS]);
    expect(await people()).toEqual(['ann@acme.example: owner', 'bob@acme.example: owner']);
    expect((await bob(...role(visit.user.id, 'member'))).status).toBe(303);
    expect(await people()).toEqual(['ann@acme.example: member', 'bob@acme.example: owner']);
    expect((await visit(...role(visit.user.id, 'owner'))).status).toBe(403);
    expect((await visit(MEMBERS)).status).toBe(200);
  });

  test('as an owner is not given up by the last one', async () => {
    const { app, visit, invite } = await owned();
    await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    await invite();
    const before = await allRows(app.db);
    const refused = await visit(...role(visit.user.id, 'member'));
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining('t remove the last owner of org_a: ann@acme.example'),
    ]);
    expect(await allRows(app.db)).toEqual(before);
  });

  test('that is the same, or is none, changes nothing', async () => {
    const { app, visit, invite } = await owned();
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'bob@acme.example' });
    await invite('owner');
    const before = await allRows(app.db);
    expect((await visit(...role(visit.user.id, 'owner'))).status).toBe(303);
    expect((await visit(...role(bob.user.id, 'member'))).status).toBe(303);
    for (const next of [undefined, '', 'admin', 'constructor', hostile]) {
      const refused = await visit(...role(bob.user.id, next));
      expect([refused.status, await refused.text()]).toEqual([
        400,
        expect.stringContaining('Choose what the person can do.'),
      ]);
    }
    expect(await allRows(app.db)).toEqual(before);
  });

  // A former owner may have kept one.
  test('that is taken away does not come back by an invitation', async () => {
    const { app, visit } = await owned();
    const bob = await signedIn(app, { organizationId: 'org_a', role: 'owner', email: 'bob@acme.example' });
    const kept = await (await bob(`${MEMBERS}/invitations`, form({ role: 'owner' }))).text();
    const token = /invitation\?token=(\w+)/.exec(kept)?.[1] ?? '';
    expect((await bob(...role(visit.user.id, 'owner'))).status).toBe(303);
    expect((await allRows(app.db)).one_time_links).toHaveLength(1);
    expect((await visit(...role(bob.user.id, 'member'))).status).toBe(303);
    expect((await bob(JOIN, form({ token }))).status).toBe(404);
    expect((await allRows(app.db)).one_time_links).toEqual([]);
  });
});

describe('a reset link', () => {
  const reset = (id: string) => [`${MEMBERS}/${id}/password-link`, form()] as const;
  const linkIn = (html: string) => /(\/dashboard\/~\/password\?token=\w+)/.exec(html)?.[1] ?? '';

  test('is shown once to an owner, and lets the member choose a new password once', async () => {
    const { app, visit } = await owned();
    const ben = await signedIn(app, { organizationId: 'org_a', role: 'member', email: 'ben@acme.example' });
    const response = await visit(...reset(ben.user.id));
    const html = await response.text();
    const path = linkIn(html);
    const token = path.split('=')[1] ?? '';
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(html).toContain(`data-copy="${PUBLIC_URL}${path}"`);
    expect(JSON.stringify([app.logged, await allRows(app.db)])).not.toContain(token);
    const { audit_events } = await allRows(app.db);
    expect(JSON.stringify(audit_events)).toContain(
      'created a link for ben@acme.example to choose a password',
    );

    expect((await visitor(app)(path)).status).toBe(200);
    const chosen = await visitor(app)('/dashboard/~/password', form({ token, password: PASSWORD }));
    expect(chosen.status).toBe(303);
    expect((await visitor(app, cookieOf(chosen))(MEMBERS)).status).toBe(200);
    // Everywhere else the person is signed out.
    expect((await ben(MEMBERS)).status).toBe(303);
    expect((await visitor(app)(path)).status).toBe(404);
  });

  test('replaces earlier ones and ends after a day', async () => {
    const { app, visit } = await owned();
    const { user } = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const first = linkIn(await (await visit(...reset(user.id))).text());
    const second = linkIn(await (await visit(...reset(user.id))).text());
    expect((await visitor(app)(first)).status).toBe(404);
    expect((await visitor(app)(second)).status).toBe(200);
    app.clock.advance(DAY_MS);
    expect((await visitor(app)(second)).status).toBe(404);
  });

  test('of the same form is created once', async () => {
    const { app, visit } = await owned();
    const { user } = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const [path] = reset(user.id);
    const link = linkIn(await (await visit(path, form({ mark: 'm' }))).text());
    expect((await visit(path, form({ mark: 'm' }))).status).toBe(303);
    expect((await visitor(app)(link)).status).toBe(200);
  });

  test('is refused for an account of another organization too, a disabled one, and the own one', async () => {
    const { app, visit } = await owned();
    await app.addOrganization('org_b');
    const shared = await signedIn(app, {
      organizationId: 'org_a',
      role: 'member',
      email: 'eve@acme.example',
    });
    const createdAt = app.clock.now().toISOString();
    const membership = {
      userId: shared.user.id,
      organizationId: 'org_b',
      role: 'member',
      createdAt,
    } as const;
    await app.db.write((tx) => insertMembership(tx, membership));
    const disabled = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    await disableAccount(app.deps, disabled.user.email);
    const before = await allRows(app.db);
    const refusals: [id: string, words: string][] = [
      [shared.user.id, 'eve@acme.example also belongs to another organization'],
      [disabled.user.id, 'is disabled'],
      [visit.user.id, 'Change your password under Your account'],
    ];
    for (const [id, words] of refusals) {
      const response = await visit(...reset(id));
      expect([response.status, await response.text()]).toEqual([409, expect.stringContaining(words)]);
    }
    expect((await visit(...reset('usr_nobody'))).status).toBe(404);
    expect((await allRows(app.db)).one_time_links).toEqual(before.one_time_links as never);
  });

  test('is for owners of that organization', async () => {
    const { app, visit } = await owned();
    await app.addOrganization('org_b');
    const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const other = await signedIn(app, { organizationId: 'org_b' });
    expect((await member(...reset(visit.user.id))).status).toBe(403);
    expect((await other(...reset(member.user.id))).status).toBe(404);
    expect(
      (await other(`/dashboard/org_b/settings/members/${member.user.id}/password-link`, form())).status,
    ).toBe(404);
    expect((await allRows(app.db)).one_time_links ?? []).toEqual([]);
  });

  test.each([
    ['disabled', disableAccount],
    ['deleted', deleteAccount],
  ])('ends when the account of an owner is %s, who may have kept it', async (_, end) => {
    const { app } = await owned();
    const ben = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const second = await signedIn(app, { organizationId: 'org_a' });
    const kept = linkIn(await (await second(...reset(ben.user.id))).text());
    await end(app.deps, second.user.email);
    expect((await visitor(app)(kept)).status).toBe(404);
    expect((await allRows(app.db)).one_time_links).toEqual([]);
  });

  test('ends when the member joins another organization, and when an owner leaves', async () => {
    const { app, visit } = await owned();
    await app.addOrganization('org_b');
    const { user } = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const link = linkIn(await (await visit(...reset(user.id))).text());
    const createdAt = app.clock.now().toISOString();
    const membership = { userId: user.id, organizationId: 'org_b', role: 'member', createdAt } as const;
    await app.db.write((tx) => insertMembership(tx, membership));
    const token = link.split('=')[1] ?? '';
    const refused = await visitor(app)('/dashboard/~/password', form({ token, password: PASSWORD }));
    expect(refused.status).toBe(404);

    const ben = await signedIn(app, { organizationId: 'org_a', role: 'member' });
    const second = await signedIn(app, { organizationId: 'org_a' });
    const kept = linkIn(await (await second(...reset(ben.user.id))).text());
    await visit(`${MEMBERS}/${second.user.id}/remove`, form());
    expect((await visitor(app)(kept)).status).toBe(404);
  });
});
