import { DatabaseBusy, DatabaseUnavailable } from '../failures.ts';
import { type Connection, ConnectionLost, TICK_MS } from './connection.ts';

// Connections for work. Each does one piece of work at a time, and one that was lost is replaced.

const MAX_WAITING = 2_000;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** The server has been away for so long that work no longer waits for it. */
const AWAY_MS = 4_000;

interface Pooled {
  readonly connection: Connection;
  tick(): void;
}

export interface Pool<Member extends Pooled> {
  /** Rejects with `DatabaseBusy` or `DatabaseUnavailable` after `waitMs`, or at once when too many wait. */
  acquire(waitMs: number): Promise<Member>;
  release(member: Member): void;
  close(): Promise<void>;
}

interface Waiting<Member> {
  ticksLeft: number;
  resolve(member: Member): void;
  reject(error: unknown): void;
}

export function createPool<Member extends Pooled>(
  size: number,
  open: (onLost: () => void) => Promise<Member>,
): Pool<Member> {
  const members = new Set<Member>();
  const idle: Member[] = [];
  const waiting: Waiting<Member>[] = [];
  let opening = 0;
  let closing: (() => void) | null = null;
  let outage: { error: unknown; ticks: number; pauseMs: number; isPausing: boolean } | null = null;

  // Keeps no process alive.
  const ticker = setInterval(tick, TICK_MS);
  ticker.unref();

  function tick(): void {
    if (outage !== null) outage.ticks += 1;
    for (const member of members) member.tick();
    for (let at = waiting.length - 1; at >= 0; at--) {
      const each = waiting[at];
      if (each === undefined || --each.ticksLeft > 0) continue;
      waiting.splice(at, 1);
      // Without a server that stands still or is away, there would be more connections.
      const isBusy = outage === null && members.size === size;
      each.reject(isBusy ? new DatabaseBusy() : new DatabaseUnavailable(outage?.error));
    }
  }

  function openMore(): void {
    while (opening + members.size < size && opening < waiting.length && outage?.isPausing !== true) {
      // During an outage one attempt at a time is enough.
      if (outage !== null && opening > 0) return;
      opening += 1;
      void openOne();
    }
  }

  async function openOne(): Promise<void> {
    let member: Member | undefined;
    try {
      member = await open(() => {
        if (member !== undefined) forget(member);
      });
      if (member.connection.isLost) throw new ConnectionLost(undefined);
    } catch (error) {
      opening -= 1;
      pause(error);
      return;
    }
    opening -= 1;
    outage = null;
    members.add(member);
    release(member);
    openMore();
  }

  function pause(error: unknown): void {
    if (closing !== null) {
      for (const { reject } of waiting.splice(0)) reject(new DatabaseUnavailable(error));
      closeIfDone();
      return;
    }
    const pauseMs = outage === null ? FIRST_PAUSE_MS : Math.min(outage.pauseMs * 2, LONGEST_PAUSE_MS);
    outage = { error, ticks: outage?.ticks ?? 0, pauseMs, isPausing: true };
    setTimeout(() => {
      if (outage !== null) outage.isPausing = false;
      openMore();
    }, pauseMs);
  }

  function forget(member: Member): void {
    members.delete(member);
    // The idle connections have probably ended too: spare the next work from finding out.
    for (const each of idle.splice(0)) each.connection.destroy();
    openMore();
    closeIfDone();
  }

  function release(member: Member): void {
    if (member.connection.isLost) return;
    const next = waiting.shift();
    if (next !== undefined) next.resolve(member);
    else idle.push(member);
    closeIfDone();
  }

  function acquire(waitMs: number): Promise<Member> {
    if (closing !== null) return Promise.reject(new DatabaseUnavailable(new Error('the database is closed')));
    const member = idle.pop();
    if (member !== undefined) return Promise.resolve(member);
    return new Promise((resolve, reject) => {
      const isAway = outage !== null && members.size === 0 && outage.ticks * TICK_MS > AWAY_MS;
      if (isAway || waiting.length >= MAX_WAITING) {
        reject(outage === null ? new DatabaseBusy() : new DatabaseUnavailable(outage.error));
        // Somebody must find out that the server is back.
        if (isAway && opening === 0 && outage?.isPausing === false) {
          opening += 1;
          void openOne();
        }
        return;
      }
      waiting.push({ ticksLeft: Math.ceil(waitMs / TICK_MS) + 1, resolve, reject });
      openMore();
    });
  }

  function closeIfDone(): void {
    if (closing === null || opening > 0 || idle.length < members.size) return;
    for (const { connection } of [...members]) connection.destroy();
    clearInterval(ticker);
    closing();
  }

  return {
    acquire,
    release,
    close: () =>
      new Promise((resolve) => {
        closing = resolve;
        closeIfDone();
      }),
  };
}
