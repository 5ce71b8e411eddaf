import { beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trackUptime } from '../../src/integrations/uptime.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { tidings } from '../../src/lib/build.ts';
import * as disk from '../../src/lib/disk.ts';
import { type AttentionKind, listAttention, MAX_ITEMS } from '../../src/people/attention.ts';
import {
  changeOrganization,
  deleteOrganization,
  restoreOrganization,
} from '../../src/people/organizations.ts';
import { askApproval } from '../../src/posts/approval-requests.ts';
import {
  attentionJob,
  findInDatabase,
  type KindInDatabase,
  kindsInDatabase,
  listNow,
} from '../../src/server/attention.ts';
import { leaderWatch } from '../../src/server/attention-machine.ts';
import { recordFailure } from '../../src/server/backup/job.ts';
import { examineConfig } from '../../src/server/config.ts';
import type { Patient } from '../../src/server/doctor/check.ts';
import { CHECK_OF } from '../../src/server/doctor/contents.ts';
import { examine } from '../../src/server/doctor/examine.ts';
import { createElapsed } from '../../src/server/elapsed.ts';
import { addDatabaseGauges } from '../../src/server/metrics.ts';
import { cli, temporaryFolder } from '../support/cli.ts';
import { pageVisitor } from '../support/dashboard.ts';
import { execute, testEngine, valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { createTriggerFor } from '../support/drafts.ts';
import type { TestApp } from '../support/test-app.ts';

// Every kind of the attention list, from its cause: the server, the commands and the metrics tell the same.

const DAY_MS = 86_400_000;

let app: TestApp;
let connected: Connected;
let folder: string;
let checkpoints: { inARow: number; total: number; cause: string | null };

beforeEach(async () => {
  ({ app, connected } = await appWithGithub({ assistant: { url: 'https://ai.test/v1', model: 'small' } }));
  folder = temporaryFolder().path;
  checkpoints = { inARow: 0, total: 0, cause: null };
});

const now = () => app.clock.now().toISOString();
const after = (ms: number) => new Date(app.clock.now().getTime() + ms);

const addHook = (recovery: object, problem: string | null = null) =>
  execute(
    app.db,
    `INSERT INTO hooks (integration_id, place_id, place_name, events, has_present_secret, attempts, recovery, problem, created_at)
     VALUES ('${connected.integrationId}', 'acme/pad', 'acme/pad', '[]', 1, 0, '${JSON.stringify(recovery)}',
       ${problem === null ? 'NULL' : `'${problem}'`}, '${now()}')`,
  );

const addTokenState = (column: 'problem' | 'expires_at', text: string) =>
  execute(
    app.db,
    `INSERT INTO token_states (integration_id, ${column}, problem_since, due_at)
     VALUES ('${connected.integrationId}', '${text}', '${now()}', 0)`,
  );

const addDraft = () => app.addPosts('org_a', { id: 'late', title: 'Late', status: 'draft' });

/** The cause of each kind, and its words: what people notice, and one thing to do. The compiler asks for new kinds. */
const CAUSES: Record<
  AttentionKind,
  [cause: () => Promise<unknown> | unknown, message: string, effect: string, action: string]
> = {
  deliveries_rejected: [
    () => app.request(...githubRequest(connected, {}, { event: 'release', secret: 'wrong' })),
    'the last delivery was not accepted (',
    'Changes there make no drafts, so readers do not learn of them.',
    'integration doctor',
  ],
  no_deliveries: [
    () => app.clock.advance(DAY_MS),
    'no delivery has arrived yet',
    'Changes there make no drafts, so readers do not learn of them.',
    'integration doctor',
  ],
  webhook_failing: [
    () => addHook({}, 'Not found'),
    'Tidings could not set up the webhook (Not found)',
    'Deliveries may not come, or be rejected. Their changes make no drafts.',
    'integration repair',
  ],
  polling_failing: [
    async () => {
      await execute(app.db, 'UPDATE integrations SET is_polled = 1');
      await execute(
        app.db,
        `INSERT INTO polls (repository_id, integration_id, due_at, problem, attempts)
         VALUES ('${connected.repositoryId}', '${connected.integrationId}', 0, 'Bad token', 3)`,
      );
    },
    'polling fails (Bad token)',
    'Changes there make no drafts until polling works again. None is lost.',
    'integration poll',
  ],
  app_suspended: [
    () =>
      execute(
        app.db,
        `INSERT INTO github_apps (integration_id, app_id, slug, url, private_key, suspended_at, created_at)
         VALUES ('${connected.integrationId}', 1, 'app', 'https://github.com/settings/apps/app', '', '${now()}', '${now()}')`,
      ),
    'Somebody suspended the App app at GitHub',
    'GitHub delivers nothing. Changes there make no drafts, so readers do not learn of them.',
    'Choose the account, and unsuspend the App: https://github.com/settings/apps/app/installations',
  ],
  token_refused: [
    () => addTokenState('problem', 'GitHub rejected the token. Create another one.'),
    'GitHub rejected the token',
    'Tidings cannot repair webhooks, request missed deliveries, or read the commits of releases.',
    'integration set-token',
  ],
  token_expires: [
    () => addTokenState('expires_at', after(5 * DAY_MS).toISOString()),
    'the GitHub token expires on Nov 25, 2026, 12:00 UTC',
    'Once it has expired, Tidings cannot repair webhooks, request missed deliveries, or read the commits of releases.',
    'integration set-token',
  ],
  silent: [
    () =>
      execute(
        app.db,
        `INSERT INTO silences (integration_id, repository_id, since, is_proven, due_at)
         VALUES ('${connected.integrationId}', '${connected.repositoryId}', '${now()}', 0, 0)`,
      ),
    'nothing has arrived since Nov 20, 2026, 12:00 UTC, which is unusually long for it',
    'If its webhook has stopped, changes there make no drafts.',
    'integration doctor',
  ],
  webhook_off: [
    () => addHook({ isOff: true }),
    'the webhook is switched off or deleted at GitHub',
    'Tidings reads the changes instead, so drafts come later than with a webhook.',
    'integration repair',
  ],
  heartbeat_failed: [
    () => addHook({ heartbeat: { problem: 'Timed out', since: now() } }),
    'the ping that Tidings asked for did not arrive (Timed out)',
    'Deliveries may not arrive either. Tidings reads the changes instead, so drafts come later than with a webhook.',
    'integration doctor',
  ],
  deliveries_lost: [
    () => addHook({ lost: [{ deliveryId: 'd', deliveredAt: now(), reason: 'Expired' }] }),
    '1 missed delivery cannot be had again (Expired)',
    'Their changes make no drafts: write a post about what readers miss. The item ends after a week.',
    'integration missed',
  ],
  assistant_failing: [
    async () => {
      await addDraft();
      await execute(
        app.db,
        `INSERT INTO wordings (post_id, organization_id, status, attempts, due_at, lines, error, asked_at)
         VALUES ('late', 'org_a', 'queued', 3, ${after(60_000).getTime()}, '[]',
           'The assistant at ai.example gave no answer: it responded 500.', '${now()}')`,
      );
    },
    'The assistant at ai.example gave no answer: it responded 500',
    'No wording is suggested. Drafts are as they are without it.',
    'Check AI_URL, AI_MODEL and AI_KEY, and that the server answers',
  ],
  trigger_failed: [
    async () => {
      const { id } = await createTriggerFor(app, connected, 'release');
      await execute(
        app.db,
        `INSERT INTO trigger_runs (trigger_id, scope, since, revision, status, attempts, due_at, delivery_id, error, queued_at)
         VALUES ('${id}', 's', '', 1, 'failed', 8, 0, 'd', 'No text', '${now()}')`,
      );
    },
    '1 draft failed after several attempts (No text)',
    'These drafts are missing until somebody retries them.',
    'trigger retry',
  ],
  hook_failed: [
    async () => {
      await addDraft();
      await execute(
        app.db,
        `INSERT INTO rebuild_hooks (id, organization_id, name, kind, url, host, is_enabled, created_at)
         VALUES ('hook_1', 'org_a', 'Site', 'netlify', '', 'example.com', 1, '${now()}')`,
      );
      await execute(
        app.db,
        `INSERT INTO hook_messages (id, hook_id, organization_id, post_id, number, type, title, post_created_at, state, attempts, due_at, created_at)
         VALUES ('m', 'hook_1', 'org_a', 'late', 1, 'post.published', '', '', 'failed', 8, 1, '${now()}')`,
      );
    },
    'The hook “Site” fails: 1 message could not be sent',
    'Your site or channel does not know about these changes.',
    'hook messages',
  ],
  schedule_late: [
    async () => {
      await addDraft();
      await execute(
        app.db,
        `INSERT INTO post_schedules (post_id, organization_id, publish_at, time_zone, created_at)
         VALUES ('late', 'org_a', ${after(-120_000).getTime()}, 'UTC', '${now()}')`,
      );
    },
    '“Late” was not published at its time',
    'Readers do not see the post.',
    'post publish',
  ],
  roundup_late: [
    () =>
      execute(
        app.db,
        `INSERT INTO roundups (id, organization_id, name, cadence, weekday, time, time_zone, starts_on, group_by, when_empty, content_type, enabled, next_at, created_at, updated_at)
         VALUES ('rnd_1', 'org_a', 'This week', 'weekly', 1, '09:00', 'UTC', '2026-11-20', 'repository', 'skip', 'changelog', 1, ${after(-120_000).getTime()}, '${now()}', '${now()}')`,
      ),
    'The roundup “This week” was not made at its time',
    'Its draft is missing. No change is lost: they wait for it.',
    'roundup now',
  ],
  approval_waiting: [
    async () => {
      await addDraft();
      await changeOrganization(app.deps, 'org_a', { needsApproval: true });
      const ann = { type: 'user', id: 'usr_ann', name: 'ann@acme.example', address: null } as const;
      await askApproval({ ...app.deps, actor: ann }, 'late');
    },
    '“Late” waits for approval, as ann@acme.example asked',
    'Readers do not see the post.',
    'post show',
  ],
  backup_failed: [
    () => recordFailure(folder, app.clock.now(), 'a.backup', 'No room'),
    'failed: No room. There is no backup yet',
    'After a loss of this disk, newer posts and deliveries would be gone.',
    'backup',
  ],
  disk_full: [
    () => spyOn(disk, 'freeBytes').mockReturnValue(1_000_000),
    'Only 1 MB are free on the disk of ',
    'Deliveries are rejected, and nobody can publish until there is room. Readers see what is published.',
    'Free up disk space, or move the data folder to a larger disk',
  ],
  clock_jumped: [
    async () => {
      await app.db.write((tx) => createElapsed(app).beginSweep(tx));
      app.clock.jump(3.5 * DAY_MS);
    },
    'The clock jumped forward by ',
    'Expired log entries stay. Deliveries and posts are not affected.',
    'sweep',
  ],
  checkpoint_failing: [
    () => Object.assign(checkpoints, { inARow: 1, total: 1, cause: 'SQLITE_IOERR' }),
    'The write-ahead log cannot be copied into the database (SQLITE_IOERR)',
    'The log grows until the disk is full. Then deliveries are rejected, and nobody can publish.',
    'Check whether the disk of FOLDER is full, read-only, or faulty, then restart the server',
  ],
  upgrade_unfinished: [
    () => {
      const file = join(folder, 'tidings.db.rebuilt');
      writeFileSync(file, 'left');
      utimesSync(file, after(-3_601_000), after(-3_601_000));
    },
    'An unfinished upgrade or restore left 1 MB: tidings.db.rebuilt',
    'The files take as much room as the database. Readers notice nothing.',
    'Restart the server, which removes them',
  ],
  job_failing: [
    () => {
      const state = { inARow: 3, reason: 'no such table', agoMs: () => 600_000 };
      app.deps.metrics.failingJobs.set('sweep', { ...state, effect: 'Readers notice nothing.' });
    },
    'The job sweep has failed 3 times in a row (no such table)',
    'Readers notice nothing.',
    'Restart the server. If it goes on, search its log for the job sweep',
  ],
  leader_missing: [
    async () => {
      await app.db.write((tx) => app.deps.elapsed.beginSweep(tx));
      let ms = 0;
      const watch = leaderWatch({ ...app.deps, db: app.db }, () => ms);
      await watch.run(new AbortController().signal);
      ms = 900_000;
      await watch.run(new AbortController().signal);
    },
    'No process has done the work of the leader since Nov 20, 2026, 12:00 UTC',
    'Scheduled posts, hooks, and polling wait, and Attention is not up to date.',
    "Restart the server. Its log says what stopped the leader's jobs",
  ],
  server_stopped: [
    async () => {
      await trackUptime({ ...app.deps, db: app.db, process: 'test' }).begin();
      app.clock.advance(180_000);
    },
    'No server runs',
    'Deliveries are rejected, scheduled posts wait, and readers cannot load posts.',
    'serve',
  ],
};

// A database server has its own checks of its machine.
const ofFile = ['backup_failed', 'disk_full', 'checkpoint_failing', 'upgrade_unfinished'];
const kinds = Object.entries(CAUSES).filter(([kind]) => testEngine === 'sqlite' || !ofFile.includes(kind));

describe('an item of the kind', () => {
  test.each(kinds)('%s', async (kind, [cause, message, effect, action]) => {
    const { deps, db } = app;
    const { config } = examineConfig({}, { DATA_DIR: folder, PORT: '0' });
    const settings = { dataDir: folder, backups: undefined, database: undefined };
    using _ = { [Symbol.dispose]: () => spyOn(disk, 'freeBytes').mockRestore() };
    await cause();

    const server = attentionJob({ ...deps, db, checkpointFailures: () => checkpoints }, settings);
    await server.run(new AbortController().signal);
    const { clock, elapsed } = deps;
    const listed = (await listNow({ db, clock, elapsed }, settings)).filter((each) => each.kind === kind);
    expect(listed.map((each) => each.message)).toEqual([expect.stringContaining(message)]);
    const [item] = listed;
    expect(item?.effect).toBe(effect);
    expect(Date.parse(item?.since ?? '')).toBeLessThanOrEqual(app.clock.now().getTime());
    // How often, not at how many places.
    expect(item?.count).toBe({ polling_failing: 3, job_failing: 3 }[kind as string] ?? 1);

    // A command names itself in its help.
    const [, command] = item?.action.split(`${tidings} `) ?? [];
    if (command === undefined) {
      expect(item?.action.replace(folder, 'FOLDER')).toBe(action);
    } else {
      expect(`${command} `).toStartWith(`${action} `);
      const help = await cli(folder, [...action.split(' '), '--help']);
      expect(help).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`${tidings} ${action}`) });
    }

    const kept = (await db.read((tx) => listAttention(tx))).filter((each) => each.kind === kind);
    expect(kept).toEqual(listed);

    if (item?.path != null) {
      const visit = await pageVisitor(app);
      const html = await (await visit('/dashboard/org_a/attention')).text();
      const [, href = ''] = /<div class="bar"><a [^>]*href="([^"]+)"/.exec(html) ?? [];
      expect(href).toStartWith(`/dashboard/org_a/${item.path.replace(/#.*/, '')}`);
      const [page = '', anchor] = href.split('#');
      const opened = await visit(page);
      expect(opened.status).toBe(200);
      expect(await opened.text()).toContain(anchor === undefined ? '<h1' : `id="${anchor}"`);
    }

    const patient = {
      ...{ config, clock, folder, db: db as Patient['db'], fetch, secrets: deps.secrets },
      ...{ wrongSettings: [], postgres: null, isOffline: true },
    };
    const { checks } = await examine(patient);
    const name = CHECK_OF[kind as AttentionKind];
    const check = checks.find((each) => each.name === name);
    const isCommand = item?.action.startsWith(tidings);
    if (name === null) {
      // Nothing is wrong.
      expect(JSON.stringify(checks)).not.toContain(item?.message ?? 'no item');
    } else {
      expect(check?.status).not.toBe('ok');
      expect(check?.message).toContain(item?.message ?? 'no item');
      expect(check?.advice).toBe(isCommand ? `Run: ${item?.action}` : item?.action);
    }

    addDatabaseGauges({ ...deps, db });
    const metrics = await deps.metrics.registry.render();
    expect(metrics).toContain(`\ntidings_attention_items{kind="${kind}"} ${kept.length}\n`);
  });
});

