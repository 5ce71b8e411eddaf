import { beforeEach, describe, expect, test } from 'bun:test';
import type { WriteTx } from '../../db/engine.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import {
  type Actor,
  countRefusedSignIn,
  listAuditEvents,
  listOrganizationAudit,
  type NewAuditEvent,
  recordAudit,
  withdrawAudit,
} from '../../src/people/audit.ts';
import { changeOrganization } from '../../src/people/organizations.ts';
import { insertMembership } from '../../src/people/store.ts';
import { sweep } from '../../src/server/sweep.ts';
import { signedIn } from '../support/dashboard.ts';
import { execute, testEngine, testSqlite } from '../support/database.ts';
import { plansOf } from '../support/plans.ts';
import { appWithOrganization, type TestApp } from '../support/test-app.ts';

const ann: Actor = { type: 'user', id: 'usr_ann', name: 'ann@acme.example', address: '203.0.113.7' };
const MINUTE_MS = 60_000;

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
  await execute(app.db, 'DELETE FROM audit_events');
  app.logged.length = 0;
});

const event = (more: Partial<NewAuditEvent> = {}): NewAuditEvent => ({
  organizationId: 'org_a',
  action: 'key.created',
  target: { type: 'key', id: 'key_1' },
  summary: 'created the API key “Website”',
  ...more,
});
const record = (more?: Partial<NewAuditEvent>, actor = ann) =>
  app.db.write((tx) => recordAudit(tx, { ...app.deps, actor }, event(more)));
const all = () => app.db.read((tx) => listAuditEvents(tx, undefined, {}, 100_000));

