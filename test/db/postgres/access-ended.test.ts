import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { withCheck } from '../../../db/checked.ts';
import type { Database } from '../../../db/engine.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { AccessEnded } from '../../../src/lib/app-error.ts';
import { embeddedKeys } from '../../../src/people/keys/store.ts';
import { permitted } from '../../../src/people/permission.ts';
import { signedIn } from '../../support/dashboard.ts';
import { valuesOf } from '../../support/database.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { rejection } from '../../support/refusal.ts';
import { appWithOrganization, type TestApp } from '../../support/test-app.ts';
import { until } from '../../support/until.ts';

// Writes of other keys run beside each other, so no lock of all writes keeps a removal and a change of its person apart.

const SECONDS = 300_000;
const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

let server: PostgresServer;
let url: string;
let db: Database;
let app: TestApp;
let owner: Awaited<ReturnType<typeof signedIn>>;
let keyId: string;

beforeAll(async () => {
  server = await startPostgres();
}, SECONDS);
beforeEach(async () => {
  url = await server.createDatabase();
  db = await openPostgres(url, 'server', { limits: LIMITS, poolSize: 4 });
  app = await appWithOrganization({ db });
  // A row that no check reads.
  await db.write((tx) => tx.run(sql`insert into throttles (key, full_at) values ('row', 0)`));
  owner = await signedIn(app, { organizationId: 'org_a' });
  keyId = (await app.addKey('org_a', ['api.read', 'posts.suggest'])).id;
}, SECONDS);
afterAll(() => server.stop(), SECONDS);

/** A change by the owner, whose write waits for no other one. */
async function changeAs(needs: 'owner' | 'member' | null): Promise<void> {
  const [[sessionHash = ''] = []] = await valuesOf<[string]>(db, 'select hash from sessions');
  const organization = { id: 'org_a', name: 'A' };
  const membership = needs === null ? null : { organization, needs };
  const { db: checked } = permitted(app.deps, { sessionHash, membership }, () => undefined);
  await checked.write((tx) => tx.run(sql`update throttles set full_at = 1`), { key: 'change' });
}

async function suggestAsKey(): Promise<void> {
  const keys = embeddedKeys(app.deps);
  const checked = withCheck(db, async (tx, isWriting) => {
    if (!(await keys.isStillValid(tx, keyId, 'posts.suggest', isWriting)))
      throw new AccessEnded(401, 'INVALID_KEY');
  });
  await checked.write((tx) => tx.run(sql`update throttles set full_at = 1`), { key: 'change' });
}

const isChanged = async () => (await valuesOf(db, 'select full_at from throttles'))[0]?.[0] !== 0;

/** Resolves when so many connections wait for a lock. */
const waiting = (count: number) =>
  until(
    () =>
      valuesOf(
        db,
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      ),
    (found) => found.length >= count,
  );

const endings: [name: string, statement: string, change: () => Promise<void>, status: number][] = [
  ['a removal', "delete from memberships where organization_id = 'org_a'", () => changeAs('member'), 404],
  ['a lower role', "update memberships set role = 'member'", () => changeAs('owner'), 403],
  ['a disabled account', "update users set disabled_at = '2026-01-01'", () => changeAs(null), 401],
  ['a deleted account', 'delete from users', () => changeAs('member'), 401],
  ['a sign-out', 'delete from sessions', () => changeAs('member'), 401],
  ['a deleted organization', "delete from organizations where id = 'org_a'", () => changeAs('member'), 404],
  [
    'an organization in the trash',
    "update organizations set deleted_at = '2026-01-01'",
    () => changeAs('member'),
    404,
  ],
  ['a revoked key', "update api_keys set revoked_at = '2026-01-01'", suggestAsKey, 401],
  ['a deleted key', 'delete from api_keys', suggestAsKey, 401],
];

test.each(endings)(
  '%s that commits first refuses the write that began beside it',
  async (_, statement, change, status) => {
    await using admin = new Bun.SQL(url, { max: 1 });
    const other = await admin.reserve();
    await other.unsafe('begin');
    await other.unsafe(statement);
    const refused = rejection(change());
    await waiting(1);
    await other.unsafe('commit');
    other.release();
    const error = await refused;
    expect(error).toBeInstanceOf(AccessEnded);
    expect((error as AccessEnded).status).toBe(status);
    expect(await isChanged()).toBe(false);
    await db.close();
  },
  SECONDS,
);

test.each(endings)(
  '%s waits for the write that was allowed before it',
  async (_, statement, change) => {
    await using admin = new Bun.SQL(url, { max: 1 });
    const other = await admin.reserve();
    // The write has checked when it waits for this row.
    await other.unsafe('begin');
    await other.unsafe('select from throttles for no key update');
    const changed = change();
    await waiting(1);
    const ended = db.write((tx) => tx.run(sql.raw(statement)), { key: 'ending' });
    await waiting(2);
    await other.unsafe('rollback');
    other.release();
    await Promise.all([changed, ended]);
    expect(await isChanged()).toBe(true);
    await db.close();
  },
  SECONDS,
);

test(
  'two owners who remove each other at once leave one',
  async () => {
    const second = await signedIn(app, { organizationId: 'org_a' });
    const both = [owner, second].map(({ user }, at) =>
      [owner, second][1 - at]?.(`/dashboard/org_a/settings/members/${user.id}/remove`, {
        method: 'POST',
        body: new URLSearchParams(),
      }),
    );
    const statuses = (await Promise.all(both)).map((response) => response?.status);
    expect(statuses.toSorted()).toEqual([303, 404]);
    expect(await valuesOf(db, "select user_id from memberships where role = 'owner'")).toHaveLength(1);
    await db.close();
  },
  SECONDS,
);
