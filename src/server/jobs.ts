import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type Lease, type Storage, withLease } from '../../db/engine.ts';
import { DatabaseUnavailable, isSystemFailure, LeaseLost } from '../../db/failures.ts';
import { messageOf } from '../lib/app-error.ts';
import type { Deps } from '../people/deps.ts';

/** Something that the server does by itself. */
export interface Job {
  name: string;
  /** A sentence about what readers and people notice while it fails. */
  effect: string;
  /** A number of milliseconds, or a cron expression in UTC. */
  every: number | string;
  /**
   * How long it rests while nobody writes to the database, in milliseconds: how late it may be for what falls due by
   * itself, such as a retry. Absent: it runs at every beat.
   */
  restMs?: number;
  /**
   * `signal` is aborted when the process stops or no longer leads; `onAlive` may be called to say that a long run is not
   * stuck.
   */
  run(signal: AbortSignal, onAlive?: () => void): Promise<unknown>;
}

export type RunningJobs = ReturnType<typeof startJobs>;

/**
 * Runs each job on its beat until `stop`, unless it rests. None overlaps itself. A failure is logged unless the database is
 * away, and each run is counted. `elapsedMs` is a clock that never goes back.
 */
export function startJobs(
  jobs: readonly Job[],
  { db, log, metrics }: Pick<Deps, 'log' | 'metrics'> & { db: Pick<Storage, 'version'> },
  elapsedMs = () => performance.now(),
) {
  const abort = new AbortController();
  const aliveAt = new Map<string, number>();

  const started = jobs.map((job) => {
    let running: Promise<void> | null = null;
    const onAlive = () => void aliveAt.set(job.name, elapsedMs());
    onAlive();
    async function run(): Promise<void> {
      const { effect } = job;
      const startedAt = elapsedMs();
      const agoMs = () => elapsedMs() - startedAt;
      metrics.runningJobs.set(job.name, { agoMs, effect });
      try {
        await job.run(abort.signal, onAlive);
        onAlive();
        metrics.jobs(job.name, 'done').value++;
        metrics.failingJobs.delete(job.name);
      } catch (error) {
        metrics.jobs(job.name, 'failed').value++;
        if (error instanceof LeaseLost)
          return log.warn({ job: job.name }, 'job ended: another process took it over');
        // The database logs its own outages, once.
        if (error instanceof DatabaseUnavailable) return;
        log.error({ job: job.name, err: error }, 'job failed');
        const { inARow, ...first } = metrics.failingJobs.get(job.name) ?? { inARow: 0, agoMs, effect };
        metrics.failingJobs.set(job.name, { ...first, inARow: inARow + 1, reason: messageOf(error) });
      } finally {
        metrics.runningJobs.delete(job.name);
      }
    }
    const tick = () => {
      running ??= run().finally(() => {
        running = null;
      });
    };
    const cron = typeof job.every === 'string' ? Bun.cron(job.every, tick, { tz: 'UTC' }) : null;
    const mayRest = restOf(job, elapsedMs);
    return {
      ...job,
      onBeat: (version: number | null) => void (running === null && !mayRest(version) && tick()),
      stop() {
        cron?.stop();
        return running;
      },
    };
  });
  const stopBeats = startBeats(started, db);

  return {
    /** Waits for what runs. */
    async stop() {
      abort.abort();
      stopBeats();
      await Promise.all(started.map(({ stop }) => stop()));
    },
    /** Milliseconds since the job of that name last ended well, or said that it is alive; since the start at first. */
    silentMs: (name: string) => elapsedMs() - (aliveAt.get(name) ?? 0),
  };
}

/**
 * One timer for all beats: waking an idle process up costs more than what it then does. A beat is rounded to a multiple of
 * the shortest one. Returns how to stop it.
 */
function startBeats(
  jobs: readonly (Pick<Job, 'every'> & { onBeat: (version: number | null) => void })[],
  db: Pick<Storage, 'version'>,
): () => void {
  const beating = jobs.flatMap(({ every, onBeat }) => (typeof every === 'number' ? { every, onBeat } : []));
  if (beating.length === 0) return () => undefined;
  const shortest = Math.min(...beating.map(({ every }) => every));
  let beat = 0;
  const timer = setInterval(() => {
    beat++;
    const version = db.version();
    for (const { every, onBeat } of beating) if (beat % Math.round(every / shortest) === 0) onBeat(version);
  }, shortest);
  return () => clearInterval(timer);
}

/** Tells at each beat whether the job may rest: nothing was written since its last run began, its own writes included. */
function restOf({ restMs }: Job, elapsedMs: () => number): (version: number | null) => boolean {
  if (restMs === undefined) return () => false;
  let lastVersion: number | null = null;
  let startedAt = 0;
  return (version) => {
    const now = elapsedMs();
    if (version !== null && version === lastVersion && now - startedAt < restMs) return true;
    lastVersion = version;
    startedAt = now;
    return false;
  };
}

// One process on each database is the leader: it holds the lease `leader` and runs the jobs that must not run
// twice at a time. The only server on a SQLite file leads from its start.

/** How often a process tries to become the leader, in milliseconds. */
const TRY_MS = 1_000;

/** How often the leader looks whether it still is, in milliseconds. A lease counts as lost a second before it ends. */
const CHECK_MS = 250;

/** How long a process that lost the lease waits for its jobs before it tries again, in milliseconds: one may never end. */
const STOP_MS = 60_000;

type Needs = Pick<Deps, 'log' | 'metrics'> & { db: Storage & Pick<Database, 'lease'> };

export type Leadership = ReturnType<typeof startLeader>;

/**
 * Becomes the leader as soon as no other process is, and then runs the jobs. They get a `Storage` whose writes fail with
 * `LeaseLost` once another process leads, so that a process that was frozen changes nothing when it wakes up. Losing the
 * lease aborts them.
 */
export function startLeader(
  { db, log, metrics }: Needs,
  jobsOf: (db: Storage) => readonly Job[],
  stopMs = STOP_MS,
) {
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
    const stopped = jobs.stop();
    // A job that runs on is like one of a process that was frozen: its writes fail.
    if (!signal.aborted) await Promise.race([stopped, rest(stopMs)]);
    if (signal.aborted) await stopped;
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
