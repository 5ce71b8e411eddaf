import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { sql } from 'drizzle-orm';
import { changingPosts, type Database } from '../../../db/engine.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { mergeOf, seenOf } from '../../../src/dashboard/edit.ts';
import { createTrigger, deleteTrigger } from '../../../src/drafting/triggers/service.ts';
import { connectIntegration, setEnabled } from '../../../src/integrations/connect.ts';
import { disconnectIntegration } from '../../../src/integrations/places.ts';
import { rotateSecret as rotateIntegrationSecret } from '../../../src/integrations/rotate.ts';
import { AppError } from '../../../src/lib/app-error.ts';
import { randomIds } from '../../../src/lib/text.ts';
import { DAY_MS } from '../../../src/lib/time.ts';
import { createUser } from '../../../src/people/accounts.ts';
import { acceptInvitation, invite } from '../../../src/people/links.ts';
import { removeMember, setRole } from '../../../src/people/members.ts';
import { createOrganization } from '../../../src/people/organizations.ts';
import { importFile } from '../../../src/posts/import/service.ts';
import { publishDuePosts, schedulePost } from '../../../src/posts/schedule.ts';
import { changePosts, createPost, deletePost, editPost } from '../../../src/posts/service.ts';
import { MAX_SUGGESTIONS_OF_POST, suggestChange } from '../../../src/posts/suggestions.ts';
import { deleteExpiredTrash, emptyTrash, erasePost, restorePost } from '../../../src/posts/trash.ts';
import { samplePayload } from '../../../src/providers/index.ts';
import { createHook, deleteHook, switchHook } from '../../../src/readers/hooks/service.ts';
import { changePublication } from '../../../src/readers/public/service.ts';
import { valuesOf } from '../../support/database.ts';
import { githubRequest } from '../../support/deliveries.ts';
import { runAll } from '../../support/drafts.ts';
import { changed } from '../../support/payloads.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { rounds } from '../../support/rounds.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

// Work that conflicts, at the same time in two processes. Each decides as if it came before or after the other: no limit is
// passed, nothing is done twice, every refusal is one that a person understands, and nobody waits in a circle.

const ROUNDS = rounds(4, 40);

const LIMITS = { answerMs: 120_000, giveUpMs: 120_000 };

let url: string;
let databases: Database[];
let one: TestApp;
let other: TestApp;

beforeAll(async () => {
  url = await (await sharedPostgres()).createDatabase();
  const open = () => openPostgres(url, 'server', { poolSize: 6, limits: LIMITS });
  databases = [await open(), await open()];
  [one, other] = databases.map((db) => createTestApp({ db, ids: randomIds })) as [TestApp, TestApp];
}, 120_000);

afterAll(async () => {
  for (const db of databases ?? []) await db.close();
  // The connections have ended, and so has what they counted.
  await using admin = new SQL(url, { max: 1 });
  const [row] = await admin`SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()`;
  expect(row.deadlocks).toBe(0);
});

/** The outcome of each: `done`, or the status and code of the refusal. Fails when one failed otherwise. */
async function race(...works: (() => Promise<unknown>)[]): Promise<string[]> {
  const results = await Promise.allSettled(works.map((work) => work()));
  return results.map((result) => {
    if (result.status === 'fulfilled') return 'done';
    if (!(result.reason instanceof AppError) || result.reason.status >= 500) throw result.reason;
    return `${result.reason.status} ${result.reason.code ?? ''}`.trim();
  });
}

let last = 0;
const newName = (prefix: string) => `${prefix}_${++last}`;

/** A new organization. */
async function organization(): Promise<string> {
  const id = newName('org');
  await one.addOrganization(id);
  return id;
}

async function newPosts(organizationId: string, count: number): Promise<string[]> {
  const posts = Array.from({ length: count }, (_, at) => ({
    id: newName('post'),
    status: at % 2 === 0 ? ('draft' as const) : ('published' as const),
  }));
  return (await one.addPosts(organizationId, ...posts)).map(({ id }) => id);
}

