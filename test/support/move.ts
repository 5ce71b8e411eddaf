import { Database as Sqlite } from 'bun:sqlite';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copiedTables } from '../../db/move.ts';
import { openForInspection } from '../../db/sqlite/client.ts';
import { migrations } from '../../db/sqlite/migrate.ts';
import { keyFingerprint } from '../../src/lib/secret-box.ts';
import { allRows } from './rows.ts';
import { fixtureOf } from './schema-fixtures.ts';

// Data folders to move.

/** Texts that the engines store in different ways. */
const TEXTS = [
  'a\0b\0\0 NUL',
  '\uFDD0 \uFDD0\uFDD1 \uFDD2 noncharacters',
  '我们发布了新版本 🚀 é',
  'It\'s "quoted" \\x00 {a,b} NULL \u007f\r\n\t',
  '',
];

/** The organization of the posts. */
export const ORGANIZATION = 'acme';

/**
 * Makes a data folder with rows in every table, and `count` posts and rows of two other tables. Returns its key in base64.
 */
export function makeDataFolder(folder: string, count: number): string {
  mkdirSync(folder, { recursive: true });
  const key = randomBytes(32);
  writeFileSync(join(folder, 'secret.key'), `${key.toString('base64')}\n`, { mode: 0o600 });
  using sqlite = new Sqlite(join(folder, 'tidings.db'), { create: true, strict: true });
  sqlite.run('PRAGMA journal_mode = WAL');
  sqlite.run(fixtureOf(migrations.length));
  sqlite.run('UPDATE audit_events SET id = 2 WHERE id = 0');
  sqlite.run("UPDATE integrations SET type = 'github'");
  sqlite.run(`PRAGMA application_id = ${keyFingerprint(key)}`);
  sqlite.transaction(() => {
    sqlite.run(
      `INSERT INTO organizations (id, name, plan, created_at) VALUES ('${ORGANIZATION}', 'Acme', 'free', '${DATE}')`,
    );
    for (let number = 0; number < count; number++) addRows(sqlite, number);
    addPost(sqlite, 'large', '中'.repeat(350_000));
    // Ids of events that were deleted are not used again.
    sqlite.run("UPDATE sqlite_sequence SET seq = 900 WHERE name = 'audit_events'");
  })();
  return key.toString('base64');
}

const DATE = '2026-11-20T12:00:00.000Z';

function addRows(sqlite: Sqlite, number: number): void {
  const text = `${TEXTS[number % TEXTS.length]} ${number}`;
  addPost(sqlite, `post_${number}`, text);
  sqlite
    .query('INSERT INTO delivery_claims (integration_id, delivery_id, expires_at) VALUES (?, ?, ?)')
    .run(text, `\0${number}`, Number.MAX_SAFE_INTEGER - number);
  sqlite
    .query(
      `INSERT INTO integrations (id, organization_id, type, enabled, secret, created_at)
       VALUES (?, '${ORGANIZATION}', 'github', ?, ?, '${DATE}')`,
    )
    .run(text, number % 2, randomBytes(number % 300));
}

function addPost(sqlite: Sqlite, id: string, content: string): void {
  sqlite
    .query(
      `INSERT INTO posts (id, organization_id, status, content_type, created_at, updated_at, title, content, markdown, source_metadata)
       VALUES (?, '${ORGANIZATION}', 'published', 'changelog', '${DATE}', '${DATE}', ?, ?, ?, ?)`,
    )
    .run(id, content.slice(0, 200), `<p>${content}</p>`, content, '{"lone":"\\ud800","nul":"\\u0000"}');
}

/** All rows of a database file as text, by table, without the tables that a move leaves out. */
export async function movedRows(file: string): Promise<Record<string, string[]>> {
  const db = openForInspection(file);
  const rows = await allRows(db);
  db.$client.close();
  return Object.fromEntries(
    copiedTables.map(({ name }) => [
      name,
      (rows[name] ?? []).map((row) => shorten(JSON.stringify(row))).sort(),
    ]),
  );
}

/** A long text with its hash in place of its end. */
function shorten(text: string): string {
  return text.length < 500 ? text : `${text.slice(0, 200)} ${Bun.SHA256.hash(text, 'hex')}`;
}
