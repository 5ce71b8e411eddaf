import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { pages } from '../../src/dashboard/routes.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { trackUptime } from '../../src/integrations/uptime.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { addToOrganization, disableAccount } from '../../src/people/accounts.ts';
import { createMemberPasswordLink, invite, requireLink } from '../../src/people/links.ts';
import { ORGANIZATION_TRASH_DAYS } from '../../src/people/organization-store.ts';
import {
  DEMO_ORGANIZATION,
  deleteOrganization,
  restoreOrganization,
} from '../../src/people/organizations.ts';
import { fileNameOf } from '../../src/posts/media/store.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { agents } from '../../src/readers/agents/routes.ts';
import { feeds } from '../../src/readers/public/feeds/routes.ts';
import { publicPages } from '../../src/readers/public/routes.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { createApp } from '../../src/server/app.ts';
import { attentionJob } from '../../src/server/attention.ts';
import { openDemo } from '../../src/server/demo/service.ts';
import { sweep } from '../../src/server/sweep.ts';
import { leaderJobs, processJobs } from '../../src/server/work.ts';
import { temporaryFolder } from '../support/cli.ts';
import { signedIn, tokenIn } from '../support/dashboard.ts';
import { execute, oneStep, valuesOf } from '../support/database.ts';
import { githubRequest } from '../support/deliveries.ts';
import { createEveryForm, type EveryForm } from '../support/every-form.ts';
import { JSON_HEADERS } from '../support/mcp.ts';
import { allRows, type Rows } from '../support/rows.ts';
import { appWithOrganization, createTestApp } from '../support/test-app.ts';

// An organization in the trash looks as if it had never existed, and nothing works for it. Restored, it is as it was.

const world = await createEveryForm();
afterAll(() => world[Symbol.asyncDispose]());

/** Another value of the same form, which nothing has. */
const ghostOf = (value: string) => value.replace(/\w(?=\W*$)/, (last) => (last === 'x' ? 'y' : 'x'));

interface Sent {
  name: string;
  path: string;
  init: RequestInit;
}

