import type { Deps } from '../deps.ts';
import type { ReceivingIntegration } from '../integrations/model.ts';
import { findReceivingIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { isId } from '../lib/ids.ts';
import type { Provider } from '../providers/provider.ts';
import { refusedUpload } from './refusal.ts';

/** One arrival, as HTTP brought it. */
export interface Arrival {
  path: { provider: unknown; organizationId: unknown; integrationId: unknown; repositoryId: unknown };
  headers: Headers;
  /** Whether the body says itself that it is too large. */
  isTooLarge: boolean;
  /** The raw bytes. Throws `UploadError`. */
  readBody(): Promise<Uint8Array>;
}

/** Whom the delivery is for. From here on there is a log to write to. */
export async function requireAddressee(
  deps: Pick<Deps, 'db'>,
  providers: readonly Provider[],
  { path, isTooLarge }: Arrival,
) {
  try {
    const { provider, repositoryId, ...ids } = requirePath(path, providers);
    return { provider, repositoryId, integration: await requireIntegration(deps, provider, ids) };
  } catch (error) {
    throw isTooLarge ? refusedUpload('too_large') : error;
  }
}

function requirePath(path: Arrival['path'], providers: readonly Provider[]) {
  const provider = providers.find(({ id }) => id === path.provider);
  const { organizationId, integrationId } = path;
  // An issue tracker has no repositories: the segment may be left off, or be "-".
  const repositoryId =
    path.repositoryId === '-' && provider?.hasRepositories === false ? undefined : path.repositoryId;
  if (
    provider === undefined ||
    !isId(organizationId) ||
    !isId(integrationId) ||
    (repositoryId === undefined ? provider.hasRepositories : !isId(repositoryId))
  ) {
    throw new AppError(400, 'Invalid webhook parameters');
  }
  return { provider, organizationId, integrationId, repositoryId: repositoryId as string | undefined };
}

async function requireIntegration(
  { db }: Pick<Deps, 'db'>,
  provider: Provider,
  { organizationId, integrationId }: { organizationId: string; integrationId: string },
): Promise<ReceivingIntegration> {
  const integration = await findReceivingIntegration(db, integrationId);
  if (integration?.organizationId !== organizationId || integration.type !== provider.id) {
    throw new AppError(404, 'Integration not found');
  }
  return integration;
}
