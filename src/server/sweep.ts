import { inCommits, type ReadTx, repeatStep, type WriteTx } from '../../db/engine.ts';
import { deleteOrphanedRanges } from '../drafting/triggers/range-store.ts';
import {
  countExpiredClaims,
  countExpiredEntries,
  FIRST_COUNT,
  foldPastCounts,
} from '../integrations/deliveries/count-store.ts';
import {
  deleteExpiredClaims,
  deleteExpiredDeliveries,
  deleteExpiredResults,
} from '../integrations/deliveries/store.ts';
import { imageAccess } from '../integrations/token.ts';
import { BEAT_MS, listRuns } from '../integrations/uptime.ts';
import { type AuditContext, deleteExpiredAudit } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { deleteExpiredFormMarks, deleteExpiredThrottles } from '../people/guard.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../people/store.ts';
import { type CopyOptions, copyImages } from '../posts/media/copies.ts';
import { type AddressPosition, FIRST_POSITION, replaceAddresses } from '../posts/media/store.ts';
import { deleteExpiredTrash } from '../posts/trash.ts';
import { deleteExpiredMessages } from '../readers/hooks/message-store.ts';
import { deleteExpiredSlugs } from '../readers/public/store.ts';
import type { Elapsed } from './elapsed.ts';
import type { Job } from './jobs.ts';
import { removeOrganizations } from './removal.ts';

/** How many times as many counts are looked at in a step as rows of a log are removed: they are small. */
const COUNTS = 20;

type Needs = Pick<Deps, 'db'> & AuditContext & { elapsed: Elapsed };

interface SweepOptions {
  /** A person vouches that the rows that expired by this time may go. Absent: as elapsed time allows. */
  confirmed?: Date | undefined;
  /** Ends the sweep between two commits. */
  signal?: AbortSignal | undefined;
}

/**
 * Deletes what has expired: delivery ids after 24 hours, log entries with their results and audit events after their
 * retention, messages of hooks, limits on guessing, marks of forms, former slugs after a year, and posts and organizations in
 * the trash after 30 days.
 */
export async function sweep(deps: Needs, { confirmed, signal }: SweepOptions = {}) {
  const { db, elapsed } = deps;
  const { asOf, textAsOf, claimsAsOf } = await db.write((tx) => elapsed.beginSweep(tx, confirmed), {
    key: 'sweep',
  });
  async function drain(
    deleteExpired: (tx: WriteTx, asOf: Date, limit: number) => Promise<number>,
    until = asOf,
  ): Promise<number> {
    let total = 0;
    const deleteSome = (tx: WriteTx, hasTime: () => boolean) =>
      repeatStep(hasTime, () => deleteExpired(tx, until, db.pace.stepRows));
    // With a key, because deliveries go on meanwhile.
    for await (const deleted of inCommits(db, deleteSome, { key: 'sweep', signal })) total += deleted;
    return total;
  }
  const deliveryIds = await drain(deleteExpiredClaims, claimsAsOf);
  const logs = await drain(deleteExpiredDeliveries);
  // Not counted: scripts read `logs` as entries of the delivery log.
  const others = [
    deleteExpiredResults,
    deleteExpiredAudit,
    deleteExpiredThrottles,
    deleteExpiredFormMarks,
    deleteOrphanedRanges,
    deleteExpiredMessages,
    deleteExpiredSlugs,
  ];
  for (const deleteExpired of others) await drain(deleteExpired);
  await drain(deleteExpiredTrash, textAsOf);
  await drain((tx, until, limit) => removeOrganizations(tx, deps, until, limit), textAsOf);
  let after = FIRST_COUNT;
  const fold = async (tx: WriteTx) => {
    const result = await foldPastCounts(tx, asOf, after, COUNTS * db.pace.stepRows);
    return { result, hasMore: result !== null };
  };
  for await (const last of inCommits(db, fold, { key: 'sweep', signal })) after = last ?? after;
  // Without a key, all writes would wait for it.
  const sessions = await db.write((tx) => deleteExpiredSessions(tx, asOf), { key: 'sweep' });
  return { deliveryIds, logs, sessions };
}