/** A request of each route about the organization, by everybody who had a right to it; and the same about one that never was. */
async function everyRequest(world: EveryForm) {
  const { app, has } = world;
  const settings = { slug: 'acme', isPageOn: true, isFeedOn: true, isMcpOn: true };
  await changePublication(app.deps, 'org_a', { ...settings, slug: 'former' });
  await changePublication(app.deps, 'org_a', settings);
  const { key } = await app.addKey('org_a', ['api.read', 'posts.suggest']);
  const owner = await signedIn(app, { organizationId: 'org_a' });
  const member = await signedIn(app, { organizationId: 'org_a', role: 'member' });
  const invitation = tokenIn(await invite(app.deps, 'org_a', 'owner'));
  const { path: passwordPath } = await createMemberPasswordLink(app.deps, 'org_a', member.user.id);
  const file = fileNameOf({ id: has.mediaId ?? '', type: 'image/png' });
  const names: Record<string, string> = {
    ...has,
    ...{ slug: 'acme', former: 'former', file, month: '2026-01', name: 'public', key, invitation },
    ...{ password: tokenIn(passwordPath), memberId: member.user.id },
  };
  const ghosts = Object.fromEntries(Object.entries(names).map(([name, value]) => [name, ghostOf(value)]));
  const inPath = (path: string, given: Record<string, string>) =>
    path.replaceAll(/:(\w+)/g, (_, name: string) =>
      name === 'provider' ? 'github' : (given[name] ?? 'thing'),
    );
  const deps = { ...app.deps, peerAddress: () => null, clientIpHeader: undefined } as never;
  const routes = [createApp(deps), feeds(deps), publicPages(deps)].flatMap((plugin) => plugin.routes);
  const body = JSON.stringify(
    samplePayload('github', 'release', { repository: 'acme/lander', now: app.clock.now() }),
  );
  const [, delivery] = githubRequest(world.connected, JSON.parse(body), { event: 'release' });

  function about(given: Record<string, string>): Sent[] {
    const ofKey = { authorization: `Bearer ${given.key}` };
    const signed = { cookie: owner.cookie, 'sec-fetch-site': 'same-origin' };
    const form = (fields: Record<string, string>) => ({
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    const link = { token: '', email: 'new@acme.example', password: 'quiet orange ladder wind' };
    return [
      ...routes
        .filter(({ path }) => path.includes(':'))
        .map(({ method, path }) => ({
          name: `${method} ${path}`,
          path: inPath(path, given),
          init: path.includes('/webhooks/') ? delivery : { method, headers: ofKey },
        })),
      ...['card.png', 'sitemap.xml', 'llms.txt', 'public.md', 'public.png'].map((name) => ({
        name: `GET a file ${name}`,
        path: `/changelog/${given.slug}/${name}`,
        init: {},
      })),
      { name: 'GET a former slug', path: `/changelog/${given.former}`, init: {} },
      { name: 'GET a search', path: `/changelog/${given.slug}?q=Post`, init: {} },
      ...['tools/list', 'ping'].map((method) => ({
        name: `${agents.name} ${method}`,
        path: '/mcp',
        init: {
          method: 'POST',
          headers: { ...JSON_HEADERS, ...ofKey },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
        },
      })),
      ...pages
        .filter(({ path }) => path.includes(':organizationId'))
        .map((page) => ({
          name: `${page.method} ${page.path}`,
          path: inPath(page.path, given),
          init: {
            method: page.method,
            headers: signed,
            ...(page.method === 'POST' && { body: world.filled(page).body }),
          },
        })),
      ...(['invitation', 'password'] as const).flatMap((purpose) => [
        { name: `GET a link ${purpose}`, path: `/dashboard/~/${purpose}?token=${given[purpose]}`, init: {} },
        {
          name: `POST a link ${purpose}`,
          path: `/dashboard/~/${purpose}?token=${given[purpose]}`,
          init: form({ ...link, token: given[purpose] ?? '' }),
        },
      ]),
    ];
  }

  async function send({ path, init }: Sent, given: Record<string, string>) {
    const response = await app.fetch(new Request(`http://localhost${path}`, init));
    let text = await response.text();
    for (const [name, value] of Object.entries(given)) text = text.replaceAll(value, `<${name}>`);
    const headers = ['content-type', 'cache-control', 'location', 'www-authenticate', 'etag', 'set-cookie'];
    return {
      status: response.status,
      text,
      headers: headers.map((name) => response.headers.get(name)),
    };
  }

  const real = about(names);
  const ghostly = about(ghosts);
  return {
    /** Those of one method, or of all. */
    async answers(method?: 'GET') {
      const all = [];
      for (const [index, sent] of real.entries()) {
        if (method !== undefined && !sent.name.startsWith(method)) continue;
        const ghost = ghostly[index] ?? sent;
        all.push({ name: sent.name, own: await send(sent, names), never: await send(ghost, ghosts) });
      }
      return all;
    },
    member,
  };
}

/** Makes everything due, as in one of those organizations that do everything at once. */
async function makeAllDue({ app, has }: EveryForm): Promise<void> {
  const { db, clock } = app;
  const now = clock.now().getTime();
  for (const [table, column] of [
    ['polls', 'due_at'],
    ['histories', 'due_at'],
    ['post_schedules', 'publish_at'],
  ]) {
    await execute(db, `update ${table} set ${column} = ${now - 1000}`);
  }
  await execute(db, 'update hooks set recover_at = 0, has_present_secret = 0');
  await execute(
    db,
    sql`insert into media_copies (integration_id, url, organization_id, status, attempts, due_at, created_at)
      values (${has.integrationId}, 'https://127.0.0.1:1/a.png', 'org_a', 'queued', 0, 0, '')`,
  );
  await execute(
    db,
    sql`insert into release_ranges (integration_id, repository_id, tag, status, due_at, attempts, created_at)
      select integration_id, id, 'v9', 'queued', 0, 0, '' from repositories where full_name = 'acme/polled'`,
  );
  await execute(
    db,
    sql`insert into roundups (id, organization_id, name, cadence, weekday, "time", time_zone, starts_on, group_by, when_empty, content_type, enabled, next_at, created_at, updated_at)
      values ('rnd_1', 'org_a', 'Week', 'weekly', 1, '09:00', 'UTC', '2026-11-01', 'repository', 'line', 'changelog', 1, 1, '', '')`,
  );
  await execute(db, "update trigger_runs set status = 'queued', attempts = 0");
  await execute(db, "update hook_messages set state = 'queued', due_at = 0, attempts = 0, created_at = null");
}

/** Runs each job of a server once. */
async function runJobs({ app }: EveryForm): Promise<void> {
  const deps = { ...app.deps, db: app.db };
  const compose: Compose = async (recipe, material) => composeDraft(recipe, material);
  const uptime = trackUptime({ ...deps, process: 'test' });
  const watch = { name: 'watch', every: 1000, effect: '', run: () => app.db.health() };
  const settings = { dataDir: temporaryFolder().path, backups: undefined, database: undefined };
  const jobs = [
    ...processJobs(deps, compose, uptime, [watch]),
    ...leaderJobs(deps, compose),
    attentionJob(deps, settings),
  ];
  const { signal } = new AbortController();
  for (const { name, run } of jobs) {
    if (name === 'beat') continue;
    await run(signal);
  }
}

/** Tables of the server itself. */
const OF_SERVER = ['elapsed_time', 'leases', 'server_runs', 'throttles', 'form_marks', 'sqlite_sequence'];

async function rowsOf({ app }: EveryForm): Promise<Rows> {
  const rows = await allRows(app.db);
  for (const table of OF_SERVER) delete rows[table];
  for (const table of Object.keys(rows)) if (table.startsWith('post_search')) delete rows[table];
  const inOrder = (all: Rows[string]) => all.map((row) => JSON.stringify(row)).toSorted();
  return Object.fromEntries(
    Object.entries(rows).map(([table, all]) => [table, inOrder(all).map((row) => JSON.parse(row))]),
  );
}

async function countRows(db: EveryForm['app']['db']): Promise<number> {
  return Object.values(await allRows(db)).reduce((sum, rows) => sum + rows.length, 0);
}

const isBeingRemoved = async (db: EveryForm['app']['db']) =>
  (await valuesOf(db, "select 1 from organizations where deleted_at < '1971'")).length > 0;

/** The tables that differ. */
const changedIn = (before: Rows, after: Rows) =>
  Object.keys(before).filter((table) => !Bun.deepEquals(before[table], after[table]));

const name = 'Organization org_a';

describe('an organization in the trash', () => {
  let requests: Awaited<ReturnType<typeof everyRequest>>;
  /** Before it was deleted, and in the trash. */
  let live: Rows;
  let trashed: Rows;
  const { app, github, receiver, has } = world;

  beforeAll(async () => {
    requests = await everyRequest(world);
    await makeAllDue(world);
    const differ = (await requests.answers('GET')).filter(({ own, never }) => own.status !== never.status);
    // Otherwise the next test would prove little.
    expect(differ.length).toBeGreaterThan(60);
    await app.deps.keys.flush({ all: true });
    live = await rowsOf(world);
    await deleteOrganization(app.deps, 'org_a', ` ${name} `);
    trashed = await rowsOf(world);
  });

  test('changes nothing but the row of the organization, and the audit log', () => {
    expect(changedIn(live, trashed)).toEqual(['audit_events', 'organizations']);
  });

  test('is answered on every route, and with every key, session and link, as one that never was', async () => {
    for (const { name, own, never } of await requests.answers())
      expect({ name, ...own }).toEqual({ name, ...never });
    expect(changedIn(trashed, await rowsOf(world))).toEqual([]);
  });

  test('has nothing done for it by any job', async () => {
    const asked = github.requests.length;
    await runJobs(world);
    expect(changedIn(trashed, await rowsOf(world))).toEqual([]);
    expect(github.requests.slice(asked)).toEqual([]);
    expect(receiver.requests).toEqual([]);
  });

  test('is nowhere for its members', async () => {
    const account = await (await requests.member('/dashboard/~/account')).text();
    expect(account).not.toContain(name);
    expect(await (await requests.member('/dashboard')).text()).toContain('belong to an organization');
  });

  test('is as it was once it is restored, and its jobs go on', async () => {
    await restoreOrganization(app.deps, 'org_a');
    expect(changedIn(live, await rowsOf(world))).toEqual(['audit_events']);
    const asked = github.requests.length;
    await runJobs(world);
    const changed = changedIn(live, await rowsOf(world));
    expect(changed).toEqual(expect.arrayContaining(WORKED_ON));
    expect(github.requests.length).toBeGreaterThan(asked);
    expect(receiver.requests).not.toEqual([]);
    expect(has.organizationId).toBe('org_a');
  });
});

/** Some tables that jobs change when everything is due. */
const WORKED_ON = [
  'attention',
  'histories',
  'hook_messages',
  'hooks',
  'media_copies',
  'polls',
  'post_schedules',
  'posts',
  'release_ranges',
  'roundups',
  'silences',
  'token_states',
  'trigger_runs',
];

describe('while an organization is in the trash', () => {
  const inTrash = async () => {
    const app = await appWithOrganization({ organizations: ['org_a', 'org_b'] });
    await changePublication(app.deps, 'org_a', { slug: 'acme', isPageOn: true });
    return app;
  };

  test('its id and its slug stay reserved', async () => {
    const app = await inTrash();
    await deleteOrganization(app.deps, 'org_a', name);
    expect(app.addOrganization('org_a')).rejects.toThrow('Organization org_a is in the trash');
    expect(changePublication(app.deps, 'org_b', { slug: 'acme' })).rejects.toThrow('is in use');
  });

  test('an owner elsewhere cannot get into it by a password link for one of its members', async () => {
    const app = await inTrash();
    const { user } = await signedIn(app, { organizationId: 'org_a' });
    await addToOrganization(app.deps, user.email, 'org_b', 'member');
    await deleteOrganization(app.deps, 'org_a', name);
    const link = createMemberPasswordLink(app.deps, 'org_b', user.id);
    expect(link).rejects.toThrow('also belongs to another organization');
  });

  test('the links of an owner whose account is disabled end, also after it is restored', async () => {
    const app = await inTrash();
    const { user } = await signedIn(app, { organizationId: 'org_a' });
    await signedIn(app, { organizationId: 'org_a' });
    const token = tokenIn(await invite(app.deps, 'org_a', 'owner'));
    await deleteOrganization(app.deps, 'org_a', name);
    await disableAccount(app.deps, user.email);
    await restoreOrganization(app.deps, 'org_a');
    expect(requireLink(app.deps, token, 'invitation')).rejects.toThrow('This link does not work');
  });

  test('it can be restored for 30 days', async () => {
    const app = await inTrash();
    await deleteOrganization(app.deps, 'org_a', name);
    app.clock.advance(ORGANIZATION_TRASH_DAYS * DAY_MS - 1);
    await restoreOrganization(app.deps, 'org_a');
    await deleteOrganization(app.deps, 'org_a', name);
    app.clock.advance(ORGANIZATION_TRASH_DAYS * DAY_MS);
    expect(restoreOrganization(app.deps, 'org_a')).rejects.toThrow('Organization org_a is not in the trash');
  });

  test('the demo is restored by its next start', async () => {
    const app = createTestApp();
    const keyFile = join(temporaryFolder().path, 'demo.key');
    const { key } = await openDemo(app.deps, keyFile);
    await deleteOrganization(app.deps, DEMO_ORGANIZATION, 'Acme Rockets');
    expect(await openDemo(app.deps, keyFile)).toMatchObject({ key, organization: { id: DEMO_ORGANIZATION } });
  });
});

describe('after 30 days', () => {
  /** The rows that a removal leaves of a world with one organization, beside people and the server's own rows. */
  const LEFT = ['audit_events', 'elapsed_time', 'sqlite_sequence', 'tidings', 'users'];

  test('the sweep removes everything of it in small steps, and announces nothing', async () => {
    await using own = await createEveryForm();
    const { app, receiver } = own;
    await everyRequest(own);
    await makeAllDue(own);
    await deleteOrganization(app.deps, 'org_a', name);
    app.clock.advance(ORGANIZATION_TRASH_DAYS * DAY_MS);
    const db = { ...app.db, write: app.db.write, pace: { ...oneStep, stepRows: 2 } };
    const stop = new AbortController();
    const write: typeof db.write = async (work, options) => {
      const before = await countRows(app.db);
      const result = await app.db.write(work, options);
      // With what each row has of its own, such as the entry of a post in the index of search.
      expect(before - (await countRows(app.db))).toBeLessThan(60);
      return result;
    };
    const deps = { ...app.deps, db: { ...db, write } };
    // It ends in the middle of the removal.
    let commits = 0;
    const interrupted: typeof db.write = async (work, options) => {
      if (options?.key === 'sweep' && (await isBeingRemoved(app.db)) && ++commits > 3) stop.abort();
      return write(work, options);
    };
    await sweep({ ...deps, db: { ...db, write: interrupted } }, { signal: stop.signal });
    expect(commits).toBeGreaterThan(3);
    app.clock.advance(-10 * DAY_MS);
    expect(restoreOrganization(app.deps, 'org_a')).rejects.toThrow('is not in the trash');
    app.clock.advance(10 * DAY_MS);
    await sweep(deps);
    await runJobs(own);
    const rows = await allRows(app.db);
    const left = Object.keys(rows).filter(
      (table) => !table.startsWith('post_search') && rows[table]?.length !== 0,
    );
    expect(left.sort()).toEqual(LEFT.filter((table) => rows[table] !== undefined).sort());
    expect(rows.audit_events?.filter(({ target_id }) => target_id === 'org_a')).toMatchObject([
      {
        action: 'organization.erased',
        organization_id: null,
        summary: `deleted the organization “${name}” for good`,
      },
    ]);
    expect(await app.deps.media.files?.list()).toEqual([]);
    expect(receiver.requests).toEqual([]);
    await app.addOrganization('org_a');
  });
});
