import { expect, test } from 'bun:test';
import { MAX_FOUND, searchPosts } from '../../../src/posts/list-store.ts';
import { contentTypes, type PageSelection, postStatuses } from '../../../src/posts/model.ts';
import { deletePost, editPost, savePosts } from '../../../src/posts/service.ts';
import { execute, sqliteOf, testSqlite, valuesOf } from '../../support/database.ts';
import { plansOf } from '../../support/plans.ts';
import { appWithOrganization } from '../../support/test-app.ts';

const everything = {
  statuses: [...postStatuses],
  contentTypes: [...contentTypes],
  limit: 25,
  page: 1,
} satisfies Omit<PageSelection, 'sort'>;

const app = await appWithOrganization({ organizations: ['org_a', 'org_A', 'org_cjk'] });
await app.addPosts(
  'org_a',
  { id: 'quiet', title: 'Quieter engines', content: 'They start softer AND slower' },
  { id: 'cafe', title: 'Café "Rocket" 🚀', content: "don't panic, it's C++ 2.4.0", status: 'draft' },
  { id: 'social', title: 'We shipped', content: 'engines', contentType: 'linkedin_post' },
  { id: 'slash', title: '発射しました', content: 'naïve O’Neil foo_bar 50%' },
);
await app.addPosts(
  'org_cjk',
  {
    id: 'ja',
    title: '日本語対応とNode.js',
    content: '設定画面を改善しました。한국어 검색도 됩니다 v1.2.3-beta',
  },
  { id: 'zh', title: '发布了新版本', content: '日本語のテキスト' },
  { id: 'bare', title: '1.2.3', content: '@acme/core@v10.20.0' },
);
await app.addPosts('org_A', { id: 'other', title: 'Quieter engines too' });

async function found(query: string, selection = {}, organizationId = 'org_a'): Promise<string[]> {
  const { posts } = await app.db.read((tx) =>
    searchPosts(tx, organizationId, query, { ...everything, ...selection }),
  );
  return posts.map(({ id }) => id);
}

test.each([
  ['engines', ['social', 'quiet']],
  ['ENGINES quieter', ['quiet']],
  ['eng', ['social', 'quiet']],
  ['en', []],
  ['engines s', []],
  ['engines st', []],
  ['engines sta', ['quiet']],
  ['it', ['cafe']],
  ['発', ['slash']],
  ['eng quieter', []],
  ['quieter eng', ['quiet']],
  ['AND', ['quiet']],
  ['start AND softer', ['quiet']],
  ['softer OR nothing', []],
  ['cafe', ['cafe']],
  ['CAFÉ "Rocket"', ['cafe']],
  ['"', []],
  ['""', []],
  ['*', []],
  ['quiet*', ['quiet']],
  ['^quieter', ['quiet']],
  ['title:quieter', []],
  ['{title} : quieter', []],
  ['NEAR(start softer)', []],
  ['-engines +start (', ['quiet']],
  ['🚀', []],
  ['🚀 cafe', ['cafe']],
  ["don't", ['cafe']],
  ['2.4.0', ['cafe']],
  ['c++', ['cafe']],
  ['発射', ['slash']],
  ['naive', ['slash']],
  ["'; drop table posts; --", []],
  ['50%', ['slash']],
  ['\u0000engines\u0000', ['social', 'quiet']],
  ['\ud800', []],
  ['engines \ud800', ['social', 'quiet']],
  ['𞤀𞤁', []],
  ['engi\u0301', ['social', 'quiet']],
  ['published', []],
  ['changelog', []],
  ['6f72675f61', []],
  [' ', []],
])('%j finds the posts with these words', async (query, expected) => {
  expect(await found(query)).toEqual(expected);
});

test.each([
  ['対応', ['ja']],
  ['改善', ['ja']],
  ['定画面を', ['ja']],
  ['対応 改善', ['ja']],
  ['対改', []],
  ['node.js', ['ja']],
  ['Node', ['ja']],
  ['색도', ['ja']],
  ['검색', ['ja']],
  ['新版本', ['zh']],
  ['Ｎｏｄｅ', ['ja']],
  ['ﾃｷｽﾄ', ['zh']],
  ['テキ', ['zh']],
  ['1.2.3', ['bare', 'ja']],
  ['v1.2.3', ['bare', 'ja']],
  ['V1.2.3', ['bare', 'ja']],
  ['v1.2', ['bare', 'ja']],
  ['v1.2.3-beta', ['ja']],
  ['1.2.3-beta', ['ja']],
  ['core@v10.20', ['bare']],
  ['2.3', ['bare', 'ja']],
  ['v2', []],
])('%j finds runs of characters, and versions with and without their letter', async (query, expected) => {
  expect(await found(query, {}, 'org_cjk')).toEqual(expected);
});

test('only posts that the filter lets through, of no other organization', async () => {
  expect(await found('engines', { statuses: ['draft'] })).toEqual([]);
  expect(await found('cafe', { statuses: ['draft'] })).toEqual(['cafe']);
  expect(await found('engines', { contentTypes: ['linkedin_post'] })).toEqual(['social']);
  expect(await found('engines', { contentTypes: ['changelog'], statuses: ['published'] })).toEqual(['quiet']);
  expect(await found('engines', {}, 'org_A')).toEqual(['other']);
  expect(await found('engines', {}, 'org_none')).toEqual([]);
});

