import type { Deps } from '../deps.ts';
import { webhookUrl } from '../integrations/model.ts';
import { revealSecret } from '../integrations/secrets.ts';
import { getIntegration } from '../integrations/store.ts';
import { AppError } from '../lib/app-error.ts';
import { tidings } from '../lib/how-to-run.ts';
import { providerOf } from '../providers/index.ts';

// The other side of the receiver, for trying it out.

export interface TestDelivery {
  integrationId: string;
  /** Absent: the integration's first. */
  repositoryId?: string | undefined;
  event: string;
  deliveryId: string;
  /** The JSON to send, as it is. */
  body: string;
  /** Whether to sign with another secret than the integration's. */
  hasBadSignature?: boolean;
  /** What the webhook URL begins with. */
  baseUrl: string;
}

/** What was sent, and what came back. */
export interface SentDelivery {
  request: { method: 'POST'; url: string; event: string; delivery: string };
  status: number;
  body: unknown;
  durationMs: number;
}

/**
 * Signs the body as the integration's provider does and sends it to the running service. Throws `AppError` 404 when
 * there is no such integration, and 502 when nothing answers.
 */
export async function sendDelivery(
  deps: Pick<Deps, 'db' | 'secrets' | 'fetch'>,
  delivery: TestDelivery,
): Promise<SentDelivery> {
  const { integrationId, event, deliveryId, body, baseUrl } = delivery;
  const { type, organizationId, repositories } = await getIntegration(deps.db, integrationId);
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
  const response = await answerOf(deps, request, baseUrl);
  const text = await response.text();
  return {
    request: { method: 'POST', url, event, delivery: deliveryId },
    status: response.status,
    body: parse(text),
    durationMs: Math.round((performance.now() - startedAt) * 10) / 10,
  };
}

async function answerOf(
  { fetch }: Pick<Deps, 'fetch'>,
  request: Request,
  baseUrl: string,
): Promise<Response> {
  try {
    return await fetch(request);
  } catch (cause) {
    const hint = `Start the service ("${tidings} serve"), or say where it is with --url.`;
    throw new AppError(502, `Nothing answers at ${baseUrl}. ${hint}`, { cause });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
