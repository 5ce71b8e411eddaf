import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { openTwins } from '../../support/twin-databases.ts';

// Both engines count the same posts after any changes, and change the version of the same groups.

const AT = '2026-11-22T12:00:00.000Z';

const id = fc.constantFrom('p1', 'p2', 'p3', 'p4');
const group = fc.record({
  status: fc.constantFrom('draft', 'published'),
  type: fc.constantFrom('changelog', 'linkedin_post'),
});

type Statement = [sql: string, values: string[]];

const COLUMNS = 'organization_id, created_at, updated_at, title, content, markdown, id, status, content_type';
const VALUES = `'acme', '${AT}', '${AT}', '', '', '', ?, ?, ?`;

const statement = fc.oneof(
  fc.tuple(id, group).map(
    ([post, { status, type }]): Statement => [
      `INSERT INTO posts (${COLUMNS}) VALUES (${VALUES})
     ON CONFLICT (id) DO UPDATE SET status = excluded.status, content_type = excluded.content_type`,
      [post, status, type],
    ],
  ),
  id.map((post): Statement => ['DELETE FROM posts WHERE id = ?', [post]]),
  fc.constant<Statement>(['DELETE FROM posts', []]),
);

test('post_counts is the same on both engines', async () => {
  await using twins = await openTwins();
  const readCounts = async () => {
    const rows = await twins.both('SELECT * FROM post_counts ORDER BY organization_id, status, content_type');
    return [rows.sqlite, rows.postgres].map((each) =>
      each.map(([owner, status, type, count, version]) => ({
        group: `${owner} ${status} ${type}`,
        count,
        version: String(version),
      })),
    ) as [Count[], Count[]];
  };
  await fc.assert(
    fc
      .asyncProperty(fc.array(statement, { minLength: 5, maxLength: 40 }), async (statements) => {
        let [sqliteBefore, postgresBefore] = await readCounts();
        for (const [sql, values] of statements) {
          await twins.both(sql, values);
          const [sqlite, postgres] = await readCounts();
          expect(changes(postgresBefore, postgres)).toEqual(changes(sqliteBefore, sqlite));
          [sqliteBefore, postgresBefore] = [sqlite, postgres];
        }
      })
      .beforeEach(async () => {
        for (const table of ['organizations', 'posts', 'post_counts'])
          await twins.both(`DELETE FROM ${table}`);
        await twins.both(
          "INSERT INTO organizations (id, name, plan, created_at) VALUES ('acme', '', 'free', '')",
        );
      }),
    { numRuns: 100 },
  );
}, 300_000);

interface Count {
  group: string;
  count: unknown;
  version: string;
}

function changes(before: Count[], after: Count[]) {
  const versions = new Map(before.map(({ group: name, version }) => [name, version]));
  return after.map(({ version, group: name, count }) => ({
    group: name,
    count,
    hasNewVersion: versions.get(name) !== version,
    isRandom: /^[0-9a-f]{16}$/.test(version),
  }));
}
