import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { MoveError } from './failures.ts';
import * as integrations from './schema/integrations.ts';
import * as organizations from './schema/organizations.ts';
import * as media from './schema/posts.ts';
import * as posts from './schema/posts.ts';
import * as processes from './schema/processes.ts';
import * as publicSchema from './schema/public.ts';
import * as triggers from './schema/triggers.ts';

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly key: readonly number[];
}

export interface Column {
  readonly name: string;
  readonly type: 'blob' | 'integer' | 'text';
  readonly isGenerated: boolean;
}

/** Tables that are not copied to another database, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  post_counts: 'SQL triggers fill it when posts are written',
  delivery_counts: 'SQL triggers fill it when log entries are written',
  leases: 'it is about processes that have ended',
  elapsed_time: 'it is about the machine of the server that wrote it',
  throttles: 'limits on guessing start from zero',
  form_marks: 'forms that are open during the copy must be opened again',
};

/** Tables without a reference to another one that are copied after it all the same, and why. */
const COPIED_AFTER: Readonly<Record<string, string>> = {
  // Otherwise the SQL triggers on posts would announce each copied post.
  rebuild_hooks: 'posts',
};

const configs = [integrations, media, organizations, posts, processes, publicSchema, triggers]
  .flatMap((schema) => Object.values<unknown>(schema))
  .filter((value) => is(value, SQLiteTable))
  .map((table) => getTableConfig(table));

export const tableNames: readonly string[] = configs.map(({ name }) => name).sort();

/** The tables that are copied to another database. Each comes after those that it refers to. */
export const copiedTables: readonly Table[] = inOrder(configs.filter(({ name }) => !(name in LEFT_OUT))).map(
  ({ name, columns, primaryKeys }) => {
    const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
    return {
      name,
      columns: columns.map((column) => ({
        name: column.name,
        type: column.getSQLType() as Column['type'],
        isGenerated: column.generated !== undefined,
      })),
      key: key.map((column) => columns.findIndex(({ name }) => name === column.name)),
    };
  },
);

type TableConfig = ReturnType<typeof getTableConfig>;

function inOrder(tables: readonly TableConfig[]): TableConfig[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const ordered = new Set<TableConfig>();
  const add = (table: TableConfig) => {
    const parents = table.foreignKeys.map(({ reference }) => getTableConfig(reference().foreignTable).name);
    for (const name of [...parents, COPIED_AFTER[table.name] ?? '']) {
      const parent = byName.get(name);
      if (parent !== undefined && parent !== table) add(parent);
    }
    ordered.add(table);
  };
  for (const name of [...byName.keys()].sort()) {
    const table = byName.get(name);
    if (table !== undefined) add(table);
  }
  return [...ordered];
}

// Copies all rows to an empty database of the other engine. `sqlite/move.ts` and `postgres/move.ts` have the two ends.

/** A value as both engines have it. Booleans are 0 and 1. */
export type Value = bigint | string | Uint8Array | null;
export type Row = readonly Value[];

interface Side {
  readonly name: string;
  rows(query: string, params?: Row): Promise<Row[]>;
  close(): Promise<void>;
}

interface Extras {
  /** The fingerprint of the key that encrypts the secrets; null before the first start. */
  keyFingerprint: number | null;
  /** The highest id that an audit event has had. Ids are never used again. */
  lastAuditId: bigint;
}

export interface MoveSource extends Side {
  readonly extras: Extras;
  /** Throws `MoveError` when a server has used the database since it was opened. */
  requireUnused(): Promise<void>;
}

/** A database that no server accepts until `finish`. */
export interface MoveTarget extends Side {
  readonly position: Position | null;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
  find(table: Table, keys: readonly Row[]): Promise<Row[]>;
  finish(extras: Extras): Promise<void>;
}

export interface Position {
  table: string;
  key: Row;
}

export interface Progress {
  step: 'copy' | 'compare';
  done: number;
  total: number;
}

/** Copies what is missing, compares all rows, and makes the target usable. Throws `MoveError` when both sides differ. */
export async function moveRows(
  source: MoveSource,
  target: MoveTarget,
  report: (progress: Progress) => void,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name } of copiedTables) counts[name] = await count(source, name);
  const total = Object.values(counts).reduce((sum, rows) => sum + rows, 0);

  const counter = (step: Progress['step'], start: number) => {
    let done = start;
    return (rows: number) => {
      done += rows;
      report({ step, done, total });
    };
  };
  const { position } = target;
  const first = position === null ? 0 : copiedTables.findIndex(({ name }) => name === position.table);
  let copied = 0;
  for (const { name } of copiedTables.slice(0, first + 1)) copied += await count(target, name);
  const onCopied = counter('copy', copied);
  for (const table of copiedTables.slice(first)) {
    const after = position?.table === table.name ? position.key : null;
    for await (const rows of batches(source, table, after)) {
      await target.insert(table, rows);
      onCopied(rows.length);
    }
  }

  const onCompared = counter('compare', 0);
  for (const table of copiedTables) await compare(source, target, table, counts[table.name] ?? 0, onCompared);
  await source.requireUnused();
  await target.finish(source.extras);
  return counts;
}

