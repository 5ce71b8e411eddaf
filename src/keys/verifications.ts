import { BoundedMap } from '../lib/bounded-map.ts';
import { maxRequests } from '../lib/engine-options.ts';
import type { Verdict } from './model.ts';

/** Calls at a time. The other half of what Bun allows is for hooks, polling and the dashboard. */
export const MAX_CALLS = Math.ceil(maxRequests / 2);

/** Of these, calls for keys that were valid before, and for others: each leaves a quarter to the other. */
export const MAX_OF_KIND = Math.ceil((MAX_CALLS * 3) / 4);

/** Calls of each kind that wait for their turn. */
export const MAX_WAITING = 10 * MAX_CALLS;

/** Keys that are remembered as valid. */
const MAX_KNOWN = 10_000;

type Verify = (key: string, permission: string) => Promise<Verdict>;

interface Lane {
  calls: number;
  readonly waiting: (() => void)[];
}

/**
 * Bounds the calls of `verify`, and shares one call among requests with the same key and permission while it is under way.
 * Keeps no verdict; a key that was valid only has its turn before keys that nobody knows, so that these can't hold it up.
 * Every call must end, because those that wait need its place. Throws when too many wait.
 */
export function shareVerifications(verify: Verify): Verify {
  const underWay = new Map<string, Promise<Verdict>>();
  const known = new BoundedMap<number | bigint, true>(MAX_KNOWN);
  const valid: Lane = { calls: 0, waiting: [] };
  const unknown: Lane = { calls: 0, waiting: [] };

  /** Starts what may start. */
  function startNext(): void {
    for (const lane of [valid, unknown]) {
      while (lane.calls < MAX_OF_KIND && valid.calls + unknown.calls < MAX_CALLS) {
        const next = lane.waiting.shift();
        if (next === undefined) break;
        lane.calls++;
        next();
      }
    }
  }

  async function verifyInTurn(key: string, permission: string, name: string): Promise<Verdict> {
    // A hash, so that no key stays in memory. It decides nothing but the order.
    const hash = Bun.hash(name);
    const lane = known.get(hash) === undefined ? unknown : valid;
    if (lane.waiting.length >= MAX_WAITING) throw new Error('too many verifications wait for Unkey');
    await new Promise<void>((resolve) => {
      lane.waiting.push(resolve);
      startNext();
    });
    try {
      const verdict = await verify(key, permission);
      if (verdict.outcome === 'valid') known.set(hash, true);
      else known.delete(hash);
      return verdict;
    } finally {
      lane.calls--;
      startNext();
    }
  }

  return (key, permission) => {
    const name = `${permission} ${key}`;
    const shared = underWay.get(name);
    if (shared !== undefined) return shared;
    const own = verifyInTurn(key, permission, name).finally(() => underWay.delete(name));
    underWay.set(name, own);
    return own;
  };
}
