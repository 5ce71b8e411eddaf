import { and, eq, exists, gt, not, or, type SQLWrapper, sql } from 'drizzle-orm';
import { matching, type ReadTx } from '../../../db/engine.ts';
import { deliveries, histories, hooks, integrations } from '../../../db/schema/integrations.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { postCounts } from '../../../db/schema/posts.ts';
import { triggers } from '../../../db/schema/triggers.ts';

/** The steps from a new organization to its first published post that are done. */
export async function findProgress(tx: ReadTx, organizationId: string) {
  const one = { one: sql`1` };
  const isThere = (query: SQLWrapper) =>
    sql<boolean>`case when ${exists(query)} then 1 else 0 end`.mapWith(Boolean);
  const hasOwn = (table: typeof histories | typeof hooks | typeof deliveries) =>
    exists(tx.select(one).from(table).where(eq(table.integrationId, integrations.id)));
  const isOwn = eq(integrations.organizationId, organizationId);
  // An import of past releases alone connects nothing.
  const isConnected = or(
    eq(integrations.isPolled, true),
    not(hasOwn(histories)),
    hasOwn(hooks),
    hasOwn(deliveries),
  );
  const hasPosts = and(eq(postCounts.organizationId, organizationId), gt(postCounts.count, 0));
  const row = await tx
    .select({
      isConnected: isThere(tx.select(one).from(integrations).where(and(isOwn, isConnected))),
      hasDelivery: isThere(tx.select(one).from(deliveries).where(matching(deliveries, { organizationId }))),
      hasTrigger: isThere(
        tx
          .select(one)
          .from(triggers)
          .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
          .where(isOwn),
      ),
      hasPost: isThere(tx.select(one).from(postCounts).where(hasPosts)),
      hasPublished: isThere(
        tx
          .select(one)
          .from(postCounts)
          .where(and(hasPosts, eq(postCounts.status, 'published'))),
      ),
    })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
    .get();
  return (
    row ?? { isConnected: false, hasDelivery: false, hasTrigger: false, hasPost: false, hasPublished: false }
  );
}
