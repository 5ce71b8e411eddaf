import type { AuditDeps } from '../audit/store.ts';
import type { Deps } from '../deps.ts';
import { randomToken } from '../lib/ids.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import {
  type Connected,
  type IntegrationType,
  type ReceivingIntegration,
  RepositoryName,
  type SealedSecrets,
} from './model.ts';
import { getReceivingIntegration, insertIntegration, listOtherSealedSecrets } from './store.ts';

/** How much randomness a webhook secret carries, in bytes. */
const SECRET_BYTES = 32;

type Needs = AuditDeps & Pick<Deps, 'ids' | 'secrets' | 'publicUrl'>;

/**
 * Connects by hand: makes an integration with a new secret, which a person sets at the provider, for one repository when `repository` (`owner/name`) is given.
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
  const { secret, sealed } = newSecret(deps, integrationId);
  const createdAt = deps.clock.now().toISOString();
  const row = { id: integrationId, organizationId, type, enabled: true, secret: sealed, createdAt };
  const repositories =
    repositoryId === undefined || repository === undefined
      ? []
      : [{ id: repositoryId, integrationId, fullName: repository, createdAt }];
  await deps.db.write(() => insertIntegration(deps, row, repositories));
  return {
    integrationId,
    ...(repositoryId === undefined ? {} : { repositoryId }),
    webhookUrl: webhookUrl(deps.publicUrl(), type, organizationId, integrationId, repositoryId),
    secret,
  };
}

/** A webhook secret that nobody can guess, as people and as the database keep it. */
export function newSecret(
  { secrets }: Pick<Deps, 'secrets'>,
  integrationId: string,
): { secret: string; sealed: Buffer } {
  const secret = randomToken(SECRET_BYTES);
  return { secret, sealed: secrets.seal(secret, contextOf(integrationId)) };
}

/** The secrets that a delivery may be signed with now, the present one first. Throws `WrongSecretKey`. */
export function acceptedSecrets(
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  { id, secret, previousSecret, previousSecretUntil }: SealedSecrets,
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

/** Whether each stored secret opens with the key of the data folder. */
export function secretsOpen({ secrets }: Pick<Deps, 'secrets'>, given: ReceivingIntegration): boolean {
  const { id, secret, previousSecret } = given;
  try {
    for (const sealed of [secret, previousSecret]) if (sealed !== null) secrets.open(sealed, contextOf(id));
    return true;
  } catch (error) {
    if (error instanceof WrongSecretKey) return false;
    throw error;
  }
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

/**
 * The secret before the last rotation, once it is no longer taken: what a provider that was forgotten signs with. Null
 * without one, and when it cannot be read.
 */
export function expiredSecret(
  { secrets, clock }: Pick<Deps, 'secrets' | 'clock'>,
  { id, previousSecret, previousSecretUntil }: SealedSecrets,
): string | null {
  const isTaken = previousSecretUntil !== null && previousSecretUntil > clock.now().toISOString();
  if (previousSecret === null || isTaken) return null;
  return readable(() => secrets.open(previousSecret, contextOf(id)));
}

/**
 * The secrets that the organization's other integrations take now, of the newest `limit` of them; one whose secrets
 * cannot be read is left out. For telling a mistake only: none of them opens anything for this integration.
 */
export async function listOtherSecrets(
  deps: Pick<Deps, 'db' | 'secrets' | 'clock'>,
  integration: Pick<ReceivingIntegration, 'id' | 'organizationId'>,
  limit: number,
): Promise<{ id: string; secrets: string[] }[]> {
  const others = await listOtherSealedSecrets(deps.db, integration, limit);
  return others.map((other) => ({
    id: other.id,
    secrets: readable(() => acceptedSecrets(deps, other)) ?? [],
  }));
}

/** Null for what was sealed under a key that is no longer here. */
function readable<Value>(open: () => Value): Value | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}
