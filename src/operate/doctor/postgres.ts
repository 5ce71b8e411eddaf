import { migrations } from '../../../db/postgres/migrate.ts';
import type { PostgresFacts } from '../../../db/postgres/facts.ts';
import { tidings } from '../../lib/build.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { listLiveProcesses } from '../uptime.ts';
import { type Check, counted, failed, type Finding, inDatabase, ok, onPostgres, unchecked, warning } from './check.ts';

/** Versions that the tests or a trial by hand ran on. */
const OLDEST_TRIED = 15;
const NEWEST_TRIED = 18;

/** Some providers sign a time; their deliveries may come from at most this far in the future, in milliseconds. */
const MAX_OFF_MS = 60_000;
const HARDLY_OFF_MS = 2_000;

/** Connections for commands, `pg_dump`, and the new process of a rolling restart's first step. */
const RESERVE = 5;

/** Autovacuum keeps the table small unless something holds it up, such as a transaction that never ends. */
const MAX_DEAD_ROWS = 100_000;

const REPLICA_LIMIT_MS = 10_000;

/** Checks of a PostgreSQL server. They say nothing on SQLite. */
export const postgresChecks = {
  database({ config, postgres }) {
    if (config.database === null) return unchecked('a DATABASE_* setting');
    if (postgres === null) return null;
    const { name, facts } = postgres;
    if (facts instanceof Error) return failed(facts.message, 'Every request that needs the database gets 503 meanwhile');
    const server = `PostgreSQL ${facts.version} at ${name}`;
    if (facts.major < OLDEST_TRIED) return failed(`${server} is too old`, `Upgrade it to ${OLDEST_TRIED} or newer`);
    if (facts.isStandby) return failed(`${server} is a standby`, 'Set DATABASE_URL to the primary');
    if (facts.isReadOnly) {
      return failed(`${server} is read-only`, 'Turn default_transaction_read_only off for this database and user');
    }
    return facts.major > NEWEST_TRIED
      ? warning(`${server} is newer than ${NEWEST_TRIED}, the newest that was tried`)
      : ok(`${server} answers`);
  },

  encryption: onPostgres(({ postgres: { isLocal, sslMode, isDirect, facts } }) => {
    if (isLocal) return ok('The connection to the database stays on this machine');
    const advice = 'Add sslmode=verify-full to DATABASE_URL, with sslrootcert if the authority is your own';
    if (sslMode === 'verify-full') return ok('The connection is encrypted, and the server proves its name');
    const isPlain = isDirect && !facts.isEncrypted;
    return isPlain
      ? warning('The connection to the database is not encrypted: the network sees posts and the password\'s proof', advice)
      : warning(`sslmode=${sslMode} does not verify the server's name: another machine could take its place`, advice);
  }),

  schema: onPostgres(({ postgres: { facts: { tidings: ours, tables } } }) => {
    const known = migrations.length;
    if (ours === null) {
      return tables > 0
        ? failed('The database has tables of another program', 'Set DATABASE_URL to a database of its own')
        : warning('The database is empty', `"${tidings} serve" creates the tables`);
    }
    const { schema, oldestCompatible } = ours;
    if (schema === known) return ok(`The database has the schema of this version (${known})`);
    if (schema < known) {
      return warning(
        `The database has schema ${schema}, and this version ${known}`,
        'The next start of this version upgrades it',
      );
    }
    const newer = `A newer Tidings upgraded the database (schema ${schema}; this one knows ${known})`;
    return oldestCompatible > known
      ? failed(`${newer}, and this version does not work with it`, 'Start the newer version')
      : warning(`${newer}. This version works with it`, 'Finish the upgrade of all processes');
  }),

  'secret key': onPostgres(({ config, postgres: { facts } }) => {
    if (config.secretKey === undefined || config.secretKey === null) return unchecked('SECRET_KEY');
    const expected = facts.tidings?.keyFingerprint ?? null;
    if (expected === null) return null;
    return keyFingerprint(Buffer.from(config.secretKey, 'base64')) === expected
      ? ok('SECRET_KEY is the key that the secrets are encrypted with')
      : failed(
          'SECRET_KEY is not the key that the secrets are encrypted with, so no process starts with it',
          'Give every process the key of before; "backup --key-only" may have written it to a file',
        );
  }),

  durability: onPostgres(({ postgres: { facts } }) => {
    const { synchronousCommit, fsync, fullPageWrites } = facts;
    const off = [
      ...(synchronousCommit === 'off' ? ['synchronous_commit'] : []),
      ...(fsync === 'off' ? ['fsync'] : []),
      ...(fullPageWrites === 'off' ? ['full_page_writes'] : []),
    ];
    return off.length === 0
      ? ok(`A delivery is on the disk before it is acknowledged (synchronous_commit=${synchronousCommit})`)
      : warning(
          `${off.join(' and ')} ${off.length === 1 ? 'is' : 'are'} off: a crash of the database server can lose deliveries that were acknowledged`,
          'Turn it on in postgresql.conf, or for the database with ALTER DATABASE … SET',
        );
  }),

  connections: onPostgres(async ({ config, clock, db, postgres: { isDirect, facts } }) => {
    const pool = config.database?.pool ?? 0;
    const processes = db === null ? 0 : (await listLiveProcesses({ db, clock })).length;
    const wanted = processes * pool;
    const use = `${counted(processes, 'process', 'processes')} with ${pool} connections each`;
    if (!isDirect) {
      return ok(`A pooler such as PgBouncer is in between: its own limits must allow ${use}`);
    }
    const { maxConnections, openConnections } = facts;
    const said = `${use} open up to ${wanted}; the server allows ${maxConnections} and has ${openConnections} open`;
    return wanted + RESERVE > maxConnections
      ? warning(said, 'Raise max_connections, lower DATABASE_POOL, or put PgBouncer in between')
      : ok(said);
  }),

  'clock and database': onPostgres(({ postgres: { clockOffMs } }) => {
    const said = `The clock differs from the database server's by ${(clockOffMs / 1000).toFixed(1)} s`;
    const advice = 'Let both systems set their clocks by themselves (NTP)';
    if (clockOffMs > MAX_OFF_MS) return failed(said, advice);
    return clockOffMs > HARDLY_OFF_MS ? warning(said, advice) : ok("The clock agrees with the database server's");
  }),

  indexes: onPostgres(({ postgres: { facts: { invalidIndexes } } }) =>
    invalidIndexes.length === 0
      ? ok('Every index is valid')
      : failed(
          `PostgreSQL does not use these indexes: ${invalidIndexes.slice(0, 5).join(', ')}`,
          'Rebuild them: REINDEX INDEX CONCURRENTLY name',
        ),
  ),

  'dead rows': onPostgres(({ postgres: { facts: { postCounts } } }) => {
    if (postCounts === null || postCounts.dead <= MAX_DEAD_ROWS) return null;
    return warning(
      `post_counts has ${postCounts.dead} dead rows, which every list has to pass`,
      'Look for a transaction that never ends (pg_stat_activity), and run VACUUM post_counts',
    );
  }),

  'read replica'({ config, postgres }) {
    if (!config.database?.readUrl || postgres === null) return null;
    const { replica } = postgres;
    if (replica === null) return null;
    const advice = 'The content API reads from the primary meanwhile';
    if (replica instanceof Error) return warning(`The read replica cannot be used: ${replica.message}`, advice);
    const { problem, behindMs } = replica;
    if (problem !== null) return warning(`The read replica cannot be used: ${problem}`, advice);
    return behindMs === null
      ? warning(`The read replica is more than ${REPLICA_LIMIT_MS / 1000} seconds behind`, advice)
      : ok(`The read replica is ${(behindMs / 1000).toFixed(1)} s behind`);
  },
} satisfies Record<string, Check>;
