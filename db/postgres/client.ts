import { SQL } from 'bun';
import { codeOf, messageOf } from '../../src/lib/app-error.ts';
import type { Logger } from '../../src/lib/log.ts';
import type { Database, Role } from '../engine.ts';
import { DatabaseBusy, DatabaseUnavailable, PostgresError } from '../failures.ts';
import { tableNames } from '../move.ts';
import { type Address, AddressError, parseAddress } from './address.ts';
import {
  type Connection,
  ConnectionLost,
  type ConnectionOptions,
  connect,
  isDiskFull,
  isLockTimeout,
  isReadOnly,
  sqlStateOf,
  TICK_MS,
  toFailure,
} from './connection.ts';
import { fromPostgresRows } from './dialect.ts';
import { createLeases } from './leases.ts';
import { migrate } from './migrate.ts';
import { createPool } from './pool.ts';
import { createSession, createStorage, type Limits } from './storage.ts';

export interface PostgresOptions {
  poolSize?: number;
  limits?: Limits;
  process?: string;
  setting?: string;
  log?: Pick<Logger, 'info' | 'warn'>;
}

/** Some providers give up on a response after five seconds. */
const LIMITS: Limits = { answerMs: 4_000, giveUpMs: 4_000 };

const CONNECT_MS = 4_000;

export interface PostgresDatabase extends Database {
  readonly engine: 'postgres';
  readonly address: Address;
  /** False behind a pooler, such as PgBouncer. */
  readonly isDirect: boolean;
}

/** Connects and upgrades the schema. Throws `PostgresError` without a connection, or for another version's database. */
export async function openPostgres(
  url: string,
  role: Role = 'command',
  options: PostgresOptions = {},
): Promise<Database> {
  return connectAfter(migrate, url, { process: role, ...options });
}

/** Connects to a database as it is. Throws `PostgresError` when it cannot be reached. */
export async function connectPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  return connectAfter(async () => undefined, url, options);
}

async function connectAfter(
  prepare: (sql: SQL) => Promise<void>,
  url: string,
  {
    poolSize = 10,
    limits = LIMITS,
    process: name = 'command',
    setting = 'DATABASE_URL',
    log,
  }: PostgresOptions,
): Promise<PostgresDatabase> {
  const address = readAddress(url, setting);
  const connectMs = address.connectMs ?? CONNECT_MS;
  const { ways, isDirect } = await findWays(address, connectMs, setting, prepare);

  let isAway = false;
  const onOutage = (error: unknown) => {
    if (!isAway) log?.warn({ err: error }, 'the database cannot be reached');
    isAway = true;
  };
  const pool = createPool(poolSize, async (onLost) => {
    try {
      const connection = await tryWays(ways, {}, (way) =>
        connect(way, { answerMs: limits.answerMs, connectMs, onLost }),
      );
      if (isAway) log?.info('the database can be reached again');
      isAway = false;
      return createSession(connection, limits.answerMs);
    } catch (error) {
      onOutage(error);
      throw error;
    }
  });
  const storage = createStorage(pool, limits);

  /** Uses a connection for statements of their own, which wait for no lock of `write`. */
  async function withConnection<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result> {
    const session = await pool.acquire(limits.giveUpMs);
    try {
      return await use(session.connection);
    } catch (error) {
      throw toFailure(error);
    } finally {
      pool.release(session);
    }
  }

  const run = (text: string, params: readonly unknown[] = []) =>
    withConnection(async (connection) => fromPostgresRows(await connection.send(text, params)));

  /** Commits a change of this process's own row. Returns null, or what to call the failure. */
  async function probe(): Promise<string | null> {
    try {
      return await withConnection((connection) =>
        connection.send(probeStatement(name)).then(() => null, refusalOf),
      );
    } catch (error) {
      if (error instanceof DatabaseBusy) return 'BUSY';
      if (error instanceof DatabaseUnavailable) return 'UNREACHABLE';
      throw error;
    }
  }
  let probing: Promise<string | null> | null = null;

  const leases = createLeases(run, name);
  return {
    engine: 'postgres',
    address,
    isDirect,
    ...storage,
    lease: leases.lease,
    /** Those who ask at the same time share one write. */
    health: () => (probing ??= probe().finally(() => (probing = null))),
    async sizes() {
      const [[database] = []] = await run('SELECT pg_database_size(current_database())');
      return { database: Number(database) };
    },
    async close() {
      await leases.close();
      await pool.close();
    },
  };
}

/** How long the probe waits for a lock on a table, in milliseconds: load balancers wait a second for the response. */
const PROBE_LOCK_MS = 750;

/** Changes the row of this process, and takes the lock of a writer on every table, in one round trip. */
function probeStatement(process: string): string {
  const own = `'${process.replaceAll("'", "''")}'`;
  return `DO $probe$ BEGIN
    PERFORM set_config('lock_timeout', '${PROBE_LOCK_MS}ms', true);
    UPDATE server_runs SET process = process WHERE process = ${own};
    LOCK TABLE ${tableNames.join(', ')} IN ROW EXCLUSIVE MODE;
  END $probe$`;
}

