import { beforeEach, expect, test } from 'bun:test';
import { composeDraft } from '../../src/drafting/compose.ts';
import type { Compose } from '../../src/drafting/store.ts';
import { listRuns } from '../../src/drafting/triggers/queue-store.ts';
import { runTriggers } from '../../src/drafting/triggers/run.ts';
import { changeTrigger, createTrigger } from '../../src/drafting/triggers/service.ts';
import type { Connected } from '../../src/integrations/words.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { samplePayload } from '../../src/providers/index.ts';
import { valuesOf } from '../support/database.ts';
import { appWithGithub, githubRequest } from '../support/deliveries.ts';
import { compose, postsOf } from '../support/drafts.ts';
import { changed } from '../support/payloads.ts';
import type { TestApp } from '../support/test-app.ts';

// Many releases of one branch, which are one run.

let app: TestApp;
let connected: Connected;

beforeEach(async () => {
  ({ app, connected } = await appWithGithub());
  const { integrationId } = connected;
  await createTrigger(app.deps, { integrationId, event: 'release', contentType: 'changelog' });
});

/** Tags sort as their numbers. */
const nameOf = (index: number) => `Release ${1000 + index}`;

async function deliver(index: number, { day = index, ...changes }: Record<string, unknown> = {}) {
  const now = new Date(Date.UTC(2020, 0, 1 + Number(day)));
  const payload = changed(samplePayload('github', 'release', { repository: 'acme/rocket', now }) ?? {}, {
    'release.tag_name': `v${1000 + index}`,
    'release.name': nameOf(index),
    'release.body': `Notes ${index}.`,
    ...changes,
  });
  expect((await app.request(...githubRequest(connected, payload, { event: 'release' }))).status).toBe(200);
}

async function deliverAll(count: number) {
  for (let index = 0; index < count; index++) await deliver(index);
}

const edit = (index: number) => deliver(index, { action: 'edited', 'release.body': 'Better notes.' });

