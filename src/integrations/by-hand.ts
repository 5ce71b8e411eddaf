import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { requireValid } from '../lib/validation.ts';
import { type HookNeeds, MAX_PLACES } from './connect.ts';
import type { Connected, IntegrationType } from './model.ts';
import { RepositoryName } from './model.ts';
import { addPlace } from './places.ts';
import { connectIntegration } from './service.ts';

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
  const distinct = [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
  // Said before anything is made: half of them, with a secret that nobody saw, would help nobody.
  if (distinct.length > MAX_PLACES) {
    throw new AppError(400, `At most ${MAX_PLACES} can be connected in one go, not ${distinct.length}`);
  }
  const [first, ...others] = distinct;
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
