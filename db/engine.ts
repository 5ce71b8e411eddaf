import {
  and,
  asc,
  eq,
  getTableColumns,
  gt,
  inArray,
  isNull,
  lte,
  or,
  Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import type { BaseSQLiteDatabase, SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';

// Access to the database: `read` and `write`. Their bodies are asynchronous and call only stores. `sqlite/` and
// `postgres/` are the engines behind them.

/** A connection to read through. Stores take it; nobody else uses its methods. Their results must be awaited. */
export type ReadTx = BaseSQLiteDatabase<'async', unknown>;

declare const writes: unique symbol;

/** A transaction that may write. Only `write` makes one, so a write outside of a transaction does not compile. */
export type WriteTx = ReadTx & { readonly [writes]: true };

export interface ReadOptions {
  /** The work sends one statement before it waits for anything: a snapshot by itself, in one round trip. */
  single?: boolean;
  /** Reads of one name are the same. On PostgreSQL, those that wait for a connection share the read that comes next. */
  name?: string;
  /** The work may take many milliseconds, such as a search. On SQLite, others get turns between two such reads. */
  isLong?: boolean;
}

export interface WriteOptions {
  /** Names of what the work changes: the same name runs one after the other. Absent: alone. Empty: beside any other work. */
  key?: string | readonly string[] | undefined;
  /** Things that the work relies on and does not change: it runs beside others that rely on it, and not beside who changes it. */
  shares?: readonly string[] | undefined;
  /** How long to wait in all for other work before this one begins, in milliseconds. */
  giveUpMs?: number | undefined;
  /** Rejects with `LeaseLost` unless this lease is still held at the commit. */
  lease?: Lease | undefined;
}

/** How work that takes many commits shares the database with other work. Times are in milliseconds. See `inCommits`. */
export interface Pace {
  holdMs: number;
  restMs: number;
  /** How many rows of a log one step removes. Each is in up to seven indexes. */
  stepRows: number;
}

export interface Storage {
  readonly pace: Pace;
  /** Runs `work` on a snapshot. Rejects when a body waits for anything but a store, such as another `read`. */
  read<Result>(work: (tx: ReadTx) => Result | Promise<Result>, options?: ReadOptions): Promise<Result>;
  /**
   * Runs `work` in a transaction, which it may share with other work, and resolves when it is on the disk. Work that
   * throws leaves nothing behind, rejects with what it threw, and does not affect the others. Waits for other writers
   * without holding the thread, and rejects after `giveUpMs`. Rejects when a body waits for anything but a store.
   * On PostgreSQL, work may run again after a conflict or a lost connection, so it changes nothing but the database.
   */
  write<Result>(work: (tx: WriteTx) => Result | Promise<Result>, options?: WriteOptions): Promise<Result>;
  version(): number | null;
}

export interface Lease {
  readonly name: string;
  readonly fence: number;
  /** False once another process may have taken it over. */
  isHeld(): boolean;
  /** Gives it back with the commit of this transaction, the last one that it holds for. */
  releaseIn(tx: WriteTx): void;
  /** Gives it back, so that another process need not wait. Never rejects: a lease that stays ends by itself. */
  release(): Promise<void>;
}

/** The same storage, with writes that reject with `LeaseLost` unless the lease is held. */
export function withLease(storage: Storage, lease: Lease): Storage {
  return {
    pace: storage.pace,
    read: (work, options) => storage.read(work, options),
    write: (work, options) => storage.write(work, { ...options, lease }),
    version: () => storage.version(),
  };
}

export type Engine = 'sqlite' | 'postgres';

export type Role = 'command' | 'server';

/** Checkpoints of SQLite's log since the start, which go on to be tried. */
export interface CheckpointFailures {
  total: number;
  inARow: number;
  cause: string | null;
}

export interface Database extends Storage {
  readonly engine: Engine;
  /** Takes the first of these leases that is free; null while others hold them all. */
  lease(names: readonly string[]): Promise<Lease | null>;
  /**
   * Null while the database can be written, or a code such as `EROFS`; `BUSY` while another process writes, `LOCKED` while
   * another program keeps a table, `CHECKPOINT` when checkpoints fail.
   */
  health(): Promise<string | null>;
  /** Absent where the database makes no checkpoints that Tidings starts. */
  checkpointFailures?(): Readonly<CheckpointFailures>;
  /** Bytes of each part of the database; null when they cannot be told. */
  sizes(): Promise<Record<string, number> | null>;
  close(): Promise<void>;
}

export interface Dialect {
  /** The column that finds a row of any table fastest. */
  readonly rowKey: SQL;
  /** The column that finds a post fastest, of those in the indexes: a walk along an index then reads no post. */
  readonly postKey: SQL;
  /** Any number of texts as one variable, or its placeholder: a subquery of one column, for `inArray`. */
  listed(values: readonly string[] | Placeholder): SQL;
  /** The end of a query in `write`: its rows stay as they are until the commit. SQLite has a single writer. */
  readonly keepRows: SQL;
  contains(text: SQLWrapper, part: string): SQL;
  /** Ids of the posts of an organization that match, newest first. Of more than `limit`, those that were added last. */
  searchPosts(search: PostSearch): SQL;
}

export interface PostSearch {
  organizationId: string;
  words: readonly string[];
  isUnfinished: boolean;
  statuses: readonly string[] | null;
  contentTypes: readonly string[] | null;
  limit: number;
}

const dialects = new WeakMap<ReadTx, Dialect>();

export function setDialect(tx: ReadTx, dialect: Dialect): void {
  dialects.set(tx, dialect);
}

export function dialectOf(tx: ReadTx): Dialect {
  const dialect = dialects.get(tx);
  if (dialect === undefined) throw new Error('the connection was not opened by an engine');
  return dialect;
}

const effects = new WeakMap<ReadTx, (() => void)[]>();

/** Runs `effect`, such as a log line, once the work that calls this is on the disk. Throws outside of `write`. */
export function afterCommit(tx: WriteTx, effect: () => void): void {
  const own = effects.get(tx);
  if (own === undefined) throw new Error('afterCommit was called outside of write');
  own.push(effect);
}

/** Runs a body of `write`, for the engines. Resolves with its result and a function that runs its effects. */
export async function runWork<Result>(
  tx: WriteTx,
  work: (tx: WriteTx) => Result | Promise<Result>,
): Promise<{ value: Result; runEffects: () => void }> {
  const own: (() => void)[] = [];
  effects.set(tx, own);
  try {
    const value = await work(tx);
    return { value, runEffects: () => own.forEach(runSafely) };
  } finally {
    effects.delete(tx);
  }
}

/** The work is committed: a log that cannot be written must not make it look like a failure. */
function runSafely(effect: () => void): void {
  try {
    effect();
  } catch {
    // There is nowhere left to report it.
  }
}

/** Keeps statements as long as their connection: building and compiling them costs more than the query. */
export function prepared<Statements>(build: (tx: ReadTx) => Statements): (tx: ReadTx) => Statements {
  const perConnection = new WeakMap<ReadTx, Statements>();
  return (tx) => {
    let statements = perConnection.get(tx);
    if (statements === undefined) {
      statements = build(tx);
      perConnection.set(tx, statements);
    }
    return statements;
  };
}

/** A list as one variable, for the dialects. The list of a placeholder is encoded at each call of its statement. */
export function listVariable(
  values: readonly string[] | Placeholder,
  encode: (values: readonly string[]) => string,
): SQL {
  if (!(values instanceof Placeholder)) return sql`${encode(values)}`;
  // Drizzle passes the value of the placeholder, whatever its types say.
  return sql`${sql.param<unknown, string>(values, { mapToDriverValue: (given) => encode(given as string[]) })}`;
}

/** A named placeholder for each of the columns, for the values of an insert that is prepared. */
export function placeholdersFor<Name extends string>(
  columns: Readonly<Record<Name, unknown>>,
): Record<Name, Placeholder> {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, sql.placeholder(name)])) as Record<
    Name,
    Placeholder
  >;
}