/** Counts the rows that `sweep` would remove. */
export function planSweep(
  { db, elapsed }: Pick<Needs, 'db' | 'elapsed'>,
  { confirmed }: Pick<SweepOptions, 'confirmed'> = {},
) {
  return db.read(async (tx) => {
    const { asOf, claimsAsOf } = await elapsed.planSweep(tx, confirmed);
    return {
      deliveryIds: await countExpiredClaims(tx, claimsAsOf),
      logs: await countExpiredEntries(tx, asOf),
      sessions: await countExpiredSessions(tx, asOf),
    };
  });
}

/** Copies images that are due, with the token of an integration for images at its provider. Returns how many it tried. */
export function copyDueImages(deps: Deps, signal?: AbortSignal): Promise<number> {
  const { plainHosts } = deps;
  const accessOf: CopyOptions['accessOf'] = ({ integrationId, url }) => imageAccess(deps, integrationId, url);
  return copyImages(deps, { accessOf, ...(plainHosts && { plainHosts }) }, signal);
}

/** Texts of a step. */
const STEP_TEXTS = 25;

/** How many runs to search for former URLs: those of a month, of some processes. */
const MAX_RUNS = 500;

/** A process that is silent for this long has ended, in milliseconds. */
const ENDED_MS = 3 * BEAT_MS;

type AddressNeeds = Pick<Deps, 'db' | 'clock' | 'log' | 'publicUrl'>;

/**
 * The work of a job. It brings the addresses of images in stored posts to the current `PUBLIC_URL` when this process begins
 * to lead, and again after a process with a former URL, which may have written meanwhile, has ended.
 */
export function addressWork(deps: AddressNeeds): Job['run'] {
  const { db, clock, log, publicUrl } = deps;
  let last: string | null = null;

  async function isDue(tx: ReadTx): Promise<boolean> {
    const at = last;
    if (at === null) return true;
    const ended = new Date(clock.now().getTime() - ENDED_MS).toISOString();
    const runs = await listRuns(tx, MAX_RUNS);
    return runs.some((run) => run.publicUrl !== publicUrl() && run.aliveAt > at && run.aliveAt < ended);
  }

  return async (signal) => {
    const at = clock.now().toISOString();
    if (!(await db.read(isDue))) return;
    const changed = await updateAddresses(deps, signal);
    if (signal.aborted) return;
    last = at;
    if (changed > 0) log.info({ changed }, 'updated the URLs of images to the new PUBLIC_URL');
  };
}

/** Returns how many texts it changed. */
export async function updateAddresses(
  { db, publicUrl }: Pick<Deps, 'db' | 'publicUrl'>,
  signal?: AbortSignal,
): Promise<number> {
  const current = publicUrl();
  const runs = await db.read((tx) => listRuns(tx, MAX_RUNS));
  const former = new Set(runs.map((run) => run.publicUrl).filter((url) => url !== current));
  let total = 0;
  for (const url of former) {
    const [from, to] = [`${url}/media/img_`, `${current}/media/img_`];
    // Each pass would make it longer.
    if (to.includes(from)) continue;
    let position: AddressPosition | null = FIRST_POSITION;
    const replaceSome = async (tx: WriteTx, hasTime: () => boolean) => {
      let next = position;
      let changed = 0;
      do {
        if (next === null) break;
        const step = await replaceAddresses(tx, from, to, next, STEP_TEXTS);
        changed += step.changed;
        next = step.next;
      } while (hasTime());
      return { result: { changed, next }, hasMore: next !== null };
    };
    for await (const { changed, next } of inCommits(db, replaceSome, { signal })) {
      total += changed;
      position = next;
    }
  }
  return total;
}
