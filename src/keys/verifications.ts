import type { Verdict } from './model.ts';

/** Calls at a time. Bun allows 256 requests in a process; the rest are for hooks, polling and the dashboard. */
export const MAX_CALLS = 128;

/** Calls that wait for their turn. If Unkey hangs, the last of them fails after eleven timeouts. */
export const MAX_WAITING = 10 * MAX_CALLS;

type Verify = (key: string, permission: string) => Promise<Verdict>;

/**
 * Bounds the calls of `verify`, and shares one call among requests with the same key and permission while it is under way.
 * Keeps no verdict. Every call must end, because those that wait need its place. Throws when too many wait.
 */
export function shareVerifications(verify: Verify): Verify {
  const underWay = new Map<string, Promise<Verdict>>();
  const waiting: (() => void)[] = [];
  let calls = 0;

  async function takeTurn(): Promise<void> {
    if (calls < MAX_CALLS) {
      calls++;
      return;
    }
    if (waiting.length >= MAX_WAITING) throw new Error('too many verifications wait for Unkey');
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  /** Passes the place on, or gives it up. */
  function endTurn(): void {
    const next = waiting.shift();
    if (next === undefined) calls--;
    else next();
  }

  async function verifyInTurn(key: string, permission: string): Promise<Verdict> {
    await takeTurn();
    try {
      return await verify(key, permission);
    } finally {
      endTurn();
    }
  }

  return (key, permission) => {
    const name = `${permission} ${key}`;
    const shared = underWay.get(name);
    if (shared !== undefined) return shared;
    const own = verifyInTurn(key, permission).finally(() => underWay.delete(name));
    underWay.set(name, own);
    return own;
  };
}
