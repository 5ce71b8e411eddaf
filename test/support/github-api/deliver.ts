import type { Clock } from '../../../src/lib/time.ts';
import { hmacSha256 } from '../../../src/providers/provider.ts';
import type { StoredApp } from './apps.ts';
import type { StoredAttempt, StoredHook, StoredRepository } from './state.ts';

/** GitHub's timeout for a delivery. */
const TIMEOUT_MS = 10_000;

let lastId = 3_842_091_948_768_772_000n;

export interface Delivery {
  event: string;
  payload: Record<string, unknown>;
  /** The same for each hook and each attempt. */
  guid: string;
  isRedelivery: boolean;
}

/** A repository, or an App. */
type Target = StoredRepository | Pick<StoredApp, 'id'>;

/** Sends a delivery over HTTP, signed as GitHub does, and records the attempt. */
export async function deliver(
  target: Target,
  hook: StoredHook,
  delivery: Delivery,
  clock: Clock,
): Promise<StoredAttempt> {
  const startedAt = performance.now();
  const { statusCode, status } = await send(target, hook, delivery);
  const attempt = attemptOf(delivery, {
    status,
    statusCode,
    deliveredAt: clock.now().toISOString(),
    durationSeconds: Math.round(performance.now() - startedAt) / 1000,
  });
  hook.attempts.unshift(attempt);
  hook.lastResponse = lastResponseOf(attempt);
  return attempt;
}

type Outcome = Pick<StoredAttempt, 'status' | 'statusCode' | 'deliveredAt' | 'durationSeconds'>;

export function attemptOf({ event, payload, guid, isRedelivery }: Delivery, outcome: Outcome): StoredAttempt {
  lastId += 7n;
  return { id: lastId, guid, event, payload, isRedelivery, ...outcome };
}

async function send(
  target: Target,
  { id, config }: StoredHook,
  { event, payload, guid }: Delivery,
): Promise<{ status: string; statusCode: number }> {
  const json = JSON.stringify(payload);
  const isJson = config.content_type === 'json';
  const body = isJson ? json : new URLSearchParams({ payload: json }).toString();
  const headers: Record<string, string> = {
    accept: '*/*',
    'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded',
    'user-agent': 'GitHub-Hookshot/044aadd',
    'x-github-delivery': guid,
    'x-github-event': event,
    'x-github-hook-id': String(id),
    'x-github-hook-installation-target-id': String(target.id),
    'x-github-hook-installation-target-type': 'code' in target ? 'repository' : 'integration',
  };
  if (config.secret !== undefined)
    headers['x-hub-signature-256'] = `sha256=${hmacSha256(config.secret, body)}`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(config.url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    if (response.ok) return { status: 'OK', statusCode: response.status };
    return { status: `Invalid HTTP Response: ${response.status}`, statusCode: response.status };
  } catch (error) {
    if (signal.aborted) return { status: 'timed out', statusCode: 504 };
    const refused = refusedCertificates[(error as NodeJS.ErrnoException).code ?? ''];
    return { status: refused ?? 'failed to connect to host', statusCode: 502 };
  }
}

/** GitHub's words on a certificate (and then the times, of an expired one), by the code of the error here. */
const refusedCertificates: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
};

/** The hook's own summary, which has other codes than the attempt. */
function lastResponseOf({ status, statusCode }: StoredAttempt): StoredHook['lastResponse'] {
  if (status === 'OK') return { code: statusCode, status: 'active', message: 'OK' };
  if (status.startsWith('Invalid')) return { code: 422, status: 'misconfigured', message: status };
  const summary = statusCode === 504 ? 'timeout' : 'connection_error';
  return { code: statusCode, status: summary, message: status };
}
