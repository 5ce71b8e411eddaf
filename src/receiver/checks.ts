import { Value } from '@sinclair/typebox/value';
import type { Deps } from '../deps.ts';
import {
  type ReceivingIntegration,
  type Repository,
  type RepositoryIdentity,
  RepositoryName,
} from '../integrations/model.ts';
import { acceptedSecrets } from '../integrations/service.ts';
import { findRepository } from '../integrations/store.ts';
import { cutLine } from '../lib/text.ts';
import { UploadError } from '../lib/upload.ts';
import {
  type DeliveryHeaders,
  MalformedPayload,
  type Provider,
  prepareEvent,
  SAMPLE_REPOSITORY_ID,
} from '../providers/provider.ts';
import type { Arrival } from './addressee.ts';
import { Refusal, refusedUpload } from './refusal.ts';
import type { Diagnose } from './signature-doctor.ts';

// What a delivery must pass, in the order in which the receiver asks. Each throws `Refusal`.

/** As much of a name as a log entry quotes. GitHub's are shorter. */
const MAX_NAME_LENGTH = 200;

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

/**
 * 403 for a payload about another repository than the URL's. The provider's id decides once it is known, so a renamed
 * repository stays connected; until then the name does. Returns the identity to keep, null when nothing is new.
 */
export function requireSameRepository(
  provider: Provider,
  connected: Repository | null,
  named: { id: number; fullName: string } | null,
): RepositoryIdentity | null {
  if (connected === null || named === null) return null;
  const isSample = named.id === SAMPLE_REPOSITORY_ID;
  const isSameName = named.fullName.toLowerCase() === connected.fullName.toLowerCase();
  const isSame = connected.providerId === null || isSample ? isSameName : named.id === connected.providerId;
  if (!isSame) throw otherRepository(provider, connected, named, isSameName);
  const isNew = connected.providerId === null || named.fullName !== connected.fullName;
  const isId = Number.isSafeInteger(named.id) && named.id > 0;
  const isUsable = isId && Value.Check(RepositoryName, { repository: named.fullName });
  return isNew && isUsable ? { providerId: named.id, fullName: named.fullName } : null;
}

function otherRepository(
  { name }: Provider,
  connected: Repository,
  named: { id: number; fullName: string },
  isSameName: boolean,
): Refusal {
  const repository = cutLine(named.fullName, MAX_NAME_LENGTH);
  const renamed =
    connected.providerId === null
      ? ` If ${connected.fullName} was renamed, remove it from the integration and add it under its new name.`
      : '';
  const reason = isSameName
    ? `${name} has another repository under the name ${connected.fullName} now: its id is ${named.id}, not ${connected.providerId}. Remove the repository from the integration and add it again.`
    : `The delivery is about ${repository}, but the webhook's URL is for ${connected.fullName}. Correct the URL at ${name}, or connect ${repository} too.${renamed}`;
  return new Refusal(403, 'Repository does not belong to the integration', {
    code: 'other_repository',
    reason,
    data: { repository },
  });
}
