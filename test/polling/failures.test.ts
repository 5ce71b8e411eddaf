import { describe, expect, test } from 'bun:test';
import { startHistory } from '../../src/intake/history/service.ts';
import { connectPolled } from '../../src/intake/polling/connect.ts';
import { pollDue, pollNow } from '../../src/intake/polling/poll.ts';
import { connectIntegration, setEnabled } from '../../src/integrations/connect.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { describePollInterval, findPoll } from '../../src/integrations/poll-store.ts';
import { getIntegration } from '../../src/integrations/store.ts';
import { describeFinding } from '../../src/integrations/words.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { refuseRows } from '../support/faults.ts';
import { projectOf } from '../support/github-api/project.ts';
import { READER, startPolling } from '../support/polling.ts';
import { allRows } from '../support/rows.ts';

type World = Awaited<ReturnType<typeof startPolling>>;

const rowOf = async ({ app, repositoryId }: World) => {
  const row = await app.db.read((tx) => findPoll(tx, repositoryId));
  if (row === null) throw new Error('the repository is not polled');
  return row;
};

const waitOf = async (world: World) => (await rowOf(world)).dueAt - world.app.clock.now().getTime();

const doctorOf = async ({ app, integrationId }: World) =>
  (await diagnose(app.deps, integrationId)).findings
    .filter(({ name }) => name === 'polling')
    .map((finding) => `${finding.status}: ${describeFinding(finding)}`);

describe('how often', () => {
  test('with a token at least once a minute, and unchanged rounds cost nothing', async () => {
    await using world = await startPolling({ token: READER });
    expect(await waitOf(world)).toBeLessThanOrEqual(60_000);
    for (let round = 0; round < 5; round++) await world.poll();
    const { requests } = world.github;
    expect(requests.slice(-3).map(({ status }) => status)).toEqual([304, 304, 304]);
    const integration = await world.app.db.read((tx) => getIntegration(tx, world.integrationId));
    expect(describePollInterval(integration, 1)).toBe('Tidings asks GitHub at least once a minute.');
  });

  test('without a token within the limit, which it names', async () => {
    await using world = await startPolling();
    expect(await waitOf(world)).toBe(300_000);
    for (let minute = 0; minute < 180; minute++) {
      await world.poll();
      expect(await rowOf(world)).toMatchObject({ problem: null });
    }
    expect(world.github.requests.filter(({ status }) => status === 403)).toEqual([]);
    const integration = await world.app.db.read((tx) => getIntegration(tx, world.integrationId));
    expect(describePollInterval(integration, 1)).toBe(
      'Tidings asks every 5 minutes, because GitHub answers 60 requests an hour without a token. A token makes it every minute.',
    );
    expect(describePollInterval(integration, 3)).toBe(
      'Tidings asks every 15 minutes, because GitHub answers 60 requests an hour without a token for all 3 repositories that are polled without one. A token makes it every minute.',
    );
  });

  test('repositories without a token share the limit, also those of other organizations', async () => {
    await using world = await startPolling();
    const { github, app } = world;
    const engine = github.addRepository('acme/engine', { isPrivate: false });
    engine.code.branches.set('main', [...world.repository.code.commits.keys()][0] ?? '');
    for (const [sha, commit] of world.repository.code.commits) engine.code.commits.set(sha, commit);
    await connectPolled(app.deps, { type: 'github', organizationId: 'org_b', repositories: ['acme/engine'] });
    for (let minute = 0; minute < 120; minute++) await world.poll();
    expect(github.requests.filter(({ status }) => status === 403)).toEqual([]);
    expect(await waitOf(world)).toBeLessThanOrEqual(600_000);
  });

  test('when little of the limit is left, it is spread over the time until the reset', async () => {
    await using world = await startPolling();
    world.github.limits.anonymous = 20;
    await world.poll(300_000);
    // 20 less the 4 of connecting and 3 of this round are enough for 4 rounds.
    expect(await waitOf(world)).toBeGreaterThan(700_000);
  });
});

