import { tidings } from '../../lib/how-to-run.ts';
import { measureQueue } from '../../triggers/queue-store.ts';
import { planSweep } from '../jobs/sweep.ts';
import { type Check, counted, databaseCheck, ok, warning } from './check.ts';

/** The server sweeps every five minutes; what expired this long ago, in milliseconds, should be gone. */
const UNSWEPT_MS = 3_600_000;

/** Work is done within seconds; a failure is tried again after ten minutes at the latest. */
const LATE_MS = 900_000;

export const workChecks: readonly Check[] = [
  databaseCheck('sweep', async ({ db, clock }) => {
    const then = new Date(clock.now().getTime() - UNSWEPT_MS);
    const { deliveryIds, logs, sessions } = await planSweep({ db }, then);
    return deliveryIds + logs + sessions === 0
      ? ok('What has expired is removed')
      : warning(
          `${deliveryIds} delivery ids, ${logs} log entries and ${sessions} sessions expired over an hour ago and are still there`,
          `The server removes them when it runs; "${tidings} sweep" does at once`,
        );
  }),

  databaseCheck('triggers', ({ db, clock }) => {
    const { queued, failed, oldest } = measureQueue(db);
    if (failed > 0) {
      return warning(
        `${counted(failed, 'draft was', 'drafts were')} given up after several failures`,
        `"${tidings} trigger runs" says why; "${tidings} trigger retry" tries again`,
      );
    }
    const waitedMs = oldest === null ? 0 : clock.now().getTime() - Date.parse(oldest);
    return waitedMs > LATE_MS
      ? warning(
          `${counted(queued, 'draft')} to make, the oldest since ${oldest}`,
          `Start the server, which makes them; "${tidings} trigger runs" says what is in the way`,
        )
      : ok(queued === 0 ? 'No draft is waiting to be made' : `${counted(queued, 'draft')} to make`);
  }),
];
