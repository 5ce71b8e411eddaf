import { and, eq, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { dialectOf, type ReadTx, type WriteTx } from '../../db/engine.ts';
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
import { deleteIntegration } from '../integrations/store.ts';
import { DAY_MS } from '../lib/time.ts';
import { type AuditContext, quote, recordAudit } from '../people/audit.ts';
import { ORGANIZATION_TRASH_DAYS } from '../people/organization-store.ts';
import { deleteOrganizationPosts } from '../posts/trash.ts';

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
