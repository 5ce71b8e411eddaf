import { Database as Sqlite } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { closeDatabase, openDatabase } from '../../db/sqlite/client.ts';
import { migrate, migrations } from '../../db/sqlite/migrate.ts';
import { temporaryFolder } from '../support/cli.ts';

const root = join(import.meta.dir, '../..');
const folder = join(root, 'db/sqlite/migrations');

test('every generated migration is embedded, in its order', async () => {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort();
  const journal = (await Bun.file(join(folder, 'meta/_journal.json')).json()) as {
    entries: { tag: string }[];
  };
  expect(files).toEqual(journal.entries.map(({ tag }) => `${tag}.sql`));
  expect(await Promise.all(files.map((name) => Bun.file(join(folder, name)).text()))).toEqual([
    ...migrations,
  ]);
});

test('the tables in code are the tables that the migrations make', () => {
  const { path, remove } = temporaryFolder();
  cpSync(folder, join(path, 'migrations'), { recursive: true });
  // drizzle-kit takes any path for one below its working folder.
  const out = relative(root, join(path, 'migrations'));
  const words = ['generate', '--dialect', 'sqlite', '--schema', './db/schema', '--out', out];
  const { stdout } = Bun.spawnSync([process.execPath, '--bun', 'node_modules/.bin/drizzle-kit', ...words], {
    cwd: root,
  });
  expect(stdout.toString()).toContain('No schema changes');
  remove();
});

test('a fresh database has the tables, a second start changes nothing', () => {
  const { path, remove } = temporaryFolder();
  const file = join(path, 'tidings.db');
  closeDatabase(openDatabase(file));
  const before = Bun.hash(readFileSync(file));
  const db = openDatabase(file);
  const tables = db.$client
    .query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .values();
  expect(tables.flat()).toEqual([
    'api_keys',
    'audit_events',
    'deleted_posts',
    'deliveries',
    'delivery_claims',
    'delivery_counts',
    'delivery_results',
    'drafts',
    'elapsed_time',
    'events',
    'form_marks',
    'former_slugs',
    'github_apps',
    'histories',
    'hook_attempts',
    'hook_messages',
    'hooks',
    'imports',
    'integrations',
    'leases',
    'media',
    'media_copies',
    'memberships',
    'one_time_links',
    'organizations',
    'polls',
    'post_blocks',
    'post_counts',
    'post_numbers',
    'post_schedules',
    'post_search',
    'post_search_config',
    'post_search_data',
    'post_search_docsize',
    'post_search_idx',
    'post_suggestions',
    'post_versions',
    'posts',
    'publications',
    'rebuild_hooks',
    'release_ranges',
    'repositories',
    'server_runs',
    'sessions',
    'sqlite_sequence',
    'staged_posts',
    'throttles',
    'trigger_events',
    'trigger_runs',
    'triggers',
    'users',
  ]);
  closeDatabase(db);
  expect(Bun.hash(readFileSync(file))).toBe(before);
  remove();
});

test('the connection is as durable and strict as promised', () => {
  const { path, remove } = temporaryFolder();
  const db = openDatabase(join(path, 'tidings.db'));
  const pragma = (name: string) => Object.values(db.$client.query(`PRAGMA ${name}`).get() as object)[0];
  expect(pragma('journal_mode')).toBe('wal');
  expect(pragma('synchronous')).toBe(2); // FULL
  expect(pragma('foreign_keys')).toBe(1);
  expect(pragma('busy_timeout')).toBe(5000);
  closeDatabase(db);
  remove();
});

test('a table that is rebuilt keeps its rows and the rows that refer to them', () => {
  const sqlite = new Sqlite(':memory:');
  sqlite.run('PRAGMA foreign_keys = ON');
  const before = migrations.findIndex((migration) => migration.includes('DROP TABLE `integrations`'));
  for (const migration of migrations.slice(0, before)) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
  sqlite.run(`PRAGMA user_version = ${before}`);
  sqlite.run("INSERT INTO organizations (id, name, plan, created_at) VALUES ('org_a', 'A', 'free', '')");
  sqlite.run(
    "INSERT INTO integrations (id, organization_id, type, enabled, secret, created_at) VALUES ('int_a', 'org_a', 'github', 1, x'01', '')",
  );
  sqlite.run(
    "INSERT INTO repositories (id, integration_id, full_name, created_at) VALUES ('repo_a', 'int_a', 'acme/rocket', '')",
  );
  migrate(sqlite);
  expect(
    sqlite.query('SELECT integrations.id, full_name FROM integrations JOIN repositories').values(),
  ).toEqual([['int_a', 'acme/rocket']]);
  expect(sqlite.query('PRAGMA foreign_key_check').values()).toEqual([]);
  expect(sqlite.query('PRAGMA foreign_keys').get()).toEqual({ foreign_keys: 1 });
  expect(() => sqlite.run("DELETE FROM integrations WHERE id = 'int_a'")).not.toThrow();
  expect(sqlite.query('SELECT id FROM repositories').values()).toEqual([]);
});

