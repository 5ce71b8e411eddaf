import { readdirSync, readFileSync } from 'node:fs';
import type { Deps } from '../deps.ts';

/** Descriptors that connections may not take: for the database, its log, threads, DNS and providers. */
const RESERVED = 64;

/** How often to look, in milliseconds. */
const EVERY_MS = 500;

/** Linux only: on other systems there is no guard. */
const SELF = '/proc/self';

/** How many file descriptors the process may have open; null where the system does not say. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(`${SELF}/limits`, 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** How many are open. With none left, even looking fails: then all of them. */
function countDescriptors(limit: number): number {
  try {
    return readdirSync(`${SELF}/fd`).length;
  } catch {
    return limit;
  }
}

export interface Connections {
  /** Closes idle connections. Returns how many. */
  closeIdle(): number;
  /** Says if the server should refuse requests, to keep descriptors for its own files. Called on each change. */
  setFull(isFull: boolean): void;
}

/**
 * Keeps connections from taking every file descriptor. `look` checks at once; `limit` and `count` differ in tests.
 */
export function guardDescriptors(
  { log }: Pick<Deps, 'log'>,
  { closeIdle, setFull }: Connections,
  limit = readDescriptorLimit(),
  count = countDescriptors,
): { look(): void; stop(): void } {
  // A very low limit still leaves half to connections.
  const allowed = limit === null ? null : Math.max(limit - RESERVED, Math.floor(limit / 2));
  let isFull = false;
  function look(): void {
    if (limit === null || allowed === null) return;
    const wasFull = isFull;
    isFull = count(limit) > allowed;
    if (isFull !== wasFull) setFull(isFull);
    if (!isFull) return;
    const closed = closeIdle();
    if (wasFull) return;
    log.warn(
      { limit, allowed, closed },
      'too many open connections; raise the limit of open files (ulimit -n) or put a proxy in front',
    );
  }
  const timer = setInterval(look, EVERY_MS);
  return { look, stop: () => clearInterval(timer) };
}
