import { and, eq, gte, inArray, lt } from 'drizzle-orm';
import type { WriteTx } from '../../../db/engine.ts';
import { releaseRanges } from '../../../db/schema/integrations.ts';
import { deliveryResults, drafts, triggerEvents, triggers } from '../../../db/schema/triggers.ts';
import type { EventSource } from '../../providers/events.ts';

/**
 * Makes all that names a release by its tag name the tag that it has now. What was of a release that had the new tag
 * before goes, but for its posts. Runs must not write meanwhile: change the integration.
 */
export async function renameRelease(
  tx: WriteTx,
  { integrationId, repositoryId }: EventSource,
  tag: string,
  newTag: string,
): Promise<void> {
  if (repositoryId === null) return;
  const ofIntegration = tx
    .select({ id: triggers.id })
    .from(triggers)
    .where(eq(triggers.integrationId, integrationId));

  const isArrival = (key: string) =>
    and(
      inArray(triggerEvents.triggerId, ofIntegration),
      eq(triggerEvents.repositoryId, repositoryId),
      eq(triggerEvents.type, 'release'),
      eq(triggerEvents.key, key),
    );
  await tx.delete(triggerEvents).where(isArrival(newTag)).run();
  await tx.update(triggerEvents).set({ key: newTag }).where(isArrival(tag)).run();

  const ofRepository = and(
    eq(releaseRanges.integrationId, integrationId),
    eq(releaseRanges.repositoryId, repositoryId),
  );
  await tx
    .delete(releaseRanges)
    .where(and(ofRepository, inArray(releaseRanges.tag, [tag, newTag])))
    .run();
  await tx
    .update(releaseRanges)
    .set({ previousTag: newTag })
    .where(and(ofRepository, eq(releaseRanges.previousTag, tag)))
    .run();

  const [subject, newSubject] = [`release ${tag}`, `release ${newTag}`];
  const isDraft = (name: string) =>
    and(
      inArray(drafts.triggerId, ofIntegration),
      eq(drafts.subject, name),
      gte(drafts.scope, `${repositoryId} `),
      lt(drafts.scope, `${repositoryId}!`),
    );
  await tx.delete(drafts).where(isDraft(newSubject)).run();
  const renamed = (keys: readonly string[]) => keys.map((key) => (key === subject ? newSubject : key));
  for (const row of await tx.select().from(drafts).where(isDraft(subject)).all()) {
    const suggestion = row.suggestion && {
      ...row.suggestion,
      eventKeys: renamed(row.suggestion.eventKeys),
    };
    await tx
      .update(drafts)
      .set({ subject: newSubject, eventKeys: renamed(row.eventKeys), suggestion })
      .where(and(isDraft(subject), eq(drafts.triggerId, row.triggerId), eq(drafts.scope, row.scope)))
      .run();
  }
  await tx
    .update(deliveryResults)
    .set({ eventKey: newSubject })
    .where(
      and(
        inArray(deliveryResults.triggerId, ofIntegration),
        gte(deliveryResults.scope, `${repositoryId} `),
        lt(deliveryResults.scope, `${repositoryId}!`),
        eq(deliveryResults.eventKey, subject),
        inArray(deliveryResults.outcome, ['queued', 'failed', 'waiting']),
      ),
    )
    .run();
}
