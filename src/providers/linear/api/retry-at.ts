import { DAY_MS } from '../../../lib/time.ts';

/** Linear counts requests and what they cost, for a token and for a kind of request. */
const BUDGETS = ['requests', 'complexity', 'endpoint-requests'];

/** The latest time that is believed: Linear's windows are an hour long. */
const MAX_WAIT_MS = DAY_MS;

/** The latest time that a Date can hold. */
const MAX_TIME = 8_640_000_000_000_000;

/**
 * When Linear takes requests again, in whole seconds; null unless its headers say so. `Retry-After` counts from the
 * answer's own `Date`, so that this machine's clock does not matter.
 */
export function retryAtOf(headers: Headers | undefined): Date | null {
  if (headers === undefined) return null;
  const answeredAt = Date.parse(headers.get('date') ?? '');
  const waitSeconds = Number.parseInt(headers.get('retry-after') ?? '', 10);
  const waited = answeredAt + waitSeconds * 1000;
  const times = Number.isFinite(waited) ? [waited] : resets(headers);
  const latest = Math.max(
    ...times.filter((time) => time > 0 && time < MAX_TIME && !(time > answeredAt + MAX_WAIT_MS)),
  );
  return Number.isFinite(latest) ? new Date(Math.ceil(latest / 1000) * 1000) : null;
}

/** When the budgets that are used up are filled again, in milliseconds since 1970. */
function resets(headers: Headers): number[] {
  return BUDGETS.filter((budget) => headers.get(`x-ratelimit-${budget}-remaining`) === '0')
    .map((budget) => Number.parseInt(headers.get(`x-ratelimit-${budget}-reset`) ?? '', 10))
    .filter(Number.isSafeInteger);
}
