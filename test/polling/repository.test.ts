import { describe, expect, test } from 'bun:test';
import { findPoll } from '../../src/integrations/poll-store.ts';
import { getIntegration } from '../../src/integrations/store.ts';
import { runAll, toldBy } from '../support/drafts.ts';
import type { Happening } from '../support/github-api/project.ts';
import { READER, START, startPolling } from '../support/polling.ts';

// Changes of a repository while it is polled.

const rocketOf = async ({ app, integrationId }: Awaited<ReturnType<typeof startPolling>>) =>
  (await app.db.read((tx) => getIntegration(tx, integrationId))).repositories[0];

test('a forced push brings what it added', async () => {
  await using world = await startPolling({ token: READER, events: ['push'] });
  const { project, app } = world;
  project.happen({ push: ['feat: kept', 'feat: dropped'] });
  await world.poll();
  project.happen({ push: ['feat: instead'], drop: 1 });
  await world.poll();
  expect(await world.log()).toEqual([
    'polled processed: 2 commits pushed to main',
    'polled processed: 1 commit pushed to main',
  ]);
  await runAll(app);
  expect(Object.values(await toldBy(app)).flat()).toContain('Instead');
});

test('a history that was replaced is no flood, and the log says so', async () => {
  await using world = await startPolling({ token: READER });
  const { code } = world.repository;
  const old = code.branches.get('main') ?? '';
  world.project.happen({ push: ['feat: other root'], drop: 1_000 });
  code.commits.delete(old);
  code.activity.length = 0;
  await world.poll();
  expect(await world.log()).toEqual([`polled ignored: Polling acme/rocket`]);
  world.project.happen({ push: ['feat: next'] });
  await world.poll();
  expect(await world.log()).toHaveLength(2);
});

test('a renamed repository is followed', async () => {
  await using world = await startPolling({ token: READER });
  world.project.happen({ release: 'v1.0.0', notes: 'One' });
  await world.poll();
  world.github.rename(world.repository, 'acme/starship');
  await world.poll();
  world.project.happen({ push: ['feat: a'] });
  await world.poll();
  expect((await rocketOf(world))?.fullName).toBe('acme/starship');
  expect(await world.log()).toEqual([
    'polled processed: Release v1.0.0 published',
    'polled processed: 1 commit pushed to main',
  ]);
});

test('another repository under the name is never drafted', async () => {
  await using world = await startPolling({ token: READER });
  world.repository.name = 'acme/elsewhere';
  const other = world.github.addRepository('acme/rocket', { isPrivate: false });
  other.code.releases.push({
    ...{ id: 99, tag: 'v9.9.9', name: 'Stolen', notes: 'Not ours', isDraft: false, isPrerelease: false },
    ...{ target: 'main', author: 'eve', createdAt: '2026-11-20T12:00:30Z' },
    ...{ publishedAt: '2026-11-20T12:00:30Z', updatedAt: '2026-11-20T12:00:30Z' },
  });
  for (const [sha, commit] of world.repository.code.commits) other.code.commits.set(sha, commit);
  other.code.branches.set('main', [...other.code.commits.keys()][0] ?? '');
  for (let round = 0; round < 12; round++) await world.poll(3_600_000);
  expect(await world.log()).toEqual([]);
  const poll = await world.app.db.read((tx) => findPoll(tx, world.repositoryId));
  expect(poll?.problem).toContain('acme/rocket is now a different repository');
});

