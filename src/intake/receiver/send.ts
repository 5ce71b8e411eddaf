import { getIntegration, revealSecret } from '../../integrations/store.ts';
import { webhookUrl } from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import type { Deps } from '../../people/deps.ts';
import { providerOf } from '../../providers/index.ts';

// Signed test deliveries: the provider's side of the receiver.

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