function refusalOf(error: unknown): string {
  // The connection ended with it: after a failover, a new one may lead to the primary server.
  if (error instanceof ConnectionLost && isReadOnly(error.cause)) return 'READ_ONLY';
  if (isLockTimeout(error)) return 'LOCKED';
  if (isDiskFull(error)) return 'ENOSPC';
  throw error;
}

/** Opens one connection without a pool, after `prepare` has run. Throws `PostgresError`. */
export async function connectOnce(
  url: string,
  answerMs: number,
  prepare: (sql: SQL) => Promise<void>,
): Promise<{ connection: Connection; name: string }> {
  const address = readAddress(url, 'DATABASE_URL');
  const connectMs = address.connectMs ?? CONNECT_MS;
  const { ways } = await findWays(address, connectMs, 'DATABASE_URL', prepare);
  let timer: NodeJS.Timeout | undefined;
  const onLost = () => clearInterval(timer);
  const connection = await tryWays(ways, {}, (way) => connect(way, { answerMs, connectMs, onLost }));
  timer = setInterval(connection.tick, TICK_MS);
  return { connection, name: address.name };
}

export function readAddress(url: string, setting: string): Address {
  try {
    return parseAddress(url);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new PostgresError(`${setting} cannot be used: ${error.message}.`);
  }
}

/** A parameter that poolers do not know. Behind them, a statement prepared by name may be missing in the next transaction. */
const DIRECT = 'tidings.direct';

/** Runs `prepare`. Returns the ways to connect, which tell whether statements may be prepared by name. */
async function findWays(
  address: Address,
  connectMs: number,
  setting: string,
  prepare: (sql: SQL) => Promise<void>,
): Promise<{ ways: readonly ConnectionOptions[]; isDirect: boolean }> {
  const cannotBeUsed = (reason: string, advice: string, cause: unknown) =>
    new PostgresError(`The database ${address.name} cannot be used: ${reason}. ${advice}`, { cause });
  const open = (extra: Partial<ConnectionOptions>) =>
    tryWays(address.ways, extra, async (way) => {
      const sql = new SQL({ ...way, adapter: 'postgres', max: 1, connectionTimeout: connectMs / 1_000 });
      try {
        const [row] = await sql.unsafe(`SELECT current_setting('${DIRECT}', true) = '1' AS is_direct`);
        return { sql, isDirect: row.is_direct === true };
      } catch (error) {
        await sql.close({ timeout: 0 });
        throw error;
      }
    });
  const { sql, isDirect } = await open({ connection: { [DIRECT]: '1' } })
    .catch((error) => {
      if (!messageOf(error).includes(DIRECT)) throw error;
      return open({ prepare: false });
    })
    .catch((error) => {
      throw cannotBeUsed(messageOf(error), adviceFor(error, setting), error);
    });
  try {
    await prepare(sql);
    return {
      ways: address.ways.map((way) => ({ ...way, prepare: isDirect }) as ConnectionOptions),
      isDirect,
    };
  } catch (error) {
    if (isReadOnly(error))
      throw cannotBeUsed('it is read-only', 'Set DATABASE_URL to the primary server.', error);
    throw new PostgresError(messageOf(error), { cause: error });
  } finally {
    await sql.close({ timeout: 0 });
  }
}

function adviceFor(error: unknown, setting: string): string {
  const state = sqlStateOf(error);
  if (/no pg_hba\.conf entry/.test(messageOf(error))) {
    return `Allow this connection in pg_hba.conf of the server, or correct the user and database in ${setting}.`;
  }
  if (state.startsWith('28') || /authentication failed/i.test(messageOf(error))) {
    return `Check the user and the password in ${setting}.`;
  }
  if (state === '3D000') return `Create the database, or correct its name in ${setting}.`;
  if (state === '53300') return 'Raise max_connections of the server, or lower DATABASE_POOL.';
  if (state.startsWith('57P')) return 'The server is starting or stopping. Try again in a moment.';
  if (/TLS|certificate|SSL|CERT/i.test(`${codeOf(error)} ${messageOf(error)}`)) {
    return `Check sslmode and sslrootcert in ${setting}.`;
  }
  return `Check that the server is running, and check the host and port in ${setting}.`;
}

/** Tries one way after the other where the server refuses TLS, or refuses this user without it. */
async function tryWays<Result>(
  ways: readonly ConnectionOptions[],
  { connection, ...extra }: Partial<ConnectionOptions>,
  attempt: (way: ConnectionOptions) => Promise<Result>,
): Promise<Result> {
  for (let at = 0; ; at++) {
    const way = ways[at] as ConnectionOptions & { connection?: Record<string, string> };
    try {
      return await attempt({
        ...way,
        ...extra,
        connection: { ...way.connection, ...connection },
      } as ConnectionOptions);
    } catch (error) {
      const isOfWay = ['', '28000'].includes(sqlStateOf(error));
      if (!isOfWay || at + 1 >= ways.length) throw error;
    }
  }
}
