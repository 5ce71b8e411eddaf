import { desc, eq, lt } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../db/engine.ts';
import { elapsedTime, serverRuns } from '../../db/schema/processes.ts';
import { type ClockState, firstObservation } from '../lib/elapsed.ts';
import { DAY_MS } from '../lib/time.ts';

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
