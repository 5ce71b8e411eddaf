import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { PgDialect } from 'drizzle-orm/pg-core';
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core';
import fc from 'fast-check';
import type { PostSearch } from '../../../db/engine.ts';
import { searchPosts as inPostgres } from '../../../db/postgres/dialect.ts';
import { migrate } from '../../../db/postgres/migrate.ts';
import { createSearch } from '../../../db/sqlite/storage.ts';
import { sharedPostgres } from '../../support/postgres-server.ts';
import { rounds } from '../../support/rounds.ts';
import { openTwins, type Twins } from '../../support/twin-databases.ts';

// PostgreSQL finds the posts that SQLite's FTS5 finds.

let twins: Twins;
let inSqlite: ReturnType<typeof createSearch>;
beforeAll(async () => {
  twins = await openTwins();
  inSqlite = createSearch(twins.sqlite);
  for (const id of ['acme', 'other'])
    await twins.both("INSERT INTO organizations (id, name, plan, created_at) VALUES (?, '', 'free', '')", [
      id,
    ]);
});
afterAll(async () => {
  await twins[Symbol.asyncDispose]();
});

interface PostText {
  title?: string;
  content?: string;
  organizationId?: string;
  status?: string;
}

/** Stores posts with the ids `p00`, `p01` and so on; each is newer than the one before. */
async function storePosts(posts: readonly PostText[]): Promise<void> {
  for (const [
    index,
    { title = '', content = '', organizationId = 'acme', status = 'draft' },
  ] of posts.entries()) {
    const number = String(index).padStart(2, '0');
    await twins.both(
      `INSERT INTO posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
       VALUES (?, ?, ?, 'changelog', ?, ?, ?, ?, '')`,
      [`p${number}`, organizationId, status, at(number), at(number), title, content],
    );
  }
}

const at = (number: string) => `2026-11-22T12:00:00.0${number}Z`;

beforeEach(async () => {
  await twins.both('DELETE FROM posts');
});

async function find(words: string[], options: Partial<PostSearch> = {}): Promise<string[]> {
  const search: PostSearch = {
    organizationId: 'acme',
    words,
    isUnfinished: false,
    statuses: null,
    contentTypes: null,
    limit: 100,
    ...options,
  };
  const sqlite = new SQLiteSyncDialect().sqlToQuery(inSqlite(search));
  const expected = twins.sqlite.query(sqlite.sql).values(...(sqlite.params as string[]));
  const postgres = new PgDialect().sqlToQuery(inPostgres(search));
  const rows: string[][] = await twins.postgres.unsafe(postgres.sql, postgres.params).values();
  expect(rows.flat()).toEqual(expected.flat() as string[]);
  return rows.flat();
}

describe('a post is found by', () => {
  test.each<[string, PostText, string[], boolean]>([
    ['a word of its title', { title: 'Faster imports' }, ['imports'], false],
    ['a word of its text', { content: 'Imports are <b>fast</b>' }, ['FAST'], false],
    ['words of title and text', { title: 'One', content: 'two' }, ['two', 'one'], false],
    ['the beginning of a word', { title: 'Webhooks' }, ['webh'], true],
    ['a word without its diacritics', { title: 'Crème brûlée' }, ['creme', 'BRULEE'], false],
    ['a word with other diacritics', { title: 'resume' }, ['résumé'], false],
    ['a word with combining marks', { title: 'cafe\u0301s' }, ['cafés'], false],
    ['Greek and Cyrillic capitals', { title: 'ΑΘΗΝΑ Ёлка' }, ['αθηνα', 'ёлка'], false],
    ['a run of Chinese characters', { content: '发布了新版本。修复' }, ['发布了新版本'], false],
    ['the beginning of a run of Japanese', { content: '日本語のテキスト' }, ['日本'], true],
    ['a version number', { title: 'Release v1.20.3-rc.1' }, ['v1.20.3'], false],
    ['the beginning of a version number', { title: 'Release 1.20.3' }, ['1.2'], true],
    ['words that punctuation connects', { content: "it's read-only" }, ['read-only', "it's"], false],
    ['a word after a NUL', { content: 'one\0two' }, ['two'], false],
    [
      'characters of the index syntax',
      { content: `a:b "c" d'e f&g !h` },
      ['a:b', '"c"', "d'e", 'f&g', '!h'],
      false,
    ],
  ])('%s', async (_, post, words, isUnfinished) => {
    await storePosts([post, { title: 'nothing' }]);
    expect(await find(words, { isUnfinished })).toEqual(['p00']);
  });
});

