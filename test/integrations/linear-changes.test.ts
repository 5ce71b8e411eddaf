import { describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { recoverDue } from '../../src/intake/recovery.ts';
import { watchSilence } from '../../src/intake/silence.ts';
import { connectWithToken, setEnabled } from '../../src/integrations/connect.ts';
import { listRecoveries } from '../../src/integrations/hook-store.ts';
import { findInDatabase } from '../../src/server/attention.ts';
import { execute } from '../support/database.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, textsOf } from '../support/drafts.ts';
import type { LinearEvent } from '../support/linear-api/deliver.ts';
import { startProviderApp } from '../support/provider-app.ts';

// Changes at Linear that no webhook delivered are read through the API, and become the same drafts.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Fields = Record<string, unknown>;

/** Linear's teams, connected with an admin's key, and triggers for all that drafts are made of. */
async function start({ places = [] as string[] } = {}) {
  const provider = await startProviderApp();
  const { app, linear } = provider;
  const token = linear.adminKey;
  const { integrationId } = await connectWithToken(app.deps, {
    type: 'linear',
    organizationId: 'org_a',
    token,
    places,
  });
  for (const event of ['issue', 'project', 'project_update', 'release'] as const)
    await createTrigger(app.deps, { integrationId, event, contentType: 'changelog' });
  const teamOf = (key: string) => {
    const team = linear.workspace.teams.find((each) => each.key === key);
    if (team === undefined) throw new Error(`there is no team ${key}`);
    return { id: team.id, key, name: team.name };
  };
  const now = () => app.clock.now().toISOString();
  const stamp = () => {
    app.clock.advance(MINUTE_MS);
    return now();
  };

  /** An issue of a team moves into a state, or changes in it. */
  function issue(
    number: number,
    type: 'completed' | 'started',
    fields: Fields = {},
    key = 'ENG',
  ): LinearEvent {
    const updatedAt = stamp();
    const team = teamOf(key);
    return {
      type: 'Issue',
      action: 'update',
      actor: { name: 'Ann' },
      data: {
        id: `issue-${number}`,
        identifier: `${key}-${number}`,
        title: `Issue ${number}`,
        url: `https://linear.app/acme/issue/${key}-${number}`,
        teamId: team.id,
        team,
        state: { name: type === 'completed' ? 'Done' : 'Doing', type },
        labels: [{ name: 'Bug' }],
        createdAt: updatedAt,
        completedAt: type === 'completed' ? updatedAt : null,
        updatedAt,
        ...fields,
      },
      updatedFrom: fields.title === undefined ? { stateId: 'before' } : { title: 'before' },
    };
  }

  function other(type: string, id: string, fields: Fields, about: Partial<LinearEvent> = {}): LinearEvent {
    const at = stamp();
    const url = `https://linear.app/acme/${id}`;
    return { type, action: 'create', data: { id, url, createdAt: at, updatedAt: at, ...fields }, ...about };
  }
  const project = (id: string) => ({ id, name: 'Quieter engines', url: 'https://linear.app/acme/a-page' });
  const completedProject = (id: string) =>
    other('Project', id, {
      name: 'Quieter engines',
      content: 'Engines are **quiet**.',
      status: { type: 'completed', name: 'Done' },
      lead: { name: 'Ann' },
      teamIds: [teamOf('ENG').id],
      completedAt: now(),
    });
  const update = (id: string, of: string) =>
    other('ProjectUpdate', id, {
      body: `News of ${id}`,
      health: 'onTrack',
      user: { name: 'Ann' },
      project: project(of),
    });
  const initiativeUpdate = (id: string, visibility = 'public') =>
    other('InitiativeUpdate', id, {
      body: `News of ${id}`,
      health: 'atRisk',
      user: { name: 'Ben' },
      initiative: { id: 'initiative-1', name: 'Silence', url: 'https://linear.app/acme/a-page', visibility },
    });
  const release = (id: string, type = 'completed') =>
    other('Release', id, {
      name: `Rocket ${id}`,
      version: id,
      description: null,
      pipeline: { id: 'pipeline-1', name: 'Rocket' },
      stage: { type, name: type },
      issues: [
        { id: 'issue-1', identifier: 'ENG-1', title: 'Issue 1', url: 'https://linear.app/acme/a-page' },
      ],
      completedAt: type === 'completed' ? now() : null,
    });
  const note = (id: string, lastReleaseId: string) =>
    other('ReleaseNote', id, {
      title: 'All that is new',
      content: '- Quiet engines',
      lastReleaseId,
      pipeline: { id: 'pipeline-1', name: 'Rocket' },
    });
  const link = (id: string, number: number, issueId: string) =>
    other('Attachment', id, {
      title: 'A pull request',
      issueId,
      url: `https://github.com/acme/rocket/pull/${number}`,
    });

  return {
    ...provider,
    integrationId,
    teamOf,
    ...{ issue, completedProject, update, initiativeUpdate, release, note, link },
    /** The leader begins to lead. */
    restart: () => recoverDue(app.deps, { isStart: true }),
    /** The job runs for a time. */
    async run(ms: number) {
      for (let left = ms; left > 0; left -= MINUTE_MS) {
        await recoverDue(app.deps);
        app.clock.advance(MINUTE_MS);
      }
    },
    async state() {
      const [row] = await app.db.read((tx) => listRecoveries(tx, integrationId));
      return row?.recovery ?? {};
    },
    /** Titles of what was delivered or read. */
    async log(isPolled?: boolean) {
      const entries = await logOf(app);
      return entries.flatMap((each) =>
        isPolled === undefined || each.isPolled === isPolled ? each.title : [],
      );
    },
  };
}

type World = Awaited<ReturnType<typeof start>>;

/** Two hours in which everything happens that drafts are made of. */
function* twoHours(world: World): Generator<LinearEvent> {
  const { issue } = world;
  yield issue(2, 'completed');
  yield issue(1, 'started');
  yield issue(3, 'completed');
  yield issue(3, 'started');
  const done = issue(4, 'completed');
  yield done;
  yield issue(4, 'completed', { title: 'A better title', completedAt: done.data.completedAt });
  yield issue(5, 'completed', { labels: [{ name: 'skip-changelog' }] });
  yield world.completedProject('project-1');
  yield world.update('update-2', 'project-1');
  yield world.initiativeUpdate('initiative-update-1');
  yield world.release('1.0.0', 'started');
  yield world.release('1.0.0');
  yield world.note('note-1', '1.0.0');
  yield world.release('1.1.0');
  yield world.link('link-1', 12, 'issue-2');
}

function* before(world: World): Generator<LinearEvent> {
  yield world.issue(1, 'completed');
  yield world.completedProject('project-0');
  yield world.update('update-1', 'project-0');
}

const deliver = async ({ linear }: World, events: Iterable<LinearEvent>) => {
  for (const event of events) for (const { status } of await linear.emit(event)) expect(status).toBe(200);
};
const lose = ({ linear }: World, events: Iterable<LinearEvent>) => {
  for (const event of events) linear.lose(event);
};

async function undisturbed(): Promise<{ texts: string[]; posts: number }> {
  await using world = await start();
  await deliver(world, before(world));
  await deliver(world, twoHours(world));
  await deliver(world, [world.issue(6, 'completed')]);
  return { texts: await textsOf(world.app), posts: (await postsOf(world.app)).length };
}

describe('two hours without the server', () => {
  test('are read at its start into the drafts of an undisturbed run, once, with few requests', async () => {
    const expected = await undisturbed();
    expect(expected.posts).toBe(8);
    await using world = await start();
    await deliver(world, before(world));
    await world.restart();
    world.goAway();
    lose(world, twoHours(world));
    // Linear lists them, and no webhook of all public teams has them.
    lose(world, [world.issue(99, 'completed', {}, 'VLT'), world.initiativeUpdate('secret', 'private')]);
    world.app.clock.advance(2 * HOUR_MS);
    world.comeBack();
    const requests = world.linear.operations.length;
    await world.restart();
    expect(world.linear.operations.length - requests).toBeLessThan(10);
    expect(Math.max(...world.linear.operations.map(({ complexity }) => complexity))).toBeLessThan(3_000);
    await deliver(world, [world.issue(6, 'completed')]);
    expect(await textsOf(world.app)).toEqual(expected.texts);
    const { reads, problem, unread } = await world.state();
    expect(reads).toMatchObject([{ news: 12, compared: 14 }]);
    expect({ problem, unread }).toEqual({ problem: null, unread: [] });

    const log = await world.log();
    await world.run(2 * HOUR_MS);
    await world.restart();
    expect(await world.log()).toEqual(log);
    expect(await textsOf(world.app)).toEqual(expected.texts);
  });

  test('make no second draft when Linear delivers them later', async () => {
    const expected = await undisturbed();
    await using world = await start();
    await deliver(world, before(world));
    await world.restart();
    const late = [...twoHours(world)];
    lose(world, late);
    await world.restart();
    await deliver(world, late);
    await deliver(world, [world.issue(6, 'completed')]);
    expect(await textsOf(world.app)).toEqual(expected.texts);
    await world.run(HOUR_MS);
    expect(await textsOf(world.app)).toEqual(expected.texts);
  });

  test('bring nothing when the webhook delivered everything', async () => {
    await using world = await start();
    await deliver(world, before(world));
    await deliver(world, twoHours(world));
    await world.run(2 * HOUR_MS);
    expect(await world.log(true)).toEqual([]);
    expect(await world.state()).toMatchObject({ reads: [], problem: null });
  });
});

test('a completion whose later edit came first still makes a draft', async () => {
  await using world = await start();
  await world.restart();
  const done = world.issue(1, 'completed');
  lose(world, [done]);
  const { completedAt } = done.data;
  await deliver(world, [world.issue(1, 'completed', { title: 'A better title', completedAt })]);
  await textsOf(world.app);
  expect(await postsOf(world.app)).toEqual([]);
  await world.run(11 * MINUTE_MS);
  expect(await textsOf(world.app)).toEqual([expect.stringContaining('A better title')]);
  expect(await world.log(true)).toHaveLength(1);
});

test('an issue that was moved to the trash leaves its draft', async () => {
  await using world = await start();
  await deliver(world, [world.issue(1, 'completed'), world.issue(2, 'completed')]);
  const { completedAt } = world.issue(2, 'completed').data;
  lose(world, [{ ...world.issue(2, 'completed', { completedAt }), action: 'remove' }]);
  await world.restart();
  const [text] = await textsOf(world.app);
  expect(text).toContain('Issue 1');
  expect(text).not.toContain('Issue 2');
});

test('a long outage is read in pages, goes on after a pause, and leaves a tenth of the limits to others', async () => {
  await using world = await start();
  const { linear } = world;
  await world.restart();
  for (let number = 1; number <= 120; number++) lose(world, [world.issue(number, 'completed')]);
  linear.limits.requests.remaining = 254;
  await world.restart();
  expect(await world.state()).toMatchObject({
    problem:
      "Less than a tenth of the token's hourly limit at Linear is left, and Tidings leaves it to others.",
    reading: { left: [{ event: 'Issue', cursor: 'issue-71' }, {}, {}, {}, {}], news: 50 },
  });
  expect(linear.limits.requests.remaining).toBe(250);
  linear.limits.requests.remaining = 2_500;
  await world.run(2 * HOUR_MS);
  expect(await world.state()).toMatchObject({ problem: null, reading: null, reads: [{ news: 120 }] });
  const [text = ''] = await textsOf(world.app);
  for (let number = 1; number <= 120; number++) expect(text).toContain(`ENG-${number}`);
});

test('a plan without releases keeps nothing else from being read, and the page has the reason', async () => {
  await using world = await start();
  world.linear.workspace.lacks.add('releases');
  await world.restart();
  lose(world, [world.issue(1, 'completed')]);
  await world.run(11 * MINUTE_MS);
  expect(await textsOf(world.app)).toHaveLength(1);
  expect((await world.state()).unread).toEqual([
    { event: 'Release', reason: 'Linear rejected the request: "Your plan does not include webhooks".' },
  ]);
});

test.each([
  ['answers 500 with an error of its own', 'Linear failed: "An unexpected error occurred". Try again later.'],
  ['answers 503 with a page', 'Linear failed with status 503. Try again later.'],
  [
    'takes no more requests',
    'Linear accepts no more requests from this token until 2026-11-21T04:10:00Z. Try again then.',
  ],
] as const)('when Linear %s, the page says so, and nothing is lost', async (fault, problem) => {
  await using world = await start();
  await world.restart();
  lose(world, [world.issue(1, 'completed')]);
  world.app.clock.advance(10 * MINUTE_MS);
  world.linear.fault = fault;
  await world.restart();
  expect(await world.state()).toMatchObject({ problem });
  world.linear.fault = null;
  world.app.clock.advance(24 * HOUR_MS);
  await world.run(2 * MINUTE_MS);
  expect(await textsOf(world.app)).toHaveLength(1);
});

test('a webhook of a team reads that team alone', async () => {
  await using world = await start({ places: ['ENG'] });
  lose(world, [
    world.issue(1, 'completed'),
    world.issue(2, 'completed', {}, 'DES'),
    world.initiativeUpdate('initiative-update-1'),
    world.link('link-1', 1, 'issue-1'),
    world.link('link-2', 2, 'issue-2'),
  ]);
  await world.restart();
  expect((await world.log(true)).toSorted()).toEqual([
    'ENG-1 completed: Issue 1',
    'Pull request #1 linked: A pull request',
  ]);
});

test('what changed while the integration was disabled stays away', async () => {
  await using world = await start();
  const { app, integrationId } = world;
  await setEnabled(app.deps, integrationId, false);
  lose(world, [world.issue(1, 'completed')]);
  app.clock.advance(10 * MINUTE_MS);
  await setEnabled(app.deps, integrationId, true);
  await world.run(20 * MINUTE_MS);
  expect(await world.log(true)).toEqual([]);
});

test('a silence is an item only without a token: with one, the readings find what happened', async () => {
  await using world = await start();
  const { app } = world;
  for (let day = 0; day < 30; day++) {
    app.clock.advance(24 * HOUR_MS);
    await deliver(world, [world.issue(day, 'completed')]);
  }
  const silences = async () => {
    app.clock.advance(20 * 24 * HOUR_MS);
    await watchSilence(app.deps);
    return (await app.db.read((tx) => findInDatabase(tx, app.clock.now(), ['silent']))).length;
  };
  expect(await silences()).toBe(0);
  await execute(app.db, 'UPDATE integrations SET token = NULL');
  expect(await silences()).toBe(1);
});