test('a long query is read as far as is reasonable', async () => {
  expect(await found(`${'engines '.repeat(10)}${'x'.repeat(100_000)}`)).toEqual([]);
  expect(await found(`${'engines '.repeat(100_000)}`)).toEqual(['social', 'quiet']);
});

test('the index follows every way of writing', async () => {
  const own = await appWithOrganization();
  /** SQLite keeps the index in tables of its own. */
  const isWhole = async () => {
    if (own.db.engine === 'sqlite')
      await execute(own.db, "insert into post_search (post_search, rank) values ('integrity-check', 1)");
  };
  const [first] = await own.addPosts('org_a', { id: 'a', title: 'First' }, { id: 'b', title: 'Second' });
  const ids = async (query: string, statuses = everything.statuses) => {
    const { posts } = await own.db.read((tx) => searchPosts(tx, 'org_a', query, { ...everything, statuses }));
    return posts.map(({ id }) => id);
  };
  if (first !== undefined) await savePosts(own.db, [{ ...first, title: 'Renamed' }]);
  expect([await ids('first'), await ids('renamed')]).toEqual([[], ['a']]);
  await editPost(own.deps, 'a', { status: 'draft' });
  expect([await ids('renamed', ['draft']), await ids('renamed', ['published'])]).toEqual([['a'], []]);
  await isWhole();
  // Compacting may number the rows of a table anew, which the index must not notice.
  await deletePost(own.deps, 'a');
  if (own.db.engine === 'sqlite') sqliteOf(own.db).$client.run('VACUUM');
  expect([await ids('renamed'), await ids('second')]).toEqual([[], ['b']]);
  await isWhole();
  await execute(own.db, "delete from organizations where id = 'org_a'");
  expect(await ids('second')).toEqual([]);
  if (own.db.engine === 'sqlite')
    expect(await valuesOf(own.db, 'select count(*) from post_numbers')).toEqual([[0]]);
  await isWhole();
});

test('when enough posts have the whole word, posts with longer words are left out', async () => {
  const own = await appWithOrganization();
  const many = Array.from({ length: MAX_FOUND }, (_, index) => ({ id: `p${index}`, title: 'Same' }));
  await own.addPosts('org_a', { id: 'longer', title: 'Sameness' }, ...many);
  const all = { ...everything, limit: MAX_FOUND };
  const few = await own.db.read((tx) => searchPosts(tx, 'org_a', 'same', all));
  expect(few).toMatchObject({ totalItems: MAX_FOUND, isCut: true });
  await own.addPosts('org_a', { id: 'last', title: 'Sameness again' });
  const begun = await own.db.read((tx) => searchPosts(tx, 'org_a', 'same', all));
  expect(begun.posts.map(({ id }) => id)).toContain('last');
  await own.addPosts('org_a', { id: 'enough', title: 'Same' });
  const enough = await own.db.read((tx) => searchPosts(tx, 'org_a', 'same', all));
  expect(enough).toMatchObject({ totalItems: MAX_FOUND, isCut: true });
  expect(enough.posts.map(({ id }) => id)).not.toContain('last');
});

test('the last of several words may be unfinished, however many posts have it', async () => {
  const own = await appWithOrganization();
  const many = Array.from({ length: MAX_FOUND + 1 }, (_, index) => ({ id: `p${index}`, title: 'The same' }));
  await own.addPosts('org_a', ...many);
  await own.addPosts('org_a', { id: 'longer', title: 'The sameness' });
  const all = { ...everything, limit: MAX_FOUND };
  const found = await own.db.read((tx) => searchPosts(tx, 'org_a', 'the same', all));
  expect(found.isCut).toBe(true);
  expect(found.posts.map(({ id }) => id)).toContain('longer');
});

test('found posts have pages, up to a limit', async () => {
  const own = await appWithOrganization();
  const many = Array.from({ length: MAX_FOUND + 1 }, (_, index) => ({ id: `p${index}`, title: 'Same' }));
  await own.addPosts('org_a', ...many);
  const page = (number: number) =>
    own.db.read((tx) => searchPosts(tx, 'org_a', 'same', { ...everything, limit: 400, page: number }));
  const first = await page(1);
  expect(first).toMatchObject({ totalItems: MAX_FOUND, isCut: true });
  expect(first.posts.map(({ id }) => id).slice(0, 2)).toEqual(['p1000', 'p999']);
  expect((await page(3)).posts.map(({ id }) => id).at(-1)).toBe('p1');
  expect((await page(4)).posts).toEqual([]);
});

testSqlite('the pages of the index are small, so that merging them is short', async () => {
  const own = await appWithOrganization();
  const words = (post: number) => Array.from({ length: 100 }, (_, at) => `word${post * 100 + at}`).join(' ');
  await own.addPosts(
    'org_a',
    ...Array.from({ length: 100 }, (_, post) => ({ title: `Post ${post}`, content: words(post) })),
  );
  const [[bytes] = []] = await valuesOf(own.db, 'select max(length(block)) from post_search_data');
  expect(bytes).toBeLessThan(1_500);
});

testSqlite.each([
  ['title', true],
  ['draft', false],
  ['Pub', false],
  ['some change', false],
  ['linkedin', false],
])('the words that begin with the end of %p are listed: %p', async (query, isListed) => {
  // Each post has its status and type in the index as words. To list these words, FTS5 reads all posts.
  const plans = await plansOf((db) => db.read((tx) => searchPosts(tx, 'org_a', query, everything)));
  expect(plans.some((plan) => plan.includes('post_words'))).toBe(isListed);
});
