import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { rounds } from '../../support/rounds.ts';
import { openTwins } from '../../support/twin-databases.ts';

const AT = '2026-11-22T12:00:00.000Z';

/** Characters that JSON, PostgreSQL or UTF-8 treat specially, and any others. */
const character = fc.oneof(
  fc.constantFrom(
    ...'"\\/\0\b\t\n\f\r\x1f\x7f\uFDD0\uFDD1\uFDD2\ud83d\udc4d\u2028\ufeff<日é👍',
    '\\u0000',
    '🏳️‍🌈',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const text = fc.string({ unit: character, maxLength: 30 });
const metadata = fc.option(
  fc.dictionary(
    text,
    fc.anything({ key: text, values: [text, fc.double(), fc.boolean(), fc.constant(null)] }),
  ),
);
const post = fc.tuple(text, text, text, metadata);

test('a post has the same texts on both engines', async () => {
  await using twins = await openTwins();
  await twins.both("INSERT INTO organizations (id, name, plan, created_at) VALUES ('a', 'A', 'free', '')");
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(post, { minLength: 40, maxLength: 40 }), async (posts) => {
      const first = count;
      const rows = posts.map(([title, content, markdown, source]) => [
        `post-${String(count++).padStart(6, '0')}`,
        title,
        content,
        markdown,
        source === null ? null : JSON.stringify(source),
      ]);
      await twins.both(
        `INSERT INTO posts (organization_id, status, content_type, created_at, updated_at, id, title, content, markdown, source_metadata)
         VALUES ${rows.map(() => `('a', 'draft', 'changelog', '${AT}', '${AT}', ?, ?, ?, ?, ?)`).join(', ')}`,
        rows.flat(),
      );
      const { sqlite, postgres } = await twins.both(
        'SELECT title, content, markdown, source_metadata FROM posts WHERE id >= ? ORDER BY id',
        [`post-${String(first).padStart(6, '0')}`],
      );
      expect(postgres).toEqual(sqlite);
      expect(sqlite).toHaveLength(posts.length);
    }),
    { numRuns: rounds(30, 1_000) },
  );
}, 300_000);