/** Does all runs. Returns the titles in the order in which they were composed. */
async function run(onDraft: (count: number) => Promise<unknown> = async () => undefined) {
  const composed: string[] = [];
  const listen: Compose = async (recipe, material) => {
    const composition = await compose(recipe, material);
    composed.push(composition.text?.title ?? '');
    await onDraft(composed.length);
    return composition;
  };
  await runTriggers(app.deps, listen);
  expect(await app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
  const open = "SELECT * FROM delivery_results WHERE outcome = 'queued' OR post_id IS NULL";
  expect(await valuesOf(app.db, open)).toEqual([]);
  return composed;
}

test('releases of one date that come one after another are each composed once', async () => {
  const count = 60;
  await deliver(0, { day: 0 });
  const composed = await run(async (done) => done < count && deliver(done, { day: 0 }));
  expect(composed.toSorted()).toEqual(Array.from({ length: count }, (_, index) => nameOf(index)));
  expect(await postsOf(app)).toHaveLength(count);
});

test('a change of a release during its run is in its draft', async () => {
  await deliverAll(40);
  const composed = await run(async (done) => done === 20 && edit(39));
  expect(composed).toHaveLength(41);
  const texts = new Map((await postsOf(app)).map(({ title, markdown }) => [title, markdown]));
  expect(texts.get(nameOf(39))).toContain('Better notes.');
  expect(texts.get(nameOf(38))).toContain('Notes 38.');
});

test('a new release does not wait for those that an edit of the oldest plans again', async () => {
  await deliverAll(60);
  await run();
  await edit(0);
  await deliver(60);
  expect(await run()).toEqual([nameOf(0), nameOf(60)]);
});

/** More than a run plans at a time. */
const MANY = 300;

/** How often a database is written to. */
function counting(db: TestApp['db']) {
  const count = { writes: 0 };
  const write: TestApp['db']['write'] = (...given) => {
    count.writes++;
    return db.write(...given);
  };
  return { count, db: Object.assign(Object.create(db), { write }) };
}

test('of many releases of one date, a new one and the one after it are written, and nothing else', async () => {
  // Every other number is free.
  for (let index = 0; index < MANY; index++) await deliver(2 * index, { day: 0 });
  expect(await run()).toHaveLength(MANY);
  await deliver(101, { day: 0 });
  const { count, db } = counting(app.db);
  const composed: string[] = [];
  await runTriggers({ ...app.deps, db }, async (recipe, material) => {
    composed.push(material.release?.key ?? '');
    return compose(recipe, material);
  });
  // Its successor names another tag before it.
  expect(composed.sort()).toEqual(['v1101', 'v1102']);
  expect(count.writes).toBeLessThanOrEqual(3);
  expect(await postsOf(app)).toHaveLength(MANY + 1);
});

/** More than one plan takes. */
const PIECES = 260;

test('a trigger that publishes does so in the order of the releases', async () => {
  const { integrationId } = connected;
  const published = { event: 'release', contentType: 'linkedin_post', publish: true };
  await createTrigger(app.deps, { integrationId, ...published } as Parameters<typeof createTrigger>[1]);
  await deliverAll(PIECES);
  await run();
  const order = "SELECT target_id FROM audit_events WHERE action = 'post.published' ORDER BY id";
  const ids = (await valuesOf<[string]>(app.db, order)).map(([id]) => id);
  const titles = new Map((await postsOf(app)).map(({ id, title }) => [id, title]));
  expect(ids.map((id) => titles.get(id))).toEqual(
    Array.from({ length: PIECES }, (_, index) => nameOf(index)),
  );
});

test('a new release does not wait for a backlog that is under way', async () => {
  await deliverAll(80);
  const composed = await run(async (done) => done === 1 && deliver(80));
  expect(composed).toHaveLength(81);
  // The batch in which it came, and its own.
  expect(composed.indexOf(nameOf(80))).toBeLessThan(32);
});

test('a release of another branch does not wait for a backlog that is under way', async () => {
  await deliverAll(80);
  const other = { 'release.target_commitish': 'other' };
  const composed = await run(async (done) => done === 1 && deliver(80, other));
  expect(composed.indexOf(nameOf(80))).toBeLessThan(32);
});

/** A database that pushes to the branch at each read, while it is wanted: news in each plan of a run. */
function withNews(isWanted: (count: number) => boolean) {
  const news = { count: 0 };
  const read: TestApp['db']['read'] = async (...given) => {
    const result = await app.db.read(...given);
    if (!isWanted(news.count)) return result;
    news.count++;
    const payload = samplePayload('github', 'push', { repository: 'acme/rocket', now: app.clock.now() });
    const request = githubRequest(connected, payload ?? {}, { event: 'push' });
    expect((await app.request(...request)).status).toBe(200);
    return result;
  };
  return { news, db: Object.assign(Object.create(app.db), { read }) as TestApp['db'] };
}

test('a run comes to its last draft while events keep arriving', async () => {
  await deliverAll(MANY);
  await run();
  const [[id] = []] = await valuesOf<[string]>(app.db, 'SELECT id FROM triggers');
  await changeTrigger(app.deps, id ?? '', { titleTemplate: 'Out: {{ release.name }}' });
  // Plans all of them again.
  await edit(0);
  let composed = 0;
  const { news, db } = withNews((count) => composed < MANY && count < 200);
  await runTriggers({ ...app.deps, db }, (recipe, material) => {
    composed++;
    return compose(recipe, material);
  });
  expect(composed).toBe(MANY);
  expect(news.count).toBeLessThan(100);
  expect((await postsOf(app)).filter(({ title }) => title.startsWith('Out: '))).toHaveLength(MANY);
  expect(await app.db.read((tx) => listRuns(tx, {}))).toEqual([]);
});

const changes: Record<string, (id: string) => Promise<unknown>> = {
  published: (id) => editPost(app.deps, id, { status: 'published' }),
  edited: (id) => editPost(app.deps, id, { markdown: 'Mine.' }),
  deleted: (id) => deletePost(app.deps, id),
};

test.each(Object.keys(changes))(
  'a run looks once at each draft that was %s while events keep arriving',
  async (name) => {
    const count = 60;
    await deliverAll(count);
    await run();
    for (const { id } of await postsOf(app)) await changes[name]?.(id);
    const [[id] = []] = await valuesOf<[string]>(app.db, 'SELECT id FROM triggers');
    await changeTrigger(app.deps, id ?? '', { titleTemplate: 'Out: {{ release.name }}' });
    await edit(0);
    const composed = new Set<string>();
    const { news, db } = withNews((each) => composed.size < count && each < 200);
    await runTriggers({ ...app.deps, db }, (recipe, material) => {
      composed.add(material.release?.key ?? '');
      return compose(recipe, material);
    });
    expect(composed.size).toBe(count);
    expect(news.count).toBeLessThan(40);
  },
);

test('a release that is dated in the future is composed once', async () => {
  const day = 4_000;
  for (let index = 0; index < 20; index++) await deliver(index, { day });
  expect(await run()).toHaveLength(20);
  await deliver(20, { day });
  expect(await run()).toEqual([nameOf(20)]);
});

test('a run in which events keep arriving settles the results of those before', async () => {
  await deliver(0);
  const queued = "SELECT count(*) FROM delivery_results WHERE outcome = 'queued'";
  const counts: number[] = [];
  const { db } = withNews((count) => count < 40);
  const { read } = db;
  db.read = async (...given) => {
    counts.push(Number((await valuesOf(app.db, queued))[0]?.[0]));
    return read(...given);
  };
  await runTriggers({ ...app.deps, db }, compose);
  expect(counts.length).toBeGreaterThan(40);
  expect(Math.max(...counts)).toBeLessThan(8);
  expect(counts.at(-1)).toBe(0);
});

test('a run in which events keep arriving lets others have their turn', async () => {
  await deliver(0);
  const branches: (string | null | undefined)[] = [];
  const { news, db } = withNews((count) => !branches.includes('other') && count < 100);
  await runTriggers({ ...app.deps, db }, async (recipe, material) => {
    branches.push(material.release?.branch);
    if (branches.length === 1) await deliver(1, { 'release.target_commitish': 'other' });
    return compose(recipe, material);
  });
  expect(branches).toEqual(['main', 'other']);
  expect(news.count).toBeLessThan(20);
});

const onOwnBranch = (index: number) => deliver(index, { 'release.target_commitish': `branch-${index}` });

test('a release does not wait for a backlog of releases that do not depend on each other', async () => {
  for (let index = 0; index < 80; index++) await onOwnBranch(index);
  app.clock.advance(1_000);
  const composed = await run(async (done) => done === 1 && onOwnBranch(80));
  expect(composed).toHaveLength(81);
  expect(composed.indexOf(nameOf(80))).toBeLessThan(32);
});

test('many releases share their transactions', async () => {
  await deliverAll(64);
  const { count, db } = counting(app.db);
  await runTriggers({ ...app.deps, db }, compose);
  expect(await postsOf(app)).toHaveLength(64);
  // Four, and more where the machine takes long to compose.
  expect(count.writes).toBeLessThan(32);
});

test('a draft that cannot be composed keeps none of the others from being written', async () => {
  await deliverAll(20);
  const failing: Compose = async (recipe, material) => {
    if (material.release?.key === 'v1007') throw new Error('no words');
    return composeDraft(recipe, material);
  };
  await runTriggers(app.deps, failing);
  expect(await postsOf(app)).toHaveLength(19);
  expect(await app.db.read((tx) => listRuns(tx, {}))).toMatchObject([{ attempts: 1, error: 'no words' }]);
  app.clock.advance(60_000);
  expect(await run()).toEqual([nameOf(7)]);
  expect(await postsOf(app)).toHaveLength(20);
});
