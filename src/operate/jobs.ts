import type { WriteTx } from '../../db/engine.ts';
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
   * `signal` is aborted when the process stops or no longer leads; `onAlive` may be called to say that a long run is not
   * stuck.
   */
  run(signal: AbortSignal, onAlive?: () => void): Promise<unknown>;
}

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
    { name: 'read-histories', every: 1_000, run: (signal) => readDueHistories(deps, signal) },
    { name: 'run-triggers', every: 250, run: createTriggerWorker(deps, compose) },
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
    { name: 'sync-hooks', every: 2_000, run: (signal) => syncHooks(deps, signal) },
    { name: 'poll', every: 1_000, run: (signal) => pollDue(deps, signal) },
    { name: 'recover-import', every: 5_000, run: (signal) => recoverImport(deps, signal) },
    mediaAddressJob(deps),
    { name: 'copy-images', every: 500, run: (signal) => copyDueImages(deps, signal) },
    { name: 'read-ranges', every: 500, run: (signal) => readRanges(deps, { signal }) },
    { name: 'send-hooks', every: 100, run: createHookSender(deps) },
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
 * Runs each job on its beat until `stop`. None overlaps itself. A failure is logged unless the database is away, and each
 * run is counted. `elapsedMs` is a clock that never goes back.
 */
export function startJobs(
  jobs: readonly Job[],
  { log, metrics }: Pick<Deps, 'log' | 'metrics'>,
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
    const timer = typeof job.every === 'number' ? setInterval(tick, job.every) : undefined;
    return () => {
      cron?.stop();
      clearInterval(timer);
      return running;
    };
  });

  return {
    /** Waits for what runs. */
    async stop() {
      abort.abort();
      await Promise.all(started.map((stop) => stop()));
    },
    /** Milliseconds since the job of that name last ended well, or said that it is alive; since the start at first. */
    silentMs: (name: string) => elapsedMs() - (aliveAt.get(name) ?? 0),
  };
}

/** Rows of a batch. It takes about a millisecond, so that a request hardly waits. */
const BATCH = 100;

/** How long the sweeper rests after a full batch, so that requests hardly wait. A sweep then takes twice as long. */
const REST_MS = 5;

/**
 * Deletes what has expired at `asOf`: delivery ids after 24 hours, log entries with their results and audit events after
 * their retention, messages of hooks, limits on guessing, marks of forms, and posts in the trash after 30 days. In small
 * batches, each a commit of its own, with a rest between them. `signal` ends it early, between two batches.
 */
export async function sweep({ db }: Pick<Deps, 'db'>, asOf: Date, signal?: AbortSignal) {
  // With a key, because deliveries go on meanwhile.
  const drainWith = (deleteExpired: (tx: WriteTx, asOf: Date, limit: number) => Promise<number>) =>
    drain(() => db.write((tx) => deleteExpired(tx, asOf, BATCH), { key: 'sweep' }), signal);
  const deliveryIds = await drainWith(deleteExpiredClaims);
  const logs = await drainWith(deleteExpiredDeliveries);
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
  for (const deleteExpired of others) await drainWith(deleteExpired);
  return { deliveryIds, logs, sessions: await db.write((tx) => deleteExpiredSessions(tx, asOf)) };
}

/** Counts the rows that `sweep` would remove. */
export function planSweep({ db }: Pick<Deps, 'db'>, asOf: Date) {
  return db.read(async (tx) => ({
    ...(await countExpired(tx, asOf)),
    sessions: await countExpiredSessions(tx, asOf),
  }));
}

async function drain(deleteBatch: () => Promise<number>, signal?: AbortSignal): Promise<number> {
  let total = 0;
  while (signal?.aborted !== true) {
    const deleted = await deleteBatch();
    total += deleted;
    if (deleted < BATCH) break;
    await Bun.sleep(REST_MS);
  }
  return total;
}
