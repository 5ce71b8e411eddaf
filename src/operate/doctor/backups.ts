import { existsSync } from 'node:fs';
import { tidings } from '../../lib/how-to-run.ts';
import { DAY_MS } from '../../lib/time.ts';
import { lastBackup } from '../backup/last-backup.ts';
import { isStore } from '../backup/target.ts';
import { type Check, databaseCheck, failed, ok, unchecked, warning } from './check.ts';

/** A backup by hand is worth a reminder after so long. */
const OLD_MS = 30 * DAY_MS;

export const backupChecks: readonly Check[] = [
  databaseCheck('backups', async ({ folder, config: { backups }, clock }) => {
    if (backups === null) return unchecked('a BACKUP_* setting');
    const { success, failure } = await lastBackup(folder);
    const made = success === null ? 'There is none yet' : `The last good one is of ${success.at}`;
    if (failure !== null) {
      return failed(`The backup of ${failure.at} was not made: ${failure.error}. ${made}`, MEND);
    }
    if (success !== null && !isStore(success.file) && !existsSync(success.file)) {
      return failed(
        `The last good backup, ${success.file}, is gone`,
        `Find out who removed it, and make another: ${tidings} backup FILE`,
      );
    }
    if (backups !== undefined) {
      if (success === null) return ok(`${made}; the next is due by ${backups.schedule} (UTC)`);
      const due = Bun.cron.parse(backups.schedule, new Date(success.at));
      const isLate = due !== null && clock.now().getTime() - due.getTime() > DAY_MS;
      return isLate
        ? warning(`${made}, and another was due at ${due.toISOString()}`, 'Look whether the server ran then')
        : ok(made);
    }
    const isOld = success === null || clock.now().getTime() - Date.parse(success.at) > OLD_MS;
    return isOld
      ? warning(
          `${made}, and none is made by itself`,
          `Set BACKUP_DIR, or run "${tidings} backup FILE" now and then`,
        )
      : ok(made);
  }),
];

const MEND = `Mend what it says, and try: ${tidings} backup FILE`;
