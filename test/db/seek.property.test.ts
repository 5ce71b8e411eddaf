import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { createSeek } from '../../db/sqlite/seek.ts';
import { temporaryFolder } from '../support/cli.ts';
import { blockProblems, useSmallBlocks } from '../support/post-blocks.ts';

// Positions in lists, found by blocks of posts, against a sorted array. SQLite alone keeps blocks.

interface Model {
  id: string;
  organizationId: string;
  status: string;
  contentType: string;
  createdAt: string;
}

const organizationIds = ['org_a', 'org_b'];
const statuses = ['draft', 'published'];
const contentTypes = ['changelog', 'linkedin_post'];
const subsets = (values: string[]) => [...values.map((value) => [value]), values];

/** Few instants, so that many posts share one. */
const createdAt = fc
  .integer({ min: 0, max: 5 })
  .map((day) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString());
const post = fc.record<Model>({
  id: fc.integer({ min: 0, max: 200 }).map((number) => `post_${number.toString(36)}`),
  organizationId: fc.constantFrom(...organizationIds),
  status: fc.constantFrom(...statuses),
  contentType: fc.constantFrom(...contentTypes),
  createdAt,
});
const someStatus = fc.constantFrom(...statuses);

/** A statement, and what it makes of one post; null deletes it. */
interface Step {
  sql: string;
  values?: string[];
  change(each: Model): Model | null;
  added?: Model[];
}

const INSERT = `insert into posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
  select value ->> 'id', value ->> 'organizationId', value ->> 'status', value ->> 'contentType', value ->> 'createdAt',
    '2026-01-01T00:00:00.000Z', '', '', '' from json_each(?) where true
  on conflict do update set status = excluded.status, content_type = excluded.content_type, created_at = excluded.created_at
    where organization_id = excluded.organization_id`;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .uniqueArray(post, { selector: ({ id }) => id, minLength: 1, maxLength: 60 })
      .map((added) => ({
        sql: INSERT,
        values: [JSON.stringify(added)],
        change: (each: Model) => each,
        added,
      })),
  },
  fc.tuple(createdAt, someStatus).map(([at, status]) => ({
    sql: 'update posts set created_at = ? where status = ?',
    values: [at, status],
    change: (each: Model) => (each.status === status ? { ...each, createdAt: at } : each),
  })),
  fc.tuple(someStatus, createdAt).map(([status, at]) => ({
    sql: 'update posts set status = ? where created_at >= ?',
    values: [status, at],
    change: (each: Model) => (each.createdAt >= at ? { ...each, status } : each),
  })),
  fc.constantFrom(...contentTypes).map((type) => ({
    sql: 'update posts set content_type = ? where id like ?',
    values: [type, '%1_'],
    change: (each: Model) => (each.id.at(-2) === '1' ? { ...each, contentType: type } : each),
  })),
  fc.constantFrom(...organizationIds).map((organizationId) => ({
    sql: 'update posts set organization_id = ? where id like ?',
    values: [organizationId, '%2'],
    change: (each: Model) => (each.id.endsWith('2') ? { ...each, organizationId } : each),
  })),
  createdAt.map((at) => ({
    sql: 'delete from posts where created_at = ?',
    values: [at],
    change: (each: Model) => (each.createdAt === at ? null : each),
  })),
  createdAt.map((at) => ({
    sql: 'delete from posts where created_at > ? and id not like ?',
    values: [at, '%3'],
    change: (each: Model) => (each.createdAt > at && !each.id.endsWith('3') ? null : each),
  })),
  fc.constant({
    sql: "update posts set title = title || 'x'",
    change: (each: Model) => each,
  }),
  fc.constant({ sql: 'vacuum', change: (each: Model) => each }),
);

test('every position of every list is found, whoever writes what', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ step, by: fc.constantFrom(0, 1), isUndone: fc.boolean() }), {
        minLength: 4,
        maxLength: 14,
      }),
      fc.boolean(),
      fc.constantFrom(0, 20, 1_000),
      async (steps, isRecursive, keptRows) => {
        const { path, remove } = temporaryFolder();
        const file = join(path, 'tidings.db');
        const first = openDatabase(file);
        const limits = useSmallBlocks(first.$client);
        for (const id of organizationIds)
          first.$client.run("insert into organizations values (?, '', 'free', '')", [id]);
        // It keeps what it has read, and at times little of it.
        const seek = createSeek(first.$client, keptRows);
        const second = new Sqlite(file, { strict: true });
        second.run(`pragma recursive_triggers = ${isRecursive}`);
        for (const each of [first.$client, second]) each.run('pragma synchronous = off');
        let posts = new Map<string, Model>();
        for (const { step, by, isUndone } of steps) {
          const writer = by === 0 ? first.$client : second;
          if (isUndone && step.sql !== 'vacuum') {
            writer.run('begin immediate');
            writer.run(step.sql, step.values ?? []);
            writer.run('rollback');
          }
          writer.run(step.sql, step.values ?? []);
          posts = applied(posts, step);
          expect(blockProblems(first.$client, limits)).toEqual([]);
          expectPositions(first.$client, seek, [...posts.values()]);
        }
        second.run("delete from organizations where id = 'org_a'");
        second.run('delete from posts where organization_id = ?', ['org_a']);
        expect(blockProblems(first.$client, limits)).toEqual([]);
        second.close();
        closeDatabase(first);
        remove();
      },
    ),
    { numRuns: 40 },
  );
}, 300_000);

function applied(posts: Map<string, Model>, { change, added = [] }: Step): Map<string, Model> {
  const after = [...posts.values()].flatMap((each) => change(each) ?? []);
  const byId = new Map(after.map((each) => [each.id, each]));
  for (const each of added) {
    const { organizationId } = byId.get(each.id) ?? each;
    if (organizationId === each.organizationId) byId.set(each.id, each);
  }
  return byId;
}

type Seek = ReturnType<typeof createSeek>;

function versionOf(sqlite: Sqlite, organizationId: string, wanted: string[], types: string[]): string {
  const groups = sqlite
    .query<[string, string, string], [string]>(
      'select status, content_type, version from post_counts where organization_id = ? order by 1, 2',
    )
    .values(organizationId) as [string, string, string][];
  return groups
    .filter(([status, type]) => wanted.includes(status) && types.includes(type))
    .map(([, , version]) => version)
    .join('');
}

function expectPositions(sqlite: Sqlite, seek: Seek, posts: Model[]): void {
  const place = (each: Model) => each.createdAt + each.id;
  const sorted = posts.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
  for (const organizationId of organizationIds) {
    for (const wanted of subsets(statuses)) {
      for (const types of subsets(contentTypes)) {
        const version = versionOf(sqlite, organizationId, wanted, types);
        const list = { organizationId, statuses: wanted, contentTypes: types, version };
        const expected = sorted.filter(
          (each) =>
            each.organizationId === organizationId &&
            wanted.includes(each.status) &&
            types.includes(each.contentType),
        );
        const found = expected.map((_, position) => {
          const { createdAt: at, id, skip } = seek(list, position);
          expect(skip).toBeLessThan(4);
          return expected.filter((each) => place(each) >= at + id)[skip]?.id;
        });
        expect(found).toEqual(expected.map(({ id }) => id));
      }
    }
  }
}
