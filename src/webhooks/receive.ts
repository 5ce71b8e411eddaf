import type { Deps } from '../deps.ts';
import type { ReceivingIntegration } from '../integrations/model.ts';
import { acceptedSecrets } from '../integrations/service.ts';
import { findReceivingIntegration, findRepository } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { derivedId, ID_PATTERN } from '../lib/ids.ts';
import { retentionDaysOf } from './model.ts';
import {
  type DeliveryHeaders,
  type EventResult,
  MalformedPayload,
  type Provider,
  prepareEvent,
} from './provider.ts';
import { Refusal } from './refusal.ts';
import { countDelivery, type NewDelivery, type Outcome, recordDelivery, takeDelivery } from './store.ts';

/** One arrival, as HTTP brought it. */
export interface Arrival {
  path: { provider: unknown; organizationId: unknown; integrationId: unknown; repositoryId: unknown };
  headers: Headers;
  /** Whether the body says itself that it is too large. */
  isTooLarge: boolean;
  /** The raw bytes. Throws `AppError` 413 when there are too many. */
  readBody(): Promise<Uint8Array>;
}

/** The body of the answer to a delivery that was taken (section 4.4 of the spec). */
export interface Received {
  received: true;
  message: string;
  data?: {
    event: string;
    delivery: string;
    processed?: { type: string; action: string; data: Record<string, unknown> };
    repository?: { id: number; fullName: string };
  };
}

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'log'>;

/**
 * The webhook receiver: verify, claim, process, record. Resolves when the delivery is on the disk. Throws
 * `AppError` for a refusal and whatever a handler threw; both are in the log by then, once the integration is known.
 */
export function createReceiver(deps: Needs, providers: readonly Provider[]) {
  return async function receive(arrival: Arrival): Promise<Received> {
    const startedAt = performance.now();
    const { provider, repositoryId, integration } = await requireAddressee(deps, providers, arrival);
    const entry = newEntry(deps, integration, repositoryId);
    const elapsed = () => Math.round(performance.now() - startedAt);

    try {
      if (arrival.isTooLarge) throw tooLarge();
      if (!integration.enabled) throw disabled();
      await requireRepository(deps, provider, integration, repositoryId);
      const headers = requireHeaders(provider, arrival.headers);
      entry.referenceId = headers.deliveryId;
      entry.payload.event = headers.event;
      const body = await readBody(arrival);
      requireSignature(deps, provider, integration, headers, body);
      entry.bodyHash = Buffer.from(Bun.SHA256.hash(body) as Uint8Array);
      const { process, repository } = readEvent(deps, provider, headers, arrival.headers, body);

      let result: EventResult | undefined;
      const written = await takeDelivery(
        deps.db,
        { ...entry, durationMs: elapsed() },
        deps.clock.now(),
        () => {
          result = process();
          return outcomeOf(result, headers.event);
        },
      );
      return result === undefined
        ? { received: true, message: `Duplicate delivery: ${written.reason}` }
        : answer(result, headers, repository);
    } catch (error) {
      await recordFailure(deps, { ...entry, durationMs: elapsed() }, error);
      throw error;
    }
  };
}

