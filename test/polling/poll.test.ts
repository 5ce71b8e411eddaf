import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { findPoll, listDuePolls } from '../../src/integrations/poll-store.ts';
import { execute, valuesOf } from '../support/database.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { READER, START, startPolling } from '../support/polling.ts';

test('a release, a merge and a push become drafts, each logged as polled', async () => {
  await using world = await startPolling({ token: READER });
  const { app, project } = world;
  project.happen({ by: 'ben', push: ['feat: quiet mode'] });
  app.clock.advance(1_000);
  project.happen({ merge: 12, title: 'fix: a leak' });
  app.clock.advance(1_000);
  project.happen({ release: 'v1.0.0', name: 'One', notes: '- Quiet mode' });
  await world.poll();
  expect(await world.log()).toEqual([
    'polled processed: 1 commit pushed to main',
    'polled processed: Pull request #12 merged: fix: a leak',
    'polled processed: 1 commit pushed to main',
    'polled processed: Release v1.0.0 published',
  ]);
  await runAll(app);
  const posts = await postsOf(app);
  expect(posts.map(({ title, markdown }) => [title, markdown.trim()])).toContainEqual([
    'One',
    '- Quiet mode',
  ]);

  await world.poll();
  await world.poll();
  expect(await world.log()).toHaveLength(4);
  await runAll(app);
  expect(await postsOf(app)).toEqual(posts);
});

test('the first round takes the present as the start', async () => {
  await using world = await startPolling({
    past: [
      ...START,
      { at: '2026-11-02T08:00:00Z', merge: 3, title: 'fix: old' },
      { at: '2026-11-03T08:00:00Z', release: 'v0.9.0', notes: 'Old' },
    ],
  });
  for (let round = 0; round < 3; round++) await world.poll(300_000);
  expect(await world.log()).toEqual([]);
  const poll = await world.app.db.read((tx) => findPoll(tx, world.repositoryId));
  expect(poll).toMatchObject({ problem: null, attempts: 0, polledAt: '2026-11-20T12:15:00.000Z' });
});

test('an edit of a release arrives as an edit; that of an older one makes no draft', async () => {
  await using world = await startPolling({
    past: [...START, { at: '2026-11-02T08:00:00Z', release: 'v0.9.0', notes: 'Old' }],
    token: READER,
    events: ['release'],
  });
  const { project, app } = world;
  project.happen({ release: 'v1.0.0', notes: 'New' });
  await world.poll();
  project.happen({ edit: 'v1.0.0', notes: 'Newer' });
  project.happen({ edit: 'v0.9.0', notes: 'Better' });
  await world.poll();
  expect(await world.log()).toEqual([
    'polled processed: Release v1.0.0 published',
    expect.stringContaining('edited'),
    expect.stringContaining('edited'),
  ]);
  await runAll(app);
  expect((await postsOf(app)).map(({ markdown }) => markdown.trim())).toEqual(['Newer']);
});

test('a release whose tag is edited stays one release, whichever way its edit arrives', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  const { project, app } = world;
  project.happen({ release: 'v1', notes: 'New' });
  await world.poll();
  await runAll(app);
  const [post] = await postsOf(app);
  const edited = project.happen({ edit: 'v1', tag: 'v1.0.0', name: 'v1.0.0', notes: 'Newer' });
  await world.poll();
  await world.deliver(edited);
  await world.poll();
  await runAll(app);
  expect((await postsOf(app)).map(({ id, title, markdown }) => [id, title, markdown.trim()])).toEqual([
    [post?.id ?? '', 'v1.0.0', 'Newer'],
  ]);
  expect(await valuesOf(app.db, sql`select key from events where type = 'release'`)).toEqual([['v1.0.0']]);
  expect(await valuesOf(app.db, sql`select subject from drafts`)).toEqual([['release v1.0.0']]);
});

test('a release whose edit alone was delivered is still drafted', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  const { project, app } = world;
  project.happen({ release: 'v1.0.0', notes: 'New' });
  await world.deliver(project.happen({ edit: 'v1.0.0', notes: 'Newer' }));
  await runAll(app);
  expect(await postsOf(app)).toEqual([]);
  await world.poll();
  await runAll(app);
  expect((await postsOf(app)).map(({ markdown }) => markdown.trim())).toEqual(['Newer']);
  expect(await world.log()).toEqual([
    'sent processed: Release v1.0.0 edited',
    'polled processed: Release v1.0.0 published',
  ]);
});

test('a repository that waits for days because many share the limit is not asked before', async () => {
  await using world = await startPolling();
  const { db, clock } = world.app;
  const dueAt = clock.now().getTime() + 3 * 86_400_000;
  await execute(db, `UPDATE polls SET due_at = ${dueAt}`);
  const dueIn = (ms: number) => db.read((tx) => listDuePolls(tx, new Date(dueAt + ms), 9));
  expect(await dueIn(-3 * 86_400_000)).toEqual([]);
  expect(await dueIn(-1)).toEqual([]);
  expect(await dueIn(0)).toHaveLength(1);
});

test('a clock that was a day ahead for a while holds up no round, also after a failure', async () => {
  await using world = await startPolling();
  const { app, project, github } = world;
  const aheadMs = 25 * 3_600_000;
  await world.poll();
  await world.poll(aheadMs);
  app.clock.advance(-aheadMs);
  project.happen({ release: 'v1.0.0', notes: '- Better' });
  await world.poll();
  expect(await world.log()).toEqual([expect.stringContaining('v1.0.0')]);
  github.failNext('answers 500');
  await world.poll(aheadMs);
  app.clock.advance(-aheadMs);
  project.happen({ release: 'v1.1.0', notes: '- Better' });
  await world.poll();
  expect(await world.log()).toHaveLength(2);
});

test('a clock that was days ahead for a while holds up no round for days', async () => {
  await using world = await startPolling();
  const { app, project } = world;
  await world.poll();
  await world.poll(21 * 86_400_000);
  app.clock.advance(-21 * 86_400_000);
  project.happen({ release: 'v1.0.0', notes: '- Better' });
  await world.poll();
  expect(await world.log()).toEqual([expect.stringContaining('v1.0.0')]);
});
