import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import type { Page } from '../../src/dashboard/page.ts';
import { pages } from '../../src/dashboard/routes.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { disableAccount } from '../../src/people/accounts.ts';
import { createPasswordLink, invite } from '../../src/people/links.ts';
import { removeMember, setRole } from '../../src/people/members.ts';
import { endAllSessions } from '../../src/people/sessions.ts';
import { addAnn, form, visitor } from '../support/dashboard.ts';
import { execute, testEngine } from '../support/database.ts';
import { createEveryForm, type EveryForm, formPaths } from '../support/every-form.ts';
import { type HeldRequest, holdOpen, readsOf } from '../support/held-request.ts';
import type { Rows } from '../support/rows.ts';

// The right to act may end at any moment of a form: while it arrives, before each of its writes, and while a provider answers.

const forms = formPaths.map((path): Page => {
  const page = pages.find((each) => each.method === 'POST' && each.path === path);
  if (page === undefined) throw new Error(`there is no form ${path}`);
  return page;
});

// Their databases live as long as the file.
const interruptedWorld = await createEveryForm();
const heldWorld = await createEveryForm();
afterAll(async () => {
  for (const world of [interruptedWorld, heldWorld]) await world[Symbol.asyncDispose]();
});

test('each form for people with a session is known', () => {
  const all = pages.filter(({ method, access }) => method === 'POST' && access !== 'anyone');
  expect(new Set(formPaths)).toEqual(new Set(all.map(({ path }) => path)));
});

/** The tables that differ, with their rows. */
function difference(one: Rows, other: Rows): Rows {
  return Object.fromEntries(
    Object.entries(one).filter(([table, rows]) => !Bun.deepEquals(rows, other[table])),
  );
}

describe('whose right ends right before a write, or while the provider answers, changes nothing:', () => {
  const world = interruptedWorld;
  let owner: Awaited<ReturnType<EveryForm['addOwner']>>;
  beforeAll(async () => {
    owner = await world.addOwner();
  });

  const run = (statement: ReturnType<typeof sql>) => execute(world.app.db, statement);
  const moveSessions = (days: number) =>
    run(sql`update sessions set expires_at = expires_at + ${days * DAY_MS} where user_id = ${owner.user.id}`);
  const inside = {
    status: 404,
    end: () =>
      run(sql`delete from memberships where user_id = ${owner.user.id} and organization_id = 'org_a'`),
    putBack: () =>
      run(sql`insert into memberships (user_id, organization_id, role, created_at)
        values (${owner.user.id}, 'org_a', 'owner', ${owner.user.createdAt})`),
  };
  const outside = { status: 401, end: () => moveSessions(-100), putBack: () => moveSessions(100) };

  // Both engines have the same code but for the check itself. A form that is tried leaves its change for the next ones.
  const tried = forms.filter(
    ({ path }) => testEngine === 'sqlite' || /settings|account|organizations/.test(path),
  );

  test.each(tried.map((page) => [page.path, page] as const))('%s', async (path, page) => {
    const { status, end, putBack } = page.access === 'user' ? outside : inside;
    const { path: to, body, does = 'writes' } = world.filled(page);
    const state = () => world.state(path.includes('/integrations/'));
    const before = await state();
    for (let at = 1; ; at++) {
      let atEnd = before;
      const interruption = async () => {
        if (does === 'parts') atEnd = await state();
        await end();
      };
      const send = () => owner(to, { method: 'POST', body });
      const { response, interrupted } = await world.interruptAt(at, interruption, send);
      if (interrupted !== null) await putBack();
      const after = await state();
      const isDone = response.status < 400;
      // After the last call to the provider, or in the work of the receiver, there is nothing left to refuse.
      if (interrupted === null || (isDone && (interrupted === 'call' || does === 'sends'))) {
        expect(isDone, `${response.status} ${await response.text()}`).toBe(does !== 'refused');
        const isChanged = Object.keys(difference(after, before)).length > 0;
        expect(isChanged).toBe(does !== 'reads' && does !== 'refused');
        return;
      }
      expect(response.status, `step ${at}`).toBe(status);
      if (does === 'parts') {
        for (const rows of [after, atEnd]) {
          delete rows.form_marks;
          // That of an image comes before its row.
          delete rows.files;
        }
      }
      expect(difference(after, does === 'parts' ? atEnd : before), `step ${at}`).toEqual({});
    }
  });
});

