import type { Deps } from '../deps.ts';
import { randomToken } from '../lib/ids.ts';
import { WrongSecretKey } from '../lib/secret-box.ts';
import type { ReceivingIntegration, SealedSecrets } from './model.ts';
import { getReceivingIntegration, listOtherSealedSecrets } from './store.ts';

/** The randomness of a webhook secret, in bytes. */
const SECRET_BYTES = 32;

const contextOf = (integrationId: string) => `webhook secret of ${integrationId}`;

/** A new webhook secret, and its encrypted form for the database. */
export function newSecret(
  { secrets }: Pick<Deps, 'secrets'>,
  integrationId: string,
): { secret: string; sealed: Buffer } {
  const secret = randomToken(SECRET_BYTES);
  return { secret, sealed: secrets.seal(secret, contextOf(integrationId)) };
}

/** The current secret. Throws `IntegrationProblem` `integration_not_found`, and `WrongSecretKey`. */
export async function revealSecret(
  { db, secrets }: Pick<Deps, 'db' | 'secrets'>,
  id: string,
): Promise<string> {
  return openSecret({ secrets }, await db.read((tx) => getReceivingIntegration(tx, id)));
}

/** The current secret. Throws `WrongSecretKey`. */
export function openSecret({ secrets }: Pick<Deps, 'secrets'>, { id, secret }: SealedSecrets): string {
  return secrets.open(secret, contextOf(id));
}

/**
 * The secrets that a delivery may be signed with now, the current one first. Throws `WrongSecretKey`, but not for the
 * previous secret: after the key was lost, a rotation must take effect at once.
 */
export function acceptedSecrets(deps: Pick<Deps, 'secrets' | 'clock'>, sealed: SealedSecrets): string[] {
  const current = openSecret(deps, sealed);
  const previous = isPreviousAccepted(deps, sealed) ? openPrevious(deps, sealed) : null;
  return previous === null ? [current] : [current, previous];
}

/** The previous secret, if it has expired and can be decrypted. */
export function expiredSecret(deps: Pick<Deps, 'secrets' | 'clock'>, sealed: SealedSecrets): string | null {
  return isPreviousAccepted(deps, sealed) ? null : openPrevious(deps, sealed);
}

function isPreviousAccepted({ clock }: Pick<Deps, 'clock'>, { previousSecretUntil }: SealedSecrets): boolean {
  return previousSecretUntil !== null && previousSecretUntil > clock.now().toISOString();
}

function openPrevious(
  { secrets }: Pick<Deps, 'secrets'>,
  { id, previousSecret }: SealedSecrets,
): string | null {
  return previousSecret === null ? null : openOrNull(() => secrets.open(previousSecret, contextOf(id)));
}

/** True if each stored secret can be decrypted with the key of the data folder. */
export function secretsOpen({ secrets }: Pick<Deps, 'secrets'>, given: ReceivingIntegration): boolean {
  const { id, secret, previousSecret } = given;
  return [secret, previousSecret].every(
    (sealed) => sealed === null || openOrNull(() => secrets.open(sealed, contextOf(id))) !== null,
  );
}

/**
 * The secrets that the organization's newest `limit` other integrations accept now, to explain a mistaken signature.
 * None of them is accepted for this integration.
 */
export async function listOtherSecrets(
  deps: Pick<Deps, 'db' | 'secrets' | 'clock'>,
  integration: Pick<ReceivingIntegration, 'id' | 'organizationId'>,
  limit: number,
): Promise<{ id: string; secrets: string[] }[]> {
  const others = await deps.db.read((tx) => listOtherSealedSecrets(tx, integration, limit));
  return others.map((other) => ({
    id: other.id,
    secrets: openOrNull(() => acceptedSecrets(deps, other)) ?? [],
  }));
}

/** Null for a value that was encrypted under another key. */
export function openOrNull<Value>(open: () => Value): Value | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof WrongSecretKey) return null;
    throw error;
  }
}
