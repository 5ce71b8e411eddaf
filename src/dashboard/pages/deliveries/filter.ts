import type { LogFilter, LogPosition } from '../../../deliveries/log-store.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../../deliveries/model.ts';
import { type IntegrationType, providerNames } from '../../../integrations/model.ts';
import { isId } from '../../../lib/ids.ts';
import { DAY_MS } from '../../../lib/time.ts';

export const spans = [
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '24h', label: 'Last 24 hours', ms: DAY_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * DAY_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * DAY_MS },
] as const;

/** Longest event name or delivery id to search for. */
const MAX_LENGTH = 200;

export const filterNames = ['integration', 'provider', 'status', 'event', 'since', 'delivery'] as const;

/** Ignores invalid values. */
export function readFilter(query: URLSearchParams, now: Date): LogFilter {
  const text = (name: (typeof filterNames)[number]) =>
    query.get(name)?.trim().slice(0, MAX_LENGTH) || undefined;
  const integration = text('integration');
  const provider = text('provider');
  const status = text('status');
  const span = spans.find(({ value }) => value === query.get('since'));
  return {
    integrationId: isId(integration) ? integration : undefined,
    integrationType:
      provider !== undefined && Object.hasOwn(providerNames, provider)
        ? (provider as IntegrationType)
        : undefined,
    status: deliveryStatuses.includes(status as DeliveryStatus) ? (status as DeliveryStatus) : undefined,
    event: text('event'),
    anyId: text('delivery'),
    since: span === undefined ? undefined : new Date(now.getTime() - span.ms),
  };
}

/** The path of the log with the filters of `query`, and with `more` parameters. */
export function logPath(base: string, query: URLSearchParams, more: Record<string, string> = {}): string {
  const kept = new URLSearchParams(more);
  for (const name of filterNames) {
    const value = query.get(name);
    if (value) kept.set(name, value);
  }
  const text = kept.toString();
  return text === '' ? `${base}/deliveries` : `${base}/deliveries?${text}`;
}

const POSITION = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([A-Za-z0-9_-]{1,64})$/;

/** Null for anything but a position. */
export function readPosition(text: string | null): LogPosition | null {
  const [, createdAt, id] = POSITION.exec(text ?? '') ?? [];
  return createdAt === undefined || id === undefined ? null : { createdAt, id };
}

export function writePosition({ createdAt, id }: LogPosition): string {
  return `${createdAt}_${id}`;
}
