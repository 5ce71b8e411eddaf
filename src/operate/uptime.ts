import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import { extendRun, insertRun, listRuns } from './uptime-store.ts';

// Records the times that the server ran, so that a person can look for deliveries missed in between.

/** How often the server records that it is alive, in milliseconds: the precision of a pause. */
export const BEAT_MS = 60_000;

/** Shorter pauses are restarts: providers do not notice them, or retry after them. */
const SHORTEST_PAUSE_MS = 2 * BEAT_MS;

/** How many runs to search: after many restarts in a row the longest pause counts. */
const MAX_RUNS = 50;

/** A time in which the server did not run. ISO 8601. */
export interface Pause {
  from: string;
  to: string;
}

export type Uptime = ReturnType<typeof trackUptime>;

/** The run of one server. */
export function trackUptime(deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'>) {
  const { db, clock, ids, publicUrl } = deps;
  const id = ids.newId('run');
  return {
    /** Begins a run. Resolves with the pause before it; null without one. */
    begin: () =>
      db.write(async (tx) => {
        const now = clock.now();
        const [before] = await listRuns(tx, 1);
        await insertRun(tx, id, publicUrl(), now);
        return before === undefined ? null : pauseBetween(before.aliveAt, now.toISOString());
      }),
    /** Records that the server is alive. `giveUpMs`: how long to wait while another process writes. */
    beat: (giveUpMs?: number) => db.write((tx) => extendRun(tx, id, clock.now()), { giveUpMs }),
  };
}

/** The newest pause that ended after `since`; null without one. */
export async function findPause({ db }: Pick<Deps, 'db'>, since: string): Promise<Pause | null> {
  const runs = await db.read((tx) => listRuns(tx, MAX_RUNS));
  for (const [index, run] of runs.entries()) {
    const before = runs[index + 1];
    if (before === undefined || run.startedAt <= since) return null;
    const pause = pauseBetween(before.aliveAt, run.startedAt);
    if (pause !== null) return pause;
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