async function count(side: Side, table: string): Promise<number> {
  const [[rows] = []] = await side.rows(`SELECT count(*) FROM "${table}"`);
  return Number(rows);
}

const MAX_ROWS = 500;
const MAX_BYTES = 4 * 1024 * 1024;

/** The rows after a key, in the order of keys. A batch may be larger than `MAX_BYTES` by its last row. */
async function* batches(source: Side, table: Table, start: Row | null): AsyncGenerator<Row[]> {
  const keyColumns = table.key.map((at) => `"${table.columns[at]?.name}"`).join(', ');
  const columns = table.columns.map(({ name }) => `"${name}"`).join(', ');
  const marks = table.key.map(() => '?').join(', ');
  const bytes = table.columns
    .filter(({ type }) => type !== 'integer')
    .map(({ name }) => `coalesce(octet_length("${name}"), 0)`);
  let after = start;
  for (;;) {
    const since = after === null ? 'true' : `(${keyColumns}) > (${marks})`;
    const params = after ?? [];
    const sizes = await source.rows(
      `SELECT ${[...bytes, '0'].join(' + ')}, ${keyColumns} FROM "${table.name}" WHERE ${since} ORDER BY ${keyColumns} LIMIT ${MAX_ROWS}`,
      params,
    );
    if (sizes.length === 0) return;
    let total = 0;
    const full = sizes.findIndex(([size]) => {
      total += Number(size);
      return total >= MAX_BYTES;
    });
    // -1, which is the last row, when there are fewer bytes.
    const [, ...last] = sizes.at(full) ?? [];
    yield await source.rows(
      `SELECT ${columns} FROM "${table.name}" WHERE ${since} AND (${keyColumns}) <= (${marks}) ORDER BY ${keyColumns}`,
      [...params, ...last],
    );
    after = last;
  }
}

/** Compares the number of rows, and the hash of each row. Throws `MoveError` that names the first that differs. */
async function compare(
  source: MoveSource,
  target: MoveTarget,
  table: Table,
  expected: number,
  onCompared: (rows: number) => void,
): Promise<void> {
  for await (const rows of batches(source, table, null)) {
    const found = await target.find(
      table,
      rows.map((row) => keyOf(table, row)),
    );
    const hashes = new Map(found.map((row) => [describeKey(table, row), hashOf(row)]));
    for (const row of rows) {
      const key = describeKey(table, row);
      if (hashes.get(key) !== hashOf(row))
        throw differs(table, target, `The first row that differs is ${key}`);
    }
    onCompared(rows.length);
  }
  const present = await count(target, table.name);
  if (present !== expected)
    throw differs(table, target, `The target has ${present} rows, the source ${expected}`);
}

function differs(table: Table, target: MoveTarget, detail: string): MoveError {
  return new MoveError(
    `The table "${table.name}" differs between source and target. ${detail}. Something wrote to ${target.name}, or to the source after an interrupted move. Delete the target and run the move again`,
  );
}

const keyOf = (table: Table, row: Row): Row => table.key.map((at) => row[at] ?? null);

const describeKey = (table: Table, row: Row): string => JSON.stringify(keyOf(table, row).map(String));

function hashOf(row: Row): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const value of row) {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value));
    hasher.update(`${value === null ? 'null' : typeof value} ${bytes.length} `).update(bytes);
  }
  return hasher.digest('hex');
}

export const writePosition = (table: Table, row: Row): string =>
  JSON.stringify({ table: table.name, key: keyOf(table, row).map(String) });

export function readPosition(text: Value | undefined): Position | null {
  if (typeof text !== 'string') return null;
  const { table: name, key }: { table: string; key: string[] } = JSON.parse(text);
  const table = copiedTables.find((each) => each.name === name);
  if (table === undefined) throw new MoveError(`The unfinished move has an unknown table "${name}"`);
  const isInteger = (at: number) => table.columns[table.key[at] ?? 0]?.type === 'integer';
  return { table: name, key: key.map((value, at) => (isInteger(at) ? BigInt(value) : value)) };
}
