import { createHmac } from 'node:crypto';
import { sendDelivery } from '../stand-in.ts';
import type { StoredAttempt, StoredHook, World } from './state.ts';

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
  const answered = await sendDelivery(hook.url, headers, body);
  const date = answered?.headers.get('date');
  const logged = headers['X-Gitlab-Token'] === undefined ? {} : { 'X-Gitlab-Token': '[REDACTED]' };
  const attempt = {
    id: ++lastId,
    header,
    trigger: `${String(payload.object_kind)}_hooks`,
    payload,
    requestHeaders: { ...headers, ...logged },
    status: String(answered?.status ?? 'internal error'),
    responseHeaders: date == null ? {} : { Date: date },
  };
  hook.attempts.unshift(attempt);
  if (answered?.ok) hook.alertStatus = 'executable';
  return attempt;
}