/** Whom the delivery is for. From here on there is a log to write to. */
async function requireAddressee(deps: Needs, providers: readonly Provider[], { path, isTooLarge }: Arrival) {
  try {
    const { provider, repositoryId, ...ids } = requirePath(path, providers);
    return { provider, repositoryId, integration: await requireIntegration(deps, provider, ids) };
  } catch (error) {
    throw isTooLarge ? tooLarge() : error;
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

const idPattern = new RegExp(ID_PATTERN);

function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

async function requireIntegration(
  { db }: Needs,
  provider: Provider,
  { organizationId, integrationId }: { organizationId: string; integrationId: string },
): Promise<ReceivingIntegration> {
  const integration = await findReceivingIntegration(db, integrationId);
  if (integration?.organizationId !== organizationId || integration.type !== provider.id) {
    throw new AppError(404, 'Integration not found');
  }
  return integration;
}

function disabled(): Refusal {
  return new Refusal(
    403,
    'Integration is disabled',
    'Integration is disabled',
    'The integration is disabled',
  );
}

async function requireRepository(
  { db }: Needs,
  provider: Provider,
  integration: ReceivingIntegration,
  repositoryId: string | undefined,
): Promise<void> {
  if (repositoryId === undefined) return;
  const repository = provider.hasRepositories ? await findRepository(db, repositoryId) : null;
  if (repository === null) {
    const reason = `The webhook's URL names a repository that is not connected: ${repositoryId}`;
    throw new Refusal(404, 'Repository not found', 'Repository not found', reason);
  }
  if (repository.integrationId !== integration.id) {
    const message = 'Repository does not belong to the integration';
    throw new Refusal(403, message, message, "The webhook's URL names a repository of another integration");
  }
}

function requireHeaders(provider: Provider, headers: Headers): DeliveryHeaders {
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

/** A body that said nothing of its size may turn out too large. */
async function readBody(arrival: Arrival): Promise<Uint8Array> {
  try {
    return await arrival.readBody();
  } catch (error) {
    throw error instanceof AppError && error.status === 413 ? tooLarge() : error;
  }
}

function tooLarge(): Refusal {
  return new Refusal(413, 'Payload too large', 'Payload too large', 'The body has more than 25 MiB');
}

/** Before anything is parsed or claimed, over the bytes as they came. */
function requireSignature(
  deps: Needs,
  provider: Provider,
  integration: ReceivingIntegration,
  { signature }: DeliveryHeaders,
  body: Uint8Array,
): void {
  const secrets = acceptedSecrets(deps, integration);
  if (secrets.some((secret) => provider.isSigned(body, signature, secret))) return;
  const reason = `The signature was not made with the secret of this integration. Set the secret at ${provider.name} anew, or rotate it.`;
  throw new Refusal(401, 'Invalid webhook signature', 'Signature does not match', reason);
}

function readEvent(
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

function outcomeOf(result: EventResult, event: string): Outcome {
  const { title } = result;
  switch (result.outcome) {
    case 'processed': {
      const { action, data } = result.processed;
      return { title, status: 'processed', reason: null, payload: { event, action, data } };
    }
    case 'ignored':
      return { title, status: 'ignored', reason: result.reason };
    case 'ping':
      return { title, status: 'processed', reason: null };
  }
}

function answer(
  result: EventResult,
  { event, deliveryId }: DeliveryHeaders,
  repository: { id: number; fullName: string } | null,
): Received {
  const data = { event, delivery: deliveryId };
  switch (result.outcome) {
    case 'ping':
      return { received: true, message: 'Webhook configured successfully', data };
    case 'ignored':
      return { received: true, message: `Ignored: ${result.reason}` };
    case 'processed': {
      const { processed } = result;
      const message = `Processed ${processed.type}: ${processed.action}`;
      return {
        received: true,
        message,
        data: { ...data, processed, ...(repository === null ? {} : { repository }) },
      };
    }
  }
}

function newEntry(
  { clock, ids }: Needs,
  integration: ReceivingIntegration,
  repositoryId: string | undefined,
): Omit<NewDelivery, 'title' | 'status' | 'reason' | 'durationMs'> {
  return {
    id: ids.newId('dlv'),
    organizationId: integration.organizationId,
    integrationId: integration.id,
    integrationType: integration.type,
    repositoryId: repositoryId ?? null,
    statusCode: 200,
    referenceId: null,
    payload: { event: null, action: null, data: null },
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    retentionDays: retentionDaysOf[integration.plan],
    createdAt: clock.now().toISOString(),
  };
}

/**
 * What was refused or failed. An unverified sender can make us store little: refusals of one integration that end
 * alike within a minute share an entry.
 */
async function recordFailure(
  deps: Needs,
  entry: Omit<NewDelivery, 'title' | 'status' | 'reason'>,
  error: unknown,
): Promise<void> {
  const now = deps.clock.now();
  try {
    if (!(error instanceof Refusal)) {
      const reason = `The delivery could not be processed: ${error instanceof Error ? error.message : error}`;
      const title = `${entry.payload.event ?? 'Delivery'} failed`;
      await recordDelivery(deps.db, { ...entry, statusCode: 500, status: 'failed', title, reason }, now);
      return;
    }
    const { title, reason, status: statusCode } = error;
    const refused = { ...entry, statusCode, status: 'rejected' as const, title, reason };
    if (error.isVerified) return await recordDelivery(deps.db, refused, now);
    const minute = entry.createdAt.slice(0, 16);
    const id = derivedId('dlv', entry.integrationId, minute, String(statusCode));
    await countDelivery(deps.db, { ...refused, id, repositoryId: null }, now);
  } catch (failure) {
    deps.log.error(
      { err: failure, integrationId: entry.integrationId },
      'a refused delivery could not be logged',
    );
  }
}
