import type { Clock } from '../../../lib/clock.ts';
import type { Refusal } from './refusal.ts';

/** GitHub counts by the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** What GitHub asks for when it names no time. */
const USUAL_WAIT_SECONDS = 60;

/** When GitHub takes requests again, to the second and at most a day ahead; null unless it refused for their number. */
export function retryAtOf({ status, headers, words }: Refusal, clock: Clock): Date | null {
  if (status !== 403 && status !== 429) return null;
  const nowSeconds = Math.ceil(clock.now().getTime() / 1000);
  const at = (seconds: number) => new Date(Math.min(seconds, nowSeconds + MAX_WAIT_SECONDS) * 1000);

  const after = Number(headers['retry-after'] ?? Number.NaN);
  if (after >= 0) return at(nowSeconds + Math.ceil(after));
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  if (Number(headers['x-ratelimit-remaining'] ?? Number.NaN) === 0 && reset > 0) return at(reset);
  const isLimit = status === 429 || /rate limit|abuse detection/i.test(words);
  return isLimit ? at(nowSeconds + USUAL_WAIT_SECONDS) : null;
}
