import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { WriteTx } from '../../db/storage.ts';
import { retentionDaysOf } from '../audit/model.ts';
import { type DeliveryStatus, DUPLICATE_REASON, type WebhookReceived } from '../deliveries/model.ts';
import { claimDelivery, findAddress, insertDelivery } from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import {
  type ReceivingIntegration,
  type Repository,
  type RepositoryIdentity,
  RepositoryName,
} from '../integrations/model.ts';
import { acceptedSecrets, learnRepository } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { isId } from '../lib/ids.ts';
import { cutLine } from '../lib/text.ts';
import { UploadError } from '../lib/upload.ts';
import {
  type DeliveryHeaders,
  type EventResult,
  MalformedPayload,
  type Provider,
  parseEvent,
  SAMPLE_REPOSITORY_ID,
} from '../providers/provider.ts';
import { handOver } from '../triggers/hand-over.ts';
import { type OpenEntry, Refusal, recordFailure } from './refusals.ts';
import { createSignatureDoctor } from './signature-doctor.ts';

/** One HTTP request to the receiver. */
export interface Arrival {
  path: { provider: unknown; organizationId: unknown; integrationId: unknown; repositoryId: unknown };
  headers: Headers;
  /** True when the declared length is over the limit. */
  isTooLarge: boolean;
  /** The raw bytes. Throws `UploadError`. */
  readBody(): Promise<Uint8Array>;
}

/** The body of the response to a delivery that was taken (section 4.4 of the spec). */
type Received = Static<typeof WebhookReceived>;

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'log' | 'metrics'>;

/**
 * A delivery waits this long while another process writes. It and the log of its failure share the total, counted from
 * the end of the upload, in milliseconds. Providers give up after 5 s.
 */
const DELIVERY_WAIT_MS = 3_000;
const TOTAL_WAIT_MS = 3_500;

/**
 * The webhook receiver: verify, read the event, record it, respond. Resolves when the delivery is on the disk. Throws
 * `AppError` for a delivery that is refused and the error of one that fails; both are logged by then, once the
 * integration is known.
 */
