import { describe, expect, test } from 'bun:test';
import {
  addToOrganization,
  createUser,
  deleteAccount,
  disableAccount,
  enableAccount,
} from '../../src/people/accounts.ts';
import { type Actor, listAuditEvents } from '../../src/people/audit.ts';
import { createPasswordLink, createSetupLink, invite } from '../../src/people/links.ts';
import { addAnn, cookieOf, EMAIL, form, PASSWORD, tokenIn, visitor } from '../support/dashboard.ts';
import { execute } from '../support/database.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// Every change to accounts and sessions leaves an event with its actor and address.

const ADDRESS = '203.0.113.7';
const OTHER_PASSWORD = 'a quieter engine room';
const COMMAND: Actor = { type: 'command_line', id: null, name: 'operator', address: null };

async function createWorld() {
  const app = await appWithOrganization({ clientIpHeader: 'x-client-ip' });
  const send = (path: string, fields: Record<string, string>, cookie?: string) =>
    visitor(app, cookie)(path, { ...form(fields), headers: { 'x-client-ip': ADDRESS } });
  /** The new events, oldest first, and forgets them. */
  const events = async () => {
    const found = await app.db.read((tx) => listAuditEvents(tx, undefined, {}, 100));
    await execute(app.db, 'DELETE FROM audit_events');
    return found.reverse().map(({ action, actor, address, target, summary, organizationId }) => ({
      action,
      by: actor.name ?? actor.type,
      address,
      about: target?.type,
      organizationId,
      summary,
    }));
  };
  return { app, send, events };
}

const asAnn = { by: EMAIL, address: ADDRESS, about: 'user' };

test('set-up: the account, the membership and the sign-in', async () => {
  const { app, send, events } = await createWorld();
  const token = tokenIn((await createSetupLink(app.deps)) ?? '');
  await events();
  const fields = { token, email: EMAIL, password: PASSWORD, organization: '' };
  expect((await send('/setup', fields)).status).toBe(303);
  expect(await events()).toEqual([
    { ...asAnn, action: 'user.created', organizationId: null, summary: 'created the first account' },
    { ...asAnn, action: 'member.joined', organizationId: 'org_a', summary: 'joined as an owner' },
    { ...asAnn, action: 'session.created', organizationId: null, summary: 'signed in' },
  ]);
});

test('signing in, signing out, and signing out everywhere', async () => {
  const { app, send, events } = await createWorld();
  await addAnn(app);
  await events();
  const signIn = async () => {
    const response = await send('/dashboard/~/sign-in', { email: EMAIL, password: PASSWORD });
    return cookieOf(response, 'tidings_session');
  };
  const cookie = await signIn();
  expect(await events()).toMatchObject([{ ...asAnn, action: 'session.created', summary: 'signed in' }]);
  await send('/dashboard/~/sign-out', {}, cookie);
  expect(await events()).toMatchObject([{ ...asAnn, action: 'session.ended', summary: 'signed out' }]);
  // The session is gone: nobody signs out.
  await send('/dashboard/~/sign-out', {}, cookie);
  expect(await events()).toEqual([]);
  const again = await signIn();
  await events();
  await send('/dashboard/~/account/sign-out-everywhere', {}, again);
  expect(await events()).toMatchObject([
    { ...asAnn, action: 'session.ended', summary: 'signed out everywhere' },
  ]);
});

test('changing a password, and choosing one by a link', async () => {
  const { app, send, events } = await createWorld();
  const user = await addAnn(app);
  const signedInAnn = await send('/dashboard/~/sign-in', { email: EMAIL, password: PASSWORD });
  const cookie = cookieOf(signedInAnn, 'tidings_session');
  await events();
  const path = '/dashboard/~/account/password';
  await send(path, { current: 'wrong', password: OTHER_PASSWORD }, cookie);
  expect(await events()).toEqual([]);
  await send(path, { current: PASSWORD, password: OTHER_PASSWORD }, cookie);
  expect(await events()).toMatchObject([
    { ...asAnn, action: 'password.changed', summary: 'changed their password' },
  ]);
  const link = await createPasswordLink({ ...app.deps, actor: COMMAND }, EMAIL);
  expect(await events()).toMatchObject([
    {
      by: 'operator',
      address: null,
      action: 'password.link_created',
      summary: `created a link for ${EMAIL} to choose a password`,
    },
  ]);
  expect(link.user.id).toBe(user.id);
  await send('/dashboard/~/password', { token: tokenIn(link.path), password: PASSWORD });
  expect(await events()).toMatchObject([
    { ...asAnn, action: 'password.changed', summary: 'chose a password by link' },
    { ...asAnn, action: 'session.created', summary: 'signed in' },
  ]);
});

