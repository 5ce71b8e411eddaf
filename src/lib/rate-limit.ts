// A limit is a bucket that refills: `burst` at once, then one every `everyMs`. A bucket is kept as one number, the time
// at which it is full again in milliseconds since 1970. What is taken adds `everyMs` to it.

export interface RateLimit {
  burst: number;
  everyMs: number;
}

/**
 * When a bucket that was kept is full again; `now` for a full one. A time that is too late for its limit comes from a
 * clock that was wrong and would lock people out, so it counts as full. `skewMs`: how far the clocks of two processes
 * may differ.
 */
export function fullAgainAt(
  kept: number | undefined,
  { burst, everyMs }: RateLimit,
  now: number,
  skewMs = 0,
): number {
  const isPossible = kept !== undefined && kept > now && kept <= now + burst * everyMs + skewMs;
  return isPossible ? kept : now;
}

/** How long it takes until the bucket has one to take, in milliseconds; 0 or less: it has one. */
export function waitMs(fullAt: number, { burst, everyMs }: RateLimit, now: number): number {
  return fullAt - now - (burst - 1) * everyMs;
}
