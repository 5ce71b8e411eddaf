import { AppError } from '../lib/app-error.ts';
import type { Clock } from '../lib/time.ts';

// Searching is the one thing on the page that costs work at every request. Limits are kept in the memory of each process:
// counting in the database would cost more than the search.

interface Limit {
  /** Searches at once. */
  burst: number;
  /** Then one in this time. */
  everyMs: number;
}

const PER_CLIENT: Limit = { burst: 20, everyMs: 1_000 };
const ALL_CLIENTS: Limit = { burst: 50, everyMs: 200 };

/** Client addresses that are remembered. Beyond that, the one that searched least recently is forgotten. */
const MAX_CLIENTS = 10_000;

/** Returns a function that counts a search of a client. Throws `AppError` 429. */
export function createSearchLimit(clock: Clock) {
  /** When each bucket is full again, in milliseconds since 1970. */
  const clients = new Map<string, number>();
  let allFullAt = 0;

  return function countSearch(client: string): void {
    const now = clock.now().getTime();
    const fullAt = taken(clients.get(client) ?? 0, PER_CLIENT, now);
    allFullAt = taken(allFullAt, ALL_CLIENTS, now);
    // A Map keeps its keys in the order of insertion.
    clients.delete(client);
    clients.set(client, fullAt);
    for (const oldest of clients.keys()) {
      if (clients.size <= MAX_CLIENTS) break;
      clients.delete(oldest);
    }
  };
}

/** The bucket after another search. Throws `AppError` 429 when it is empty. */
function taken(fullAt: number, { burst, everyMs }: Limit, now: number): number {
  // A later time comes from a clock that was wrong.
  const isPossible = fullAt > now && fullAt <= now + burst * everyMs;
  const next = (isPossible ? fullAt : now) + everyMs;
  const waitMs = next - now - burst * everyMs;
  if (waitMs <= 0) return next;
  const seconds = Math.ceil(waitMs / 1000);
  throw new AppError(
    429,
    `Too many searches. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`,
    {
      code: 'too_many_searches',
      headers: { 'retry-after': String(seconds) },
    },
  );
}
