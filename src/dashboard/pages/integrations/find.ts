import type { Integration } from '../../../integrations/model.ts';
import { getIntegration } from '../../../integrations/store.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { MemberVisit } from '../../page.ts';

/** The integration of the path. Throws `AppError` 404, also for another organization's. */
export async function requireIntegration({ deps, organization, params }: MemberVisit): Promise<Integration> {
  const notHere = new AppError(404, 'There is no such integration. It may have been disconnected.');
  const integration = await deps.db
    .read((tx) => getIntegration(tx, params.integrationId ?? ''))
    .catch((error: unknown) => {
      throw error instanceof AppError && error.status === 404 ? notHere : error;
    });
  if (integration.organizationId !== organization.id) throw notHere;
  return integration;
}
