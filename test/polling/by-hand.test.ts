import { expect, test } from 'bun:test';
import { connectPolled, setPollToken } from '../../src/intake/polling/connect.ts';
import { pollDue, pollNow } from '../../src/intake/polling/poll.ts';
import { createOrganization } from '../../src/people/organizations.ts';
import { projectOf } from '../support/github-api/project.ts';
import { READER, startPolling } from '../support/polling.ts';

type World = Awaited<ReturnType<typeof startPolling>>;

/** The server's part of GitHub's limit is tested, not the limit itself. */
async function start() {
  const world = await startPolling();
  world.github.limits.anonymous = 1_000;
  return world;
}

const addRepository = ({ app, github }: World, name: string) => {
  const repository = github.addRepository(name, { isPrivate: false, rights: { ann: 'admin' } });
  projectOf(repository, app.clock, [{ push: ['chore: start'] }]);
};

/** Connects them for an organization, without a token. */
async function connect(world: World, organizationId: string, repositories: string[]): Promise<string> {
  for (const name of repositories) addRepository(world, name);
  const request = { type: 'github', organizationId, repositories } as const;
  return (await connectPolled(world.app.deps, request)).integrationId;
}

const LIMIT =
  'GitHub answers 60 requests an hour without a token for the whole server, so an organization can poll 2 repositories an hour by hand. Try again in 30 minutes, or add a token. The schedule continues.';

test('without a token, an organization polls by hand within its share', async () => {
  await using world = await start();
  const { app, github, integrationId } = world;
  for (let round = 0; round < 2; round++) {
    expect(await pollNow(app.deps, integrationId)).toMatchObject([{ problem: null }]);
  }
  const { length } = github.requests;
  await expect(pollNow(app.deps, integrationId)).rejects.toMatchObject({
    status: 429,
    code: 'poll_limit',
    message: LIMIT,
    headers: { 'retry-after': '1800' },
    details: { retryAt: '2026-11-20T12:30:00.000Z' },
  });
  expect(github.requests).toHaveLength(length);
  app.clock.advance(30 * 60_000);
  expect(await pollNow(app.deps, integrationId)).toMatchObject([{ problem: null }]);
  await expect(pollNow(app.deps, integrationId)).rejects.toMatchObject({ status: 429 });
});

test('all organizations together poll by hand within the share of the server', async () => {
  await using world = await start();
  const { app } = world;
  const other = await connect(world, 'org_b', ['acme/lander']);
  const { id } = await createOrganization(app.deps, { name: 'Third', plan: 'free' });
  const third = await connect(world, id, ['acme/engine']);
  for (const each of [world.integrationId, world.integrationId, other, other]) {
    expect(await pollNow(app.deps, each)).toMatchObject([{ problem: null }]);
  }
  await expect(pollNow(app.deps, third)).rejects.toThrow('Try again in 15 minutes, or add a token');
});

test('rounds of many repositories start with those that were polled longest ago', async () => {
  await using world = await start();
  const { app } = world;
  const names = ['acme/a', 'acme/b', 'acme/c'];
  const many = await connect(world, 'org_b', names);
  app.clock.advance(1_000);
  const first = await pollNow(app.deps, many);
  expect(first.map(({ repository, problem }) => [repository, problem])).toEqual([
    ['acme/a', null],
    ['acme/b', null],
    ['acme/c', LIMIT],
  ]);
  app.clock.advance(60 * 60_000);
  const second = await pollNow(app.deps, many);
  expect(second.filter(({ problem }) => problem === null).map(({ repository }) => repository)).toContain(
    'acme/c',
  );
});

test('the schedule and a token have no limit by hand', async () => {
  await using world = await start();
  const { app, github, integrationId } = world;
  for (let round = 0; round < 2; round++) await pollNow(app.deps, integrationId);
  await expect(pollNow(app.deps, integrationId)).rejects.toMatchObject({ status: 429 });
  app.clock.advance(600_000);
  const { length } = github.requests;
  await pollDue(app.deps);
  expect(github.requests.length).toBeGreaterThan(length);
  await setPollToken(app.deps, integrationId, github.addToken(READER));
  for (let round = 0; round < 5; round++) {
    expect(await pollNow(app.deps, integrationId)).toMatchObject([{ problem: null }]);
  }
});
