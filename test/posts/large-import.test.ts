import { beforeEach, describe, expect, test } from 'bun:test';
import { type ImportOptions, importFile } from '../../src/posts/import/service.ts';
import { contentTypes, type Post, postStatuses } from '../../src/posts/model.ts';
import { deletePost, editPost } from '../../src/posts/service.ts';
import { getPost, listPostPage } from '../../src/posts/store.ts';
import { oneStep, valuesOf } from '../support/database.ts';
import { allRows } from '../support/rows.ts';
import { appWithOrganization, examplePost, type TestApp } from '../support/test-app.ts';

// An import of more posts than one commit takes.

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
  return posts;
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

/** Fails the write after `count` more, as a full disk does. */
function failAfter(count: number): void {
  const write = app.db.write.bind(app.db);
  let left = count;
  app.db.write = async (work, options) => {
    if (left-- > 0) return write(work, options);
    app.db.write = write;
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  };
}

const titlesIn = async (title: string) => (await stored()).filter((post) => post.title === title).length;

const auditOf = async () =>
  (
    await valuesOf(app.db, "select summary from audit_events where action = 'post.imported' order by id")
  ).flat();

test('a commit saves at most ten posts without a look at the time, and 32,768 characters', async () => {
  const sizes: number[] = [];
  let before = 0;
  lookAfterWrites(async () => {
    const [[now] = []] = await valuesOf(app.db, 'select count(*) from posts');
    sizes.push(Number(now) - before);
    before = Number(now);
  });
  await importPosts(numbered(105));
  expect(sizes).toEqual([...Array(10).fill(10), 5]);

  sizes.length = 0;
  const content = 'x'.repeat(6_000);
  await importPosts(
    numbered(10, { content, markdown: content }).map((post) => ({ ...post, id: `l${post.id}` })),
  );
  expect(sizes).toEqual([2, 2, 2, 2, 2]);
});

test('readers see whole posts, of which more are new with each commit', async () => {
  await app.addPosts('org_a', ...numbered(50, { status: 'draft', title: 'Old' }));
  const seen: number[] = [];
  lookAfterWrites(async () => {
    const posts = await stored();
    for (const { title, status } of posts) expect(status).toBe(title === 'New' ? 'published' : 'draft');
    seen.push(await titlesIn('New'));
  });
  const progress: number[] = [];
  const onProgress = (done: number, total: number) => {
    expect(total).toBe(80);
    progress.push(done);
  };
  expect(await importPosts(numbered(80, { title: 'New' }), { onProgress })).toMatchObject({
    created: 30,
    updated: 50,
    unchanged: 0,
  });
  expect(seen).toEqual([10, 20, 30, 40, 50, 60, 70, 80]);
  expect(progress).toEqual(seen);
  expect(
    await valuesOf(app.db, "select title from post_versions where post_id = 'p3' order by created_at, id"),
  ).toEqual([['Old'], ['New']]);
  expect(await auditOf()).toEqual([
    'began to import 80 posts from “posts.json”',
    'imported 80 posts (80 published) from “posts.json”',
  ]);
});

describe('an import that is cut off', () => {
  test('says how far it came, and the same file completes it', async () => {
    await app.addPosts('org_a', ...numbered(15, { title: 'Old' }));
    const posts = numbered(100, { title: 'New' });
    failAfter(3);
    await expect(importPosts(posts)).rejects.toMatchObject({
      status: 503,
      message:
        'The import stopped: database or disk is full. 30 of 100 posts are imported. Import the same file again to complete it.',
    });
    expect(await titlesIn('New')).toBe(30);
    expect(await auditOf()).toEqual(['began to import 100 posts from “posts.json”']);

    expect(await importPosts(posts)).toMatchObject({ created: 70, updated: 0, unchanged: 30 });
    const counts = 'select status, count from post_counts where count <> 0';
    expect(await valuesOf(app.db, counts)).toEqual([['published', 100]]);
    const other = await appWithOrganization();
    await importFile(
      other.deps,
      { name: 'posts.json', text: JSON.stringify(posts) },
      { organizationId: 'org_a', status: 'published', contentType: 'changelog' },
    );
    const page = { ...everything, sort: 'asc' as const, limit: 100, page: 1 };
    const whole = await other.db.read((tx) => listPostPage(tx, 'org_a', page));
    const textOf = ({ updatedAt: _, ...post }: Post) => post;
    expect((await stored()).map(textOf)).toEqual(whole.posts.map(textOf));
  });

  test('in its first commit leaves nothing behind', async () => {
    await app.addPosts('org_a', ...numbered(15, { title: 'Old' }));
    const before = await allRows(app.db);
    failAfter(0);
    await expect(importPosts(numbered(100))).rejects.toThrow('database or disk is full');
    expect(await allRows(app.db)).toEqual(before);
  });

  test('by another organization that takes one of its ids keeps what it saved', async () => {
    await app.addOrganization('org_b');
    const failure = importPosts(numbered(60), {
      onProgress: () => void app.addPosts('org_b', { id: 'p45', title: 'Theirs' }),
    });
    await expect(failure).rejects.toMatchObject({
      status: 409,
      message:
        'The import stopped: The ID p45 was taken during the import. 40 of 60 posts are imported. Import the same file again to complete it.',
    });
    expect(await stored('org_b')).toMatchObject([{ id: 'p45', title: 'Theirs' }]);
    expect(await importPosts(numbered(60))).toMatchObject({ created: 20, unchanged: 40, reassignedIds: 1 });
  });
});

test('two imports at once are both whole', async () => {
  await app.addOrganization('org_b');
  const theirs = numbered(55).map((post) => ({ ...post, id: `b${post.id}` }));
  const results = await Promise.all([
    importPosts(numbered(55)),
    importPosts(theirs, { organizationId: 'org_b' }),
    importPosts(numbered(70, { title: 'Second' })),
  ]);
  // Either of the two for one organization may come first with a post; the other updates it.
  expect(results.reduce((total, { created }) => total + created, 0)).toBe(125);
  expect(await stored('org_b')).toHaveLength(55);
  expect(await stored()).toHaveLength(70);
});

test('posts that others write after they were imported stay', async () => {
  await app.addPosts('org_a', ...numbered(60, { title: 'Old', status: 'draft' }));
  const writes: Promise<unknown>[] = [];
  await importPosts(numbered(60, { title: 'New' }), {
    onProgress(done) {
      if (done < 30 || writes.length > 0) return;
      writes.push(
        editPost(app.deps, 'p0', { title: 'Edited' }),
        deletePost(app.deps, 'p1'),
        editPost(app.deps, 'p2', { status: 'draft' }),
      );
    },
  });
  await Promise.all(writes);
  expect(await titlesIn('New')).toBe(58);
  expect(await app.db.read((tx) => getPost(tx, 'p0'))).toMatchObject({ title: 'Edited' });
  expect(await app.db.read((tx) => getPost(tx, 'p2'))).toMatchObject({ title: 'New', status: 'draft' });
  await expect(app.db.read((tx) => getPost(tx, 'p1'))).rejects.toMatchObject({ status: 404 });
});

test('a change of the status alone leaves the text as it was imported', async () => {
  const text = { title: 'Old', markdown: 'One\r\ntwo', content: 'Own words' };
  await importPosts([{ ...text, id: 'p0', status: 'draft' }]);
  await editPost(app.deps, 'p0', { status: 'published' });
  expect(await stored()).toMatchObject([{ ...text, status: 'published' }]);
});