describe('an event', () => {
  test('is one row and one log line, with its actor, address and target', async () => {
    const id = await record();
    expect(await all()).toEqual([
      {
        id,
        organizationId: 'org_a',
        action: 'key.created',
        actor: { type: 'user', id: 'usr_ann', name: 'ann@acme.example' },
        address: '203.0.113.7',
        target: { type: 'key', id: 'key_1' },
        summary: 'created the API key “Website”',
        count: 1,
        createdAt: app.clock.now().toISOString(),
      },
    ]);
    expect(app.logged).toMatchObject([
      {
        level: 'info',
        audit: { action: 'key.created', actorId: 'usr_ann', address: '203.0.113.7', targetId: 'key_1' },
        msg: 'ann@acme.example created the API key “Website”',
      },
    ]);
  });

  test('of a command is logged at debug: its output says the same', async () => {
    await record({}, { type: 'command_line', id: null, name: 'root', address: null });
    expect(app.logged).toMatchObject([
      { level: 'debug', msg: 'root on the command line created the API key “Website”' },
    ]);
  });

  test('is neither written nor logged when its change fails', async () => {
    const failing = app.db.write(async (tx) => {
      await recordAudit(tx, { ...app.deps, actor: ann }, event());
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([await all(), app.logged]).toEqual([[], []]);
  });

  test('cannot be recorded outside of a transaction', async () => {
    const outside = app.db.read((tx) => recordAudit(tx as WriteTx, { ...app.deps, actor: ann }, event()));
    await expect(outside).rejects.toThrow(testEngine === 'sqlite' ? 'outside of write' : 'not available');
  });

  test('is withdrawn with its change, and its id is not used again', async () => {
    const id = await record();
    await app.db.write((tx) => withdrawAudit(tx, app.deps, id));
    expect(await all()).toEqual([]);
    expect(app.logged.at(-1)).toMatchObject({ audit: { action: 'key.created', targetId: 'key_1' } });
    expect(await record()).toBeGreaterThan(id);
  });

  test('is cut when its summary is long', async () => {
    await record({ summary: 'x'.repeat(10_000) });
    expect((await all())[0]?.summary).toHaveLength(400);
  });
});

test('an event is kept as long as the plan said when it was written; outside an organization 30 days', async () => {
  await record({ organizationId: 'org_a' });
  await changeOrganization(app.deps, 'org_b', { plan: 'pro' });
  await execute(app.db, "DELETE FROM audit_events WHERE organization_id = 'org_b'");
  await record({ organizationId: 'org_b' });
  await changeOrganization({ ...app.deps, actor: ann }, 'org_b', { plan: 'free' });
  await execute(app.db, "DELETE FROM audit_events WHERE action = 'organization.changed'");
  await record({ organizationId: null });
  await record({ organizationId: 'org_gone' });
  const after = async (ms: number) => {
    const asOf = new Date(app.clock.now().getTime() + ms);
    expect(await sweep(app.deps, { confirmed: asOf })).toEqual({ deliveryIds: 0, logs: 0, sessions: 0 });
    return (await all()).map(({ organizationId }) => organizationId);
  };
  expect(await after(7 * DAY_MS - 1)).toEqual(['org_gone', null, 'org_b', 'org_a']);
  expect(await after(7 * DAY_MS)).toEqual(['org_gone', null, 'org_b']);
  expect(await after(30 * DAY_MS - 1)).toEqual(['org_gone', null, 'org_b']);
  expect(await after(30 * DAY_MS)).toEqual([]);
});

test('the sweeper deletes expired events in batches', async () => {
  await app.db.write(async (tx) => {
    for (let n = 0; n < 250; n++) await recordAudit(tx, app.deps, event({ organizationId: null }));
  });
  const asOf = new Date(app.clock.now().getTime() + 30 * DAY_MS);
  await sweep(app.deps, { confirmed: asOf });
  expect(await all()).toEqual([]);
});

describe('refused sign-ins', () => {
  const refused = (address: string) => app.db.write((tx) => countRefusedSignIn(tx, app.deps, address));
  const rows = async () => (await all()).map(({ address, count }) => [address, count]);

  test('are one row a minute and address, with a count, logged once', async () => {
    await Promise.all([refused('192.0.2.1'), refused('192.0.2.1'), refused('192.0.2.2')]);
    app.clock.advance(MINUTE_MS - 1);
    await refused('192.0.2.1');
    app.clock.advance(1);
    await refused('192.0.2.1');
    expect(await rows()).toEqual([
      ['192.0.2.1', 1],
      ['192.0.2.2', 1],
      ['192.0.2.1', 3],
    ]);
    expect((await all())[0]).toMatchObject({
      organizationId: null,
      action: 'sign_in.refused',
      actor: { type: 'anonymous', id: null, name: null },
      target: null,
      summary: 'failed to sign in',
      createdAt: '2026-11-20T12:01:00.000Z',
    });
    expect(app.logged).toMatchObject([
      { audit: { address: '192.0.2.1' }, msg: 'Somebody failed to sign in' },
      { audit: { address: '192.0.2.2' } },
      { audit: { address: '192.0.2.1' } },
    ]);
  });

  test('of more than 20 addresses share one row of the minute, and none is lost', async () => {
    for (let n = 0; n < 50; n++) await refused(`192.0.2.${n}`);
    await refused('192.0.2.3');
    const found = await rows();
    expect(found).toHaveLength(21);
    expect(found[0]).toEqual([null, 30]);
    expect(found).toContainEqual(['192.0.2.3', 2]);
  });

  test('grow the log by at most 1,000 addresses and one row a minute on one day', async () => {
    app.clock.set('2026-11-20T00:00:00.000Z');
    for (let minute = 0; minute < 60; minute++) {
      await Promise.all(Array.from({ length: 30 }, (_, n) => refused(`10.0.${minute}.${n}`)));
      app.clock.advance(MINUTE_MS);
    }
    const found = await rows();
    expect(found.filter(([address]) => address !== null)).toHaveLength(1_000);
    expect(found.filter(([address]) => address === null)).toHaveLength(60);
    expect(found.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(1_800);
    app.clock.set('2026-11-21T00:00:00.000Z');
    await refused('10.1.1.1');
    expect((await rows())[0]).toEqual(['10.1.1.1', 1]);
  });
});

describe('the owners of an organization', () => {
  const seen = async (organizationId = 'org_a', filter = {}) =>
    (await app.db.read((tx) => listOrganizationAudit(tx, organizationId, filter, 100))).map(
      ({ summary }) => summary,
    );
  const account = (id: string, summary: string) =>
    record({ organizationId: null, action: 'session.created', target: { type: 'user', id }, summary });

  test("see its events and those of its members' accounts since they joined, and nothing else", async () => {
    const early = await signedIn(app, { organizationId: 'org_b' });
    await account(early.user.id, 'signed in before joining');
    app.clock.advance(1);
    const { user } = await signedIn(app, { organizationId: 'org_a' });
    await app.db.write((tx) =>
      insertMembership(tx, {
        userId: early.user.id,
        organizationId: 'org_a',
        role: 'member',
        createdAt: app.clock.now().toISOString(),
      }),
    );
    await account(user.id, 'signed in');
    await record({ summary: 'one' });
    await account(early.user.id, 'signed in after joining');
    await record({ organizationId: 'org_b', summary: 'other' });
    await record({ organizationId: null, summary: 'nobody' });
    await app.db.write((tx) => countRefusedSignIn(tx, app.deps, '192.0.2.1'));
    expect(await seen()).toEqual(['signed in after joining', 'one', 'signed in']);
    expect(await seen('org_b')).toEqual(['other', 'signed in after joining', 'signed in before joining']);
  });

  test('see them by action, by actor, and page by page', async () => {
    const { user } = await signedIn(app, { organizationId: 'org_a' });
    const bob: Actor = { ...ann, id: 'usr_bob' };
    await record({ summary: 'a' });
    await record({ summary: 'b', action: 'post.deleted' }, bob);
    const c = await account(user.id, 'c');
    await record({ summary: 'd' }, { type: 'server', id: null, name: null, address: null });
    expect(await seen('org_a', { actions: ['key.created', 'session.created'] })).toEqual(['d', 'c', 'a']);
    expect(await seen('org_a', { actor: { id: 'usr_bob' } })).toEqual(['b']);
    expect(await seen('org_a', { actor: { type: 'server' } })).toEqual(['d']);
    expect(await seen('org_a', { before: c })).toEqual(['b', 'a']);
    const page = await app.db.read((tx) => listOrganizationAudit(tx, 'org_a', {}, 2));
    expect(page.map(({ summary }) => summary)).toEqual(['d', 'c']);
  });

  testSqlite('get a page along indexes, whatever else the log holds', async () => {
    const plans = await plansOf(
      (db) => db.read((tx) => listOrganizationAudit(tx, 'org_a', { before: 100 }, 50)),
      app.db,
    );
    expect(plans).toHaveLength(2);
    expect(plans.join()).not.toContain('SCAN audit_events');
    expect(plans.join()).toContain('audit_events_by_account (target_id=? AND rowid<?)');
    expect(plans.join()).toContain('audit_events_by_organization (organization_id=? AND rowid<?)');
  });
});