/** The condition that columns of a table have these values. Leaves out those that are undefined. */
export function matching<Table extends SQLiteTable>(
  table: Table,
  values: { [Name in keyof Table['$inferSelect']]?: Table['$inferSelect'][Name] | SQLWrapper | undefined },
): SQL | undefined {
  const columns = getTableColumns(table);
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return and(...given.map(([name, value]) => eq(columns[name] as SQLWrapper, value)));
}

/**
 * The condition that something is due: its time has come, it has none, or a clock that was ahead computed it, since nothing
 * waits longer than `maxWaitMs`.
 */
export function isDue(at: SQLiteColumn, now: number, maxWaitMs = 86_400_000): SQL | undefined {
  // An outer join has none where the column itself always has one.
  return or(isNull(at), lte(at, now), gt(at, now + maxWaitMs));
}

export interface Expiring {
  table: SQLiteTable;
  key: SQLiteColumn;
  expiresAt: SQLiteColumn;
}

/** Deletes at most `limit` expired rows. Returns their number. */
export async function deleteExpired(
  tx: WriteTx,
  { table, key, expiresAt }: Expiring,
  asOf: Date,
  limit: number,
): Promise<number> {
  const isExpired = lte(expiresAt, asOf.getTime());
  const expired = tx.select({ key }).from(table).where(isExpired).orderBy(asc(expiresAt)).limit(limit);
  // Look again: another process may have renewed a row in the meantime.
  const deleted = tx.delete(table).where(and(inArray(key, expired), isExpired));
  return (await deleted.returning({ key }).all()).length;
}

