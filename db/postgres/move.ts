import type { SQL } from 'bun';
import { MoveError } from '../failures.ts';
import {
  type Column,
  copiedTables,
  type MoveSource,
  type MoveTarget,
  type Row,
  readPosition,
  type Table,
  type Value,
  writePosition,
} from '../move.ts';
import { connectOnce } from './client.ts';
import type { Connection } from './connection.ts';
import { arrayLiteral, unescapeNul } from './dialect.ts';
import { STALE_MS } from './leases.ts';
import { migrate, migrations } from './migrate.ts';

const ANSWER_MS = 10 * 60_000;

const OBSERVE_MS = 500;

/** How many times, so that a server which is slow to raise its heartbeat is seen too. */
const OBSERVATIONS = (2 * STALE_MS) / OBSERVE_MS;

/** Opens a snapshot of a database that no server uses. Throws `MoveError`, and `PostgresError` without a connection. */
export async function openPostgresSource(url: string): Promise<MoveSource> {
  const { connection, name } = await connectOnce(url, ANSWER_MS, async () => undefined);
  const rows = (query: string, params?: Row) => read(connection, query, params);
  try {
    await requireSchema(connection, name);
    if (await exists(connection, 'unfinished_move'))
      throw new MoveError(`${name} is the target of an unfinished move`);
    const activity = await requireNoServer(connection, name);
    await connection.send('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await connection.send(NO_TIMEOUTS);
    const [[keyFingerprint, lastAuditId] = []] = await rows(
      'SELECT key_fingerprint, CASE WHEN is_called THEN last_value ELSE 0 END FROM tidings, audit_events_id',
    );
    return {
      name: `postgres://${name}`,
      rows,
      extras: {
        keyFingerprint: Number(keyFingerprint) || null,
        lastAuditId: BigInt(String(lastAuditId)),
      },
      async requireUnused() {
        await connection.send('ROLLBACK');
        if ((await readActivity(connection)) !== activity) throw isInUse(name);
      },
      close: async () => connection.destroy(),
    };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** Opens an empty database, or one that an interrupted move of the same source left behind. Throws `MoveError` for others. */
export async function openPostgresTarget(url: string, source: string): Promise<MoveTarget> {
  const { connection, name } = await connectOnce(url, ANSWER_MS, createTables);
  try {
    if (!(await exists(connection, 'unfinished_move'))) await begin(connection, name, source);
    await requireSchema(connection, name);
    const [[begunFor, position] = []] = await read(
      connection,
      'SELECT source, position FROM unfinished_move',
    );
    if (begunFor !== source) {
      throw new MoveError(
        `${name} has an unfinished move of another database. Drop the database and create an empty one`,
      );
    }
    return {
      name: `postgres://${name}`,
      position: readPosition(position),
      rows: (query, params) => read(connection, query, params),
      insert: (table, rows) =>
        transaction(connection, async () => {
          const columns = table.columns.flatMap((column, at) =>
            column.isGenerated ? [] : [{ ...column, at }],
          );
          await connection.send(
            `INSERT INTO "${table.name}" (${columns.map((column) => `"${column.name}"`).join(', ')}) SELECT * FROM ${unnest(columns)}`,
            columns.map(({ at }) => toArray(rows.map((row) => row[at] ?? null))),
          );
          await connection.send('UPDATE unfinished_move SET position = ?', [
            writePosition(table, rows.at(-1) ?? []),
          ]);
        }),
      find(table, keys) {
        const columns = table.columns.map((column) => `"${column.name}"`).join(', ');
        const key = table.key.flatMap((at) => table.columns[at] ?? []);
        const names = key.map((column) => `"${column.name}"`).join(', ');
        return read(
          connection,
          `SELECT ${columns} FROM ${unnest(key)} AS wanted (${names}) JOIN "${table.name}" USING (${names})`,
          key.map((_, at) => toArray(keys.map((values) => values[at] ?? null))),
        );
      },
      async finish({ keyFingerprint, lastAuditId }) {
        // The first queries need statistics, which the server would make within a minute or so.
        await connection.send('ANALYZE');
        await transaction(connection, async () => {
          await connection.send('UPDATE tidings SET key_fingerprint = ?', [keyFingerprint]);
          if (lastAuditId > 0n) await connection.send("SELECT setval('audit_events_id', ?)", [lastAuditId]);
          await connection.send('DROP TABLE unfinished_move');
        });
      },
      close: async () => connection.destroy(),
    };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function createTables(sql: SQL): Promise<void> {
  const [{ is_unfinished: isUnfinished }] =
    await sql`SELECT to_regclass('unfinished_move') IS NOT NULL AS is_unfinished`;
  if (!isUnfinished) await migrate(sql);
}

async function begin(connection: Connection, name: string, source: string): Promise<void> {
  await transaction(connection, async () => {
    await connection.send('CREATE TABLE unfinished_move (source text NOT NULL, position text)');
    await connection.send('INSERT INTO unfinished_move (source) VALUES (?)', [source]);
    for (const table of copiedTables) {
      const [[isUsed] = []] = await read(
        connection,
        `SELECT count(*) FROM (SELECT FROM "${table.name}" LIMIT 1) AS one`,
      );
      if (isUsed !== 0n) throw isNotEmpty(name, table);
    }
  });
}

function isNotEmpty(name: string, { name: table }: Table): MoveError {
  return new MoveError(
    `${name} is not empty: its table "${table}" has rows. Create an empty database and move to it`,
  );
}

async function requireSchema(connection: Connection, name: string): Promise<void> {
  if (!(await exists(connection, 'tidings'))) throw new MoveError(`${name} is not a Tidings database`);
  const [[schema] = []] = await read(connection, 'SELECT schema FROM tidings');
  if (Number(schema) === migrations.length) return;
  throw new MoveError(
    `${name} has the schema of another version of Tidings (${schema}; this one has ${migrations.length}). Run the move with that version, or upgrade the database by starting a server of this version with it`,
  );
}

async function exists(connection: Connection, table: string): Promise<boolean> {
  const [[oid] = []] = await read(
    connection,
    "SELECT to_regclass(quote_ident(current_schema()) || '.' || ?)::text",
    [table],
  );
  return oid !== null;
}

/** Throws unless all servers have stopped. Returns the activity, which changes when a server starts. */
async function requireNoServer(connection: Connection, name: string): Promise<string> {
  const activity = await readActivity(connection);
  const [[leases] = []] = await read(connection, 'SELECT count(*) FROM leases');
  for (let observed = 0; leases !== 0n && observed < OBSERVATIONS; observed++) {
    await Bun.sleep(OBSERVE_MS);
    if ((await readActivity(connection)) !== activity) throw isInUse(name);
  }
  return activity;
}

async function readActivity(connection: Connection): Promise<string> {
  const rows = await read(
    connection,
    `SELECT name, fence || ' ' || beat FROM leases UNION ALL SELECT id, alive_at FROM server_runs ORDER BY 1`,
  );
  return JSON.stringify(rows);
}

function isInUse(name: string): MoveError {
  return new MoveError(`A Tidings server uses ${name}. Stop all servers, and run the move again`);
}

const NO_TIMEOUTS =
  "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)";

async function transaction(connection: Connection, work: () => Promise<void>): Promise<void> {
  await connection.send('BEGIN');
  try {
    await connection.send(NO_TIMEOUTS);
    await work();
    await connection.send('COMMIT');
  } catch (error) {
    await connection.send('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

const ARRAY_TYPES = { blob: 'bytea[]', integer: 'bigint[]', text: 'text[]' } as const;

/** A parameter for each column, with the values of all rows. */
const unnest = (columns: readonly Column[]): string =>
  `unnest(${columns.map(({ type }) => `cast(? AS ${ARRAY_TYPES[type]})`).join(', ')})`;

function toArray(values: readonly Value[]): string {
  return arrayLiteral(
    values.map((value) =>
      value === null ? null : value instanceof Uint8Array ? `\\x${value.toHex()}` : String(value),
    ),
  );
}

async function read(connection: Connection, query: string, params: Row = []): Promise<Row[]> {
  const rows = (await connection.send(query, params)) as Value[][];
  return rows.map((row) => row.map((value) => (typeof value === 'string' ? unescapeNul(value) : value)));
}
