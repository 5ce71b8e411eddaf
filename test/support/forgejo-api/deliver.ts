import { createHmac } from 'node:crypto';
import { sendDelivery } from '../stand-in.ts';
import type { StoredHook, World } from './state.ts';

/** Sends a delivery over HTTP, as Forgejo or Gitea would. Returns the status; null when nobody answered. */
export async function deliver(
  { isGitea }: World,
  hook: StoredHook,
  event: string,
  payload: object,
  id: string = crypto.randomUUID(),
): Promise<number | null> {
  const json = JSON.stringify(payload);
  // By Node's crypto: Tidings signs by Bun's.
  const hmac = (algorithm: string) => createHmac(algorithm, hook.secret).update(json).digest('hex');
  const headers = new Headers({ 'user-agent': 'Go-http-client/1.1' });
  for (const brand of isGitea ? ['Gitea', 'Gogs'] : ['Forgejo', 'Gitea', 'Gogs']) {
    headers.set(`X-${brand}-Delivery`, id);
    headers.set(`X-${brand}-Event`, event);
    headers.set(`X-${brand}-Event-Type`, event);
    headers.set(`X-${brand}-Signature`, hook.secret === '' ? '' : hmac('sha256'));
  }
  headers.set('X-Hub-Signature', `sha1=${hmac('sha1')}`);
  headers.set('X-Hub-Signature-256', `sha256=${hmac('sha256')}`);
  headers.set('X-GitHub-Delivery', id);
  headers.set('X-GitHub-Event', event);
  headers.set('X-GitHub-Event-Type', event);
  const isForm = hook.contentType === 'form';
  headers.set('content-type', isForm ? 'application/x-www-form-urlencoded' : 'application/json');
  const body = isForm ? new URLSearchParams({ payload: json }).toString() : json;
  const status = (await sendDelivery(hook.url, headers, body))?.status ?? null;
  hook.deliveries.unshift({ event, status });
  return status;
}
