/** @jsxRuntime automatic @jsxImportSource preact */

import type { LogFilter, LogPosition } from '../../../deliveries/log-store.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../../deliveries/model.ts';
import {
  type Integration,
  type IntegrationType,
  integrationName,
  providerNames,
} from '../../../integrations/model.ts';
import { isId } from '../../../lib/ids.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { type Option, Select } from '../../view/elements.tsx';

const spans = [
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

/** A form whose fields become query parameters. */
export function Filters({
  base,
  query,
  integrations,
  isLive,
  now,
}: {
  base: string;
  query: URLSearchParams;
  integrations: readonly Integration[];
  isLive: boolean;
  now: Date;
}) {
  const value = (name: (typeof filterNames)[number]) => query.get(name) ?? '';
  return (
    <search>
      <form method="get" action={`${base}/deliveries`} class="bar filters">
        <Text label="Delivery id" name="delivery" value={value('delivery')} />
        <Text label="Event" name="event" value={value('event')} />
        <Select
          label="Integration"
          name="integration"
          isLabelHidden
          value={value('integration')}
          options={[any('All integrations'), ...integrationOptions(integrations, value('integration'))]}
        />
        <Select
          label="Provider"
          name="provider"
          isLabelHidden
          value={value('provider')}
          options={[
            any('All providers'),
            ...Object.entries(providerNames).map(([id, name]) => ({ value: id, label: name })),
          ]}
        />
        <Select
          label="Status"
          name="status"
          isLabelHidden
          value={value('status')}
          options={[
            any('All statuses'),
            ...deliveryStatuses.map((each) => ({
              value: each,
              label: each.charAt(0).toUpperCase() + each.slice(1),
            })),
          ]}
        />
        <Select
          label="Since"
          name="since"
          isLabelHidden
          value={value('since')}
          options={[any('Any time'), ...spans]}
        />
        <button type="submit" class="button">
          Filter
        </button>
        {filterNames.some((name) => query.get(name)) ? <a href={`${base}/deliveries`}>Clear</a> : null}
        {isLive ? (
          <button
            type="button"
            class="button"
            data-live={logPath(base, query)}
            data-since={now.toISOString()}
            data-script
            aria-pressed="false"
            hidden
          >
            Live
          </button>
        ) : null}
      </form>
    </search>
  );
}

function Text({ label, name, value }: { label: string; name: string; value: string }) {
  return (
    <div class="field grow">
      <label for={`field-${name}`} class="hidden">
        {label}
      </label>
      <input
        id={`field-${name}`}
        name={name}
        type="search"
        value={value}
        placeholder={label}
        maxlength={200}
      />
    </div>
  );
}

const any = (label: string): Option => ({ value: '', label });

/** Includes a chosen integration that is gone: the log outlives it. */
function integrationOptions(integrations: readonly Integration[], chosen: string): Option[] {
  const options = integrations.map((each) => ({ value: each.id, label: integrationName(each) }));
  const isKnown = !isId(chosen) || integrations.some(({ id }) => id === chosen);
  return isKnown ? options : [...options, { value: chosen, label: `Disconnected: ${chosen}` }];
}
