import { AppError } from '../lib/app-error.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../lib/rate-limit.ts';
import { count } from '../lib/text.ts';
import type { Clock } from '../lib/time.ts';

// Searching is the one thing on the page that costs work at every request. Limits are kept in the memory of each process:
// counting in the database would cost more than the search.

const PER_CLIENT: RateLimit = { burst: 20, everyMs: 1_000 };
const ALL_CLIENTS: RateLimit = { burst: 50, everyMs: 200 };

/** Client addresses that are remembered. Beyond that, the one that searched least recently is forgotten. */
const MAX_CLIENTS = 10_000;

/** Returns a function that counts a search of a client. Throws `AppError` 429. */
export function createSearchLimit(clock: Clock) {
  /** When each bucket is full again, in milliseconds since 1970. */
  const clients = new BoundedMap<string, number>(MAX_CLIENTS);
  let allFullAt = 0;

  return function countSearch(client: string): void {
    const now = clock.now().getTime();
    const fullAt = taken(clients.get(client), PER_CLIENT, now);
    allFullAt = taken(allFullAt, ALL_CLIENTS, now);
    clients.set(client, fullAt);
  };
}

/** The bucket after another search. Throws `AppError` 429 when it is empty. */
function taken(kept: number | undefined, limit: RateLimit, now: number): number {
  const fullAt = fullAgainAt(kept, limit, now);
  const seconds = Math.ceil(waitMs(fullAt, limit, now) / 1000);
  if (seconds <= 0) return fullAt + limit.everyMs;
  throw new AppError(429, `Too many searches. Try again in ${count(seconds, 'second')}`, {
    code: 'too_many_searches',
    headers: { 'retry-after': String(seconds) },
  });
}