export function createReceiver(deps: Needs, providers: readonly Provider[]) {
  const diagnose = createSignatureDoctor(deps);

  return async function receive(arrival: Arrival): Promise<Received> {
    const startedAt = performance.now();
    const elapsed = () => Math.round(performance.now() - startedAt);
    let waitsSince = startedAt;
    const address = await requireAddress(deps, providers, arrival);
    const { provider, integration } = address;
    const entry = openEntry(deps, address);
    try {
      if (arrival.isTooLarge) throw new Refusal(provider, { code: 'too_large' });
      if (!integration.enabled) throw new Refusal(provider, { code: 'integration_disabled' });
      requireRepository(address);
      const headers = requireHeaders(provider, arrival.headers);
      entry.referenceId = headers.deliveryId;
      entry.payload.event = headers.event;
      const body = await requireBody(provider, arrival).finally(() => {
        waitsSince = performance.now();
      });
      await requireSignature(address, headers, body);
      entry.headers = keptHeaders(provider, arrival.headers);
      entry.bodyHash = Buffer.from(Bun.SHA256.hash(body) as Uint8Array);
      const event = readEvent(address, headers, arrival.headers, body);

      const outcome = await record({ ...entry, durationMs: elapsed() }, headers, event);
      // Start again: the first checks refuse it now, before the body is read. No `await`, so that it is logged once.
      if (outcome === 'disconnected') return receive(arrival);
      deps.metrics.deliveries(provider.id, outcome).value++;
      deps.metrics.failedDeliveries.inARow = 0;
      return outcome === 'duplicate'
        ? { received: true, message: `Duplicate delivery: ${DUPLICATE_REASON}` }
        : responseTo(event, headers);
    } catch (error) {
      const leftMs = Math.max(waitsSince + TOTAL_WAIT_MS - performance.now(), 0);
      await recordFailure(deps, { ...entry, durationMs: elapsed() }, error, leftMs);
      throw error;
    }
  };

  /** 401 unless an accepted secret signed the raw bytes. */
  async function requireSignature(
    { provider, integration }: Address,
    { signature }: DeliveryHeaders,
    body: Uint8Array,
  ): Promise<void> {
    const secrets = acceptedSecrets(deps, integration);
    if (secrets.some((secret) => provider.isSigned(body, signature, secret))) return;
    const finding = await diagnose({ provider, integration, signature, body });
    throw new Refusal(provider, { code: 'wrong_signature', finding });
  }

  /** 400 for a payload that cannot be read, 403 for one about another repository than the URL's. */
  function readEvent(
    { provider, repository: connected }: Address,
    { event }: DeliveryHeaders,
    headers: Headers,
    body: Uint8Array,
  ): ReceivedEvent {
    try {
      const payload = provider.readPayload(body, headers.get('content-type'), deps.clock.now());
      const result = parseEvent(provider, event, payload);
      const named = provider.repositoryOf(payload);
      const learned = requireSameRepository(provider, connected, named);
      return { result, named, connected, learned };
    } catch (error) {
      if (!(error instanceof MalformedPayload)) throw error;
      throw new Refusal(provider, { code: 'malformed_payload', problem: error.message }, error);
    }
  }

  /** Claims the delivery, logs it and hands its event to the triggers, in one transaction. */
  function record(entry: OpenEntry, headers: DeliveryHeaders, received: ReceivedEvent): Promise<Outcome> {
    const { event, deliveryId } = headers;
    const { result, connected, learned } = received;
    const now = deps.clock.now();
    const work = async (tx: WriteTx): Promise<Outcome> => {
      const claim = await claimDelivery(tx, entry, now);
      if (claim.state === 'disconnected') return 'disconnected';
      if (claim.state === 'duplicate') {
        const title = claim.title ?? event;
        await insertDelivery(tx, { ...entry, status: 'duplicate', title, reason: DUPLICATE_REASON }, now);
        return 'duplicate';
      }
      if (connected !== null && learned !== null) await learnRepository(tx, connected.id, learned);
      if (result.outcome === 'processed') {
        const { action, data } = result.processed;
        const repository = learned?.fullName ?? connected?.fullName ?? null;
        const details = { repository, deliveryId, receivedAt: entry.createdAt, event, action, data };
        await handOver(tx, { ...entry, ...details }, now);
      }
      const logged = { ...entry, ...loggedAs(result, event), sameBodyAs: claim.sameBodyAs };
      await insertDelivery(tx, logged, now);
      return logged.status;
    };
    return deps.db.write(work, { giveUpMs: DELIVERY_WAIT_MS });
  }
}

type Outcome = Exclude<DeliveryStatus, 'rejected' | 'failed'> | 'disconnected';

interface Address {
  provider: Provider;
  integration: ReceivingIntegration;
  repositoryId: string | null;
  repository: (Repository & { integrationId: string }) | null;
}

interface ReceivedEvent {
  result: EventResult;
  /** The repository of the payload. */
  named: { id: number; fullName: string } | null;
  /** The repository of the URL. */
  connected: Repository | null;
  /** The identity of the connected repository, when the payload has news of it. */
  learned: RepositoryIdentity | null;
}

/** Finds the integration, and with it a log to write to. */
async function requireAddress(
  { db }: Needs,
  providers: readonly Provider[],
  { path, isTooLarge }: Arrival,
): Promise<Address> {
  const provider = providers.find(({ id }) => id === path.provider);
  const { organizationId, integrationId } = path;
  // A provider without repositories takes "-" or nothing as the last segment.
  const repositoryId =
    path.repositoryId === '-' && provider?.hasRepositories === false ? undefined : path.repositoryId;
  const refuse = (status: number, message: string) =>
    isTooLarge ? new AppError(413, 'Payload too large') : new AppError(status, message);
  if (
    provider === undefined ||
    !isId(organizationId) ||
    !isId(integrationId) ||
    (repositoryId === undefined ? provider.hasRepositories : !isId(repositoryId))
  ) {
    throw refuse(400, 'Invalid webhook parameters');
  }
  const id = isId(repositoryId) ? repositoryId : null;
  const row = await db.read((tx) => findAddress(tx, integrationId, provider.hasRepositories ? id : null));
  const { integration, repository } = row ?? {};
  if (integration?.organizationId !== organizationId || integration.type !== provider.id) {
    throw refuse(404, 'Integration not found');
  }
  return { provider, integration, repository: repository ?? null, repositoryId: id };
}

