import { Database as Sqlite } from 'bun:sqlite';
import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { MoveError } from '../failures.ts';
import { type MoveSource, type MoveTarget, type Row, readPosition, writePosition } from '../move.ts';
import { openForInspection } from './client.ts';
import { migrate, migrations, readVersion } from './migrate.ts';
import { settle } from './snapshot.ts';

export function openSqliteSource(file: string): MoveSource {
  if (!existsSync(file)) throw new MoveError(`There is no database ${file}. DATA_DIR names the folder`);
  const { $client: sqlite } = openForInspection(file);
  try {
    requireSchema(sqlite, file);
    sqlite.run('BEGIN');
    const [[keyFingerprint] = []] = read(sqlite, 'PRAGMA application_id');
    const [[lastAuditId] = []] = read(sqlite, "SELECT seq FROM sqlite_sequence WHERE name = 'audit_events'");
    return {
      name: file,
      rows: async (query, params) => read(sqlite, query, params),
      extras: {
        keyFingerprint: Number(keyFingerprint) || null,
        lastAuditId: BigInt(String(lastAuditId ?? 0)),
      },
      // The lock of its folder is held.
      requireUnused: async () => undefined,
      close: async () => sqlite.close(),
    };
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function requireSchema(sqlite: Sqlite, file: string): void {
  const schema = readVersion(sqlite);
  if (schema === migrations.length) return;
  throw new MoveError(
    schema > migrations.length
      ? `${file} was written by a newer Tidings. Move it with that version`
      : `${file} was not written by this version of Tidings. Start the server with it once to upgrade it, stop the server, and run the move again`,
  );
}

/** A new file, or one that an interrupted move of the same source left behind. Throws `MoveError` for another one's. */
export function openSqliteTarget(file: string, source: string): MoveTarget {
  if (!existsSync(file) || !canContinue(file)) createFile(file, source);
  const sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  try {
    // A crash of this process loses nothing, and that of the machine no more than the last batches.
    sqlite.run('PRAGMA synchronous = NORMAL');
    sqlite.run('PRAGMA foreign_keys = ON');
    const [[begunFor, position] = []] = read(sqlite, 'SELECT source, position FROM unfinished_move');
    if (begunFor !== source) {
      throw new MoveError(
        `${file} has an unfinished move of another database. Delete it, or choose another folder`,
      );
    }
    return {
      name: file,
      position: readPosition(position),
      rows: async (query, params) => read(sqlite, query, params),
      async insert(table, rows) {
        const columns = table.columns.flatMap(({ name, isGenerated }, at) =>
          isGenerated ? [] : [{ name, at }],
        );
        const insert = sqlite.query(
          `INSERT INTO "${table.name}" (${columns.map(({ name }) => `"${name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        );
        sqlite.transaction(() => {
          for (const row of rows) insert.run(...columns.map(({ at }) => row[at] ?? null));
          sqlite
            .query('UPDATE unfinished_move SET position = ?')
            .run(writePosition(table, rows.at(-1) ?? []));
        })();
      },
      async find(table, keys) {
        const columns = table.columns.map(({ name }) => `"${name}"`).join(', ');
        const isKey = table.key.map((at) => `"${table.columns[at]?.name}" = ?`).join(' AND ');
        const query = `SELECT ${columns} FROM "${table.name}" WHERE ${isKey}`;
        return keys.flatMap((key) => read(sqlite, query, key));
      },
      async finish({ keyFingerprint, lastAuditId }) {
        sqlite.transaction(() => {
          sqlite.run("DELETE FROM sqlite_sequence WHERE name = 'audit_events'");
          sqlite.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('audit_events', ?)", [lastAuditId]);
          sqlite.run(`PRAGMA application_id = ${keyFingerprint ?? 0}`);
          sqlite.run('DROP TABLE unfinished_move');
        })();
      },
      async close() {
        sqlite.close();
        settle(file);
      },
    };
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

/** Replaces a file that is there. The source is recorded last, so that a file without one is not used. */
function createFile(file: string, source: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  // One that SQLite creates could be read by others.
  closeSync(openSync(file, 'wx', 0o600));
  using sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  sqlite.run('PRAGMA journal_mode = WAL');
  migrate(sqlite);
  sqlite.run('CREATE TABLE unfinished_move AS SELECT ? AS source, CAST(NULL AS TEXT) AS position', [source]);
}

function canContinue(file: string): boolean {
  using sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
  const mark = sqlite.query("SELECT 1 FROM sqlite_schema WHERE name = 'unfinished_move'").get();
  return mark !== null && readVersion(sqlite) === migrations.length;
}

function read(sqlite: Sqlite, query: string, params: Row = []): Row[] {
  return sqlite
    .query(query)
    .safeIntegers(true)
    .values(...params) as Row[];
}
