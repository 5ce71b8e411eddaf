import { expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { withFiles } from '../../src/intake/polling/cursor.ts';
import type { RemoteRepository } from '../../src/providers/reader.ts';
import { logOf } from '../support/deliveries.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { READER, startPolling } from '../support/polling.ts';

// Polled commits come without their files, which triggers that filter by path need.

const commit = (message: string, path: string) => ({ message, paths: [path] });

const PUSH: Happening = {
  push: [commit('feat: in api', 'packages/api/a.ts'), commit('feat: in web', 'packages/web/a.ts')],
};

/** A polled repository with a trigger that filters by path. */
async function start(token = READER) {
  const world = await startPolling({ token, events: [] });
  const { app, integrationId, github } = world;
  const filters = { path: ['packages/api/**'] };
  await createTrigger(app.deps, { integrationId, event: 'push', contentType: 'changelog', filters });
  return {
    world,
    /** How many times GitHub was asked for one commit. */
    asked: () => github.requests.filter(({ path }) => /\/commits\/[0-9a-f]{40}$/.test(path)).length,
    /** The list items of the posts. */
    async items() {
      await runAll(app);
      const posts = await postsOf(app);
      return posts.flatMap(({ markdown }) => markdown.match(/^- .*?(?= \(\[)/gm) ?? []);
    },
  };
}

test('a trigger filters the commits of a polled push by path', async () => {
  const { world, items, asked } = await start();
  await using _ = world;
  world.project.happen(PUSH);
  await world.poll();
  expect(await items()).toEqual(['- In api']);
  expect(asked()).toBe(2);
  await world.poll();
  expect(asked()).toBe(2);
});

test('without a filter by path, no files are asked for', async () => {
  await using world = await startPolling({ token: READER });
  world.project.happen(PUSH);
  await world.poll();
  expect(world.github.requests.filter(({ path }) => /\/commits\/[0-9a-f]{40}$/.test(path))).toEqual([]);
});

test('a round asks for twenty files at most; the trigger keeps the other commits, and the log says so', async () => {
  const { world, items, asked } = await start();
  await using _ = world;
  const push = Array.from({ length: 25 }, (_, n) => commit(`feat: web ${n}`, 'packages/web/a.ts'));
  world.project.happen({ push });
  await world.poll();
  expect(asked()).toBe(20);
  expect(await items()).toHaveLength(5);
  expect((await logOf(world.app)).map(({ reason }) => reason)).toContain(
    'Tidings did not read the files of 5 commits: triggers that filter by path keep them.',
  );
});

test('a round leaves most of the requests of the hour to later rounds', async () => {
  const { world, items, asked } = await start();
  await using _ = world;
  world.github.limits.token = world.github.requests.length + 9;
  world.project.happen({
    push: [commit('feat: one', 'packages/web/a.ts'), commit('feat: two', 'packages/web/b.ts')],
  });
  await world.poll();
  expect(asked()).toBe(1);
  expect(await items()).toEqual(['- One']);
});

const REMOTE = { providerId: 1, fullName: 'acme/rocket', defaultBranch: 'main', isPrivate: true };

test('a round asks for no files when too few requests are left', async () => {
  const reader = {
    budget: { limit: 60, remaining: 3, resetAt: null, pollMs: null },
    listFiles: () => Promise.reject(new Error('asked')),
  };
  const push = { event: 'push', payload: { commits: [{ id: 'a1' }] } };
  expect(await withFiles(reader, REMOTE, [push])).toEqual({ pushes: [push], unknown: 1 });
});

test('a commit of two pushes, as after a forced push, is asked for once and counts as known', async () => {
  const asked: string[] = [];
  const reader = {
    budget: { limit: null, remaining: null, resetAt: null, pollMs: null },
    async listFiles(_: RemoteRepository, sha: string) {
      asked.push(sha);
      return ['a.ts'];
    },
  };
  const push = { event: 'push', payload: { commits: [{ id: 'a1' }] } };
  const { pushes, unknown } = await withFiles(reader, REMOTE, [push, push]);
  expect([asked, unknown]).toEqual([['a1'], 0]);
  expect(pushes.map(({ payload }) => payload.commits)).toEqual([
    [{ id: 'a1', modified: ['a.ts'] }],
    [{ id: 'a1', modified: ['a.ts'] }],
  ]);
});
