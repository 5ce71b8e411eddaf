/** @jsxRuntime automatic @jsxImportSource preact */

import { deliveryStatuses } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { isId } from '../../../lib/ids.ts';
import { type Option, Select } from '../../view/select.tsx';
import { filterNames, logPath, spans } from './filter.ts';

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
