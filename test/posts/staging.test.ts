import { beforeEach, describe, expect, test } from 'bun:test';
import { type ImportOptions, importFile } from '../../src/posts/import/service.ts';
import { recoverImport } from '../../src/posts/import/staging.ts';
import { contentTypes, type OwnedPost, type Post, postStatuses } from '../../src/posts/model.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { getPost, listPostPage, parsePost, tallyPosts } from '../../src/posts/store.ts';
import {
  applyImport,
  findImport,
  insertImport,
  isImporting,
  movePiece,
  stagePost,
  takePiece,
} from '../../src/posts/write-store.ts';
import { signedIn, type Visit } from '../support/dashboard.ts';
import { execute, oneStep, valuesOf } from '../support/database.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, bearer, examplePost, type TestApp } from '../support/test-app.ts';

// An import of more posts than one commit takes: it is written in pieces, and published at one moment.

let app: TestApp;

beforeEach(async () => {
  app = await appWithOrganization();
  Object.assign(app.db, { pace: oneStep });
});

const everything = { statuses: [...postStatuses], contentTypes: [...contentTypes] };

async function stored(organizationId = 'org_a'): Promise<Post[]> {
  const page = { ...everything, sort: 'asc' as const, limit: 10_000, page: 1 };
  const { posts, totalItems } = await app.db.read((tx) => listPostPage(tx, organizationId, page));
  expect(posts).toHaveLength(totalItems);
  return posts.map(parsePost);
}

function importPosts(posts: readonly Partial<Post>[], options: Partial<ImportOptions> = {}) {
  const file = { name: 'posts.json', text: JSON.stringify(posts) };
  const defaults = { organizationId: 'org_a', status: 'published', contentType: 'changelog' } as const;
  return importFile(app.deps, file, { ...defaults, ...options });
}

const numbered = (count: number, fields: Partial<Post> = {}) =>
  Array.from({ length: count }, (_, n) => ({ ...examplePost(n), id: `p${n}`, ...fields }));

/** Waits for `look` after each commit. */
function lookAfterWrites(look: () => Promise<void>): void {
  const write = app.db.write.bind(app.db);
  app.db.write = async (work, options) => {
    const result = await write(work, options);
    await look();
    return result;
  };
}

const countRows = async (table: string) =>
  Number((await valuesOf(app.db, `select count(*) from ${table}`))[0]?.[0]);