test('an invitation: of somebody new, and of a member who becomes an owner', async () => {
  const { app, send, events } = await createWorld();
  await addAnn(app);
  const eve = { email: 'eve@acme.example', password: PASSWORD };
  const path = '/dashboard/~/invitation';
  const token = tokenIn(await invite(app.deps, 'org_a', 'member'));
  await events();
  const joined = await send(path, { token, ...eve });
  const asEve = { by: eve.email, address: ADDRESS, about: 'user' };
  expect(await events()).toMatchObject([
    { ...asEve, action: 'user.created', summary: 'created an account by invitation' },
    {
      ...asEve,
      action: 'member.joined',
      organizationId: 'org_a',
      summary: 'accepted an invitation as a publisher',
    },
    { ...asEve, action: 'session.created' },
  ]);
  const raise = tokenIn(await invite(app.deps, 'org_a', 'owner'));
  await events();
  await send(path, { token: raise }, cookieOf(joined, 'tidings_session'));
  expect(await events()).toMatchObject([
    { ...asEve, action: 'member.role_changed', summary: 'accepted an invitation as an owner' },
  ]);
});

test('changes that an operator makes to accounts', async () => {
  const { app, events } = await createWorld();
  const deps = { ...app.deps, actor: COMMAND };
  await events();
  await createUser(deps, { email: EMAIL });
  expect(await events()).toMatchObject([
    { by: 'operator', about: 'user', action: 'user.created', summary: `created the account ${EMAIL}` },
  ]);
  await addToOrganization(deps, EMAIL, 'org_a', 'member');
  await addToOrganization(deps, EMAIL, 'org_a', 'member');
  expect(await events()).toMatchObject([
    { action: 'member.joined', organizationId: 'org_a', summary: `added ${EMAIL} as a publisher` },
  ]);
  await disableAccount(deps, EMAIL);
  await disableAccount(deps, EMAIL);
  await enableAccount(deps, EMAIL);
  await enableAccount(deps, EMAIL);
  await deleteAccount(deps, EMAIL);
  expect(await events()).toMatchObject([
    { action: 'user.disabled', summary: `disabled the account ${EMAIL}` },
    { action: 'user.enabled', summary: `enabled the account ${EMAIL}` },
    { action: 'user.deleted', summary: `deleted the account ${EMAIL}` },
  ]);
});

describe('refused sign-ins', () => {
  const refusals = async (app: TestApp) =>
    (await app.db.read((tx) => listAuditEvents(tx, undefined, { actions: ['sign_in.refused'] }, 100))).map(
      ({ address, count }) => ({ address, count }),
    );

  test('are counted for a minute and a client address, those that the limits refused too', async () => {
    const { app, send } = await createWorld();
    await addAnn(app);
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++) {
      statuses.push((await send('/dashboard/~/sign-in', { email: EMAIL, password: 'wrong' })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect(
      await until(
        () => refusals(app),
        ([row]) => (row?.count ?? 0) >= 8,
      ),
    ).toEqual([{ address: ADDRESS, count: 8 }]);
    app.clock.advance(60_000);
    await send('/dashboard/~/sign-in', { email: EMAIL, password: 'wrong' });
    expect(await refusals(app)).toEqual([
      { address: ADDRESS, count: 1 },
      { address: ADDRESS, count: 8 },
    ]);
  });

  test('leave no password in the log', async () => {
    const { app, send } = await createWorld();
    await addAnn(app);
    await send('/dashboard/~/sign-in', { email: EMAIL, password: 'my secret guess' });
    expect(
      JSON.stringify([app.logged, await app.db.read((tx) => listAuditEvents(tx, undefined, {}, 10))]),
    ).not.toContain('my secret guess');
  });
});
