import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type Lease, type Storage, withLease } from '../../db/engine.ts';
import { isSystemFailure } from '../../db/failures.ts';
import type { Deps } from '../deps.ts';
import { type Job, startJobs } from './jobs.ts';

// One process on each database is the leader: it holds the lease `leader` and runs the jobs that must not run
// twice at a time. The only server on a SQLite file leads from its start.

/** How often a process tries to become the leader, in milliseconds. */
const TRY_MS = 1_000;

/** How often the leader looks whether it still is, in milliseconds. A lease counts as lost a second before it ends. */
const CHECK_MS = 250;

type Needs = Pick<Deps, 'log' | 'metrics'> & { db: Storage & Pick<Database, 'lease'> };

export type Leadership = ReturnType<typeof startLeader>;

/**
 * Becomes the leader as soon as no other process is, and then runs the jobs. They get a `Storage` whose writes fail with
 * `LeaseLost` once another process leads, so that a process that was frozen changes nothing when it wakes up. Losing the
 * lease aborts them.
 */
export function startLeader({ db, log, metrics }: Needs, jobsOf: (db: Storage) => readonly Job[]) {
  const abort = new AbortController();
  const { signal } = abort;
  let held: Lease | null = null;
  const isLeader = () => held?.isHeld() ?? false;
  metrics.registry.gauge('tidings_leader', '1 on the process that runs the single-instance jobs.', () =>
    Number(isLeader()),
  );
  /** Ends early when the server stops. */
  const rest = (ms: number) => sleep(ms, undefined, { signal }).catch(() => undefined);

  async function lead(lease: Lease): Promise<void> {
    held = lease;
    const jobs = startJobs(jobsOf(withLease(db, lease)), { db, log, metrics });
    while (!signal.aborted && lease.isHeld()) await rest(CHECK_MS);
    if (!signal.aborted) log.warn('stopped the jobs of the leader: another process may be the leader now');
    await jobs.stop();
    await lease.release();
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const lease = await db.lease(['leader']);
        if (lease !== null) await lead(lease);
      } catch (error) {
        // The database logs its own outages.
        if (!isSystemFailure(error)) log.error({ err: error }, 'could not become the leader');
      }
      await rest(TRY_MS);
    }
  }

  const running = run();
  return {
    isLeader,
    /** Aborts the jobs, waits for what runs, and lets another process lead. */
    stop() {
      abort.abort();
      return running;
    },
  };
}