/** Sets columns to the values of the row that was to be inserted, on a conflict. */
export function excluded(columns: Readonly<Record<string, { name: string }>>): Record<string, SQL> {
  const values = Object.entries(columns).map(([key, { name }]) => [
    key,
    sql`excluded.${sql.identifier(name)}`,
  ]);
  return Object.fromEntries(values);
}

// The names of locks. PostgreSQL takes all of a write at its start, in the order of their names, so none wait in a circle.

/** The posts of an organization, in every state: what is written about one may change what others decide. */
export const posts = (organizationId: string) => `posts ${organizationId}`;

export const organization = (id: string) => `organization ${id}`;

export const integration = (id: string) => `integration ${id}`;

export const account = (userId: string) => `account ${userId}`;

export const hook = (id: string) => `hook ${id}`;

export const THROTTLES = 'throttles';

export const REFUSALS = 'refusals';

/** Accounts that a new one must be compared with: there is a first one. */
export const ACCOUNTS = 'accounts';

export const OUTBOX = 'outbox';

export const ATTENTION = 'attention';

/** Work that each statement decides by itself, with a constraint or on one row. */
export const NONE: WriteOptions = { key: [] };

/** Work about posts also fills the outbox of the organization's hooks. */
export const changingPosts = (organizationId: string, ...more: string[]): WriteOptions => ({
  key: [posts(organizationId), ...more],
  shares: [organization(organizationId)],
});

export const changing = (...names: string[]): WriteOptions => ({ key: names });

// Work that is too large for one commit takes many short ones and rests between them, so that other work hardly waits.

export interface Part<Result> {
  result: Result;
  hasMore: boolean;
}

interface CommitOptions extends Pick<WriteOptions, 'key' | 'shares'> {
  signal?: AbortSignal | undefined;
}

/** On a slow disk, a commit may take longer than this. */
const MAX_REST_MS = 1_000;

/**
 * Runs `work` in one transaction after another while it has more to do, and yields the result of each after its commit.
 * `work` does small steps, and returns once `hasTime` is false. Then it rests for as long as the commit took.
 */
export async function* inCommits<Result>(
  db: Storage,
  work: (tx: WriteTx, hasTime: () => boolean) => Promise<Part<Result>>,
  { signal, ...order }: CommitOptions = {},
): AsyncGenerator<Result, void, undefined> {
  const { holdMs, restMs } = db.pace;
  while (signal?.aborted !== true) {
    const began = performance.now();
    const { result, hasMore } = await db.write((tx) => {
      const end = performance.now() + holdMs;
      return work(tx, () => performance.now() < end);
    }, order);
    yield result;
    if (!hasMore) return;
    await Bun.sleep(Math.min(Math.max(performance.now() - began, restMs), MAX_REST_MS));
  }
}

/** Repeats a step until it returns 0 or there is no more time. The result is the sum of the steps. */
export async function repeatStep(hasTime: () => boolean, step: () => Promise<number>): Promise<Part<number>> {
  for (let result = 0; ; ) {
    const done = await step();
    result += done;
    if (done === 0) return { result, hasMore: false };
    if (!hasTime()) return { result, hasMore: true };
  }
}
