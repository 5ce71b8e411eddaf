import type { Deps } from '../deps.ts';
import type { ReceivingIntegration, Repository } from '../integrations/model.ts';
import { acceptedSecrets } from '../integrations/service.ts';
import { findRepository } from '../integrations/store.ts';
import { UploadError } from '../lib/upload.ts';
import type { Arrival } from './addressee.ts';
import { type DeliveryHeaders, MalformedPayload, type Provider, prepareEvent } from './provider.ts';
import { Refusal, refusedUpload } from './refusal.ts';
import type { Diagnose } from './signature-doctor.ts';

// What a delivery must pass, in the order in which the receiver asks. Each throws `Refusal`.

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets'>;

/** 403 while somebody has switched the integration off. */
export function requireEnabled({ enabled }: ReceivingIntegration): void {
  if (enabled) return;
  throw new Refusal(403, 'Integration is disabled', {
    code: 'integration_disabled',
    reason: 'The integration is disabled',
  });
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
    throw new Refusal(404, 'Repository not found', { code: 'repository_not_found', reason });
  }
  if (repository.integrationId !== integration.id) {
    throw new Refusal(403, 'Repository does not belong to the integration', {
      code: 'repository_of_other_integration',
      reason: "The webhook's URL names a repository of another integration",
    });
  }
  return repository;
}

/** 400 that names the first header that is missing or malformed. */
export function requireHeaders(provider: Provider, headers: Headers): DeliveryHeaders {
  const read = provider.readHeaders(headers);
  if (!('missing' in read)) return read;
  throw new Refusal(400, `Missing or invalid header: ${read.missing}`, {
    code: `missing_header:${read.missing}`,
    reason: `A delivery of ${provider.name} carries the header ${read.missing}`,
  });
}

/** The raw bytes. 413, 400, 408 or 503 for a body that is too large, cut off, too slow, or more than memory allows. */
export async function requireBody(arrival: Arrival): Promise<Uint8Array> {
  try {
    return await arrival.readBody();
  } catch (error) {
    throw error instanceof UploadError ? refusedUpload(error.problem) : error;
  }
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
    throw new Refusal(400, `Malformed payload: ${error.message}`, {
      code: 'malformed_payload',
      title: 'Malformed payload',
      reason: error.message,
      cause: error,
    });
  }
}
