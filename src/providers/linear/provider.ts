import { DAY_MS } from '../../lib/time.ts';
import { parseJsonObject, tokenHeader } from '../payload.ts';
import { MalformedPayload, type Provider } from '../provider.ts';
import { isHmacSha256 } from '../signature.ts';
import { events } from './events/index.ts';

const MAX_AHEAD_MS = 60_000;

/** Linear tries again after 1 minute, 1 hour and 6 hours; no older than the window in which ids are remembered. */
const MAX_AGE_MS = DAY_MS;

/** Linear: linear.app/developers/webhooks. */
export const linear: Provider<'linear'> = {
  id: 'linear',
  name: 'Linear',
  hasRepositories: false,
  sendsForms: false,
  events,
  triggerEvents: {
    issue: ['Issue'],
    project: ['Project'],
    project_update: ['InitiativeUpdate', 'ProjectUpdate'],
  },
  toldHeaders: ['linear-event', 'linear-delivery', 'linear-timestamp'],

  readHeaders(headers) {
    const event = tokenHeader(headers, 'linear-event');
    if (event === null) return { missing: 'Linear-Event' };
    const deliveryId = tokenHeader(headers, 'linear-delivery');
    if (deliveryId === null) return { missing: 'Linear-Delivery' };
    const signature = headers.get('linear-signature');
    return signature ? { event, deliveryId, signature } : { missing: 'Linear-Signature' };
  },

  isSigned(body, signature, secret) {
    return isHmacSha256(signature, secret, body);
  },

  readPayload(body, _contentType, now) {
    const payload = parseJsonObject(body);
    // The header Linear-Timestamp is not signed; this field is.
    const { webhookTimestamp } = payload;
    if (typeof webhookTimestamp !== 'number') throw new MalformedPayload('webhookTimestamp must be a number');
    const ageMs = now.getTime() - webhookTimestamp;
    if (ageMs < -MAX_AHEAD_MS) throw new MalformedPayload('webhookTimestamp lies more than a minute ahead');
    if (ageMs > MAX_AGE_MS) throw new MalformedPayload('webhookTimestamp is more than a day old');
    return payload;
  },

  repositoryOf: () => null,
};
