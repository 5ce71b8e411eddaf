import type { Deps } from '../deps.ts';
import type { ReceivingIntegration, Repository } from '../integrations/model.ts';
import { acceptedSecrets } from '../integrations/service.ts';
import { findRepository } from '../integrations/store.ts';
import type { Arrival } from './addressee.ts';
import { type DeliveryHeaders, MalformedPayload, type Provider, prepareEvent } from './provider.ts';
import { Refusal, tooLarge } from './refusal.ts';
import type { Diagnose } from './signature-doctor.ts';

// What a delivery must pass, in the order in which the receiver asks. Each throws `Refusal`.

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets'>;

/** 403 while somebody has switched the integration off. */
export function requireEnabled({ enabled }: ReceivingIntegration): void {
  if (enabled) return;
  throw new Refusal(403, 'Integration is disabled', 'Integration is disabled', 'The integration is disabled');
}

/** 404 for a repository that is not connected, 403 for one of another integration. */
export async function requireRepository(
  { db }: Needs,
  provider: Provider,
  integration: ReceivingIntegration,
  repositoryId: string | undefined,
): Promise<Repository | null> {
  if (repositoryId === undefined) return null;
  const repository = provider.hasRepositories ? await findRepository(db, repositoryId) : null;
  if (repository === null) {
    const reason = `The webhook's URL names a repository that is not connected: ${repositoryId}`;
    throw new Refusal(404, 'Repository not found', 'Repository not found', reason);
  }
  if (repository.integrationId !== integration.id) {
    const message = 'Repository does not belong to the integration';
    throw new Refusal(403, message, message, "The webhook's URL names a repository of another integration");
  }
  return repository;
}

/** 400 that names the first header that is missing or malformed. */
export function requireHeaders(provider: Provider, headers: Headers): DeliveryHeaders {
  const read = provider.readHeaders(headers);
  if (!('missing' in read)) return read;
  const message = `Missing or invalid header: ${read.missing}`;
  throw new Refusal(
    400,
    message,
    message,
    `A delivery of ${provider.name} carries the header ${read.missing}`,
  );
}

/** The raw bytes. 413 for a body that said nothing of its size and turned out too large. */
export async function requireBody(arrival: Arrival): Promise<Uint8Array> {
  const body = await arrival.readBody();
  if (body === null) throw tooLarge();
  return body;
}

/**
 * 401 unless one of the secrets in force signed the bytes as they came. Before anything is parsed or claimed; what is
 * refused is examined by `diagnose` first, for the log.
 */
export async function requireSignature(
  deps: Needs,
  diagnose: Diagnose,
  provider: Provider,
  integration: ReceivingIntegration,
  { signature }: DeliveryHeaders,
  body: Uint8Array,
): Promise<void> {
  const secrets = acceptedSecrets(deps, integration);
  if (secrets.some((secret) => provider.isSigned(body, signature, secret))) return;
  throw await diagnose({ provider, integration, signature, body });
}

/** What the event comes to, once `process` is called, and its repository. 400 that names the field at fault. */
export function readEvent(
  deps: Needs,
  provider: Provider,
  { event }: DeliveryHeaders,
  headers: Headers,
  body: Uint8Array,
) {
  try {
    const payload = provider.readPayload(body, headers.get('content-type'), deps.clock.now());
    return { process: prepareEvent(provider, event, payload), repository: provider.repositoryOf(payload) };
  } catch (error) {
    if (!(error instanceof MalformedPayload)) throw error;
    throw new Refusal(
      400,
      `Malformed payload: ${error.message}`,
      'Malformed payload',
      error.message,
      true,
      error,
    );
  }
}
