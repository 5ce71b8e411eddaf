import { findNewestDeliveryTime } from '../../deliveries/count-store.ts';
import {
  type Check,
  check,
  databaseCheck,
  type Finding,
  failed,
  ok,
  type Patient,
  PROVIDER_SETTINGS,
  UNKEY_SETTINGS,
  unchecked,
  warning,
} from './check.ts';

/** Some providers sign a time; their deliveries may come from at most this far in the future. */
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
    if (typeof url !== 'string') return url;
    const at = await dateOf(patient, url);
    if (at === null) return ok(`${url} did not tell the time; the clock was not compared`);
    const off = Math.abs(patient.clock.now().getTime() - at);
    const said = `The clock differs from that of ${url} by ${Math.round(off / 1000)} s`;
    if (off > MAX_OFF_MS) return failed(said, MEND);
    return off > HARDLY_OFF_MS ? warning(said, MEND) : ok(`The clock agrees with that of ${url}`);
  }),
];

/** The server to ask for the time: Unkey if it keeps the keys, or else a provider. Null: none. */
function otherServer({ config: { unkey, providerApis }, isOffline }: Patient): string | Finding | null {
  if (unkey === null) return unchecked(UNKEY_SETTINGS);
  if (unkey !== undefined) return unkey.baseUrl ?? 'https://api.unkey.com';
  if (isOffline) return null;
  return providerApis === null ? unchecked(PROVIDER_SETTINGS) : (Object.values(providerApis)[0] ?? null);
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
