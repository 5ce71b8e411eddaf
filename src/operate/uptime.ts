import type { Database } from '../../db/client.ts';
import type { Config } from '../config.ts';
import type { Deps } from '../deps.ts';
import { extendRun, insertRun, lastPublicUrl, listRuns } from './uptime-store.ts';

// When the server did not run, so that what was delivered meanwhile can be looked for.

/** How often the server says that it runs, in milliseconds: what a pause is known to. */
export const BEAT_MS = 60_000;

/** A shorter one is a restart, which providers do not notice or try again after. */
const SHORTEST_PAUSE_MS = 2 * BEAT_MS;

/** How many runs are looked at: of many restarts in a row the longest pause counts. */
const RUNS_LOOKED_AT = 50;

/** A time in which the server did not run. ISO 8601. */
export interface Pause {
  from: string;
  to: string;
}

export interface Uptime {
  /** Begins a run. Resolves with the pause that came before it; null when there was none worth a word. */
  begin(): Promise<Pause | null>;
  /** Records that the server is alive. `giveUpMs`: how long to wait while another process writes. */
  beat(giveUpMs?: number): Promise<void>;
}

/** The run of one server. */
export function trackUptime({
  db,
  clock,
  ids,
  publicUrl,
}: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl'>): Uptime {
  const id = ids.newId('run');
  return {
    async begin() {
      const now = clock.now();
      const [before] = await listRuns(db, 1);
      await insertRun(db, id, publicUrl(), now);
      return before === undefined ? null : pauseBetween(before.aliveAt, now.toISOString());
    },
    beat: (giveUpMs) => extendRun(db, id, clock.now(), giveUpMs),
  };
}

/** The newest pause that ended after `since`; null without one. */
export async function findPause({ db }: Pick<Deps, 'db'>, since: string): Promise<Pause | null> {
  const runs = await listRuns(db, RUNS_LOOKED_AT);
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

/**
 * The prefix of links that a command prints: `PUBLIC_URL`, or else the URL that the server used last.
 * Null when nobody has said one yet.
 */
export function knownPublicUrl({ publicUrl }: Pick<Config, 'publicUrl'>, db: Database): string | null {
  return publicUrl ?? lastPublicUrl(db);
}