/** SQL triggers count the posts of each group. */
async function expectRightCounts(): Promise<void> {
  const counted = await valuesOf(
    one.db,
    `SELECT organization_id, status, content_type, count FROM post_counts WHERE count <> 0 ORDER BY 1, 2, 3`,
  );
  const present = await valuesOf(
    one.db,
    `SELECT organization_id, status, content_type, count(*) FROM posts GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  );
  expect(counted).toEqual(present);
}

const release = (tag: string) =>
  changed(samplePayload('github', 'release', { repository: 'acme/rocket', now: new Date(0) }) ?? {}, {
    'release.tag_name': tag,
    'release.name': tag,
  });

/** An organization with a repository, whose releases become drafts. */
async function connected() {
  const organizationId = await organization();
  const integration = await connectIntegration(one.deps, 'github', organizationId, 'acme/rocket');
  const { id: triggerId } = await createTrigger(one.deps, {
    integrationId: integration.integrationId,
    event: 'release',
    contentType: 'changelog',
  });
  const deliver = (app: TestApp, tag: string) => async () => {
    const { status } = await app.request(...githubRequest(integration, release(tag), { event: 'release' }));
    if (status !== 200) throw new AppError(status, 'refused', {});
  };
  return { ...integration, organizationId, triggerId, deliver };
}

/** Runs the case in several rounds. */
function testConflict(name: string, work: () => Promise<void>): void {
  test(name, async () => {
    for (let round = 0; round < ROUNDS; round++) await work();
  }, 300_000);
}

test('a save that hangs holds up neither deliveries nor the work of other organizations', async () => {
  const { organizationId, deliver } = await connected();
  // The first one tells of the repository, which changes the integration.
  await deliver(other, 'v0')();
  const otherOrganization = await connected();
  const [id = ''] = await newPosts(otherOrganization.organizationId, 1);
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<true>();
  const save = one.db.write(async (tx) => {
    for (let isOver = false; !isOver; ) {
      await tx.values(sql`SELECT 1`);
      started.resolve();
      isOver = await Promise.race([gate.promise, Bun.sleep(1).then(() => false)]);
    }
  }, changingPosts(organizationId));
  await started.promise;
  const outcomes = await race(
    deliver(other, 'v1'),
    deliver(one, 'v2'),
    otherOrganization.deliver(other, 'v1'),
    () => editPost(other.deps, id, { title: 'Saved' }),
    () => deleteTrigger(one.deps, otherOrganization.triggerId),
    () => createUser(other.deps, { email: `${newName('fay')}@acme.example` }),
  );
  gate.resolve(true);
  await save;
  expect(outcomes).toEqual(Array(6).fill('done'));
}, 60_000);

testConflict('two edits of the same version: one is saved', async () => {
  const [id = ''] = await newPosts(await organization(), 1);
  await editPost(one.deps, id, { title: 'Seen' });
  const { changes } = mergeOf({
    url: new URL('http://localhost'),
    form: new URLSearchParams({ seen: seenOf({ title: 'Seen' }) }),
  });
  const edit = (app: TestApp, title: string) => () =>
    editPost(app.deps, id, { merge: (stored) => changes({ title }, { title: stored.title }) });
  expect((await race(edit(one, 'A'), edit(other, 'B'))).sort()).toEqual(['409 edit_conflict', 'done']);
});

testConflict('everything that can happen to the posts of one organization', async () => {
  const organizationId = await organization();
  const ids = await newPosts(organizationId, 6);
  const [first = '', second = '', third = '', ...others] = ids;
  const outcomes = await race(
    () => editPost(one.deps, first, { status: 'published' }),
    () => editPost(other.deps, second, { status: 'draft' }),
    () => changePosts(one.deps, organizationId, [second, first, third], 'unpublish'),
    () => changePosts(other.deps, organizationId, [...others].reverse(), 'publish'),
    () => deletePost(one.deps, third),
    () => editPost(other.deps, third, { contentType: 'linkedin_post' }),
    () =>
      createPost(
        one.deps,
        organizationId,
        { title: 'New', markdown: '', contentType: 'changelog' },
        { mark: 'mark' },
      ),
    () =>
      createPost(
        other.deps,
        organizationId,
        { title: 'New', markdown: '', contentType: 'changelog' },
        { mark: 'mark' },
      ),
  );
  expect(outcomes.filter((outcome) => !['done', '404 post_not_found'].includes(outcome))).toEqual([]);
  await expectRightCounts();
});

testConflict('the trash: a post is restored or gone, and its versions with it', async () => {
  const organizationId = await organization();
  const [id = ''] = await newPosts(organizationId, 1);
  await editPost(one.deps, id, { title: 'Edited' });
  await deletePost(one.deps, id);
  const outcomes = await race(
    () => restorePost(one.deps, id),
    () => erasePost(other.deps, id),
    () => emptyTrash(other.deps, organizationId),
  );
  expect(outcomes[2]).toBe('done');
  const [[posts, versions] = []] = await valuesOf<[number, number]>(
    one.db,
    `SELECT (SELECT count(*) FROM posts WHERE id = '${id}'), (SELECT count(*) FROM post_versions WHERE post_id = '${id}')`,
  );
  expect([posts, versions]).toEqual(posts === 1 ? [1, 2] : [0, 0]);
  await expectRightCounts();
});

testConflict('the trash: a post is restored with its versions, or swept with them', async () => {
  const [id = ''] = await newPosts(await organization(), 1);
  await editPost(one.deps, id, { title: 'Edited' });
  await deletePost(one.deps, id);
  const end = new Date(one.clock.now().getTime() + 31 * DAY_MS);
  const [restored] = await race(
    () => restorePost(one.deps, id),
    () => other.db.write((tx) => deleteExpiredTrash(tx, end, 10), { key: 'sweep' }),
  );
  const counts = await valuesOf(
    one.db,
    `SELECT (SELECT count(*) FROM posts WHERE id = '${id}'), (SELECT count(*) FROM post_versions WHERE post_id = '${id}')`,
  );
  expect(counts).toEqual([restored === 'done' ? [1, 2] : [0, 0]]);
});

testConflict('a scheduled post is published once', async () => {
  const [id = ''] = await newPosts(await organization(), 1);
  const publishAt = new Date(one.clock.now().getTime() + 60_000).toISOString();
  await schedulePost(one.deps, id, { publishAt, timeZone: 'UTC' });
  for (const app of [one, other]) app.clock.advance(61_000);
  const publish = (app: TestApp) => () => publishDuePosts(app.deps, { runningSince: new Date(0) });
  await race(publish(one), publish(other), () => editPost(other.deps, id, { title: 'Edited' }));
  const published = await valuesOf(
    one.db,
    `SELECT action FROM audit_events WHERE target_id = '${id}' AND action = 'post.published'`,
  );
  expect(published).toHaveLength(1);
  await expectRightCounts();
});

testConflict('suggestions stay below their limit', async () => {
  const organizationId = await organization();
  const [id = ''] = await newPosts(organizationId, 1);
  const suggest = (at: number) => () =>
    suggestChange(
      [one, other][at % 2]?.deps ?? one.deps,
      organizationId,
      { keyId: 'key', name: 'Key' },
      { id, markdown: `Text ${at}` },
    );
  const outcomes = await race(...Array.from({ length: MAX_SUGGESTIONS_OF_POST + 4 }, (_, at) => suggest(at)));
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(MAX_SUGGESTIONS_OF_POST);
});

testConflict('a large import beside edits: all of its posts, and right counts', async () => {
  const organizationId = await organization();
  const ids = await newPosts(organizationId, 4);
  const lines = [...ids, ...Array.from({ length: 26 }, () => newName('post'))].map((id) =>
    JSON.stringify({ id, title: 'Imported', content: 'Text' }),
  );
  const file = { name: 'posts.jsonl', text: lines.join('\n') };
  const options = { organizationId, status: 'draft', contentType: 'changelog' } as const;
  const outcomes = await race(
    () => importFile(one.deps, file, options),
    ...ids.map(
      (id, at) => () => editPost([one, other][at % 2]?.deps ?? one.deps, id, { status: 'published' }),
    ),
    () => changePosts(other.deps, organizationId, ids, 'unpublish'),
  );
  expect(new Set(outcomes)).toEqual(new Set(['done']));
  const [[posts] = []] = await valuesOf(
    one.db,
    `SELECT count(*) FROM posts WHERE organization_id = '${organizationId}'`,
  );
  expect(posts).toBe(30);
  await expectRightCounts();
});

testConflict('an id that two imports choose goes to one of them', async () => {
  const organizations = [await organization(), await organization()];
  const id = newName('post');
  const more = Array.from({ length: 14 }, () => newName('post'));
  const files = [[id], [...more, id]].map((ids) => ({
    name: 'posts.jsonl',
    text: ids.map((each) => JSON.stringify({ id: each, title: 'Imported', content: 'Text' })).join('\n'),
  }));
  const outcomes = await race(
    ...organizations.map((organizationId, at) => () => {
      const options = { organizationId, status: 'draft', contentType: 'changelog' } as const;
      return importFile([one, other][at]?.deps ?? one.deps, files[at] ?? { name: '', text: '' }, options);
    }),
  );
  for (const [at, organizationId] of organizations.entries()) {
    expect(['done', '409']).toContain(outcomes[at] ?? '');
    const stored = await valuesOf(one.db, `SELECT id FROM posts WHERE organization_id = '${organizationId}'`);
    // Posts that an import saved before it met the id stay, and the next one completes them.
    if (outcomes[at] === 'done') expect(stored).toHaveLength([1, 15][at] ?? 0);
  }
  await expectRightCounts();
});

testConflict('two owners who remove each other: one stays', async () => {
  const organizationId = await organization();
  const [ann, bob] = await Promise.all(
    ['ann', 'bob'].map((name) =>
      createUser(one.deps, { email: `${newName(name)}@acme.example`, organizationId }),
    ),
  );
  if (ann === undefined || bob === undefined) throw new Error('both were created');
  const outcomes = await race(
    () => removeMember(one.deps, ann.id, organizationId),
    () => setRole(other.deps, bob.id, organizationId, 'member'),
  );
  expect(outcomes.sort()).toEqual(['409 last_owner', 'done']);
});

testConflict('an invitation and an address are used once', async () => {
  const organizationId = await organization();
  const token =
    new URL(await invite(one.deps, organizationId, 'member'), 'http://x').searchParams.get('token') ?? '';
  const guests = await Promise.all(
    ['cy', 'di'].map((name) => createUser(one.deps, { email: `${newName(name)}@acme.example` })),
  );
  const accept = guests.map(
    (guest, at) => () => acceptInvitation([one, other][at]?.deps ?? one.deps, token, guest),
  );
  expect((await race(...accept)).filter((outcome) => outcome === 'done')).toHaveLength(1);
  const email = `${newName('eve')}@acme.example`;
  const create = (app: TestApp) => () => createUser(app.deps, { email, organizationId });
  expect((await race(create(one), create(other))).sort()).toEqual(['409 user_exists', 'done']);
});

testConflict('what must be unique is refused with a reason', async () => {
  const id = newName('org');
  const create = (app: TestApp) => () => createOrganization(app.deps, { id, name: 'Twice', plan: 'free' });
  expect((await race(create(one), create(other))).sort()).toEqual(['409 organization_exists', 'done']);
  const slug = `slug-${++last}`;
  const publish = (app: TestApp, organizationId: string) => () =>
    changePublication(app.deps, organizationId, { slug });
  const slugs = await race(publish(one, id), publish(other, await organization()));
  expect(slugs.sort()).toEqual(['409 slug_taken', 'done']);
  const { integrationId } = await connectIntegration(one.deps, 'github', id, 'acme/rocket');
  const trigger = { integrationId, event: 'push', contentType: 'changelog' } as const;
  const add = (app: TestApp) => () => createTrigger(app.deps, trigger);
  expect((await race(add(one), add(other))).sort()).toEqual(['409 trigger_exists', 'done']);
});

testConflict('a repository is connected once', async () => {
  const organizationId = await organization();
  const connect = (app: TestApp) => () =>
    connectIntegration(app.deps, 'github', organizationId, 'acme/rocket', { isOnly: true });
  expect((await race(connect(one), connect(other))).sort()).toEqual(['409 place_connected', 'done']);
  const [[count] = []] = await valuesOf(
    one.db,
    `SELECT count(*) FROM integrations WHERE organization_id = '${organizationId}'`,
  );
  expect(count).toBe(1);
});

testConflict('deliveries beside changes of their integration', async () => {
  const { integrationId, triggerId, deliver } = await connected();
  const outcomes = await race(
    deliver(one, 'v1'),
    deliver(other, 'v2'),
    () => rotateIntegrationSecret(one.deps, integrationId),
    () => deleteTrigger(other.deps, triggerId),
    () => runAll(one),
    deliver(one, 'v3'),
    () => setEnabled(other.deps, integrationId, false),
    deliver(other, 'v4'),
  );
  expect(outcomes.filter((outcome) => outcome !== 'done' && !outcome.startsWith('403'))).toEqual([]);
});

testConflict('deliveries and runs while their integration is disconnected', async () => {
  const { integrationId, deliver } = await connected();
  await deliver(one, 'v1')();
  const outcomes = await race(
    deliver(one, 'v2'),
    () => runAll(one),
    () => disconnectIntegration(other.deps, integrationId),
    deliver(other, 'v1'),
    () => runAll(other),
  );
  expect(outcomes.filter((outcome) => !['done', '404'].includes(outcome))).toEqual([]);
  await expectRightCounts();
});

testConflict('posts that are announced while their hook is switched off and deleted', async () => {
  const organizationId = await organization();
  const ids = await newPosts(organizationId, 4);
  const hook = await createHook(one.deps, {
    organizationId,
    name: 'Site',
    kind: 'signed',
    url: 'https://hooks.example.com/x',
  });
  const outcomes = await race(
    () => editPost(one.deps, ids[0] ?? '', { status: 'published' }),
    () => switchHook(other.deps, hook.id, false),
    () => editPost(other.deps, ids[1] ?? '', { title: 'Changed' }),
    () => deleteHook(one.deps, hook.id),
    () => editPost(one.deps, ids[3] ?? '', { status: 'draft' }),
  );
  expect(outcomes.filter((outcome) => outcome !== 'done' && !outcome.startsWith('404'))).toEqual([]);
  const left = await valuesOf(
    one.db,
    `SELECT id FROM hook_messages WHERE organization_id = '${organizationId}'`,
  );
  expect(left).toEqual([]);
});
