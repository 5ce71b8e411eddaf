import type { WriteTx } from '../../db/storage.ts';
import { retentionDaysOf } from '../deliveries/model.ts';
import { type NewDelivery, type Outcome, takeDelivery } from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import type { ReceivingIntegration } from '../integrations/model.ts';
import { learnRepository } from '../integrations/store.ts';
import { cutLine } from '../lib/text.ts';
import type { DeliveryHeaders, EventResult, Provider } from '../providers/provider.ts';
import { handOver } from '../triggers/hand-over.ts';
import { type Arrival, requireAddressee } from './addressee.ts';
import {
  readEvent,
  requireBody,
  requireEnabled,
  requireHeaders,
  requireRepository,
  requireSameRepository,
  requireSignature,
} from './checks.ts';
import { recordFailure } from './record-failure.ts';
import { refusedUpload } from './refusal.ts';
import { createSignatureDoctor } from './signature-doctor.ts';

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

/**
 * How long a delivery waits while another process writes, and how long it and the log of its failure wait together, in
 * milliseconds from the end of the upload. Providers wait 5 s or more for an answer.
 */
const DELIVERY_WAIT_MS = 3_000;
const TOTAL_WAIT_MS = 3_500;

type Needs = Pick<Deps, 'db' | 'clock' | 'ids' | 'secrets' | 'log' | 'metrics'>;

/**
 * The webhook receiver: verify, claim, process, record, hand over. Resolves when the delivery is on the disk. Throws
 * `AppError` for a refusal and whatever a handler threw; both are in the log by then, once the integration is known.
 */
export function createReceiver(deps: Needs, providers: readonly Provider[]) {
  const diagnose = createSignatureDoctor(deps);
  return async function receive(arrival: Arrival): Promise<Received> {
    const startedAt = performance.now();
    const { provider, repositoryId, integration } = await requireAddressee(deps, providers, arrival);
    const entry = newEntry(deps, integration, repositoryId);
    const elapsed = () => Math.round(performance.now() - startedAt);
    let waitsSince = startedAt;

    try {
      if (arrival.isTooLarge) throw refusedUpload('too_large');
      requireEnabled(integration);
      const connected = await requireRepository(deps, provider, integration, repositoryId);
      const headers = requireHeaders(provider, arrival.headers);
      entry.referenceId = headers.deliveryId;
      entry.payload.event = headers.event;
      const body = await requireBody(arrival).finally(() => {
        waitsSince = performance.now();
      });
      await requireSignature(deps, diagnose, provider, integration, headers, body);
      entry.headers = toldHeaders(provider, arrival.headers);
      entry.bodyHash = Buffer.from(Bun.SHA256.hash(body) as Uint8Array);
      const { process, repository } = readEvent(deps, provider, headers, arrival.headers, body);
      const learned = requireSameRepository(provider, connected, repository);

      let result: EventResult | undefined;
      const now = deps.clock.now();
      const take = async (tx: WriteTx) => {
        result = process();
        if (connected !== null && learned !== null) await learnRepository(tx, connected.id, learned);
        if (result.outcome === 'processed') {
          const repository = learned?.fullName ?? connected?.fullName ?? null;
          const { deliveryId } = headers;
          const receivedAt = entry.createdAt;
          const { action, data } = result.processed;
          const told = { ...entry, repository, deliveryId, receivedAt, event: headers.event, action, data };
          await handOver(tx, told, now);
        }
        return outcomeOf(result, headers.event);
      };
      const timed = { ...entry, durationMs: elapsed() };
      const written = await takeDelivery(deps.db, timed, now, take, DELIVERY_WAIT_MS);
      // Disconnected meanwhile: the first checks refuse it now, before the body is read. Without `await`, so that the
      // refusal is logged once.
      if (written === null) return receive(arrival);
      deps.metrics.deliveries(provider.id, written.status).value++;
      deps.metrics.failedDeliveries.inARow = 0;
      return result === undefined
        ? { received: true, message: `Duplicate delivery: ${written.reason}` }
        : answer(result, headers, repository);
    } catch (error) {
      const leftMs = Math.max(waitsSince + TOTAL_WAIT_MS - performance.now(), 0);
      await recordFailure(deps, { ...entry, durationMs: elapsed() }, error, leftMs);
      throw error;
    }
  };
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

/** What every sender says of a delivery. */
const COMMON_HEADERS = ['user-agent', 'content-type', 'content-length'];

const MAX_HEADER_LENGTH = 200;

/** The headers that a person may want to see, each cut to a line. */
function toldHeaders(provider: Provider, headers: Headers): Record<string, string> {
  const told: Record<string, string> = {};
  for (const name of [...COMMON_HEADERS, ...provider.loggedHeaders]) {
    const value = headers.get(name);
    if (value !== null) told[name] = cutLine(value, MAX_HEADER_LENGTH);
  }
  return told;
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
    replayOf: null,
    headers: null,
    retentionDays: retentionDaysOf[integration.plan],
    createdAt: clock.now().toISOString(),
  };
}
