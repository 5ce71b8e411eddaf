import type { Deps } from '../deps.ts';
import { randomToken } from '../lib/ids.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import {
  type Connected,
  type IntegrationType,
  PREVIOUS_SECRET_MS,
  type ReceivingIntegration,
  RepositoryName,
} from './model.ts';
import { getReceivingIntegration, insertIntegration, replaceSecret } from './store.ts';

/** How much randomness a webhook secret carries, in bytes. */
const SECRET_BYTES = 32;

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'publicUrl'>;

/**
 * Makes an integration with a new secret, for one repository when `repository` (`owner/name`) is given.
 * Throws `AppError` 400 for a bad name and 404 when there is no such organization.
 */
export async function connectIntegration(
  deps: Needs,
  type: IntegrationType,
  organizationId: string,
  repository?: string,
): Promise<Connected> {
  if (repository !== undefined) requireValid(RepositoryName, { repository });
  await getOrganization(deps.db, organizationId);
  const integrationId = deps.ids.newId('int');
  const repositoryId = repository === undefined ? undefined : deps.ids.newId('repo');
  const secret = randomToken(SECRET_BYTES);
  const createdAt = deps.clock.now().toISOString();
  await insertIntegration(
    deps.db,
    {
      id: integrationId,
      organizationId,
      type,
      enabled: true,
      secret: deps.secrets.seal(secret, contextOf(integrationId)),
      createdAt,
    },
    repositoryId === undefined || repository === undefined
      ? null
      : { id: repositoryId, integrationId, fullName: repository, createdAt },
  );
  return {
    integrationId,
    ...(repositoryId === undefined ? {} : { repositoryId }),
    webhookUrl: webhookUrl(deps.publicUrl(), type, organizationId, integrationId, repositoryId),
    secret,
  };
}

/** Makes a new secret; the old one is taken for another 24 h. Throws `AppError` 404. */
export async function rotateSecret(deps: Needs, integrationId: string): Promise<{ secret: string }> {
  const secret = randomToken(SECRET_BYTES);
  const until = new Date(deps.clock.now().getTime() + PREVIOUS_SECRET_MS);
  await replaceSecret(deps.db, integrationId, deps.secrets.seal(secret, contextOf(integrationId)), until);
  return { secret };
}

/** The secrets that a delivery may be signed with now, the present one first. Throws `WrongSecretKey`. */
export function acceptedSecrets(
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  { id, secret, previousSecret, previousSecretUntil }: ReceivingIntegration,
): string[] {
  const accepted = [secrets.open(secret, contextOf(id))];
  if (
    previousSecret !== null &&
    previousSecretUntil !== null &&
    previousSecretUntil > clock.now().toISOString()
  ) {
    accepted.push(...openedOrNone(() => secrets.open(previousSecret, contextOf(id))));
  }
  return accepted;
}

/** After the secret key was lost, a new secret must count at once, though the one before it cannot be read. */
function openedOrNone(open: () => string): string[] {
  try {
    return [open()];
  } catch (error) {
    if (error instanceof WrongSecretKey) return [];
    throw error;
  }
}

/** The present secret, to sign a test delivery with. Throws `AppError` 404 and `WrongSecretKey`. */
export async function revealSecret(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  id: string,
): Promise<string> {
  const { secret } = await getReceivingIntegration(db, id);
  return secrets.open(secret, contextOf(id));
}

export function webhookUrl(
  publicUrl: string,
  type: IntegrationType,
  organizationId: string,
  integrationId: string,
  repositoryId?: string,
): string {
  const segments = [type, organizationId, integrationId, repositoryId].filter(
    (segment) => segment !== undefined,
  );
  return `${publicUrl}/api/webhooks/${segments.join('/')}`;
}

function contextOf(integrationId: string): string {
  return `webhook secret of ${integrationId}`;
}
