import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { eq, gt, max, min } from 'drizzle-orm';
import type { Database, ReadTx } from '../../db/engine.ts';
import { attention, elapsedTime, serverRuns } from '../../db/schema/processes.ts';
import { BEAT_MS } from '../integrations/uptime.ts';
import { tidings } from '../lib/build.ts';
import { freeBytes, megabytes } from '../lib/disk.ts';
import { formatInZone, HOUR_MS } from '../lib/time.ts';
import { type AttentionKind, beginAttention, type Find, type FoundItem } from '../people/attention.ts';
import type { Deps } from '../people/deps.ts';
import { queueNotices } from '../readers/hooks/notices.ts';
import { describeBackupTrouble, NO_BACKUP } from './backup/job.ts';
import type { Config } from './config.ts';
import { listLeftovers } from './data-folder.ts';
import { describeJump, type Elapsed } from './elapsed.ts';
import type { Job } from './jobs.ts';
import { MIN_FREE_BYTES } from './readiness.ts';

// Items about the server itself: its machine, its jobs, and whether any process runs.

/** Runs of a job that fail in a row before it is no accident. */
const MAX_FAILED_RUNS = 3;

/** A job that has run for this long does not end, in milliseconds. */
const HANGS_MS = HOUR_MS;

/** A process that is silent for this long has ended, in milliseconds. */
const ENDED_MS = 3 * BEAT_MS;

/** The leader sweeps every five minutes; without one for this long, in milliseconds, nobody leads. */
const UNLED_MS = 900_000;

/** A command may be at work on younger files, in milliseconds. */
const LEFT_MS = 3_600_000;

const ofServer = (
  item: Pick<FoundItem, 'kind' | 'message' | 'effect' | 'action'> & Partial<FoundItem>,
): FoundItem => ({ organizationId: null, subject: 'server', path: null, ...item });

/** Nobody sweeps, drafts or publishes. Only a command can find it. */
export const findStoppedServer: Find = async (tx, now) => {
  const row = await tx
    .select({ aliveAt: max(serverRuns.aliveAt) })
    .from(serverRuns)
    .get();
  const aliveAt = row?.aliveAt ?? null;
  if (aliveAt === null || now.getTime() - Date.parse(aliveAt) < ENDED_MS) return [];
  return [
    ofServer({
      kind: 'server_stopped',
      since: aliveAt,
      message: 'No server runs',
      effect: 'Deliveries are rejected, scheduled posts wait, and readers cannot load posts.',
      action: `${tidings} serve`,
    }),
  ];
};

const missingLeader = (at: string) =>
  ofServer({
    kind: 'leader_missing',
    since: at,
    message: `No process has done the work of the leader since ${formatInZone(at, 'UTC')}`,
    effect: 'Scheduled posts, hooks, and polling wait, and Attention is not up to date.',
    action: "Restart the server. Its log says what stopped the leader's jobs",
  });

/**
 * Processes that are alive while nobody has done the leader's work, such as after a job that does not end. Each sweep of the
 * leader leaves its time. For commands: servers use `leaderWatch`, which no clock that jumps can fool.
 */
export const findMissingLeader: Find = async (tx, now) => {
  const kept = await findUnswept(tx, now);
  if (kept.length > 0) return kept;
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const { startedAt, aliveAt } = serverRuns;
  const alive = await tx
    .select({ startedAt: min(startedAt) })
    .from(serverRuns)
    .where(gt(aliveAt, before(ENDED_MS)))
    .get();
  const sweptMs = await findSweepMs(tx);
  if (alive?.startedAt == null || sweptMs === null) return [];
  const at = new Date(sweptMs).toISOString();
  if (alive.startedAt > before(UNLED_MS) || at > before(UNLED_MS)) return [];
  return [missingLeader(at)];
};

/**
 * Watches in each process whether the leader sweeps, and keeps the item that nobody else can. The next leader ends it once
 * it has swept.
 */
export function leaderWatch(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'publicUrl' | 'log'>,
  elapsedMs = () => performance.now(),
): Job {
  let lastMs: number | null = null;
  let changedAt = elapsedMs();
  return {
    name: 'watch-leader',
    effect: 'Nobody is told when the jobs of the leader stop.',
    every: BEAT_MS,
    async run() {
      const sweptMs = await deps.db.read(findSweepMs);
      if (sweptMs !== lastMs) changedAt = elapsedMs();
      lastMs = sweptMs;
      if (lastMs === null || elapsedMs() - changedAt < UNLED_MS) return;
      const item = missingLeader(new Date(lastMs).toISOString());
      const isNew = await beginAttention(deps.db, item, deps.clock.now(), (tx, begun) =>
        queueNotices(tx, deps, { begun, ended: [] }),
      );
      if (isNew) deps.log.error({ item: item.kind }, `needs attention: ${item.message}`);
    },
  };
}

/** The item of `leaderWatch` until the leader has swept. */
export const findUnswept: Find = async (tx) => {
  const sweptMs = (await findSweepMs(tx)) ?? 0;
  const kept = await listKept(tx, 'leader_missing');
  return kept.filter(({ since }) => Date.parse(since ?? '') >= sweptMs);
};

/** The time of the last sweep by the wall clock; null before the first. */
async function findSweepMs(tx: ReadTx): Promise<number | null> {
  const seen = await tx.select({ wallMs: elapsedTime.wallMs }).from(elapsedTime).get();
  return seen?.wallMs ?? null;
}