describe('a large import', () => {
  test('commits at most ten posts without a look at the time, and 32,768 characters', async () => {
    const steps: { staged: number; moved: number }[] = [];
    let before = { staged: 0, posts: 0 };
    lookAfterWrites(async () => {
      const now = { staged: await countRows('staged_posts'), posts: await countRows('posts') };
      steps.push({ staged: Math.abs(now.staged - before.staged), moved: now.posts - before.posts });
      before = now;
    });
    await importPosts(numbered(105));
    expect(Math.max(...steps.map(({ staged }) => staged))).toBe(10);
    expect(Math.max(...steps.map(({ moved }) => moved))).toBe(10);
    expect(await stored()).toHaveLength(105);

    steps.length = 0;
    const content = 'x'.repeat(6_000);
    await importPosts(
      numbered(10, { content, markdown: content }).map((post) => ({ ...post, id: `l${post.id}` })),
    );
    expect(Math.max(...steps.map(({ staged }) => staged))).toBe(2);
    expect(await stored()).toHaveLength(115);
  });

  test('is invisible to readers until it is complete', async () => {
    await app.addPosts('org_a', ...numbered(150, { status: 'draft', title: 'Old' }));
    await app.addPosts('org_a', { id: 'untouched' });
    const imported = numbered(400, { title: 'New' });
    const before = await stored();
    const seen: string[] = [];
    const look = async () => {
      const posts = await stored();
      const isAll = posts.filter(({ title }) => title === 'New').length === 400;
      const published = await app.db.read((tx) =>
        tallyPosts(tx, 'org_a', { ...everything, statuses: ['published'] }),
      );
      expect(posts).toEqual(isAll ? await after : before);
      expect(published.totalItems).toBe(isAll ? 401 : 1);
      expect((await app.db.read((tx) => getPost(tx, 'p3'))).title).toBe(isAll ? 'New' : 'Old');
      seen.push(isAll ? 'everything' : 'nothing');
    };
    const untouched = await app.db.read((tx) => getPost(tx, 'untouched'));
    const after = Promise.resolve(
      [...imported, untouched].sort((a, b) =>
        a.createdAt === b.createdAt ? (a.id < b.id ? -1 : 1) : a.createdAt < b.createdAt ? -1 : 1,
      ),
    );
    lookAfterWrites(look);
    expect(await importPosts(imported)).toMatchObject({
      created: 250,
      updated: 150,
      unchanged: 0,
    });
    expect(seen).toEqual([...Array(41).fill('nothing'), ...Array(42).fill('everything')]);
    expect([await countRows('imports'), await countRows('staged_posts'), await countRows('posts')]).toEqual([
      0, 0, 401,
    ]);
    const counts = 'select organization_id, status, count from post_counts where count <> 0';
    expect(await valuesOf(app.db, counts)).toEqual([['org_a', 'published', 401]]);
  });

  test('that fails midway leaves nothing behind', async () => {
    await app.addPosts('org_a', ...numbered(150, { title: 'Old' }));
    const before = await allRows(app.db);
    const failure = importPosts(numbered(400), {
      onProgress: (done) => {
        if (done > 100) throw new Error('the disk is full');
      },
    });
    await expect(failure).rejects.toThrow('the disk is full');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('fails when another organization takes one of its ids meanwhile', async () => {
    await app.addOrganization('org_b');
    const failure = importPosts(numbered(400), {
      onProgress: () => void app.addPosts('org_b', { id: 'p250', title: 'Theirs' }),
    });
    await expect(failure).rejects.toThrow('The id p250 was taken during the import. Import the file again.');
    expect(await stored()).toEqual([]);
    expect(await stored('org_b')).toMatchObject([{ id: 'p250', title: 'Theirs' }]);
  });

  test('two at once are both whole', async () => {
    await app.addOrganization('org_b');
    const theirs = numbered(250).map((post) => ({ ...post, id: `b${post.id}` }));
    const results = await Promise.all([
      importPosts(numbered(250)),
      importPosts(theirs, { organizationId: 'org_b' }),
      importPosts(numbered(300, { title: 'Second' })),
    ]);
    // Either of the two for one organization may come first; the other updates its posts.
    expect(results.reduce((total, { created }) => total + created, 0)).toBe(550);
    expect(await stored('org_b')).toHaveLength(250);
    expect(await stored()).toHaveLength(300);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
  });

  test('that stands still for too long is removed by the next, and says so', async () => {
    let takeover: Promise<void> | undefined;
    const stalled = importPosts(numbered(400), {
      onProgress: () => {
        if (takeover !== undefined) return;
        app.clock.advance(31_000);
        takeover = recoverImport(app.deps);
      },
    });
    await expect(stalled).rejects.toThrow(
      'The import stalled, and another process removed it. Import the file again.',
    );
    await takeover;
    expect(await stored()).toEqual([]);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
  });
});

describe('posts that others write during an import stay', () => {
  test.each([
    ['while it is staged', 150],
    ['while it is applied', 220],
  ])('%s', async (_, from) => {
    await app.addPosts('org_a', ...numbered(400, { title: 'Old', status: 'draft' }));
    const writes: Promise<unknown>[] = [];
    // The last posts are moved last, and staged last: `p0` is staged by then, and `p399` is not moved yet.
    await importPosts(numbered(400, { title: 'New' }), {
      onProgress(done) {
        if (done < from || writes.length > 0) return;
        const target = from < 200 ? 0 : 390;
        writes.push(
          editPost(app.deps, `p${target}`, { title: 'Edited' }),
          deletePost(app.deps, `p${target + 1}`),
          editPost(app.deps, `p${target + 2}`, { status: 'draft' }),
        );
      },
    });
    await Promise.all(writes);
    const posts = new Map((await stored()).map((post) => [post.id, post]));
    const target = from < 200 ? 0 : 390;
    expect(posts.size).toBe(399);
    expect(posts.get(`p${target}`)?.title).toBe('Edited');
    expect(posts.has(`p${target + 1}`)).toBe(false);
    expect(posts.get(`p${target + 2}`)?.status).toBe('draft');
    expect([...posts.values()].filter(({ title }) => title === 'New').length).toBe(from < 200 ? 397 : 398);
  });
});

test('an edit that changes nothing leaves the staged version alone', async () => {
  await app.addPosts('org_a', ...numbered(400, { title: 'Old' }));
  let edit: Promise<unknown> | undefined;
  await importPosts(numbered(400, { title: 'New' }), {
    onProgress(done) {
      if (done < 200) edit ??= editPost(app.deps, 'p0', { title: 'Old', status: 'published' });
    },
  });
  await edit;
  expect((await stored()).filter(({ title }) => title === 'New')).toHaveLength(400);
});

test('a change of the status alone leaves the text as it was imported', async () => {
  const text = { title: 'Old', markdown: 'One\r\ntwo', content: 'Own words' };
  await importPosts([{ ...text, id: 'p0', status: 'draft' }]);
  await editPost(app.deps, 'p0', { status: 'published' });
  expect(await stored()).toMatchObject([{ ...text, status: 'published' }]);
});

describe('a post that is not moved yet', () => {
  let visit: Visit;
  let auth: ReturnType<typeof bearer>;

  beforeEach(async () => {
    await app.addPosts('org_a', { id: 'old', title: 'Old title', status: 'draft' });
    visit = await signedIn(app, { organizationId: 'org_a' });
    auth = bearer(await app.addKey('org_a'));
    const begun = { id: 'import_1', organizationId: 'org_a', state: 'staging', beatAt: 0 } as const;
    await app.db.write((tx) => insertImport(tx, begun));
    const staged = (fields: Partial<OwnedPost>) =>
      app.db.write((tx) =>
        stagePost(
          tx,
          { ...examplePost(5), organizationId: 'org_a', isDateSet: true, title: 'Staged title', ...fields },
          0,
        ),
      );
    await staged({ id: 'old' });
    await staged({ id: 'new' });
  });

  const read = async () => ({
    list: await (await app.request('/v1/org_a/posts', auth)).json(),
    one: await (await app.request('/v1/org_a/posts/new', auth)).json(),
    old: await (await app.request('/v1/org_a/posts/old?status=draft', auth)).json(),
    pages: await Promise.all(
      ['posts', 'posts/new', 'posts/old', 'posts?q=staged'].map(async (path) => {
        const response = await visit(`/dashboard/org_a/${path}`);
        return [response.status, (await response.text()).includes('Staged title')];
      }),
    ),
  });

  test('is nowhere before the import is applied', async () => {
    expect(await read()).toMatchObject({
      list: { posts: [], pagination: { totalItems: 0 } },
      one: { post: null },
      old: { post: { title: 'Old title' } },
      pages: [
        [200, false],
        [404, false],
        [200, false],
        [200, false],
      ],
    });
  });

  test('is everywhere but in the search once it is applied', async () => {
    await app.db.write((tx) => applyImport(tx, 'import_1'));
    expect(await read()).toMatchObject({
      list: {
        posts: [
          { id: 'old', title: 'Staged title' },
          { id: 'new', title: 'Staged title' },
        ],
        pagination: { totalItems: 2 },
      },
      one: { post: { title: 'Staged title' } },
      old: { post: null },
      pages: [
        [200, true],
        [200, true],
        [200, true],
        [200, false],
      ],
    });
    await app.db.write(movePiece);
    expect((await read()).pages.at(-1)).toEqual([200, true]);
  });

  test('of another organization is not there', async () => {
    await app.db.write((tx) => applyImport(tx, 'import_1'));
    await app.addOrganization('org_b');
    const other = bearer(await app.addKey('org_b'));
    expect(await (await app.request('/v1/org_b/posts/new', other)).json()).toEqual({ post: null });
    expect(await stored('org_b')).toEqual([]);
    const post = { ...examplePost(1), id: 'new', title: 'Theirs' };
    expect(await importPosts([post], { organizationId: 'org_b' })).toMatchObject({ reassignedIds: 1 });
    expect((await app.db.read((tx) => getPost(tx, 'new'))).title).toBe('Staged title');
  });
});

describe('an import whose process was killed', () => {
  beforeEach(async () => {
    await app.addPosts('org_a', { id: 'p0', title: 'Old' });
    const beatAt = app.clock.now().getTime();
    const begun = { id: 'import_1', organizationId: 'org_a', state: 'staging', beatAt } as const;
    await app.db.write((tx) => insertImport(tx, begun));
    for (const [index, post] of numbered(3, { title: 'New' }).entries()) {
      await app.db.write((tx) => stagePost(tx, { ...post, organizationId: 'org_a', isDateSet: true }, index));
    }
  });

  const titles = async () => (await stored()).map(({ title }) => title);

  test('before it was applied is removed, after half a minute', async () => {
    await recoverImport(app.deps);
    expect(await app.db.read((tx) => findImport(tx))).toMatchObject({ state: 'staging' });
    app.clock.advance(30_000);
    await recoverImport(app.deps);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
    expect(await titles()).toEqual(['Old']);
  });

  test('under a clock that has been set back since is removed too', async () => {
    app.clock.advance(-3_600_000);
    await recoverImport(app.deps);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
  });

  test('while it was being removed is removed', async () => {
    await execute(app.db, "delete from imports where id = 'import_1'");
    await app.db.write(takePiece);
    await recoverImport(app.deps);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
    expect(await titles()).toEqual(['Old']);
  });

  test('after it was applied is finished', async () => {
    await app.db.write((tx) => applyImport(tx, 'import_1'));
    await app.db.write(movePiece);
    expect(await titles()).toEqual(['New', 'New', 'New']);
    app.clock.advance(30_000);
    await recoverImport(app.deps);
    expect(await app.db.read((tx) => isImporting(tx))).toBe(false);
    expect(await countRows('posts')).toBe(3);
    expect(await titles()).toEqual(['New', 'New', 'New']);
  });

  test('is settled by the next import', async () => {
    await app.db.write((tx) => applyImport(tx, 'import_1'));
    app.clock.advance(30_000);
    await importPosts(numbered(150).map((post) => ({ ...post, id: `next-${post.id}` })));
    expect(await stored()).toHaveLength(153);
    expect(await countRows('posts')).toBe(153);
  });
});
