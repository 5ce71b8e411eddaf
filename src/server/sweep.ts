import { and, eq, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { dialectOf, inCommits, type ReadTx, repeatStep, type WriteTx } from '../../db/engine.ts';
import {
  deliveries,
  deliveryClaims,
  deliveryCounts,
  events,
  integrations,
  releaseRanges,
} from '../../db/schema/integrations.ts';
import { apiKeys, auditEvents, organizations } from '../../db/schema/organizations.ts';
import { media, mediaCopies, postCounts } from '../../db/schema/posts.ts';
import { hookMessages, rebuildHooks } from '../../db/schema/public.ts';
import {
  deliveryResults,
  drafts,
  roundupChanges,
  roundups,
  triggerEvents,
  triggerRuns,
  triggers,
} from '../../db/schema/triggers.ts';
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
import { deleteIntegration } from '../integrations/store.ts';
import { imageAccess } from '../integrations/token.ts';
import { BEAT_MS, listRuns } from '../integrations/uptime.ts';
import { DAY_MS } from '../lib/time.ts';
import { type AuditContext, deleteExpiredAudit, quote, recordAudit } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import { deleteExpiredFormMarks, deleteExpiredThrottles } from '../people/guard.ts';
import { ORGANIZATION_TRASH_DAYS } from '../people/organization-store.ts';
import { countExpiredSessions, deleteExpiredSessions } from '../people/store.ts';
import { type CopyOptions, copyImages } from '../posts/media/copies.ts';
import { type AddressPosition, FIRST_POSITION, replaceAddresses } from '../posts/media/store.ts';
import { deleteExpiredTrash, deleteOrganizationPosts } from '../posts/trash.ts';
import { deleteExpiredMessages } from '../readers/hooks/message-store.ts';
import { deleteExpiredSlugs } from '../readers/public/model.ts';
import type { Elapsed } from './elapsed.ts';
import type { Job } from './jobs.ts';

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

// Removes organizations for good. No step is large: what a foreign key would delete with the organization goes first, a few
// rows at a time. Files of images follow as all files without a row do.

/** In place of the time of deletion: from here on nobody can restore it, whatever the clock says. */
const BEING_REMOVED = new Date(0).toISOString();

/** Removes at most about `limit` rows of the organizations whose time in the trash is over. Returns their number. */
export async function removeOrganizations(
  tx: WriteTx,
  deps: AuditContext,
  asOf: Date,
  limit: number,
): Promise<number> {
  const { id, deletedAt } = organizations;
  const until = new Date(asOf.getTime() - ORGANIZATION_TRASH_DAYS * DAY_MS).toISOString();
  const isOver = and(isNotNull(deletedAt), lte(deletedAt, until));
  const organization = await tx.select().from(organizations).where(isOver).orderBy(id).limit(1).get();
  if (organization === undefined) return 0;
  if (organization.deletedAt !== BEING_REMOVED) {
    await tx.update(organizations).set({ deletedAt: BEING_REMOVED }).where(eq(id, organization.id));
    // SQL triggers tell enabled hooks of each post that is deleted.
    const isOwn = eq(rebuildHooks.organizationId, organization.id);
    await tx.update(rebuildHooks).set({ isEnabled: false }).where(isOwn);
  }
  for (const remove of steps) {
    const removed = await remove(tx, organization.id, limit);
    if (removed > 0) return removed;
  }
  await tx.delete(organizations).where(eq(id, organization.id));
  await recordAudit(tx, deps, {
    organizationId: null,
    action: 'organization.erased',
    target: { type: 'organization', id: organization.id },
    summary: `deleted the organization ${quote(organization.name)} for good`,
  });
  return 1;
}

type Step = (tx: WriteTx, organizationId: string, limit: number) => Promise<number>;

const rowsOf =
  (table: SQLiteTable, isOwn: (tx: ReadTx, organizationId: string) => SQL): Step =>
  async (tx, organizationId, limit) => {
    const { rowKey } = dialectOf(tx);
    const some = tx
      .select({ key: sql`${rowKey}` })
      .from(table)
      .where(isOwn(tx, organizationId))
      .limit(limit);
    const deleted = tx.delete(table).where(inArray(rowKey, some));
    return (await deleted.returning({ deleted: sql`1` })).length;
  };

const byOrganization = (table: SQLiteTable & { organizationId: SQLiteColumn }) =>
  rowsOf(table, (_, organizationId) => eq(table.organizationId, organizationId));

const ownIntegrations = (tx: ReadTx, organizationId: string) =>
  tx
    .select({ id: integrations.id })
    .from(integrations)
    .where(eq(integrations.organizationId, organizationId));

const byIntegration = (table: SQLiteTable & { integrationId: SQLiteColumn }) =>
  rowsOf(table, (tx, organizationId) => inArray(table.integrationId, ownIntegrations(tx, organizationId)));

const byTrigger = (table: SQLiteTable & { triggerId: SQLiteColumn }) =>
  rowsOf(table, (tx, organizationId) => {
    const isOwn = inArray(triggers.integrationId, ownIntegrations(tx, organizationId));
    return inArray(table.triggerId, tx.select({ id: triggers.id }).from(triggers).where(isOwn));
  });

const byRoundup = rowsOf(roundupChanges, (tx, organizationId) => {
  const isOwn = eq(roundups.organizationId, organizationId);
  return inArray(roundupChanges.roundupId, tx.select({ id: roundups.id }).from(roundups).where(isOwn));
});

const byHook = rowsOf(hookMessages, (tx, organizationId) => {
  const isOwn = eq(rebuildHooks.organizationId, organizationId);
  return inArray(hookMessages.hookId, tx.select({ id: rebuildHooks.id }).from(rebuildHooks).where(isOwn));
});

/** Entries of the log, with their results. */
const removeDeliveries: Step = async (tx, organizationId, limit) => {
  const isOwn = eq(deliveries.organizationId, organizationId);
  const some = await tx.select({ id: deliveries.id }).from(deliveries).where(isOwn).limit(limit);
  const ids = dialectOf(tx).listed(some.map(({ id }) => id));
  await tx.delete(deliveryResults).where(inArray(deliveryResults.deliveryId, ids));
  await tx.delete(deliveries).where(inArray(deliveries.id, ids));
  return some.length;
};

/** One at a time, because much may be left of each. */
const removeIntegration: Step = async (tx, organizationId) => {
  const [first] = await ownIntegrations(tx, organizationId).limit(1);
  if (first === undefined) return 0;
  await deleteIntegration(tx, first.id);
  return 1;
};

/** The children of integrations before these, and counts after what they count. */
const steps: readonly Step[] = [
  byHook,
  byRoundup,
  deleteOrganizationPosts,
  removeDeliveries,
  byIntegration(deliveryClaims),
  byTrigger(triggerEvents),
  byTrigger(triggerRuns),
  byTrigger(drafts),
  byIntegration(events),
  byIntegration(releaseRanges),
  byIntegration(mediaCopies),
  removeIntegration,
  byOrganization(media),
  byOrganization(apiKeys),
  byOrganization(auditEvents),
  byOrganization(postCounts),
  byOrganization(deliveryCounts),
];
