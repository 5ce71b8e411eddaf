import { desc, eq, lt } from 'drizzle-orm';
import type { Database } from '../../db/client.ts';
import { serverRuns } from '../../db/schema/index.ts';

/** A time that the server ran. ISO 8601. */
interface ServerRun {
  id: string;
  /** The prefix of its links. */
  publicUrl: string;
  startedAt: string;
  aliveAt: string;
}

/** Of runs that ended longer ago than this nothing is kept, in milliseconds. */
const KEPT_MS = 30 * 86_400_000;

/** Begins a run, and forgets those that ended long ago. */
export function insertRun(db: Database, id: string, publicUrl: string, now: Date): Promise<void> {
  const at = now.toISOString();
  return db.write(() => {
    db.delete(serverRuns)
      .where(lt(serverRuns.aliveAt, new Date(now.getTime() - KEPT_MS).toISOString()))
      .run();
    db.insert(serverRuns).values({ id, publicUrl, startedAt: at, aliveAt: at }).run();
  });
}

/** The run is known to go on at this time. */
export function extendRun(db: Database, id: string, now: Date, giveUpMs?: number): Promise<void> {
  const extend = () => {
    db.update(serverRuns).set({ aliveAt: now.toISOString() }).where(eq(serverRuns.id, id)).run();
  };
  return db.write(extend, { giveUpMs });
}

/** The newest runs, the newest first. */
export async function listRuns(db: Database, limit: number): Promise<ServerRun[]> {
  return db.select().from(serverRuns).orderBy(desc(serverRuns.startedAt)).limit(limit).all();
}

/** The public URL of the newest run; null before the first. */
export function lastPublicUrl(db: Database): string | null {
  const newest = db
    .select({ publicUrl: serverRuns.publicUrl })
    .from(serverRuns)
    .orderBy(desc(serverRuns.startedAt))
    .limit(1)
    .get();
  return newest?.publicUrl ?? null;
}
