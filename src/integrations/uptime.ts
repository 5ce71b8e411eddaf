import { hostname } from 'node:os';
import { desc, eq, lt } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { elapsedTime, serverRuns } from '../../db/schema/processes.ts';
import { randomToken } from '../lib/text.ts';
import { type ClockState, DAY_MS, firstObservation } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';

/** How long ended runs are kept. */
const KEPT_MS = 30 * DAY_MS;

/** Begins a run, and deletes runs that ended long ago. */
export async function insertRun(
  tx: WriteTx,
  run: Pick<typeof serverRuns.$inferSelect, 'id' | 'publicUrl' | 'process'>,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  const oldest = new Date(now.getTime() - KEPT_MS).toISOString();
  await tx.delete(serverRuns).where(lt(serverRuns.aliveAt, oldest));
  await tx.insert(serverRuns).values({ ...run, startedAt: at, aliveAt: at });
}

export async function extendRun(tx: WriteTx, id: string, now: Date): Promise<void> {
  await tx.update(serverRuns).set({ aliveAt: now.toISOString() }).where(eq(serverRuns.id, id));
}

/** The one that was alive last comes first. */
export async function listRuns(tx: ReadTx, limit: number): Promise<(typeof serverRuns.$inferSelect)[]> {
  return tx.select().from(serverRuns).orderBy(desc(serverRuns.aliveAt)).limit(limit);
}

/** The stored observation of the clocks. Before the first one: the last time that a server was alive. */
export async function findObservation(tx: ReadTx): Promise<ClockState | null> {
  const stored = await tx.select().from(elapsedTime).get();
  if (stored !== undefined) return stored;
  const [run] = await listRuns(tx, 1);
  if (run === undefined) return null;
  return firstObservation({ wallMs: Date.parse(run.aliveAt), boot: { id: '', ms: () => 0 } });
}

export async function saveObservation(tx: WriteTx, observation: ClockState): Promise<void> {
  await tx.delete(elapsedTime);
  await tx.insert(elapsedTime).values({ ...observation, id: 1 });
}

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
  { publicUrl }: { publicUrl: string | undefined },
): Promise<string | null> {
  if (publicUrl !== undefined) return publicUrl;
  const [newest] = await db.read((tx) => listRuns(tx, 1));
  return newest?.publicUrl ?? null;
}