describe('a post is not found by', () => {
  test.each<[string, PostText, string[]]>([
    ['the middle of a run of Chinese characters', { content: '发布了新版本' }, ['新版本']],
    ['the beginning of a finished word', { title: 'Webhooks' }, ['webh']],
    ['one word of two', { title: 'one' }, ['one', 'two']],
    ['words in another order than punctuation connects', { content: 'only read' }, ['read-only']],
    ['connected words across title and text', { title: 'read', content: 'only' }, ['read-only']],
    ['the words that the index adds', { title: 'x' }, ['changelog']],
    ['symbols alone', { title: 'a + b' }, ['+']],
  ])('%s', async (_, post, words) => {
    await storePosts([post]);
    expect(await find(words)).toEqual([]);
  });
});

test('the beginning of few words, and of very many, finds all posts with one of them', async () => {
  const words = Array.from({ length: 60 }, (_, index) => `w${100 + index}`);
  await storePosts([
    ...words.map((content) => ({ content })),
    { title: 'W150 again' },
    { title: 'w', status: 'published' },
    { content: 'x150' },
  ]);
  const unfinished = { isUnfinished: true, limit: 1_000 };
  expect(await find(['w'], unfinished)).toHaveLength(62);
  expect(await find(['W1'], unfinished)).toHaveLength(61);
  expect(await find(['w15'], unfinished)).toHaveLength(11);
  expect(await find(['again', 'w15'], unfinished)).toEqual(['p60']);
  // A word that the index adds is no word of the text.
  expect(await find(['publ'], unfinished)).toEqual([]);
  expect(await find(['w9'], unfinished)).toEqual([]);
});

test('a search finds only posts of its organization, statuses and types', async () => {
  await storePosts([
    { title: 'word' },
    { title: 'word', status: 'published' },
    { title: 'word', organizationId: 'other' },
  ]);
  expect(await find(['word'])).toEqual(['p01', 'p00']);
  expect(await find(['word'], { statuses: ['draft'] })).toEqual(['p00']);
  expect(await find(['word'], { statuses: ['draft', 'published'] })).toEqual(['p01', 'p00']);
  expect(await find(['word'], { contentTypes: ['linkedin_post'] })).toEqual([]);
  expect(await find(['word'], { organizationId: 'other', contentTypes: ['changelog'] })).toEqual(['p02']);
});

test('of more posts than the limit, a search returns those that were added last', async () => {
  await storePosts([{ title: 'word' }, { title: 'word' }, { title: 'word' }]);
  await twins.both("UPDATE posts SET created_at = '2030-01-01T00:00:00.000Z' WHERE id = 'p01'");
  await twins.both("UPDATE posts SET title = 'word again' WHERE id = 'p00'");
  expect(await find(['word'], { limit: 2 })).toEqual(['p01', 'p02']);
});

test('a changed post is found by its new words alone, a deleted one not at all', async () => {
  await storePosts([{ title: 'before', content: 'same' }]);
  await twins.both("UPDATE posts SET title = 'after', status = 'published'");
  expect(await find(['before'])).toEqual([]);
  expect(await find(['after', 'same'], { statuses: ['published'] })).toEqual(['p00']);
  expect(await find(['after'], { statuses: ['draft'] })).toEqual([]);
  await twins.both('DELETE FROM posts');
  expect(await find(['after'])).toEqual([]);
});

