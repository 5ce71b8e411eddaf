import { parseJsonObject, tokenHeader } from '../payload.ts';
import { MalformedPayload, type Provider } from '../provider.ts';
import { isHmacSha256 } from '../signature.ts';
import { events } from './events/index.ts';

/** GitHub, and GitHub Enterprise: docs.github.com/webhooks. */
export const github: Provider<'github'> = {
  id: 'github',
  name: 'GitHub',
  hasRepositories: true,
  sendsForms: true,
  events,
  triggerEvents: {
    release: ['pull_request', 'push', 'release'],
    push: ['pull_request', 'push', 'release'],
    pull_request: ['pull_request', 'release'],
  },
  toldHeaders: [
    'x-github-event',
    'x-github-delivery',
    'x-github-hook-id',
    'x-github-hook-installation-target-id',
    'x-github-hook-installation-target-type',
    'x-github-enterprise-host',
    'x-github-enterprise-version',
  ],

  readHeaders(headers) {
    const event = tokenHeader(headers, 'x-github-event');
    if (event === null) return { missing: 'X-GitHub-Event' };
    const deliveryId = tokenHeader(headers, 'x-github-delivery');
    if (deliveryId === null) return { missing: 'X-GitHub-Delivery' };
    const signature = headers.get('x-hub-signature-256');
    return signature ? { event, deliveryId, signature } : { missing: 'X-Hub-Signature-256' };
  },

  isSigned(body, signature, secret) {
    return signature.startsWith('sha256=') && isHmacSha256(signature.slice('sha256='.length), secret, body);
  },

  readPayload(body, contentType) {
    if (!contentType?.toLowerCase().startsWith('application/x-www-form-urlencoded'))
      return parseJsonObject(body);
    // A hook whose content type is "form" sends the JSON in one field; the signature is over the form as it came.
    const payload = new URLSearchParams(new TextDecoder().decode(body)).get('payload');
    if (payload === null) throw new MalformedPayload('the form has no field payload');
    return parseJsonObject(new TextEncoder().encode(payload));
  },

  repositoryOf({ repository }) {
    const { id, full_name: fullName } = (repository ?? {}) as { id?: unknown; full_name?: unknown };
    return typeof id === 'number' && typeof fullName === 'string' ? { id, fullName } : null;
  },
};