describe('the default branch', () => {
  test('that is renamed goes on without a gap', async () => {
    await using world = await startPolling({ token: READER });
    const { code } = world.repository;
    world.project.happen({ push: ['feat: a'] });
    await world.poll();
    code.branches.set('trunk', code.branches.get('main') ?? '');
    code.branches.delete('main');
    world.repository.defaultBranch = 'trunk';
    world.project.happen({ push: ['feat: b'] });
    await world.poll();
    world.project.happen({ push: ['feat: c'] });
    await world.poll();
    expect(await world.log()).toEqual([
      'polled processed: 1 commit pushed to main',
      'polled processed: 1 commit pushed to trunk',
      'polled processed: 1 commit pushed to trunk',
    ]);
  });

  test('that is changed to another starts there', async () => {
    await using world = await startPolling({ token: READER });
    world.project.happen({ push: ['feat: a', 'feat: b'], branch: 'next' });
    world.repository.defaultBranch = 'next';
    for (let round = 0; round < 11; round++) await world.poll();
    expect(await world.log()).toEqual([]);
    world.project.happen({ push: ['feat: c'] });
    await world.poll();
    expect(await world.log()).toEqual(['polled processed: 1 commit pushed to next']);
  });
});

test('a repository without commits is polled from its first push', async () => {
  await using world = await startPolling({ token: READER, past: [] });
  world.project.happen({ push: ['feat: first', 'feat: second'] });
  await world.poll();
  expect(await world.log()).toEqual(['polled processed: 2 commits pushed to main']);
});

test('old pull requests and releases that people touch are no news', async () => {
  const past: Happening[] = [
    ...START,
    ...Array.from(
      { length: 120 },
      (_, at): Happening => ({
        at: new Date(Date.UTC(2026, 10, 2) + at * 60_000).toISOString(),
        merge: at + 1,
        title: `fix: number ${at}`,
      }),
    ),
  ];
  await using world = await startPolling({ token: READER, past });
  world.project.happen({ comment: 1 });
  await world.poll();
  world.project.happen({ close: 500, title: 'An idea' });
  await world.poll();
  expect(await world.log()).toEqual([]);
});

test('a merge that the list shows late is not lost', async () => {
  await using world = await startPolling({ token: READER, events: ['pull_request'] });
  const { project, app } = world;
  const at = app.clock.now().toISOString();
  app.clock.advance(60_000);
  project.happen({ merge: 1, title: 'feat: seen' });
  await world.poll();
  project.happen({ merge: 2, title: 'feat: late', at });
  await world.poll();
  const merges = (await world.log()).filter((line) => line.includes('Pull request'));
  expect(merges).toEqual([expect.stringContaining('feat: seen'), expect.stringContaining('feat: late')]);
});

test('more than a page of news is read to the end', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  for (let at = 0; at < 130; at++) {
    world.app.clock.advance(1_000);
    world.project.happen({ merge: at + 1, title: `fix: number ${at}` });
    if (at % 2 === 0) world.project.happen({ release: `v1.${at}.0`, notes: 'Notes' });
  }
  for (let at = 0; at < 60; at++) world.project.happen({ release: `v2.${at}.0`, notes: 'Notes' });
  await world.poll();
  const log = await world.log();
  expect(log.filter((line) => line.includes('Pull request'))).toHaveLength(130);
  expect(log.filter((line) => line.includes('Release'))).toHaveLength(125);
  expect(log.filter((line) => line.includes('pushed to main'))).toEqual(
    Array(130).fill('polled processed: 1 commit pushed to main'),
  );
});

test('a release that is dated before the others is news where the list is whole', async () => {
  await using world = await startPolling({ token: READER });
  const { branches } = world.repository.code;
  const first = branches.get('main') ?? '';
  world.project.happen({ push: ['feat: a'] });
  world.project.happen({ release: 'v1.0.0', notes: 'One' });
  await world.poll();
  // GitHub lists releases by the dates of their commits.
  world.project.happen({ release: 'v0.9.0', notes: 'Old', target: first, at: '2026-11-02T00:00:00Z' });
  await world.poll();
  expect((await world.log()).at(-1)).toBe('polled processed: Release v0.9.0 published');
});

test('a draft of a release is news once it is published', async () => {
  await using world = await startPolling({ token: READER });
  world.project.happen({ release: 'v1.0.0', notes: 'Soon', isDraft: true });
  await world.poll();
  expect(await world.log()).toEqual([]);
  world.project.happen({ publish: 'v1.0.0' });
  await world.poll();
  expect(await world.log()).toEqual(['polled processed: Release v1.0.0 published']);
});
