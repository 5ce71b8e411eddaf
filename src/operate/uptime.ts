import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import { randomToken } from '../lib/text.ts';
import { extendRun, insertRun, listRuns } from './uptime-store.ts';

// Records the times that each process ran, so that a person can look for deliveries missed while none did.

/** How often the server records that it is alive, in milliseconds: the precision of a pause. */
export const BEAT_MS = 60_000;

/** Shorter pauses are restarts: providers do not notice them, or retry after them. */
const SHORTEST_PAUSE_MS = 2 * BEAT_MS;

/** How many runs to search: the last ones of some processes that are restarted often. */
const MAX_RUNS = 200;

/** A time in which no process ran. ISO 8601. */
export interface Pause {
  from: string;
  to: string;
}

export type Uptime = ReturnType<typeof trackUptime>;

/** Names this process in the database and, beside others, in the log: the pid of each container may be 1. */
export function newProcessName(): string {
  return `${hostname()}-${process.pid}-${randomToken(3).toLowerCase()}`;
}

/** The run of one process, and its name. */
export function trackUptime(deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'> & { process: string }) {
  const { db, clock, ids, publicUrl, process } = deps;
  const id = ids.newId('run');
  return {
    /** Begins a run. Resolves with the pause that it ends; null without one. */
    begin: () =>
      db.write(
        async (tx) => {
          const now = clock.now();
          const [before] = await listRuns(tx, 1);
          await insertRun(tx, { id, publicUrl: publicUrl(), process }, now);
          return before === undefined ? null : pauseBetween(before.aliveAt, now.toISOString());
        },
        { key: 'server runs' },
      ),
    /** Records that the server is alive. `giveUpMs`: how long to wait while another process writes. */
    beat: (giveUpMs?: number) =>
      db.write((tx) => extendRun(tx, id, clock.now()), { key: `beat ${id}`, giveUpMs }),
  };
}

/** The newest pause that ended after `since`; null without one. */
export async function findPause({ db }: Pick<Deps, 'db'>, since: string): Promise<Pause | null> {
  const runs = await db.read((tx) => listRuns(tx, MAX_RUNS));
  // Back in time: since when some process has been alive.
  let aliveSince: string | null = null;
  for (const { startedAt, aliveAt } of runs) {
    const pause: Pause | null = aliveSince === null ? null : pauseBetween(aliveAt, aliveSince);
    if (pause !== null) return pause;
    if (aliveSince === null || startedAt < aliveSince) aliveSince = startedAt;
    if (aliveSince <= since) return null;
  }
  return null;
}

function pauseBetween(from: string, to: string): Pause | null {
  return Date.parse(to) - Date.parse(from) >= SHORTEST_PAUSE_MS ? { from, to } : null;
}

/** The prefix of links that a command prints: `PUBLIC_URL`, or else the URL that the server used last; null before. */
export async function findPublicUrl(
  { db }: Pick<Deps, 'db'>,
  { publicUrl }: Pick<Config, 'publicUrl'>,
): Promise<string | null> {
  if (publicUrl !== undefined) return publicUrl;
  const [newest] = await db.read((tx) => listRuns(tx, 1));
  return newest?.publicUrl ?? null;
}
