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
    'assistants',
    'attention',
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
    'identities',
    'integrations',
    'leases',
    'media',
    'media_copies',
    'memberships',
    'one_time_links',
    'organizations',
    'passkeys',
    'polls',
    'post_approvals',
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
    'provider_sessions',
    'publications',
    'rebuild_hooks',
    'recovery_codes',
    'release_ranges',
    'repositories',
    'roundup_changes',
    'roundup_posts',
    'roundup_sources',
    'roundups',
    'server_runs',
    'sessions',
    'silences',
    'sqlite_sequence',
    'throttles',
    'token_states',
    'trigger_events',
    'trigger_runs',
    'triggers',
    'users',
    'wordings',
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
