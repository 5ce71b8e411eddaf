import { findNewestDeliveryTime } from '../webhooks/count-store.ts';
import { type Check, check, databaseCheck, failed, ok, type Patient, warning } from './check.ts';

/** Linear's deliveries may come from at most this far in the future. */
const MAX_OFF_MS = 60_000;
/** The `Date` header counts seconds, and the answer takes its time. */
const HARDLY_OFF_MS = 10_000;
const TIMEOUT_MS = 3_000;

const MEND = 'Let the system set the clock by itself (NTP): signatures and expiry go by it';

export const clockChecks: readonly Check[] = [
  databaseCheck('clock and log', async ({ db, clock }) => {
    const at = await findNewestDeliveryTime(db);
    if (at === null) return ok('The log is empty: nothing to hold the clock against');
    const newest = at.toISOString();
    const ahead = at.getTime() - clock.now().getTime();
    return ahead > MAX_OFF_MS
      ? failed(`The newest delivery is from ${newest}, which is still to come: the clock went back`, MEND)
      : ok(`The clock is past the newest delivery, of ${newest}`);
  }),

  check('clock and others', async (patient) => {
    const url = otherServer(patient);
    if (url === null) return null;
    const at = await dateOf(patient, url);
    if (at === null) return ok(`${url} did not tell the time; the clock was not compared`);
    const off = Math.abs(patient.clock.now().getTime() - at);
    const said = `The clock differs from that of ${url} by ${Math.round(off / 1000)} s`;
    if (off > MAX_OFF_MS) return failed(said, MEND);
    return off > HARDLY_OFF_MS ? warning(said, MEND) : ok(`The clock agrees with that of ${url}`);
  }),
];

/** Who is asked for the time: who is asked for keys anyway, or else GitHub. Null: nobody. */
function otherServer({ config: { unkey }, isOffline }: Patient): string | null {
  if (unkey !== undefined) return unkey.baseUrl ?? 'https://api.unkey.com';
  return isOffline ? null : 'https://api.github.com';
}

/** Milliseconds since 1970 by a server's `Date`; null when it cannot be reached or says none. */
async function dateOf({ fetch }: Patient, url: string): Promise<number | null> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(new Request(url, { method: 'HEAD', signal, redirect: 'manual' }));
    const at = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(at) ? null : at;
  } catch {
    return null;
  }
}
