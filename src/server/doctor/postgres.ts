import { PostgresError } from '../../../db/failures.ts';
import { migrations, OLDEST_SERVER } from '../../../db/postgres/migrate.ts';
import { BEAT_MS, listRuns } from '../../integrations/uptime.ts';
import { messageOf } from '../../lib/app-error.ts';
import { tidings } from '../../lib/build.ts';
import { keyFingerprint } from '../../lib/secret-box.ts';
import { count } from '../../lib/text.ts';
import { type Check, failed, ok, onPostgres, unchecked, warning } from './check.ts';

/** The newest major version that Tidings was run on. */
const NEWEST_TRIED = 18;

/** Some providers sign a time; their deliveries may come from at most this far in the future, in milliseconds. */
const MAX_OFF_MS = 60_000;
const HARDLY_OFF_MS = 2_000;

/** Connections for commands and tools, and for a process that starts while another one stops. */
const RESERVE = 10;

/** How many runs of servers are looked at. */
const MAX_RUNS = 100;

/** Autovacuum keeps the table small, unless something stops it. */
const MAX_DEAD_ROWS = 100_000;

/** How long to wait until the replica shows what is on the primary, in milliseconds: the bound of its reads. */
const REPLICA_LIMIT_MS = 10_000;

/** Checks of a PostgreSQL server. They say nothing on SQLite. */
export const postgresChecks = {
  'database server'({ config, postgres }) {
    if (config.database === null) return unchecked('a DATABASE_* setting');
    if (postgres === null) return null;
    if (postgres instanceof Error) {
      return failed(postgres.message, 'Requests that need the database get 503 until it responds');
    }
    const { facts, db } = postgres;
    const server = `PostgreSQL ${facts.version} at ${db.address.name}`;
    if (facts.major < OLDEST_SERVER)
      return failed(`${server} is too old`, `Upgrade it to ${OLDEST_SERVER} or newer`);
    if (facts.encoding !== 'UTF8') {
      return failed(
        `${server} has the encoding ${facts.encoding}`,
        "Create a database with TEMPLATE template0 ENCODING 'UTF8', and set DATABASE_URL to it",
      );
    }
    if (facts.isStandby) return failed(`${server} is a standby`, 'Set DATABASE_URL to the primary');
    if (facts.isReadOnly) {
      return failed(
        `${server} is read-only`,
        'Turn default_transaction_read_only off for this user and database',
      );
    }
    return facts.major > NEWEST_TRIED
      ? warning(`${server} is newer than ${NEWEST_TRIED}, the newest version that Tidings was tested with`)
      : ok(`${server} answers`);
  },

  encryption: onPostgres(({ postgres: { db, facts } }) => {
    const { isLocal, sslMode } = db.address;
    if (isLocal) return ok('The connection to the database stays on this machine');
    if (sslMode === 'verify-full')
      return ok("The connection is encrypted, and the server's name is verified");
    const isPlain = db.isDirect && !facts.isEncrypted;
    return warning(
      isPlain
        ? 'The connection to the database is not encrypted: the network can read posts and secrets'
        : `sslmode=${sslMode} does not verify the server's name: another machine can pose as the database`,
      'Add sslmode=verify-full to DATABASE_URL, and sslrootcert where the certificate authority is your own',
    );
  }),

  'database schema': onPostgres(({ postgres: { facts } }) => {
    const known = migrations.length;
    if (facts.tidings === null) {
      return facts.tables > 0
        ? failed(
            'The database has tables of another program',
            'Set DATABASE_URL to a database that only Tidings uses',
          )
        : warning('The database is empty', `"${tidings} serve" creates the tables`);
    }
    if (facts.holdsUnfinishedMove) {
      return failed(
        'The database has an unfinished move',
        `Run "${tidings} move" again to finish it, or drop the database`,
      );
    }
    const { schema, oldestCompatible } = facts.tidings;
    if (schema === known) return ok(`The database has the schema of this version (${known})`);
    if (schema < known) {
      return warning(
        `The database has schema ${schema}, and this version ${known}`,
        'Make a backup. The next start of this version upgrades it',
      );
    }
    const newer = `A newer Tidings upgraded the database (schema ${schema}; this version supports ${known})`;
    return oldestCompatible > known
      ? failed(`${newer}, and this version can't use it`, 'Start that version or a newer one')
      : warning(`${newer}. This version still works with it`, 'Finish the upgrade of all processes');
  }),

  'secret key': onPostgres(({ config, postgres: { facts } }) => {
    if (!config.secretKey) return unchecked('SECRET_KEY');
    const expected = facts.tidings?.keyFingerprint ?? null;
    if (expected === null) return null;
    return keyFingerprint(Buffer.from(config.secretKey, 'base64')) === expected
      ? ok('SECRET_KEY matches the stored secrets')
      : failed(
          'The secrets were encrypted with another key than SECRET_KEY. No process starts with it',
          'Set SECRET_KEY of every process to that key',
        );
  }),

  durability: onPostgres(({ postgres: { facts } }) => {
    const { synchronousCommit: synchronous_commit, fsync, fullPageWrites: full_page_writes } = facts;
    const settings = Object.entries({ synchronous_commit, fsync, full_page_writes });
    const off = settings.flatMap(([name, value]) => (value === 'off' ? [`${name}=off`] : []));
    return off.length === 0
      ? ok(`A delivery is on the disk before it is acknowledged (synchronous_commit=${synchronous_commit})`)
      : warning(
          `${off.join(', ')}: a crash of the database server can lose deliveries that were acknowledged`,
          'Set it to "on" in postgresql.conf or with ALTER DATABASE … SET',
        );
  }),

  'database disk': onPostgres(async ({ postgres: { db, facts } }) => {
    if (facts.isStandby || facts.isReadOnly) return null;
    const { hasRoom } = await import('../../../db/postgres/inspect.ts');
    const room = await hasRoom(db);
    if (room === null) return null;
    return room
      ? ok('The disk of the database server is not full')
      : failed(
          'The disk of the database server is full: deliveries and changes get 503',
          'Free up disk space on the database server, or enlarge its disk',
        );
  }),

  connections: onPostgres(async ({ config, clock, db, postgres }) => {
    const { facts } = postgres;
    const size = config.database?.pool ?? 0;
    const runs = db === null ? [] : await db.read((tx) => listRuns(tx, MAX_RUNS));
    const since = clock.now().getTime() - 2 * BEAT_MS;
    const processes = runs.filter(({ aliveAt }) => Date.parse(aliveAt) >= since).length;
    const use = `${count(processes, 'process', 'processes')} with up to ${count(size, 'connection')} each`;
    if (!postgres.db.isDirect) {
      return ok(`${use}, through a pooler such as PgBouncer: its limits apply, not those of the server`);
    }
    const summary = `${use}; the server allows ${facts.maxConnections} and has ${facts.openConnections} open`;
    return processes * size + RESERVE > facts.maxConnections
      ? warning(summary, 'Raise max_connections, lower DATABASE_POOL, or add PgBouncer')
      : ok(summary);
  }),

  'clock and database': onPostgres(({ postgres: { clockOffMs } }) => {
    const summary = `The clock differs from that of the database server by ${(clockOffMs / 1000).toFixed(1)} s`;
    const advice = 'Run an NTP client on both systems';
    if (clockOffMs > MAX_OFF_MS) return failed(summary, advice);
    return clockOffMs > HARDLY_OFF_MS
      ? warning(summary, advice)
      : ok('The clock agrees with that of the database server');
  }),

  indexes: onPostgres(({ postgres: { facts } }) =>
    facts.invalidIndexes.length === 0
      ? ok('Every index is valid')
      : failed(
          `PostgreSQL does not use these indexes: ${facts.invalidIndexes.slice(0, 5).join(', ')}`,
          'Rebuild each with REINDEX INDEX CONCURRENTLY',
        ),
  ),

  'dead rows': onPostgres(({ postgres: { facts } }) => {
    const dead = facts.postCounts?.dead ?? 0;
    if (dead <= MAX_DEAD_ROWS) return null;
    return warning(
      `post_counts has ${dead} dead rows, which slow down every list`,
      'Find long transactions in pg_stat_activity, and run VACUUM post_counts',
    );
  }),

  'read replica': onPostgres(async ({ config, postgres: { db } }) => {
    const url = config.database?.readUrl;
    if (url === undefined) return null;
    const advice = 'Until it works, the content API reads from the primary';
    try {
      const { inspectReplica } = await import('../../../db/postgres/inspect.ts');
      const behindMs = await inspectReplica(db, url, REPLICA_LIMIT_MS);
      return behindMs === null
        ? warning(`The read replica is more than ${REPLICA_LIMIT_MS / 1000} seconds behind`, advice)
        : ok(`The read replica is ${(behindMs / 1000).toFixed(1)} s behind`);
    } catch (error) {
      const isExplained = error instanceof PostgresError;
      return warning(
        isExplained ? error.message : `The read replica cannot be used: ${messageOf(error)}`,
        advice,
      );
    }
  }),
} satisfies Record<string, Check>;
