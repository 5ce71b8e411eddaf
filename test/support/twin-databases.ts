import { type SQLQueryBindings, Database as Sqlite } from 'bun:sqlite';
import { SQL } from 'bun';
import { escapeNul, unescapeNul } from '../../db/postgres/dialect.ts';
import { migrate } from '../../db/sqlite/migrate.ts';
import { sharedPostgres } from './postgres-server.ts';

// The schema on both engines, for tests that give both the same statements.

type Value = Exclude<SQLQueryBindings, Record<string, unknown>>;
type Row = unknown[];

export interface Twins extends AsyncDisposable {
  sqlite: Sqlite;
  postgres: SQL;
  /** Runs a statement with `?` for its values on both. Returns the rows of each; numbers are strings in those of PostgreSQL. */
  both(statement: string, values?: readonly Value[]): Promise<{ sqlite: Row[]; postgres: Row[] }>;
}

export async function openTwins(): Promise<Twins> {
  const sqlite = new Sqlite(':memory:', { strict: true });
  migrate(sqlite);
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const postgres = new SQL(url, { max: 1 });
  return {
    sqlite,
    postgres,
    async both(statement, values = []) {
      let count = 0;
      const numbered = statement.replaceAll('?', () => `$${++count}`);
      const stored = values.map((value) => (typeof value === 'string' ? escapeNul(value) : value));
      const rows: Row[] = await postgres.unsafe(numbered, stored).values();
      return {
        sqlite: sqlite
          .query(statement)
          .values(...values)
          .map((row) => row.map(normal)),
        postgres: Array.from(rows, (row) =>
          row.map((value) => normal(typeof value === 'string' ? unescapeNul(value) : value)),
        ),
      };
    },
    async [Symbol.asyncDispose]() {
      sqlite.close();
      await postgres.close();
      await server.dropDatabase(url);
    },
  };
}

/** Bytes as hex, and numbers as PostgreSQL's driver gives 64-bit integers. */
function normal(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return typeof value === 'number' ? String(value) : value;
}
