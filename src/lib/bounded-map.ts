/**
 * Keeps the entries that were set last, as long as their weights together do not exceed `maxWeight`. Without weights it
 * bounds their number.
 */
export class BoundedMap<Key, Value> {
  /** A Map keeps its keys in the order of insertion, so the oldest come first. */
  readonly #entries = new Map<Key, { value: Value; weight: number }>();
  #weight = 0;

  constructor(readonly maxWeight: number) {}

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Makes the entry the newest one. */
  set(key: Key, value: Value, weight = 1): void {
    this.delete(key);
    this.#entries.set(key, { value, weight: 0 });
    this.addWeight(key, value, weight);
  }

  /** Does nothing when another value has the key by now. */
  addWeight(key: Key, value: Value, weight: number): void {
    const entry = this.#entries.get(key);
    if (entry?.value !== value) return;
    entry.weight += weight;
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.maxWeight) break;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}

/**
 * Loads a value at the first call and keeps it. Calls that come meanwhile share the load. A failed one is forgotten, so
 * that the next call tries again: from source, a module cannot be read while the process is out of file descriptors.
 */
export function lazily<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loading: Promise<Value> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

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