test('a database of a newer version is refused and left alone', () => {
  const sqlite = new Sqlite(':memory:');
  sqlite.run(`PRAGMA user_version = ${migrations.length + 1}`);
  expect(() => migrate(sqlite)).toThrow('The database was written by a newer Tidings');
  expect(sqlite.query('SELECT count(*) AS tables FROM sqlite_master').get()).toEqual({ tables: 0 });
});

test('a migration that fails leaves nothing of any', () => {
  const sqlite = new Sqlite(':memory:');
  sqlite.run('CREATE TABLE post_counts (in_the_way text)');
  expect(() => migrate(sqlite)).toThrow('post_counts');
  expect(sqlite.query('SELECT name FROM sqlite_master').values()).toEqual([['post_counts']]);
  expect(sqlite.query('PRAGMA user_version').values()).toEqual([[0]]);
});

test('posts that were there before there was a search are found by it', () => {
  const sqlite = new Sqlite(':memory:');
  const before = migrations.findIndex((migration) => migration.includes('post_search'));
  for (const migration of migrations.slice(0, before)) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
  sqlite.run(`PRAGMA user_version = ${before}`);
  const at = '2026-11-20T12:00:00.000Z';
  sqlite.run("insert into organizations (id, name, plan, created_at) values ('o', 'O', 'free', ?)", [at]);
  sqlite.run(
    `insert into posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
     values ('p', 'o', 'draft', 'changelog', ?, ?, 'Quieter engines', 'Words', 'Words')`,
    [at, at],
  );
  migrate(sqlite);
  const found =
    "select post_id from post_search join post_numbers on number = post_search.rowid where post_search match 'quieter'";
  expect(sqlite.query(found).values()).toEqual([['p']]);
});

test('a session from before has an end, 90 days after the sign-in', () => {
  const sqlite = new Sqlite(':memory:');
  const before = migrations.findIndex((migration) => migration.includes('last_used_at` integer'));
  for (const migration of migrations.slice(0, before)) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
  sqlite.run(`PRAGMA user_version = ${before}`);
  sqlite.run("insert into users (id, email, created_at) values ('u', 'ann@acme.example', '2016')");
  const insert = sqlite.query(
    'insert into sessions (hash, user_id, created_at, expires_at) values (?, ?, ?, ?)',
  );
  const expiresAt = Date.parse('2026-12-20T12:00:00.000Z');
  insert.run('old', 'u', '2016-01-01T00:00:00.000Z', expiresAt);
  insert.run('new', 'u', '2026-11-20T12:00:00.000Z', expiresAt);
  insert.run('odd', 'u', 'some time', expiresAt);
  migrate(sqlite);
  expect(sqlite.query('select hash, last_used_at, expires_at from sessions order by hash').values()).toEqual([
    ['new', Date.parse('2026-11-20T12:00:00.000Z'), expiresAt],
    ['odd', Date.parse('2026-11-20T12:00:00.000Z'), 0],
    ['old', Date.parse('2026-11-20T12:00:00.000Z'), Date.parse('2016-03-31T00:00:00.000Z')],
  ]);
});

test('a draft from before takes its date when it is published, unless it is of a past release', () => {
  const sqlite = new Sqlite(':memory:');
  const before = migrations.findIndex((migration) => migration.includes('`is_date_set` = 0'));
  for (const migration of migrations.slice(0, before)) {
    for (const statement of migration.split('--> statement-breakpoint')) sqlite.run(statement);
  }
  sqlite.run(`PRAGMA user_version = ${before}`);
  sqlite.run('PRAGMA foreign_keys = OFF');
  const at = '2026-11-20T12:00:00.000Z';
  const posts = sqlite.query(
    `insert into posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown)
     values (?, 'o', ?, 'changelog', ?, ?, 'T', 'C', 'M')`,
  );
  const drafts = sqlite.query(
    `insert into drafts (trigger_id, scope, subject, post_id, written_hash, event_keys, until)
     values ('t', ?, ?, ?, '', '[]', ?)`,
  );
  const arrivals = sqlite.query(
    "insert into trigger_events (trigger_id, repository_id, type, key, is_match, draft_only) values ('t', ?, 'release', ?, 1, ?)",
  );
  const add = (id: string, scope: string, subject: string, status = 'draft') => {
    posts.run(id, status, at, at);
    drafts.run(scope, subject, id, at);
  };
  posts.run('written', 'draft', at, at);
  add('past', 'repo main', 'release v1 of two words');
  add('new', 'repo main', 'release v2');
  add('other repository', 'repo2 main', 'release v1 of two words');
  add('rolling', 'repo main', 'open');
  add('published', 'repo main', 'release v3', 'published');
  arrivals.run('repo', 'v1 of two words', 1);
  arrivals.run('repo', 'v2', 0);
  migrate(sqlite);
  expect(sqlite.query('select id from posts where is_date_set = 0 order by id').values().flat()).toEqual([
    'new',
    'other repository',
    'rolling',
  ]);
});