/** Kinds about the server, which has no organization. */
const ofServer: string[] = ['checkpoint_failing', 'job_failing', 'leader_missing', 'server_stopped'];

describe('an organization in the trash', () => {
  const find = (kind: KindInDatabase) => app.db.read((tx) => findInDatabase(tx, app.clock.now(), [kind]));

  test.each(kindsInDatabase.filter((kind) => !ofServer.includes(kind)))('has no item: %s', async (kind) => {
    await CAUSES[kind][0]();
    expect(await find(kind)).toHaveLength(1);
    await deleteOrganization(app.deps, 'org_a', 'Organization org_a');
    expect(await find(kind)).toEqual([]);
    await restoreOrganization(app.deps, 'org_a');
    expect(await find(kind)).toHaveLength(1);
  });

  test('takes no room in the list from another organization', async () => {
    await app.addOrganization('org_b');
    const late = after(-120_000).getTime();
    for (let at = 0; at <= MAX_ITEMS; at++) {
      const owner = at === MAX_ITEMS ? 'org_b' : 'org_a';
      await app.addPosts(owner, { id: `late${at}`, title: 'Late', status: 'draft' });
      await execute(
        app.db,
        `INSERT INTO post_schedules (post_id, organization_id, publish_at, time_zone, created_at)
         VALUES ('late${at}', '${owner}', ${late + at}, 'UTC', '${now()}')`,
      );
    }
    app.clock.advance(1_000);
    expect(await find('schedule_late')).toHaveLength(MAX_ITEMS);
    await deleteOrganization(app.deps, 'org_a', 'Organization org_a');
    expect(await find('schedule_late')).toMatchObject([
      { organizationId: 'org_b', subject: `late${MAX_ITEMS}` },
    ]);
  });
});