describe('a failure', () => {
  test('of the limit pauses all that share it until the provider says', async () => {
    await using world = await startPolling();
    const { app, github } = world;
    // Due later than the repository that meets the limit.
    app.clock.advance(200_000);
    github.addRepository('acme/engine', { isPrivate: false });
    await connectPolled(app.deps, { type: 'github', organizationId: 'org_b', repositories: ['acme/engine'] });
    github.limits.anonymous = github.requests.length;
    world.project.happen({ push: ['feat: a'] });
    await world.poll(100_000);
    expect(await rowOf(world)).toMatchObject({
      attempts: 0,
      problem: expect.stringContaining('accepts no more'),
    });
    expect(await doctorOf(world)).toEqual([
      expect.stringMatching(/^warning: Polling pauses: GitHub accepts no more/),
    ]);
    const { length } = world.github.requests;
    await world.poll(600_000);
    expect(world.github.requests).toHaveLength(length);
    world.github.limits.anonymous = 60;
    await world.poll(3_600_000);
    expect(await world.log()).toEqual(['polled processed: 1 commit pushed to main']);
    expect(await rowOf(world)).toMatchObject({ problem: null });
  });

  test('of the provider backs off, and nothing is lost', async () => {
    await using world = await startPolling({ token: READER });
    world.project.happen({ release: 'v1.0.0', notes: 'One' });
    const waits: number[] = [];
    for (let failure = 0; failure < 5; failure++) {
      world.github.failNext(() => new Response('broken', { status: 502 }));
      await pollNow(world.app.deps, world.integrationId);
      waits.push(await waitOf(world));
    }
    expect(waits).toEqual([60_000, 120_000, 300_000, 900_000, 900_000]);
    expect(await doctorOf(world)).toEqual([
      expect.stringMatching(/^failed: The last round failed: GitHub failed with status 502/),
    ]);
    expect(await world.log()).toEqual([]);
    await world.poll(900_000);
    expect(await world.log()).toEqual(['polled processed: Release v1.0.0 published']);
    expect(await rowOf(world)).toMatchObject({ problem: null, attempts: 0 });
  });

  test('at any request of a round repeats the round, and drafts once', async () => {
    for (let after = 0; after < 6; after++) {
      await using world = await startPolling({ token: READER, events: ['release', 'push'] });
      world.project.happen({ push: ['feat: a'] });
      world.app.clock.advance(1_000);
      world.project.happen({ release: 'v1.0.0', notes: 'One' });
      world.github.failNext('answers 500', { after });
      for (let round = 0; round < 3; round++) await world.poll(600_000);
      expect((await world.log()).sort()).toEqual([
        'polled processed: 1 commit pushed to main',
        'polled processed: Release v1.0.0 published',
      ]);
    }
  });

  test('of the write leaves neither entries nor a newer cursor', async () => {
    await using world = await startPolling({ token: READER });
    world.project.happen({ push: ['feat: a'] });
    world.app.clock.advance(1_000);
    world.project.happen({ release: 'v1.0.0', notes: 'One' });
    const before = await rowOf(world);
    const restore = await refuseRows(world.app.db, 'update', 'polls', 'the process ends');
    world.app.clock.advance(60_000);
    await expect(pollDue(world.app.deps)).rejects.toThrow();
    expect(await rowOf(world)).toEqual(before);
    await restore();
    await world.poll();
    expect(await world.log()).toHaveLength(2);
  });

  test('a repository that became private, or is gone, is named with what to do', async () => {
    await using world = await startPolling();
    world.repository.isPrivate = true;
    await world.poll(300_000);
    const { problem } = await rowOf(world);
    expect(problem).toBe(
      'GitHub has no public repository acme/rocket. Check the name; a private repository needs a token.',
    );
    expect(await waitOf(world)).toBe(300_000);
    world.repository.isPrivate = false;
    world.project.happen({ push: ['feat: a'] });
    await world.poll(300_000);
    expect(await world.log()).toHaveLength(1);
  });
});

