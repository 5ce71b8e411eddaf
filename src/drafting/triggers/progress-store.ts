import { and, eq, exists, gt, not, or, type SQL, sql } from 'drizzle-orm';
import { prepared, type ReadTx } from '../../../db/engine.ts';
import { deliveries, histories, hooks, integrations } from '../../../db/schema/integrations.ts';
import { organizations } from '../../../db/schema/organizations.ts';
import { postCounts } from '../../../db/schema/posts.ts';
import { triggers } from '../../../db/schema/triggers.ts';

/** The steps from a new organization to its first published post that are done. One statement, for every page. */
export async function findProgress(tx: ReadTx, organizationId: string) {
  const row = await statements(tx).progress.get({ organizationId });
  return {
    isConnected: row?.connected === 1,
    hasDelivery: row?.delivered === 1,
    hasTrigger: row?.triggered === 1,
    hasPost: row?.drafted === 1,
    hasPublished: row?.published === 1,
  };
}

const statements = prepared((db) => {
  const id = sql.placeholder('organizationId');
  const one = { one: sql`1` };
  const asNumber = (query: SQL) => sql<number>`case when ${query} then 1 else 0 end`;
  const ofTriggers = db
    .select(one)
    .from(triggers)
    .innerJoin(integrations, eq(integrations.id, triggers.integrationId))
    .where(eq(integrations.organizationId, id));
  // An import of past releases alone connects nothing.
  const isConnected = or(
    eq(integrations.isPolled, true),
    not(exists(db.select(one).from(histories).where(eq(histories.integrationId, integrations.id)))),
    exists(db.select(one).from(hooks).where(eq(hooks.integrationId, integrations.id))),
    exists(db.select(one).from(deliveries).where(eq(deliveries.integrationId, integrations.id))),
  );
  const { organizationId, count, status } = postCounts;
  const hasPosts = and(eq(organizationId, id), gt(count, 0));
  return {
    progress: db
      .select({
        connected: asNumber(
          exists(
            db
              .select(one)
              .from(integrations)
              .where(and(eq(integrations.organizationId, id), isConnected)),
          ),
        ),
        delivered: asNumber(exists(db.select(one).from(deliveries).where(eq(deliveries.organizationId, id)))),
        triggered: asNumber(exists(ofTriggers)),
        drafted: asNumber(exists(db.select(one).from(postCounts).where(hasPosts))),
        published: asNumber(
          exists(
            db
              .select(one)
              .from(postCounts)
              .where(and(hasPosts, eq(status, 'published'))),
          ),
        ),
      })
      .from(organizations)
      .where(eq(organizations.id, id))
      .prepare(),
  };
});
