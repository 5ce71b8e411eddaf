import { handOver, readHandOver } from '../../drafting/triggers/hand-over.ts';
import { imageOwner } from '../../drafting/triggers/material.ts';
import { type Delivery, insertDelivery, toProcessed } from '../../integrations/deliveries/store.ts';
import { changeIntegration, getIntegration, revealSecret } from '../../integrations/store.ts';
import { webhookUrl } from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import { capitalized } from '../../lib/text.ts';
import type { Deps } from '../../people/deps.ts';
import { providerOf, toEvent } from '../../providers/index.ts';

// Deliveries that a person starts: signed test deliveries, and replays of logged ones.

export interface TestDelivery {
  integrationId: string;
  /** Default: the integration's first. */
  repositoryId?: string | undefined;
  event: string;
  deliveryId: string;
  /** JSON, sent unchanged. */
  body: string;
  /** True: signed with another secret than the integration's. */
  hasBadSignature?: boolean;
  /** Of the service, without a trailing slash. */
  baseUrl: string;
}

export type SentDelivery = Awaited<ReturnType<typeof sendDelivery>>;

/**
 * Signs the body as the integration's provider does and sends it to the running service. Throws `AppError` 404 when
 * there is no such integration, and 502 `service_unreachable`.
 */
export async function sendDelivery(
  deps: Pick<Deps, 'db' | 'clock' | 'secrets' | 'fetch'>,
  { integrationId, repositoryId, event, deliveryId, body, hasBadSignature = false, baseUrl }: TestDelivery,
) {
  const integration = await deps.db.read((tx) => getIntegration(tx, integrationId));
  const { type, repositories } = integration;
  const url = webhookUrl(baseUrl, integration, repositoryId ?? repositories[0]?.id);
  const secret = hasBadSignature ? 'not the secret' : await revealSecret(deps, integrationId);
  const headers = {
    ...providerOf(type).sign({ event, deliveryId, body, secret, now: deps.clock.now() }),
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
  };

  const startedAt = performance.now();
  const send = async () => deps.fetch(new Request(url, { method: 'POST', headers, body }));
  const response = await send().catch((cause: unknown) => {
    throw new AppError(502, `Nothing answers at ${baseUrl}.`, { code: 'service_unreachable', cause });
  });
  const text = await response.text();
  return {
    request: { method: 'POST', url, event, delivery: deliveryId },
    status: response.status,
    body: parse(text),
    durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Hands a logged delivery to the triggers as if it had just arrived, and logs that with `replayOf`. A second replay
 * makes no second draft. Throws `AppError` 404 when its integration is gone, and 409 `delivery_not_replayable` when the
 * log holds no event of it.
 */
export async function replayDelivery(
  deps: Pick<Deps, 'db' | 'clock' | 'ids' | 'media'>,
  delivery: Delivery,
): Promise<Delivery> {
  const now = deps.clock.now();
  const entry: Delivery = {
    ...delivery,
    id: deps.ids.newId('dlv'),
    replayOf: delivery.replayOf ?? delivery.id,
    sameBodyAs: null,
    durationMs: 0,
    createdAt: now.toISOString(),
  };
  await changeIntegration(deps.db, delivery.integrationId, async (tx) => {
    const { repositories } = await getIntegration(tx, delivery.integrationId);
    const processed = toProcessed(delivery, repositories);
    if (processed === null) {
      throw new AppError(409, whyNotReplayable(delivery), { code: 'delivery_not_replayable' });
    }
    const event = toEvent(processed);
    if (event !== null) {
      const known = await readHandOver(tx, processed, event);
      await handOver(tx, { ...processed, images: imageOwner(deps, delivery) }, entry, event, known, now);
    }
    await insertDelivery(tx, { ...entry, bodyHash: null }, now);
  });
  return entry;
}

/** The reason why the log holds no event to replay, and what to do instead. */
export function whyNotReplayable({
  status,
  integrationType,
}: Pick<Delivery, 'status' | 'integrationType'>): string {
  if (status === 'duplicate') return "Duplicate deliveries can't be replayed. Replay the first one instead.";
  if (status === 'processed') return "This delivery can't be replayed. Its event creates no drafts.";
  const { name, api, words } = providerOf(integrationType);
  const retry = api?.redelivery == null ? words.redelivery : undefined;
  return `${capitalized(status)} deliveries can't be replayed. ${retry ?? `Redeliver from ${name}.`}`;
}
