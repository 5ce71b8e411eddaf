import { Database as Sqlite } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { migrations } from '../../db/sqlite/migrate.ts';
import { cli, temporaryFolder } from '../support/cli.ts';
import { blockProblems } from '../support/post-blocks.ts';
import { fixtures } from '../support/schema-fixtures.ts';

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

const file = () => join(folder.path, 'tidings.db');

type Rows = Record<string, Record<string, unknown>[]>;

function read<Result>(path: string, work: (sqlite: Sqlite) => Result): Result {
  const sqlite = new Sqlite(path, { readonly: true });
  try {
    return work(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Every row of the tables that hold what people and providers gave, but for those of the search index. */
const rowsOf = (sqlite: Sqlite): Rows => {
  const names = sqlite
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .filter(({ name }) => !/^(post_search|post_blocks|post_counts|post_numbers|sqlite_)/.test(name));
  return Object.fromEntries(
    names.map(({ name }) => [
      name,
      sqlite.query<Record<string, unknown>, []>(`SELECT * FROM "${name}" ORDER BY 1, 2`).all(),
    ]),
  );
};

const schemaOf = (sqlite: Sqlite) =>
  sqlite.query('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();

async function loadFixture(schema: number): Promise<void> {
  const sqlite = new Sqlite(file(), { create: true });
  sqlite.run('PRAGMA foreign_keys = ON');
  sqlite.run(await Bun.file(join(fixtures, `${schema}.sql`)).text());
  sqlite.close();
}

const schemas = readdirSync(fixtures)
  .map((name) => Number(name.replace('.sql', '')))
  .sort((a, b) => a - b);

test('every schema but the newest has a fixture, and the newest once it is released', () => {
  const older = Array.from(migrations.keys()).slice(1);
  expect(schemas.slice(0, older.length)).toEqual(older);
});

describe('every schema that there was', () => {
  test.each(schemas)('schema %i is brought up to date, and nothing is lost', async (schema) => {
    await loadFixture(schema);
    const before = read(file(), rowsOf);
    expect(Object.values(before).every((rows) => rows.length === 2)).toBe(true);
    expect(Object.keys(before).length).toBeGreaterThan(2);

    closeDatabase(openDatabase(file()));

    read(file(), (sqlite) => {
      const after = rowsOf(sqlite);
      for (const [table, rows] of Object.entries(before)) {
        expect(after[table]).toHaveLength(rows.length);
        // Existing values are unchanged; later columns may exist.
        for (const [index, row] of rows.entries()) {
          const columns = Object.keys(after[table]?.[index] ?? {}).filter((name) => name in row);
          for (const column of columns)
            expect([table, column, after[table]?.[index]?.[column]]).toEqual([table, column, row[column]]);
        }
      }
      expect(sqlite.query('PRAGMA integrity_check').values()).toEqual([['ok']]);
      expect(sqlite.query('PRAGMA foreign_key_check').values()).toEqual([]);
      expect(sqlite.query('PRAGMA user_version').values()).toEqual([[migrations.length]]);
      expect(blockProblems(sqlite)).toEqual([]);
      const fresh = openDatabase(':memory:');
      expect(schemaOf(sqlite)).toEqual(schemaOf(fresh.$client));
    });
  });
});

const makesBlocks = (migration: string) => migration.includes('CREATE TABLE `post_blocks`');
const makesThreeLevels = (migration: string) => migration.includes('Three levels of blocks');

// The blocks of each level, for each organization.
test.each<[string, (migration: string) => boolean, number[]]>([
  ['blocks', makesBlocks, [268, 17, 2, 45, 3, 1]],
  ['three levels of blocks', makesThreeLevels, [254, 16, 1, 44, 3, 1]],
])(
  'an upgrade to %s puts every post in a block, whatever the number and dates',
  async (_, isChange, counts) => {
    await loadFixture(migrations.findIndex(isChange));
    const sqlite = new Sqlite(file());
    sqlite.run(
      `INSERT INTO posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
     WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
     SELECT 'post_' || i, 'organizations ' || (i % 7 = 0), iif(i % 3, 'published', 'draft'),
       iif(i % 5, 'changelog', 'linkedin_post'), '2026-01-0' || (1 + i * 7919 % 4) || 'T00:00:00.000Z',
       '2026-01-01T00:00:00.000Z', '', '', '' FROM n`,
    );
    // Leaves blocks empty, some of which begin sums.
    sqlite.run("DELETE FROM posts WHERE created_at LIKE '2026-01-02%' OR created_at LIKE '2026-01-03%'");
    sqlite.close();
    const db = openDatabase(file());
    expect(blockProblems(db.$client)).toEqual([]);
    const levels = 'SELECT organization_id, level, count(*) FROM post_blocks GROUP BY 1, 2';
    expect(db.$client.query(levels).values()).toEqual(
      counts.map((count, at) => [`organizations ${Math.floor(at / 3)}`, 1 + (at % 3), count]),
    );
    closeDatabase(db);
  },
);

describe('the events that a trigger may make posts of, from before they were recorded', () => {
  const at = (minute: number) => `2026-11-20T12:${String(minute).padStart(2, '0')}:00.000Z`;
  let sqlite: Sqlite;

  function insert(table: string, row: Record<string, unknown>): void {
    const names = Object.keys(row);
    const values = Object.values(row).map((value) =>
      value !== null && typeof value === 'object' ? JSON.stringify(value) : value,
    );
    const places = names.map(() => '?').join(', ');
    sqlite.run(`INSERT INTO "${table}" (${names.join(', ')}) VALUES (${places})`, values as string[]);
  }

  const trigger = (id: string, event: string, enabled: boolean, updatedAt: string) =>
    insert('triggers', {
      id,
      integration_id: event === 'issue' ? 'integrations 1' : 'integrations 0',
      event,
      rule: id,
      filters: {},
      content_type: 'changelog',
      publish: 0,
      enabled: Number(enabled),
      created_at: at(0),
      updated_at: updatedAt,
    });

  const draft = (triggerId: string, scope: string, eventKeys: string[], suggested: string[] | null) =>
    insert('drafts', {
      trigger_id: triggerId,
      scope,
      subject: 'open',
      post_id: triggerId,
      written_hash: '',
      event_keys: eventKeys,
      until: at(0),
      suggestion: suggested && { title: '', markdown: '', content: '', eventKeys: suggested, until: at(0) },
    });

  const run = (triggerId: string, queuedAt: string, status = 'queued') =>
    insert('trigger_runs', {
      trigger_id: triggerId,
      scope: 'repo main',
      since: at(0),
      revision: 1,
      status,
      attempts: 0,
      due_at: 0,
      delivery_id: 'd',
      queued_at: queuedAt,
    });

  /** A release in the log, and as an event. */
  function release(tag: string, createdAt: string, action = 'published', branch = 'main'): void {
    const data = { tagName: tag, isPrerelease: false };
    insert('deliveries', {
      id: tag,
      organization_id: 'organizations 0',
      integration_id: 'integrations 0',
      integration_type: 'github',
      repository_id: 'repo',
      title: tag,
      status: 'processed',
      status_code: 200,
      event: 'release',
      action,
      data,
      count: 1,
      duration_ms: 1,
      retention_days: 7,
      created_at: createdAt,
      expires_at: 0,
    });
    insert('events', {
      integration_id: 'integrations 0',
      repository_id: 'repo',
      type: 'release',
      key: tag,
      branch,
      occurred_at: at(0),
      version: '',
      delivery_id: 'd',
      data,
    });
  }

  /** Rows that the upgrade records, as `trigger repository type key`, with `draft` for drafts only. */
  function upgraded(): string[] {
    sqlite.close();
    const db = openDatabase(file());
    const rows = db.$client
      .query(
        `SELECT trigger_id || ' ' || repository_id || ' ' || type || ' ' || key || iif(draft_only, ' draft', '')
         FROM trigger_events WHERE is_match ORDER BY 1`,
      )
      .values()
      .flat();
    closeDatabase(db);
    return rows as string[];
  }

  beforeEach(async () => {
    await loadFixture(migrations.findIndex((migration) => migration.includes('trigger_events')));
    sqlite = new Sqlite(file());
  });

  test('are those that drafts and suggestions tell of', () => {
    trigger('trg_release', 'release', true, at(0));
    draft('trg_release', 'repo main', ['release v1 of two words'], null);
    trigger('trg_push', 'push', false, at(0));
    draft('trg_push', 'repo main', ['push a', 'pull_request 7', 'push b', 'release v1'], ['push c']);
    trigger('trg_issue', 'issue', true, at(0));
    draft('trg_issue', 'team t', ['issue i'], null);
    expect(upgraded()).toEqual([
      'trg_issue  issue i',
      'trg_push repo pull_request 7',
      'trg_push repo push a',
      'trg_push repo push b',
      'trg_push repo push c',
      'trg_release repo release v1 of two words',
    ]);
  });

  test('are those that queued and failed runs wait for', () => {
    release('v1', at(1));
    release('v2', at(29));
    release('v3', at(31));
    release('v4', at(32), 'edited');
    release('v5', at(33), 'published', 'other');
    trigger('trg_a', 'release', true, at(0));
    run('trg_a', at(30));
    trigger('trg_b', 'release', true, at(0));
    run('trg_b', at(30), 'failed');
    trigger('trg_push', 'push', true, at(0));
    run('trg_push', at(30));
    expect(upgraded()).toEqual([
      'trg_a repo release v2',
      'trg_a repo release v3',
      'trg_b repo release v2',
      'trg_b repo release v3',
    ]);
  });

  test('are drafts at most where the trigger has been changed since, and none from after it was disabled', () => {
    release('v1', at(31));
    release('v2', at(35));
    trigger('trg_off', 'release', false, at(33));
    run('trg_off', at(30));
    trigger('trg_on', 'release', true, at(33));
    run('trg_on', at(30));
    expect(upgraded()).toEqual([
      'trg_off repo release v1 draft',
      'trg_on repo release v1 draft',
      'trg_on repo release v2 draft',
    ]);
  });
});

describe('an upgrade', () => {
  test('keeps the database from before it, and only the newest such', async () => {
    await loadFixture(7);
    writeFileSync(`${file()}.before-upgrade-5`, 'older');
    const before = read(file(), (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)]);
    closeDatabase(openDatabase(file()));
    expect(readdirSync(folder.path).filter((name) => /upgrade/.test(name))).toEqual([
      'tidings.db.before-upgrade-7',
    ]);
    expect(read(`${file()}.before-upgrade-7`, (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)])).toEqual(
      before,
    );
    // A second start has nothing to do, and leaves the copy.
    closeDatabase(openDatabase(file()));
    expect(readdirSync(folder.path)).toContain('tidings.db.before-upgrade-7');
  });

  test('that fails on the copy leaves the database alone, in one line that says what to do', async () => {
    await loadFixture(6);
    const broken = new Sqlite(file());
    broken.run('CREATE TABLE post_numbers (in_the_way)');
    const before = [schemaOf(broken), rowsOf(broken)];
    broken.close();
    const { exitCode, stderr } = await cli(folder.path, ['organization', 'list']);
    expect(exitCode).toBe(1);
    expect(stderr.split('\n')).toHaveLength(2);
    expect(stderr).toStartWith(
      `error: The data folder ${folder.path} cannot be used: the upgrade of the database from schema 6 to ${migrations.length} was tried on a copy and failed: `,
    );
    expect(stderr).toContain('The database is unchanged. Keep using the old version of Tidings');
    expect(read(file(), (sqlite) => [schemaOf(sqlite), rowsOf(sqlite)])).toEqual(before);
    expect(readdirSync(folder.path).filter((name) => /upgrade/.test(name))).toEqual([]);
  });

  test('a row that refers to nothing is found on the copy', async () => {
    await loadFixture(8);
    const broken = new Sqlite(file());
    broken.run('DELETE FROM users');
    broken.close();
    expect(() => openDatabase(file())).toThrow(/tried on a copy and failed: \d+ rows refer to missing rows/);
    expect(read(file(), (sqlite) => sqlite.query('PRAGMA user_version').values())).toEqual([[8]]);
  });

  test('does not begin when it is not allowed to', async () => {
    await loadFixture(8);
    const refuse = () => {
      throw new Error('not now');
    };
    expect(() => openDatabase(file(), 'command', { beforeUpgrade: refuse })).toThrow('not now');
    expect(read(file(), (sqlite) => sqlite.query('PRAGMA user_version').values())).toEqual([[8]]);
  });
});

test('the log from before its entries were counted is counted', async () => {
  await loadFixture(17);
  const old = read(file(), (sqlite) =>
    sqlite
      .query('SELECT organization_id, integration_id, substr(created_at, 1, 10), status FROM deliveries')
      .values(),
  );
  expect(old.length).toBeGreaterThan(0);
  closeDatabase(openDatabase(file()));
  const counted = read(file(), (sqlite) =>
    sqlite
      .query('SELECT organization_id, integration_id, day, status, entries FROM delivery_counts')
      .values(),
  );
  expect(counted.sort()).toEqual(old.map((row) => [...row, 1]).sort());
});

test("another program's database is not migrated", () => {
  const other = new Sqlite(file(), { create: true });
  other.run('CREATE TABLE notes (x)');
  other.close();
  expect(() => openDatabase(file())).toThrow('tidings.db is a database, but not one of Tidings');
  expect(read(file(), schemaOf)).toHaveLength(1);
});

test('a database of a newer version is refused in one line', async () => {
  closeDatabase(openDatabase(file()));
  const newer = new Sqlite(file());
  newer.run(`PRAGMA user_version = ${migrations.length + 1}`);
  newer.close();
  const { exitCode, stderr } = await cli(folder.path, ['organization', 'list']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe(
    `error: The data folder ${folder.path} cannot be used: The database was written by a newer Tidings (schema ${migrations.length + 1}; this version supports ${migrations.length}). Start that version or a newer one. To use another folder, set DATA_DIR.\n`,
  );
});
