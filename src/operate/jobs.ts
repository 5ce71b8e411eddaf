import { inCommits, repeatStep } from '../../db/commits.ts';
import type { Storage, WriteTx } from '../../db/engine.ts';
import { DatabaseUnavailable, LeaseLost } from '../../db/failures.ts';
import { deleteExpiredAudit } from '../audit/store.ts';
import { countExpired } from '../deliveries/count-store.ts';
import {
  deleteExpiredClaims,
  deleteExpiredDeliveries,
  deleteExpiredResults,
  deletePastCounts,
} from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import type { Compose } from '../drafts/model.ts';
import { readDueHistories } from '../history/read.ts';
import { deleteExpiredThrottles } from '../http/throttle-store.ts';
import { syncHooks } from '../integrations/sync.ts';
import { imageAccess } from '../integrations/token.ts';
import { type CopyOptions, copyImages } from '../media/copies.ts';
import { sweepFiles } from '../media/service.ts';
import { pollDue } from '../polling/poll.ts';
import { recoverImport } from '../posts/import/staging.ts';
import { publishDuePosts } from '../posts/schedule.ts';
import { deleteExpiredTrash } from '../posts/trash-store.ts';
import { deleteExpiredMessages } from '../rebuild/message-store.ts';
import { createHookSender } from '../rebuild/send.ts';
import { deleteOrphanedRanges } from '../triggers/range-store.ts';
import { readRanges } from '../triggers/ranges.ts';
import { createTriggerWorker, type TriggerDeps } from '../triggers/run.ts';
import { deleteExpiredFormMarks } from '../users/form-mark-store.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../users/store.ts';
import { mediaAddressJob } from './media-addresses.ts';
import { BEAT_MS, type Uptime } from './uptime.ts';

/** Something that the server does by itself. */
export interface Job {
  name: string;
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

/** Rests of jobs that somebody waits for, and of those that ask a provider, whose own waits are longer. */
const SHORT_REST_MS = 1_000;
const LONG_REST_MS = 5_000;

/** The jobs of each process. Several may run them at the same time. */
export function processJobs(
  deps: Deps & Pick<TriggerDeps, 'db'>,
  compose: Compose,
  uptime: Pick<Uptime, 'beat'>,
): Job[] {
  return [
    // Each process collects the uses that it saw.
    { name: 'record-key-usage', every: 1_000, run: () => deps.keys.flush() },
    // One process reads a history at a time, and another takes a run of a trigger.
    {
      name: 'read-histories',
      every: 1_000,
      restMs: LONG_REST_MS,
      run: (signal) => readDueHistories(deps, signal),
    },
    { name: 'run-triggers', every: 250, restMs: SHORT_REST_MS, run: createTriggerWorker(deps, compose) },
    { name: 'beat', every: BEAT_MS, run: () => uptime.beat() },
  ];
}

/** The jobs of the leader. The leader makes the scheduled backups too. */
export function leaderJobs(deps: Deps): Job[] {
  const { clock, log } = deps;
  const runningSince = clock.now();
  return [
    {
      name: 'publish-scheduled',
      every: 1_000,
      run: (signal) => publishDuePosts(deps, { signal, runningSince }),
    },
    { name: 'sync-hooks', every: 2_000, restMs: LONG_REST_MS, run: (signal) => syncHooks(deps, signal) },
    { name: 'poll', every: 1_000, restMs: LONG_REST_MS, run: (signal) => pollDue(deps, signal) },
    { name: 'recover-import', every: 5_000, run: (signal) => recoverImport(deps, signal) },
    mediaAddressJob(deps),
    { name: 'copy-images', every: 500, restMs: SHORT_REST_MS, run: (signal) => copyDueImages(deps, signal) },
    { name: 'read-ranges', every: 500, restMs: SHORT_REST_MS, run: (signal) => readRanges(deps, { signal }) },
    { name: 'send-hooks', every: 100, restMs: SHORT_REST_MS, run: createHookSender(deps) },
    { name: 'sweep-images', every: '17 * * * *', run: (signal) => sweepFiles(deps, signal) },
    {
      name: 'sweep',
      every: '*/5 * * * *',
      async run(signal) {
        const swept = await sweep(deps, clock.now(), signal);
        if (swept.deliveryIds + swept.logs > 0) log.info({ job: 'sweep', ...swept }, 'removed expired rows');
      },
    },
  ];
}

/** With the token of an integration for images at its provider. Returns how many it tried. */
export function copyDueImages(deps: Deps, signal?: AbortSignal): Promise<number> {
  const { plainHosts } = deps;
  const accessOf: CopyOptions['accessOf'] = ({ integrationId, url }) => imageAccess(deps, integrationId, url);
  return copyImages(deps, { accessOf, ...(plainHosts && { plainHosts }) }, signal);
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
      try {
        await job.run(abort.signal, onAlive);
        onAlive();
        metrics.jobs(job.name, 'done').value++;
      } catch (error) {
        metrics.jobs(job.name, 'failed').value++;
        if (error instanceof LeaseLost)
          log.warn({ job: job.name }, 'job ended: another process took it over');
        // The database logs its own outages, once.
        else if (!(error instanceof DatabaseUnavailable))
          log.error({ job: job.name, err: error }, 'job failed');
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

/** Rows of a step. Each is in up to seven indexes. */
const STEP_ROWS = 10;

/**
 * Deletes what has expired at `asOf`: delivery ids after 24 hours, log entries with their results and audit events after
 * their retention, messages of hooks, limits on guessing, marks of forms, and posts in the trash after 30 days. `signal`
 * ends it between two commits.
 */
export async function sweep({ db }: Pick<Deps, 'db'>, asOf: Date, signal?: AbortSignal) {
  async function drain(
    deleteExpired: (tx: WriteTx, asOf: Date, limit: number) => Promise<number>,
  ): Promise<number> {
    let total = 0;
    const deleteSome = (tx: WriteTx, hasTime: () => boolean) =>
      repeatStep(hasTime, () => deleteExpired(tx, asOf, STEP_ROWS));
    // With a key, because deliveries go on meanwhile.
    for await (const deleted of inCommits(db, deleteSome, { key: 'sweep', signal })) total += deleted;
    return total;
  }
  const deliveryIds = await drain(deleteExpiredClaims);
  const logs = await drain(deleteExpiredDeliveries);
  // Not counted: scripts read `logs` as entries of the delivery log.
  const others = [
    deleteExpiredResults,
    deletePastCounts,
    deleteExpiredAudit,
    deleteExpiredThrottles,
    deleteExpiredFormMarks,
    deleteExpiredTrash,
    deleteOrphanedRanges,
    deleteExpiredMessages,
  ];
  for (const deleteExpired of others) await drain(deleteExpired);
  return { deliveryIds, logs, sessions: await db.write((tx) => deleteExpiredSessions(tx, asOf)) };
}

/** Counts the rows that `sweep` would remove. */
export function planSweep({ db }: Pick<Deps, 'db'>, asOf: Date) {
  return db.read(async (tx) => ({
    ...(await countExpired(tx, asOf)),
    sessions: await countExpiredSessions(tx, asOf),
  }));
}
