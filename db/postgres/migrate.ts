import type { SQL } from 'bun';
import { tidings } from '../../src/lib/build.ts';
import { sqlStateOf } from './connection.ts';
import m00 from './migrations/0000_start.sql' with { type: 'text' };
import m01 from './migrations/0001_former_slugs.sql' with { type: 'text' };
import m02 from './migrations/0002_identity_provider.sql' with { type: 'text' };
import m03 from './migrations/0003_passkeys.sql' with { type: 'text' };
import m04 from './migrations/0004_assistant.sql' with { type: 'text' };
import m05 from './migrations/0005_approval.sql' with { type: 'text' };

/**
 * All migrations, oldest first, embedded for the compiled binary. `tidings.schema` counts the applied ones. A migration
 * that older versions can work with says so in its first line: `-- oldest compatible: N`, the number of migrations that
 * such a version knows. It lets old and new processes run side by side during an upgrade.
 */
export const migrations: readonly string[] = [m00, m01, m02, m03, m04, m05];

export const OLDEST_SERVER = 15;

/** Any number that no other program uses as a lock. */
const MIGRATION_LOCK = 7_434_692_843;

const MAX_CHANGES = 5;

/** How long a migration may wait for locks on tables, in milliseconds. Requests wait behind it, so it gives up first. */
const LOCK_MS = 1_000;
const PAUSE_MS = 500;
const MAX_LOCKED = 40;

type Connection = Pick<SQL, 'unsafe'>;

/** Applies the missing migrations, all or none. A newer schema that works with this version is left as it is. */
export async function migrate(connection: Connection, known: readonly string[] = migrations): Promise<void> {
  let changes = 0;
  let locked = 0;
  for (;;) {
    const schema = await readSchema(connection, known.length);
    if (schema >= known.length) return;
    try {
      await connection.unsafe(upgradeFrom(schema, known));
      return;
    } catch (error) {
      if (sqlStateOf(error) === LOCK_NOT_AVAILABLE && ++locked < MAX_LOCKED) await Bun.sleep(PAUSE_MS);
      // Another process was faster. The next try reads what it left.
      else if (!String(error).includes(SCHEMA_CHANGED) || ++changes === MAX_CHANGES) throw error;
    }
  }
}

/** The schema of the database; 0 when it is empty. Throws unless this version can use or upgrade it. */
async function readSchema(connection: Connection, known: number): Promise<number> {
  const [server] = await connection.unsafe(`
    SELECT current_setting('server_version_num')::int / 10000 AS version,
      current_setting('server_encoding') AS encoding,
      (SELECT count(*)::int FROM pg_tables WHERE schemaname = current_schema()) AS tables,
      to_regclass(quote_ident(current_schema()) || '.tidings') IS NOT NULL AS is_ours,
      to_regclass(quote_ident(current_schema()) || '.unfinished_move') IS NOT NULL AS is_unfinished`);
  if (server.version < OLDEST_SERVER) {
    throw new Error(
      `PostgreSQL ${server.version} is too old. Upgrade the server to PostgreSQL ${OLDEST_SERVER} or newer.`,
    );
  }
  if (server.encoding !== 'UTF8') {
    throw new Error(
      `The database has the encoding ${server.encoding}. Create one with CREATE DATABASE … TEMPLATE template0 ENCODING 'UTF8', and set DATABASE_URL to it.`,
    );
  }
  if (!server.is_ours) {
    if (server.tables === 0) return 0;
    throw new Error(
      'The database has tables of another program. Create an empty database for Tidings, and set DATABASE_URL to it.',
    );
  }
  if (server.is_unfinished) {
    throw new Error(
      `The database has an unfinished move. Run "${tidings} move" again to finish it, or drop the database.`,
    );
  }
  const [row] = await connection.unsafe(
    'SELECT schema::int AS schema, oldest_compatible::int AS oldest_compatible FROM tidings',
  );
  if (row === undefined)
    throw new Error('The database has a table "tidings" without a row. Restore it from a backup.');
  if (row.oldest_compatible > known) {
    throw new Error(
      `The database was upgraded by a newer Tidings (schema ${row.schema}; this version supports ${known}). Start that version or a newer one.`,
    );
  }
  return row.schema;
}

const LOCK_NOT_AVAILABLE = '55P03';

const SCHEMA_CHANGED = 'another process changed the schema';

/** One text of all statements: PostgreSQL runs it as one transaction, also on a connection that is lost in between. */
function upgradeFrom(schema: number, known: readonly string[]): string {
  const oldestCompatible = Math.max(
    ...known.map((migration, index) => {
      const [, declared] = /^-- oldest compatible: (\d+)/.exec(migration) ?? [];
      return declared === undefined ? index + 1 : Number(declared);
    }),
  );
  return `
    SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
    SELECT set_config('lock_timeout', '${LOCK_MS}ms', true);
    DO $check$
    DECLARE
      present bigint := 0;
    BEGIN
      IF to_regclass(quote_ident(current_schema()) || '.tidings') IS NOT NULL THEN
        SELECT schema INTO present FROM tidings;
      END IF;
      IF present <> ${schema} THEN RAISE EXCEPTION '${SCHEMA_CHANGED}'; END IF;
    END $check$;
    ${known.slice(schema).join('\n')}
    UPDATE tidings SET schema = ${known.length}, oldest_compatible = ${oldestCompatible};`;
}