test('the beginning of a text of any size is searched', async () => {
  const words = Array.from({ length: 300_000 }, (_, index) => `w${index.toString(36)}`);
  await storePosts([{ content: `${words.join(' ')} ${'x'.repeat(100_000)}`, title: '語'.repeat(100_000) }]);
  expect(await find([words[20_000] ?? ''])).toEqual(['p00']);
});

/** All code points that have a meaning today, and some that have none. */
const codePoints = [
  ...Array.from({ length: 0x32_000 }, (_, code) => code),
  ...Array.from({ length: 0x300 }, (_, index) => 0xe_0000 + index),
].filter((code) => code > 0 && (code < 0xd800 || code > 0xdfff));

test('every character is part of a word, between words, or ignored as in SQLite', async () => {
  const { sqlite, postgres } = twins;
  sqlite.run("CREATE VIRTUAL TABLE one_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')");
  sqlite.run("CREATE VIRTUAL TABLE one_text_words USING fts5vocab(one_text, 'instance')");
  for (let first = 0; first < codePoints.length; first += 5_000) {
    const text = codePoints
      .slice(first, first + 5_000)
      .map((code) => `a${String.fromCodePoint(code)}b `)
      .join('');
    sqlite.run('DELETE FROM one_text');
    sqlite.query('INSERT INTO one_text VALUES (?)').run(text);
    const expected = sqlite.query('SELECT term FROM one_text_words ORDER BY offset').values().flat();
    const [row] = await postgres`SELECT search_words(${text}) AS words`;
    expect(row.words).toEqual(expected);
  }
}, 300_000);

const letters = [
  'a',
  'b',
  'é',
  'É',
  'e\u0301',
  '\u0301',
  '\u0342',
  'ß',
  'ſ',
  'İ',
  '日',
  '語',
  '１',
  '0',
  '👍',
];
const separators = [
  ' ',
  '-',
  '.',
  "'",
  '"',
  '\\',
  '&',
  '|',
  '!',
  '(',
  ':',
  '*',
  '\n',
  '、',
  '\u00a0',
  '\u200d',
];
const text = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...letters) }, fc.constantFrom(...separators)), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));
const word = text.map((each) => each.replace(/\s+/g, '')).filter((each) => /[\p{L}\p{N}]/u.test(each));

test('any words find the same posts on both engines', async () => {
  await fc.assert(
    fc
      .asyncProperty(
        fc.array(fc.record({ title: text, content: text }), { maxLength: 6 }),
        fc.array(fc.tuple(fc.array(word, { minLength: 1, maxLength: 2 }), fc.boolean()), {
          minLength: 10,
          maxLength: 20,
        }),
        async (posts, searches) => {
          await storePosts(posts);
          for (const [words, isUnfinished] of searches) await find(words, { isUnfinished });
        },
      )
      .beforeEach(async () => {
        await twins.both('DELETE FROM posts');
      }),
    { numRuns: rounds(40, 1_000) },
  );
}, 300_000);

test('words do not depend on the locale of the database', async () => {
  const server = await sharedPostgres();
  await using admin = new SQL(server.url('postgres'), { max: 1 });
  const name = `turkish_${process.pid}`;
  await admin.unsafe(
    `CREATE DATABASE ${name} LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C' ENCODING 'UTF8' TEMPLATE template0`,
  );
  await using connection = new SQL(server.url(name), { max: 1 });
  await migrate(connection);
  const text = 'TITLE İstanbul ISPARTA ıIiİ É-e';
  const [[words] = []] = await connection`SELECT search_words(${text})`.values();
  expect(words).toEqual(['title', 'istanbul', 'isparta', 'ıiii', 'e', 'e']);
  await connection.close();
  await server.dropDatabase(server.url(name));
});
