import type { Deps } from '../deps.ts';
import type { Connected, IntegrationType } from '../integrations/model.ts';
import { RepositoryName } from '../integrations/model.ts';
import { connectIntegration } from '../integrations/service.ts';
import { requireValid } from '../lib/validation.ts';
import type { HookNeeds } from './connect.ts';
import { addPlace } from './places.ts';

/** Connected by hand: with the webhook URL of each repository, all with one secret. */
export interface ConnectedByHand extends Connected {
  repositories: { repository: string; repositoryId: string; webhookUrl: string }[];
}

/**
 * Makes an integration whose webhooks a person sets up, with a URL for each repository. Throws `AppError` 400 for a bad
 * name, and 404 when there is no such organization.
 */
export async function connectByHand(
  deps: HookNeeds & Deps,
  type: IntegrationType,
  organizationId: string,
  names: readonly string[],
): Promise<ConnectedByHand> {
  for (const repository of names) requireValid(RepositoryName, { repository });
  const [first, ...others] = new Map(names.map((name) => [name.toLowerCase(), name])).values();
  const connected = await connectIntegration(deps, type, organizationId, first);
  const { integrationId, repositoryId = '', webhookUrl } = connected;
  const repositories = first === undefined ? [] : [{ repository: first, repositoryId, webhookUrl }];
  for (const repository of others) {
    const added = await addPlace(deps, integrationId, repository);
    repositories.push({
      repository,
      repositoryId: added.repositoryId ?? '',
      webhookUrl: added.webhookUrl,
    });
  }
  return { ...connected, repositories };
}
