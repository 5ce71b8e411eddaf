import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from '../lib/log.ts';

/** Descriptors that connections may not take: for the database, its log, threads, DNS and providers. */
const RESERVED = 64;

/** How often to look, in milliseconds. */
const EVERY_MS = 500;

/** Linux only. Other systems have no guard. */
const SELF = '/proc/self';

/** The limit on open file descriptors; null when the system does not report it. */
export function readDescriptorLimit(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(`${SELF}/limits`, 'utf8')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Open descriptors. With none left, even counting fails. */
function countDescriptors(limit: number): number {
  try {
    return readdirSync(`${SELF}/fd`).length;
  } catch {
    return limit;
  }
}

/**
 * Keeps connections from using every file descriptor. Above the limit it closes idle connections and reports that it is
 * full. Tests replace `limit` and `count`.
 */
export function guardDescriptors(
  { log }: { log: Logger },
  closeIdle: () => number,
  limit = readDescriptorLimit(),
  count = countDescriptors,
) {
  // A very low limit still leaves half to connections.
  const allowed = limit === null ? null : Math.max(limit - RESERVED, Math.floor(limit / 2));
  const guard = {
    /** New requests should be refused, because their connections use up the descriptors. */
    isFull: false,
    /** Counts now; otherwise twice a second. */
    look,
    stop: () => clearInterval(timer),
  };
  function look(): void {
    if (limit === null || allowed === null) return;
    const wasFull = guard.isFull;
    guard.isFull = count(limit) > allowed;
    if (!guard.isFull) return;
    const closed = closeIdle();
    if (wasFull) return;
    log.warn(
      { limit, allowed, closed },
      'too many open connections; raise the limit of open files (ulimit -n) or put a proxy in front',
    );
  }
  const timer = setInterval(look, EVERY_MS);
  return guard;
}
