import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { listDueRanges, queueRange } from '../../src/drafting/triggers/range-store.ts';
import { readDueHistories } from '../../src/intake/history/read.ts';
import { startHistory } from '../../src/intake/history/service.ts';
import { insertHistory, listDueHistories } from '../../src/intake/history/store.ts';
import { addPlace, removePlace } from '../../src/integrations/places.ts';
import { sweep } from '../../src/server/sweep.ts';
import { valuesOf } from '../support/database.ts';
import { projectOf } from '../support/github-api/project.ts';
import { READS } from '../support/github-api/reading.ts';
import { day, request, startProject } from '../support/import.ts';

const START = [{ at: day(1), push: ['chore: start'] }];

test('a long history leaves turns to other organizations', async () => {
  const releases = Array.from({ length: 25 }, (_, index) => ({
    at: day(2, index % 24),
    release: `v1.${index}.0`,
    notes: 'New',
  }));
  await using it = await startProject([...START, ...releases]);
  const { app, github } = it;
  github.limits.anonymous = 1_000;
  const lander = github.addRepository('acme/lander', { isPrivate: false });
  projectOf(lander, app.clock, [...START, { at: day(2), release: 'v1.0.0', notes: 'New' }]);
  await startHistory(app.deps, request());
  app.clock.advance(1_000);
  const other = request({ organizationId: 'org_b', repository: 'acme/lander' });
  await startHistory(app.deps, other);
  const pages: string[] = [];
  await readDueHistories({
    ...app.deps,
    /** One release on each page. */
    async openReader(...given) {
      const reader = await app.deps.openReader(...given);
      return {
        ...reader,
        async listReleases(repository, asked) {
          pages.push(repository.fullName);
          const all = await reader.listReleases(repository);
          const at = Number(asked?.cursor ?? 0);
          const next = at + 1 < (all?.items.length ?? 0) ? String(at + 1) : null;
          return all && { ...all, items: all.items.slice(at, at + 1), next };
        },
      };
    },
  });
  expect(pages).toHaveLength(26);
  expect(pages.indexOf('acme/lander')).toBe(10);
  expect(await valuesOf(app.db, sql`select status, found from histories order by found`)).toEqual([
    ['done', 1],
    ['done', 25],
  ]);
});

test('many histories of one organization leave turns to others', async () => {
  await using it = await startProject(START);
  const { app, github } = it;
  projectOf(github.addRepository('acme/lander', { isPrivate: false }), app.clock, START);
  const own = await startHistory(app.deps, request());
  await app.db.write(async (tx) => {
    for (let number = 0; number < 12; number++) await insertHistory(tx, { ...own, id: `his_many_${number}` });
  });
  app.clock.advance(1_000);
  const { id } = await startHistory(
    app.deps,
    request({ organizationId: 'org_b', repository: 'acme/lander' }),
  );
  const due = await app.db.read((tx) => listDueHistories(tx, app.clock.now(), 10));
  expect(due.map((each) => each.id)).toContain(id);
});

test('ranges of many releases leave turns to other organizations', async () => {
  await using it = await startProject(START);
  const { app, github } = it;
  projectOf(github.addRepository('acme/lander', { isPrivate: false }), app.clock, START);
  const many = await startHistory(app.deps, request());
  const other = request({ organizationId: 'org_b', repository: 'acme/lander' });
  const few = await startHistory(app.deps, other);
  await app.db.write(async (tx) => {
    for (let index = 10; index < 30; index++)
      await queueRange(tx, { ...placeOf(many), tag: `v${index}` }, app.clock.now());
    await queueRange(tx, { ...placeOf(few), tag: 'w1' }, new Date(app.clock.now().getTime() + 1));
  });
  const due = await app.db.read((tx) =>
    listDueRanges(tx, new Date(app.clock.now().getTime() + 1), { limit: 10 }),
  );
  expect(due.map(({ tag }) => tag).slice(0, 3)).toEqual(['v10', 'w1', 'v11']);
  expect(due).toHaveLength(10);
});

const placeOf = ({ integrationId, repositoryId }: { integrationId: string; repositoryId: string }) => ({
  integrationId,
  repositoryId,
});

test('the sweep deletes ranges of a repository that was removed', async () => {
  await using it = await startProject(START);
  const { app } = it;
  const place = placeOf(await startHistory(app.deps, request()));
  const { repositoryId = '' } = await addPlace(app.deps, place.integrationId, 'acme/lander');
  await app.db.write(async (tx) => {
    await queueRange(tx, { ...place, tag: 'v1' }, app.clock.now());
    await queueRange(tx, { ...place, repositoryId, tag: 'w1' }, app.clock.now());
  });
  await removePlace(app.deps, place.integrationId, 'acme/lander');
  await sweep(app.deps, { confirmed: app.clock.now() });
  expect(await valuesOf(app.db, sql`select tag from release_ranges`)).toEqual([['v1']]);
});

test('the audit log has the token that an import stores', async () => {
  await using it = await startProject(START);
  const { app, github } = it;
  const token = github.addToken(READS);
  const changes = () =>
    valuesOf(app.db, sql`select summary from audit_events where action = 'token.set' order by id`);
  await startHistory(app.deps, request({ token }));
  expect(await changes()).toEqual([['set a provider token for the GitHub integration acme/rocket']]);
});
