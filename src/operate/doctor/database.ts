import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findDamage, openForInspection } from '../../../db/client.ts';
import { migrations, readVersion } from '../../../db/migrate.ts';
import { type Check, databaseCheck, failed, folderCheck, ok, warning } from './check.ts';

/** How much of what is damaged is told. */
const MAX_DAMAGE = 3;

const RESTORE = 'Stop the server, keep a copy of the folder as it is, and restore the last backup';

export const databaseChecks: readonly Check[] = [
  // Only where it could not be opened: why that is.
  folderCheck('database', ({ folder, db }) => {
    const path = join(folder, 'tidings.db');
    if (db !== null || !existsSync(path)) return null;
    try {
      readVersion(openForInspection(path).$client);
    } catch (error) {
      return failed(`${path} cannot be opened: ${error instanceof Error ? error.message : error}`, RESTORE);
    }
    return null;
  }),

  databaseCheck('integrity', ({ db, isFull }) => {
    const { damage, orphans } = findDamage(db, MAX_DAMAGE, isFull);
    if (damage.length > 0) return failed(`The database is damaged: ${damage.join('; ')}`, RESTORE);
    return orphans === 0
      ? ok(
          isFull
            ? 'The database is whole, every index included'
            : 'The database is whole by the quick check; --full compares each index with its table too',
        )
      : failed(`${orphans} rows of the database refer to rows that are gone`, RESTORE);
  }),

  databaseCheck('schema', ({ db }) => {
    const version = readVersion(db.$client);
    const known = migrations.length;
    if (version === known) return ok(`The database has the schema of this version (${version})`);
    return version > known
      ? failed(
          `The database was written by a newer Tidings (schema ${version}; this one knows ${known})`,
          'Start that version, or a newer one',
        )
      : warning(
          `The database has schema ${version}, and this version ${known}`,
          'The next start of the server brings it up to date; make a backup first',
        );
  }),
];