describe('a one-time link that ends while a password is hashed gives nothing:', () => {
  const world = interruptedWorld;
  const { deps, db } = world.app;
  const password = 'quiet orange ladder wind';
  const FORGETFUL = 'forgetful@acme.example';
  beforeAll(async () => {
    await addAnn(world.app, FORGETFUL);
  });

  type Link = [name: string, make: () => Promise<string>, end: string, fields?: Record<string, string>];
  const invitation = () => invite(deps, 'org_a', 'owner');
  const passwordLink = async () => (await createPasswordLink(deps, FORGETFUL)).path;
  const links: Link[] = [
    ['an invitation is withdrawn', invitation, 'delete from one_time_links', { email: 'new@acme.example' }],
    ['a password link expires', passwordLink, 'update one_time_links set expires_at = 1'],
    [
      'an account is disabled',
      passwordLink,
      `update users set disabled_at = '2026' where email = '${FORGETFUL}'`,
    ],
  ];

  test.each(links)('%s', async (_, make, end, fields = {}) => {
    const to = await make();
    let atEnd: Rows = {};
    const interruption = async () => {
      await execute(db, end);
      atEnd = await world.state(false);
    };
    const send = () => visitor(world.app)(to, form({ ...fields, password }));
    // The first write counts the attempt.
    const { response } = await world.interruptAt(2, interruption, send);
    expect(response.status).toBe(404);
    expect(difference(await world.state(false), atEnd)).toEqual({});
  });
});

describe('a form that arrives when the right has ended is refused as a new one, and changes nothing:', () => {
  const world = heldWorld;
  beforeAll(async () => {
    await world.addOwner();
  });

  /** Sends the start of each of these forms, and waits until all were admitted. */
  async function holdAll(some: readonly Page[], cookie: string): Promise<HeldRequest[]> {
    const admitted = readsOf(world.app.db, some.length);
    const held = await Promise.all(
      some.map((page) => {
        const { path, body } = world.filled(page);
        return holdOpen(world.server.port, path, body, { cookie });
      }),
    );
    await admitted;
    return held;
  }

  const finishAll = (held: readonly HeldRequest[]) =>
    Promise.all(held.map(async ({ path, finish }) => [path, (await finish()).status] as const));

  const refusals = (held: readonly HeldRequest[], status: number) =>
    held.map(({ path }) => [path, status] as const);
  const inside = forms.filter(({ access }) => access !== 'user');

  type Ending = (
    deps: EveryForm['app']['deps'],
    user: { id: string; email: string; createdAt: string },
  ) => unknown;
  const endings: [name: string, end: Ending, of: readonly Page[], status: number][] = [
    ['a removal', (deps, { id }) => removeMember(deps, id, 'org_a'), inside, 404],
    ['a disabled account', (deps, { email }) => disableAccount(deps, email), forms, 401],
    ['a sign-out everywhere', (deps, user) => endAllSessions(deps, user), forms, 401],
  ];

  test.each(endings)('%s', async (_, end, of, status) => {
    const { user, cookie } = await world.addOwner();
    const held = await holdAll(of, cookie);
    for (const page of of) {
      const { path, body } = world.filled(page);
      if (body instanceof URLSearchParams)
        held.push(await holdOpen(world.server.port, path, body, { cookie }, 64));
    }
    await end(world.app.deps, user);
    const before = await world.state(false);
    expect(await finishAll(held)).toEqual(refusals(held, status));
    expect(difference(await world.state(false), before)).toEqual({});
  });

  test('a session that expires', async () => {
    const { user, cookie } = await world.addOwner();
    const held = await holdAll(forms, cookie);
    await execute(world.app.db, sql`update sessions set expires_at = 1 where user_id = ${user.id}`);
    const before = await world.state(false);
    expect(await finishAll(held)).toEqual(refusals(held, 401));
    expect(difference(await world.state(false), before)).toEqual({});
  });

  test('a role that becomes lower ends what owners may do, and nothing else', async () => {
    const { user, cookie } = await world.addOwner();
    const isForOwners = ({ access }: Page) => access === 'owner';
    const held = await holdAll(forms.filter(isForOwners), cookie);
    const others = await holdAll(
      forms.filter((page) => !isForOwners(page) && !page.path.includes('sign-out')),
      cookie,
    );
    await setRole(world.app.deps, user.id, 'org_a', 'member');
    const before = await world.state(false);
    expect(await finishAll(held)).toEqual(refusals(held, 403));
    expect(difference(await world.state(false), before)).toEqual({});
    for (const { path, finish } of others) {
      const { status } = await finish();
      // The policy lets owners create an organization, and an owner withdraws what others asked for.
      if (/~\/organizations$|\/approval\/withdraw$/.test(path)) expect(status, path).toBe(403);
      else expect([401, 403], path).not.toContain(status);
    }
    expect(Object.keys(difference(await world.state(false), before))).toContainValues(['posts', 'media']);
  });
});