/** Kinds that only the process of the leader can count. */
export const LEADER_KINDS = ['checkpoint_failing', 'job_failing'] as const satisfies AttentionKind[];

/** Finds items as the leader last saw them. Empty once no server runs. */
export const findKept =
  (kind: (typeof LEADER_KINDS)[number]): Find =>
  async (tx, now) => {
    if ((await findStoppedServer(tx, now)).length > 0) return [];
    return listKept(tx, kind);
  };

async function listKept(tx: ReadTx, kind: AttentionKind): Promise<FoundItem[]> {
  const kept = await tx.select().from(attention).where(eq(attention.kind, kind)).all();
  return kept.map(({ id: _, mutedUntil: __, ...item }) => item);
}

export type MachineNeeds = Pick<Deps, 'clock'> & {
  elapsed: Pick<Elapsed, 'jumpMs'>;
  checkpointFailures?: Database['checkpointFailures'] | undefined;
  /** Absent for a command, which runs no jobs. */
  metrics?: Pick<Deps['metrics'], 'failingJobs' | 'runningJobs'>;
};
export type MachineSettings = Pick<Config, 'dataDir' | 'backups' | 'database'>;

export async function findOnMachine(
  { clock, elapsed, checkpointFailures, metrics }: MachineNeeds,
  config: MachineSettings,
): Promise<FoundItem[]> {
  const isSqlite = config.database === undefined;
  const backup = isSqlite ? await describeBackupTrouble(config, clock.now()) : null;
  const full = isSqlite ? describeFullDisk(config.dataDir, freeBytes(config.dataDir)) : null;
  const jump = describeJump(elapsed.jumpMs());
  const { inARow = 0, cause = null } = checkpointFailures?.() ?? {};
  const leftovers = isSqlite ? listOldLeftovers(config.dataDir, clock.now()) : [];
  const unfinished = describeLeftovers(leftovers);
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
  const isFailing = (name: string) => (metrics?.failingJobs.get(name)?.inARow ?? 0) >= MAX_FAILED_RUNS;
  const items = [
    backup !== null &&
      !backup.isReminder &&
      ofServer({
        kind: 'backup_failed',
        since: backup.since ?? null,
        message: backup.message,
        effect: NO_BACKUP,
        action: backup.advice,
      }),
    full !== null &&
      ofServer({
        kind: 'disk_full',
        message: full.problem,
        effect:
          'Deliveries are rejected, and nobody can publish until there is room. Readers see what is published.',
        action: full.advice,
      }),
    jump !== null &&
      ofServer({
        kind: 'clock_jumped',
        message: jump.problem,
        effect: 'Expired log entries stay. Deliveries and posts are not affected.',
        action: jump.advice,
      }),
    inARow > 0 &&
      ofServer({
        kind: 'checkpoint_failing',
        count: inARow,
        message: `The write-ahead log cannot be copied into the database (${cause})`,
        effect: 'The log grows until the disk is full. Then deliveries are rejected, and nobody can publish.',
        action: `Check whether the disk of ${config.dataDir} is full, read-only, or faulty, then restart the server`,
      }),
    unfinished !== null &&
      ofServer({
        kind: 'upgrade_unfinished',
        message: unfinished.problem,
        effect: 'The files take as much room as the database. Readers notice nothing.',
        action: unfinished.advice,
      }),
    ...Array.from(metrics?.failingJobs ?? [], ([name, { inARow: failures, reason, agoMs, effect }]) => {
      return (
        isFailing(name) &&
        ofServer({
          kind: 'job_failing',
          subject: name,
          since: ago(agoMs()),
          count: failures,
          message: `The job ${name} has failed ${failures} times in a row (${reason})`,
          effect,
          action: `Restart the server. If it goes on, search its log for the job ${name}`,
        })
      );
    }),
    ...Array.from(metrics?.runningJobs ?? [], ([name, { agoMs, effect }]) => {
      const ms = agoMs();
      // An overdue backup is an item of its own.
      return (
        ms >= HANGS_MS &&
        name !== 'backup' &&
        !isFailing(name) &&
        ofServer({
          kind: 'job_failing',
          subject: name,
          since: ago(ms),
          message: `The job ${name} does not end`,
          effect,
          action: 'Restart the server',
        })
      );
    }),
  ];
  return items.filter((item) => item !== false);
}

export const DISK_ADVICE = 'Free up disk space, or move the data folder to a larger disk';

/** A disk that is nearly full, in words; null otherwise. */
export function describeFullDisk(folder: string, free: number | null) {
  if (free === null || free >= MIN_FREE_BYTES) return null;
  return { problem: `Only ${megabytes(free)} are free on the disk of ${folder}`, advice: DISK_ADVICE };
}

/** Files that an unfinished command left, in words; null without any. */
export function describeLeftovers(leftovers: ReturnType<typeof listLeftovers>) {
  if (leftovers.length === 0) return null;
  const bytes = leftovers.reduce((sum, each) => sum + each.bytes, 0);
  const names = leftovers.map(({ path }) => basename(path)).join(', ');
  return {
    problem: `An unfinished upgrade or restore left ${megabytes(bytes)}: ${names}`,
    advice: 'Restart the server, which removes them',
  };
}

function listOldLeftovers(folder: string, now: Date) {
  const before = now.getTime() - LEFT_MS;
  return listLeftovers(folder).filter(({ path }) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && stats.mtimeMs < before;
  });
}
