import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { readHistory } from '../../src/intake/history/read.ts';
import { startHistory } from '../../src/intake/history/service.ts';
import { pollDue } from '../../src/intake/polling/poll.ts';
import { valuesOf } from '../support/database.ts';
import { postsOf, runAll } from '../support/drafts.ts';
import { request } from '../support/import.ts';
import { READER, startPolling } from '../support/polling.ts';

// A round with much news takes several commits.

type World = Awaited<ReturnType<typeof startPolling>>;
type Write = World['app']['db']['write'];

const RELEASES = 40;

/** A push, and the release of it, many times: 80 events. */
function ship({ app, project }: World): void {
  for (let number = 1; number <= RELEASES; number++) {
    app.clock.advance(1_000);
    project.happen({ push: [`feat: part ${number}`] });
    app.clock.advance(1_000);
    project.happen({ release: `v1.${number}.0`, notes: `Part ${number}` });
  }
  app.clock.advance(60_000);
}

const countEntries = async ({ app }: World) =>
  Number((await valuesOf(app.db, sql`select count(*) from deliveries`))[0]?.[0]);

/** Polls with another `write`, as another process would. */
const pollWith = ({ app }: World, write: (real: Write) => Write) =>
  pollDue({ ...app.deps, db: { ...app.db, write: write(app.db.write) } });

async function expectEachOnce(world: World, entries: number): Promise<void> {
  const log = await world.log();
  expect(log.filter((line) => line.includes('Release'))).toHaveLength(RELEASES);
  expect(new Set(log.filter((line) => line.includes('Release'))).size).toBe(RELEASES);
  expect(log).toHaveLength(entries);
  await runAll(world.app);
  const posts = (await postsOf(world.app)).map(({ markdown }) => markdown.trim());
  expect(posts.toSorted()).toEqual(
    Array.from({ length: RELEASES }, (_, index) => `Part ${index + 1}`).toSorted(),
  );
}

test('no commit of a round has more than 25 events', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  ship(world);
  const counts: number[] = [];
  await pollWith(world, (real) => async (work, options) => {
    const before = await countEntries(world);
    const result = await real(work, options);
    counts.push((await countEntries(world)) - before);
    return result;
  });
  const sum = counts.reduce((all, each) => all + each, 0);
  expect(Math.max(...counts)).toBe(25);
  expect(sum).toBeGreaterThan(2 * 25);
  await expectEachOnce(world, sum);
});

test.each([1, 2, 3])(
  'a process that ends after %i commits leaves the rest to the next round',
  async (last) => {
    await using world = await startPolling({ token: READER, events: ['release'] });
    ship(world);
    let writes = 0;
    const ended = pollWith(world, (real) => async (work, options) => {
      if (++writes > last) throw new Error('the process ends');
      return real(work, options);
    });
    await expect(ended).rejects.toThrow('the process ends');
    const logged = await countEntries(world);
    await world.poll();
    const entries = await countEntries(world);
    expect(entries).toBeGreaterThan(logged);
    await expectEachOnce(world, entries);
    await world.poll();
    expect(await countEntries(world)).toBe(entries);
  },
);

test('a push is logged with the cursor, so that a branch that moves on is read as one push', async () => {
  await using world = await startPolling({ token: READER, events: ['push'] });
  ship(world);
  // As on servers that do not list pushes.
  const { activity } = world.repository.code;
  activity.splice(0);
  let writes = 0;
  const ended = pollWith(world, (real) => async (work, options) => {
    if (++writes > 1) throw new Error('the process ends');
    return real(work, options);
  });
  await expect(ended).rejects.toThrow('the process ends');
  world.project.happen({ push: ['feat: later'] });
  activity.splice(0);
  await world.poll();
  const pushes = (await world.log()).filter((line) => line.includes('pushed'));
  expect(pushes).toEqual([expect.stringContaining(`${RELEASES + 1} commits pushed to main`)]);
});

test('the next round repeats nothing that an import had read before', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  ship(world);
  const { id } = await startHistory(world.app.deps, request());
  await readHistory(world.app.deps, id);
  let writes = 0;
  const ended = pollWith(world, (real) => async (work, options) => {
    if (++writes > 2) throw new Error('the process ends');
    return real(work, options);
  });
  await expect(ended).rejects.toThrow('the process ends');
  await world.poll();
  await expectEachOnce(world, await countEntries(world));
});

test('two processes that record much news at the same time log each event once', async () => {
  await using world = await startPolling({ token: READER, events: ['release'] });
  ship(world);
  await Promise.all([pollDue(world.app.deps), pollDue(world.app.deps), pollDue(world.app.deps)]);
  await expectEachOnce(world, await countEntries(world));
});
