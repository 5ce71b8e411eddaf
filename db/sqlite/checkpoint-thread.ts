import { Database as Sqlite } from 'bun:sqlite';
import { answerRequests } from '../../src/lib/thread.ts';
import { type CheckpointOutcome, checkpoint, copyLog, outcomeOf } from './checkpoints.ts';

// Makes checkpoints of the server's database, and checks it. Their syncs and reads hold this thread alone.

export interface CheckpointRequest {
  file: string;
  /** `copy` blocks no writer. `restart` copies the rest and holds the write lock. `check` looks for damage. */
  step: 'copy' | 'restart' | 'check';
}

const WAIT_MS = 50;

/** A log that grew larger while readers kept it is cut to so many bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

answerRequests<CheckpointRequest, CheckpointOutcome>(
  async () =>
    ({ file, step }) =>
      outcomeOf(() => {
        if (step === 'check') return check(file);
        // Closed each time, because the last connection to close empties the log.
        using sqlite = new Sqlite(file, { readwrite: true, create: false, strict: true });
        sqlite.run(`PRAGMA busy_timeout = ${WAIT_MS}`);
        sqlite.run('PRAGMA synchronous = NORMAL');
        sqlite.run(`PRAGMA journal_size_limit = ${MAX_BYTES}`);
        return step === 'copy' ? copyLog(sqlite) : restart(sqlite);
      }),
);

/** Writes the first page again, unchanged: that syncs the header of the new log, so that no request waits for it. */
function restart(sqlite: Sqlite): CheckpointOutcome {
  const [isBusy] = checkpoint(sqlite, 'RESTART');
  if (isBusy !== 0) return 'left';
  sqlite
    .transaction(() => {
      const [[version] = []] = sqlite.query('PRAGMA user_version').values();
      sqlite.run(`PRAGMA user_version = ${version}`);
    })
    .immediate();
  return 'done';
}

function check(file: string): CheckpointOutcome {
  using sqlite = new Sqlite(file, { readonly: true, strict: true });
  // One that is left would keep the connection open, and the server would not be the last to close the database.
  using statement = sqlite.prepare('PRAGMA quick_check(1)');
  const [damage = 'ok'] = statement.values().map(([line]) => String(line));
  return damage === 'ok' ? 'done' : { failure: damage };
}
