import { createHmac } from 'node:crypto';
import type { StoredAttempt, StoredHook, World } from './state.ts';

const TIMEOUT_MS = 10_000;
let lastId = 7_000;

/** Sends a delivery over HTTP with the token and the signature that GitLab would add, and records the attempt. */
export async function deliver(
  { web, clock }: World,
  hook: StoredHook,
  header: string,
  payload: Record<string, unknown>,
  key: string = crypto.randomUUID(),
): Promise<StoredAttempt> {
  const body = JSON.stringify(payload);
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-Agent': 'GitLab/19.0.0',
    'Idempotency-Key': key,
    'X-Gitlab-Event': header,
    'X-Gitlab-Webhook-UUID': crypto.randomUUID(),
    'X-Gitlab-Instance': web,
    'X-Gitlab-Event-UUID': crypto.randomUUID(),
  };
  if (hook.token !== null) headers['X-Gitlab-Token'] = hook.token;
  if (hook.signingToken !== null) {
    // standardwebhooks.com, by Node's crypto: Tidings signs by Bun's.
    const signedAt = String(Math.floor(clock.now().getTime() / 1000));
    const secret = Buffer.from(hook.signingToken.replace(/^whsec_/, ''), 'base64');
    const hmac = createHmac('sha256', secret).update(`${key}.${signedAt}.${body}`);
    headers['webhook-id'] = key;
    headers['webhook-timestamp'] = signedAt;
    headers['webhook-signature'] = `v1,${hmac.digest('base64')}`;
  }
  const answer = await send(hook.url, headers, body);
  const logged = headers['X-Gitlab-Token'] === undefined ? {} : { 'X-Gitlab-Token': '[REDACTED]' };
  const attempt = {
    id: ++lastId,
    header,
    trigger: `${String(payload.object_kind)}_hooks`,
    payload,
    requestHeaders: { ...headers, ...logged },
    ...answer,
  };
  hook.attempts.unshift(attempt);
  if (answer.status.startsWith('2')) hook.alertStatus = 'executable';
  return attempt;
}

async function send(url: string, headers: Record<string, string>, body: string) {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    const date = response.headers.get('date');
    return { status: String(response.status), responseHeaders: date === null ? {} : { Date: date } };
  } catch {
    return { status: 'internal error', responseHeaders: {} };
  }
}