describe('connecting', () => {
  const request = { type: 'github', organizationId: 'org_b', repositories: ['acme/none'] } as const;

  test('leaves nothing when the repository cannot be read', async () => {
    await using world = await startPolling();
    await expect(connectPolled(world.app.deps, request)).rejects.toThrow('no public repository acme/none');
    expect((await allRows(world.app.db)).integrations).toHaveLength(1);
  });

  test('polls a repository of which only past releases were imported, with the token that is given', async () => {
    await using world = await startPolling({ events: [] });
    const { app, github } = world;
    const engine = github.addRepository('acme/engine', { isPrivate: true, rights: { ann: 'admin' } });
    const project = projectOf(engine, app.clock, [{ push: ['chore: start'] }]);
    const token = github.addToken(READER);
    const asked = { type: 'github', organizationId: 'org_b', repository: 'acme/engine', token } as const;
    const history = await startHistory(app.deps, { ...asked, contentType: 'changelog', publish: false });
    const { integrationId, repositoryId } = history;
    const polled = { type: 'github', organizationId: 'org_b', repositories: ['acme/engine'] } as const;
    expect(await connectPolled(app.deps, polled)).toEqual({
      ...{ integrationId, repositoryId },
      places: [{ place: 'acme/engine', repositoryId }],
    });
    const integration = await app.db.read((tx) => getIntegration(tx, integrationId));
    expect(integration).toMatchObject({ isPolled: true, hasToken: true });
    project.happen({ release: 'v1.0.0', notes: 'New' });
    await world.poll();
    await runAll(app);
    expect((await postsOf(app, 'org_b')).map(({ markdown }) => markdown.trim())).toEqual(['New']);
    const again = connectPolled(app.deps, { ...polled, token });
    await expect(again).rejects.toMatchObject({ code: 'place_connected' });
    expect((await allRows(app.db)).integrations).toHaveLength(2);
  });

  test('keeps an imported repository as it is when it cannot be read', async () => {
    await using world = await startPolling();
    const { app, github } = world;
    const engine = github.addRepository('acme/engine', { isPrivate: false });
    projectOf(engine, app.clock, [{ push: ['chore: start'] }]);
    const asked = { type: 'github', organizationId: 'org_b', repository: 'acme/engine' } as const;
    await startHistory(app.deps, { ...asked, contentType: 'changelog', publish: false });
    engine.isPrivate = true;
    const before = await allRows(app.db);
    const polled = { type: 'github', organizationId: 'org_b', repositories: ['acme/engine'] } as const;
    await expect(connectPolled(app.deps, polled)).rejects.toThrow('no public repository');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('takes a repository whose name another provider has too', async () => {
    await using world = await startPolling();
    const { app, github } = world;
    const engine = github.addRepository('acme/engine', { isPrivate: false });
    projectOf(engine, app.clock, [{ push: ['chore: start'] }]);
    await connectIntegration(app.deps, 'forgejo', 'org_b', 'acme/engine');
    const polled = { type: 'github', organizationId: 'org_b', repositories: ['acme/engine'] } as const;
    expect((await connectPolled(app.deps, polled)).places).toHaveLength(1);
    await expect(connectPolled(app.deps, polled)).rejects.toMatchObject({ code: 'place_connected' });
  });

  test('refuses a repository twice, a provider that cannot be read, and an organization that is none', async () => {
    await using world = await startPolling();
    const { deps } = world.app;
    const again = { ...request, organizationId: 'org_a', repositories: ['acme/rocket'] };
    await expect(connectPolled(deps, again)).rejects.toMatchObject({ status: 409 });
    await expect(connectPolled(deps, { ...request, type: 'linear' })).rejects.toMatchObject({ status: 400 });
    await expect(connectPolled(deps, { ...request, organizationId: 'org_x' })).rejects.toMatchObject({
      status: 404,
    });
    await expect(connectPolled(deps, { ...request, repositories: [] })).rejects.toMatchObject({
      status: 400,
    });
    expect((await allRows(world.app.db)).polls).toHaveLength(1);
  });
});

test('two processes that poll at the same time log each event once', async () => {
  await using world = await startPolling({ token: READER });
  world.project.happen({ push: ['feat: a'] });
  world.app.clock.advance(60_000);
  const { deps } = world.app;
  await Promise.all([pollDue(deps), pollNow(deps, world.integrationId), pollNow(deps, world.integrationId)]);
  expect(await world.log()).toEqual(['polled processed: 1 commit pushed to main']);
});

test('an integration that is enabled again is polled at once, so that nothing since then is lost', async () => {
  await using world = await startPolling({ token: READER });
  const { app, integrationId, project } = world;
  await setEnabled(app.deps, integrationId, false);
  await world.poll();
  app.clock.advance(1_000);
  await setEnabled(app.deps, integrationId, true);
  await world.poll(1_000);
  project.happen({ push: ['feat: seen'] });
  await world.poll();
  expect(await world.log()).toEqual(['polled processed: 1 commit pushed to main']);
});

test('what happens while an integration is disabled is not drafted, even if no round came between', async () => {
  await using world = await startPolling({ token: READER });
  const { app, integrationId, project } = world;
  await setEnabled(app.deps, integrationId, false);
  project.happen({ push: ['feat: unseen'] });
  project.happen({ release: 'v1.0.0', notes: 'Unseen' });
  await setEnabled(app.deps, integrationId, true);
  await world.poll();
  expect(await world.log()).toEqual([]);
  project.happen({ push: ['feat: seen'] });
  await world.poll();
  expect(await world.log()).toEqual(['polled processed: 1 commit pushed to main']);
});

test.each([
  ['disabled', [false]],
  ['disabled and enabled', [false, true]],
])('a round that began before an integration was %s records nothing', async (_, changes) => {
  await using world = await startPolling({ token: READER });
  const { app, integrationId, project } = world;
  project.happen({ push: ['feat: unseen'] });
  app.clock.advance(60_000);
  await pollDue({
    ...app.deps,
    async openReader(...given) {
      for (const enabled of changes) await setEnabled(app.deps, integrationId, enabled);
      return app.deps.openReader(...given);
    },
  });
  expect(await world.log()).toEqual([]);
});

test('a disabled integration is not polled, and what happened meanwhile is not drafted', async () => {
  await using world = await startPolling({ token: READER });
  const { app, integrationId, project } = world;
  await setEnabled(app.deps, integrationId, false);
  const { length } = world.github.requests;
  project.happen({ push: ['feat: unseen'] });
  await world.poll();
  await expect(pollNow(app.deps, integrationId)).rejects.toMatchObject({ status: 409 });
  expect(world.github.requests).toHaveLength(length);
  await setEnabled(app.deps, integrationId, true);
  await world.poll();
  project.happen({ push: ['feat: seen'] });
  await world.poll();
  expect(await world.log()).toEqual(['polled processed: 1 commit pushed to main']);
  await runAll(app);
  expect((await postsOf(app)).map(({ markdown }) => markdown).join()).toContain('Seen');
});
