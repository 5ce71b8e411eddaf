import type { Integration } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Trigger } from '../../../triggers/model.ts';
import { findTriggers } from '../../../triggers/service.ts';
import type { MemberVisit } from '../../page.ts';
import { requireIntegration } from '../integrations/card.tsx';

/** The trigger of the path and its integration. Throws `AppError` 404, also for another organization's. */
export async function requireTrigger(
  visit: MemberVisit,
): Promise<{ trigger: Trigger; integration: Integration; path: string }> {
  const integration = await requireIntegration(visit);
  const all = await findTriggers(visit.deps, { integrationId: integration.id });
  const trigger = all.find(({ id }) => id === visit.params.triggerId);
  if (trigger === undefined) throw new AppError(404, 'There is no such trigger. It may have been deleted.');
  return {
    trigger,
    integration,
    path: `${visit.base}/integrations/${integration.id}/triggers/${trigger.id}`,
  };
}