test('a missing leader is told of once, by whichever process sees it, until a leader has swept', async () => {
  const { deps, db } = app;
  const settings = { dataDir: folder, backups: undefined, database: undefined };
  const { signal } = new AbortController();
  let ms = 0;
  const processes = [1, 2].map(() => leaderWatch({ ...deps, db }, () => ms));
  const look = async () => {
    for (const watch of processes) await watch.run(signal);
    await attentionJob({ ...deps, db }, settings).run(signal);
    return (await db.read((tx) => listAttention(tx))).map(({ kind }) => kind);
  };
  const sweep = () => db.write((tx) => deps.elapsed.beginSweep(tx));
  await execute(
    db,
    `INSERT INTO rebuild_hooks (id, organization_id, name, kind, about, url, host, is_enabled, created_at)
     VALUES ('hook_ops', 'org_a', 'Ops', 'slack', 'attention-and-server', 'https://ops.example', 'ops.example', 1, '${now()}')`,
  );
  const told = async () =>
    (await valuesOf(db, 'SELECT type FROM hook_messages ORDER BY created_at, type')).flat();

  await sweep();
  expect(await look()).toEqual([]);
  // A clock that jumps is no missing leader.
  app.clock.advance(3_600_000);
  ms = 899_999;
  expect(await look()).toEqual([]);
  ms = 900_000;
  expect(await look()).toEqual(['leader_missing']);
  expect(await look()).toEqual(['leader_missing']);
  expect(await told()).toEqual(['attention.began']);
  await sweep();
  expect(await look()).toEqual([]);
  expect(await told()).toEqual(['attention.began', 'attention.ended']);
});

test('nobody misses a leader that sweeps, that has just started, or whose process ended', async () => {
  const { deps, db, clock } = app;
  const settings = { dataDir: folder, backups: undefined, database: undefined };
  const kinds = async () =>
    (await listNow({ db, clock, elapsed: deps.elapsed }, settings)).map(({ kind }) => kind);
  const sweep = () => db.write((tx) => deps.elapsed.beginSweep(tx));
  const first = trackUptime({ ...deps, db, process: 'first' });
  await first.begin();
  await sweep();
  clock.advance(900_000);
  await sweep();
  await first.beat();
  expect(await kinds()).toEqual([]);
  clock.advance(900_000);
  expect(await kinds()).toEqual(['server_stopped']);
  await trackUptime({ ...deps, db, process: 'second' }).begin();
  expect(await kinds()).toEqual([]);
});
