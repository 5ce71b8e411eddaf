import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { eq, max } from 'drizzle-orm';
import type { Database } from '../../db/engine.ts';
import { attention, serverRuns } from '../../db/schema/processes.ts';
import { BEAT_MS } from '../integrations/uptime.ts';
import { tidings } from '../lib/build.ts';
import { freeBytes, megabytes } from '../lib/disk.ts';
import type { AttentionKind, FoundItem } from '../people/attention.ts';
import type { Deps } from '../people/deps.ts';
import type { Find } from './attention-items.ts';
import { describeBackupTrouble } from './backup/job.ts';
import type { Config } from './config.ts';
import { listLeftovers } from './data-folder.ts';
import { describeJump, type Elapsed } from './elapsed.ts';
import { MIN_FREE_BYTES } from './readiness.ts';

// Items about the server itself: its machine, its jobs, and whether any process runs.

/** Runs of a job that fail in a row before it is no accident. */
const MAX_FAILED_RUNS = 3;

/** A process that is silent for this long has ended, in milliseconds. */
const ENDED_MS = 3 * BEAT_MS;

/** A command may be at work on younger files, in milliseconds. */
const LEFT_MS = 3_600_000;

const ofServer = (
  item: Pick<FoundItem, 'kind' | 'message' | 'effect' | 'action'> & Partial<FoundItem>,
): FoundItem => ({
  ...{ organizationId: null, subject: 'server', since: null, count: 1, path: null },
  ...item,
});

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
      effect: 'Deliveries are refused, scheduled posts wait, and readers cannot load posts.',
      action: `${tidings} serve`,
    }),
  ];
};

/** Jobs that fail, as the leader last saw them: only its process counts. Empty once no server runs. */
export const findFailingJobs: Find = async (tx, now) => {
  if ((await findStoppedServer(tx, now)).length > 0) return [];
  const kept = await tx
    .select()
    .from(attention)
    .where(eq(attention.kind, 'job_failing' satisfies AttentionKind))
    .all();
  return kept.map(({ id: _, mutedUntil: __, ...item }) => item);
};

export type MachineNeeds = Pick<Deps, 'clock'> & {
  elapsed: Pick<Elapsed, 'jumpMs'>;
  checkpointFailures?: Database['checkpointFailures'] | undefined;
  /** Absent for a command, which runs no jobs. */
  metrics?: Pick<Deps['metrics'], 'failingJobs'>;
};
export type MachineSettings = Pick<Config, 'dataDir' | 'backups' | 'database'>;

/** The items that this machine tells of. */
export async function findOnMachine(
  { clock, elapsed, checkpointFailures, metrics }: MachineNeeds,
  config: MachineSettings,
): Promise<FoundItem[]> {
  const isSqlite = config.database === undefined;
  const backup = isSqlite ? await describeBackupTrouble(config, clock.now()) : null;
  const free = isSqlite ? freeBytes(config.dataDir) : null;
  const jump = describeJump(elapsed.jumpMs());
  const { inARow = 0, cause = null } = checkpointFailures?.() ?? {};
  const leftovers = isSqlite ? listOldLeftovers(config.dataDir, clock.now()) : [];
  const items = [
    backup !== null &&
      !backup.isReminder &&
      ofServer({
        kind: 'backup_failed',
        message: backup.message,
        effect: 'After a loss of this disk, newer posts and deliveries would be gone.',
        action: backup.advice,
      }),
    free !== null &&
      free < MIN_FREE_BYTES &&
      ofServer({
        kind: 'disk_full',
        message: `Only ${megabytes(free)} are free on the disk of ${config.dataDir}`,
        effect: 'Deliveries are refused until there is room.',
        action: 'Free up disk space',
      }),
    jump !== null &&
      ofServer({
        kind: 'clock_jumped',
        message: jump.problem,
        effect: 'Old log entries stay longer. Deliveries and posts are not affected.',
        action: jump.advice,
      }),
    inARow > 0 &&
      ofServer({
        kind: 'checkpoint_failing',
        message: `The write-ahead log cannot be copied into the database (${cause})`,
        effect: 'The log grows until the disk is full. Then deliveries are refused.',
        action: 'Look for read-only or faulty storage in the log of the server and of the machine',
      }),
    leftovers.length > 0 &&
      ofServer({
        kind: 'upgrade_unfinished',
        count: leftovers.length,
        message: `An unfinished upgrade or restore left ${leftovers.map(({ path }) => basename(path)).join(', ')}`,
        effect: 'The files take as much room as the database. Readers notice nothing.',
        action: 'Restart the server, which removes them',
      }),
    ...Array.from(metrics?.failingJobs ?? [], ([name, { inARow: failures, reason }]) => {
      return (
        failures >= MAX_FAILED_RUNS &&
        ofServer({
          kind: 'job_failing',
          subject: name,
          count: failures,
          message: `The job ${name} has failed ${failures} times in a row (${reason})`,
          effect: 'Its work waits until a run succeeds.',
          action: "Look at the server's log",
        })
      );
    }),
  ];
  return items.filter((item) => item !== false);
}

function listOldLeftovers(folder: string, now: Date) {
  const before = now.getTime() - LEFT_MS;
  return listLeftovers(folder).filter(({ path }) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && stats.mtimeMs < before;
  });
}