/** 404 for a repository that is not connected, 403 for one of another integration. */
function requireRepository({ provider, integration, repositoryId, repository }: Address): void {
  if (repositoryId === null) return;
  if (repository === null) throw new Refusal(provider, { code: 'repository_not_found', repositoryId });
  if (repository.integrationId === integration.id) return;
  throw new Refusal(provider, { code: 'repository_of_other_integration' });
}

/** 400 that names the first header that is missing or malformed. */
function requireHeaders(provider: Provider, headers: Headers): DeliveryHeaders {
  const read = provider.readHeaders(headers);
  if (!('missing' in read)) return read;
  throw new Refusal(provider, { code: 'missing_header', header: read.missing });
}

/** 413, 400, 408 or 503 for a body that is too large, cut off, too slow, or more than memory allows. */
async function requireBody(provider: Provider, arrival: Arrival): Promise<Uint8Array> {
  try {
    return await arrival.readBody();
  } catch (error) {
    throw error instanceof UploadError ? new Refusal(provider, { code: error.problem }) : error;
  }
}

/**
 * 403 for a payload about another repository than the URL's. The provider's id decides once it is known, so a renamed
 * repository stays connected; until then the name does. Returns the identity to keep, null when nothing is new.
 */
function requireSameRepository(
  provider: Provider,
  connected: Repository | null,
  named: ReceivedEvent['named'],
): RepositoryIdentity | null {
  if (connected === null || named === null) return null;
  const isSample = named.id === SAMPLE_REPOSITORY_ID;
  const isSameName = named.fullName.toLowerCase() === connected.fullName.toLowerCase();
  const isSame = connected.providerId === null || isSample ? isSameName : named.id === connected.providerId;
  if (!isSame) throw new Refusal(provider, { code: 'other_repository', connected, named });
  const isNew = connected.providerId === null || named.fullName !== connected.fullName;
  const isUsable =
    Number.isSafeInteger(named.id) &&
    named.id > 0 &&
    Value.Check(RepositoryName, { repository: named.fullName });
  return isNew && isUsable ? { providerId: named.id, fullName: named.fullName } : null;
}

function openEntry({ clock, ids }: Needs, { integration, repositoryId }: Address): OpenEntry {
  return {
    id: ids.newId('dlv'),
    organizationId: integration.organizationId,
    integrationId: integration.id,
    integrationType: integration.type,
    repositoryId,
    statusCode: 200,
    referenceId: null,
    payload: { event: null, action: null, data: null },
    count: 1,
    bodyHash: null,
    sameBodyAs: null,
    replayOf: null,
    headers: null,
    durationMs: 0,
    retentionDays: retentionDaysOf[integration.plan],
    createdAt: clock.now().toISOString(),
  };
}

const COMMON_HEADERS = ['user-agent', 'content-type', 'content-length'];

const MAX_HEADER_LENGTH = 200;

/** The headers that people may need, each cut to one line. */
function keptHeaders(provider: Provider, headers: Headers): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of [...COMMON_HEADERS, ...provider.loggedHeaders]) {
    const value = headers.get(name);
    if (value !== null) kept[name] = cutLine(value, MAX_HEADER_LENGTH);
  }
  return kept;
}

function loggedAs(result: EventResult, event: string) {
  const { title } = result;
  switch (result.outcome) {
    case 'processed': {
      const { action, data } = result.processed;
      return { title, status: 'processed', reason: null, payload: { event, action, data } } as const;
    }
    case 'ignored':
      return { title, status: 'ignored', reason: result.reason } as const;
    case 'ping':
      return { title, status: 'processed', reason: null } as const;
  }
}

function responseTo({ result, named }: ReceivedEvent, { event, deliveryId }: DeliveryHeaders): Received {
  const data = { event, delivery: deliveryId };
  switch (result.outcome) {
    case 'ping':
      return { received: true, message: 'Webhook configured successfully', data };
    case 'ignored':
      return { received: true, message: `Ignored: ${result.reason}` };
    case 'processed': {
      const { processed } = result;
      const message = `Processed ${processed.type}: ${processed.action}`;
      const repository = named === null ? {} : { repository: named };
      return { received: true, message, data: { ...data, processed, ...repository } };
    }
  }
}
