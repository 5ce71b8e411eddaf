import type { Clock } from '../../../src/lib/time.ts';
import { GithubRefusal } from './refusal.ts';

/** How many requests GitHub answers. A test may change them at any time. */
export interface Limits {
  /** In an hour, to all that send no token. */
  anonymous: number;
  /** In an hour, to each token. */
  token: number;
  /** In a minute, to each: the secondary limit. */
  perMinute: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

interface Span {
  used: number;
  endsAt: number;
}

const docs = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api';

/** Counts requests by the clock. `caller` is a token; null for none. */
export function countRequests(limits: Limits, clock: Clock) {
  const hours = new Map<string | null, Span>();
  const minutes = new Map<string | null, Span>();

  function spanOf(spans: typeof hours, caller: string | null, lengthMs: number): Span {
    const now = clock.now().getTime();
    const known = spans.get(caller);
    if (known !== undefined && now < known.endsAt) return known;
    const fresh = { used: 0, endsAt: now + lengthMs };
    spans.set(caller, fresh);
    return fresh;
  }

  const limitOf = (caller: string | null) => (caller === null ? limits.anonymous : limits.token);

  return {
    headers(caller: string | null): Record<string, string> {
      const { used, endsAt } = spanOf(hours, caller, HOUR_MS);
      const limit = limitOf(caller);
      return {
        'x-ratelimit-limit': String(limit),
        'x-ratelimit-remaining': String(Math.max(0, limit - used)),
        'x-ratelimit-reset': String(Math.ceil(endsAt / 1000)),
        'x-ratelimit-used': String(used),
        'x-ratelimit-resource': 'core',
      };
    },

    /** Throws GitHub's 403 beyond a limit. */
    take(caller: string | null): void {
      const hour = spanOf(hours, caller, HOUR_MS);
      if (hour.used >= limitOf(caller)) {
        const whom = caller === null ? '203.0.113.7' : 'user ID 1';
        throw new GithubRefusal(403, `API rate limit exceeded for ${whom}.`, {
          body: { documentation_url: docs },
        });
      }
      const minute = spanOf(minutes, caller, MINUTE_MS);
      if (minute.used >= limits.perMinute) {
        const waitMs = minute.endsAt - clock.now().getTime();
        throw new GithubRefusal(
          403,
          'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.',
          { headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) }, body: { documentation_url: docs } },
        );
      }
      hour.used++;
      minute.used++;
    },

    /** A 304 costs nothing with a token. */
    giveBack(caller: string | null): void {
      if (caller !== null) spanOf(hours, caller, HOUR_MS).used--;
    },
  };
}
