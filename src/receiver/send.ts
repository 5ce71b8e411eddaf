import type { Deps } from '../deps.ts';
import { webhookUrl } from '../integrations/model.ts';
import { getIntegration, revealSecret } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { providerOf } from '../providers/index.ts';

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

export interface SentDelivery {
  request: { method: 'POST'; url: string; event: string; delivery: string };
  status: number;
  body: unknown;
  durationMs: number;
}

/**
 * Signs the body as the integration's provider does and sends it to the running service. Throws `AppError` 404 when
 * there is no such integration, and 502 `service_unreachable`.
 */
export async function sendDelivery(
  deps: Pick<Deps, 'db' | 'secrets' | 'fetch'>,
  delivery: TestDelivery,
): Promise<SentDelivery> {
  const { integrationId, event, deliveryId, body, baseUrl } = delivery;
  const { type, organizationId, repositories } = await deps.db.read((tx) =>
    getIntegration(tx, integrationId),
  );
  const repositoryId = delivery.repositoryId ?? repositories[0]?.id;
  const url = webhookUrl(baseUrl, type, organizationId, integrationId, repositoryId);
  const secret = delivery.hasBadSignature ? 'not the secret' : await revealSecret(deps, integrationId);
  const headers = providerOf(type).sign({ event, deliveryId, body, secret });
  const request = new Request(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
    body,
  });

  const startedAt = performance.now();
  const response = await fetchFrom(deps, request, baseUrl);
  const text = await response.text();
  return {
    request: { method: 'POST', url, event, delivery: deliveryId },
    status: response.status,
    body: parse(text),
    durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
  };
}

async function fetchFrom(
  { fetch }: Pick<Deps, 'fetch'>,
  request: Request,
  baseUrl: string,
): Promise<Response> {
  try {
    return await fetch(request);
  } catch (cause) {
    throw new AppError(502, `Nothing answers at ${baseUrl}.`, { code: 'service_unreachable', cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
