import type { LogFilter, LogPosition, ResultFilter } from '../../../integrations/deliveries/log-store.ts';
import { resultFilters } from '../../../integrations/deliveries/log-store.ts';
import { deliveryStatuses } from '../../../integrations/deliveries/store.ts';
import { type Integration, integrationName } from '../../../integrations/words.ts';
import { capitalized, isId } from '../../../lib/text.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { providerOf, providers } from '../../../providers/index.ts';
import { dayName } from '../../view/chart.tsx';
import { More, useVisit } from '../../view/elements.tsx';
import { type Option, Select } from '../../view/form.tsx';
import { FilterBar, SearchField } from '../../view/list.tsx';

const spans = [
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '24h', label: 'Last 24 hours', ms: DAY_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * DAY_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * DAY_MS },
];

const ways = [
  { value: 'webhook', label: 'Webhook', isPolled: false },
  { value: 'polling', label: 'Polled', isPolled: true },
];

const DAY = /^\d{4}-\d\d-\d\d$/;

function dayIn(query: URLSearchParams): Date | null {
  const text = query.get('since') ?? '';
  const day = DAY.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(day) ? null : new Date(day);
}

export function readFilter(query: URLSearchParams, now: Date): LogFilter {
  const text = (name: string) => query.get(name)?.trim() || undefined;
  const integrationId = query.get('integration');
  const span = spans.find(({ value }) => value === query.get('since'));
  const day = dayIn(query);
  return {
    integrationId: isId(integrationId) ? integrationId : undefined,
    integrationType: providers.find(({ id }) => id === query.get('provider'))?.id,
    status: deliveryStatuses.find((each) => each === query.get('status')),
    event: text('event'),
    result: resultFilters.find((each) => each === query.get('result')),
    anyId: text('delivery'),
    text: text('q')?.slice(0, MAX_TEXT_LENGTH),
    isPolled: ways.find(({ value }) => value === query.get('via'))?.isPolled,
    since: day ?? (span && new Date(now.getTime() - span.ms)),
    until: day === null ? undefined : new Date(day.getTime() + DAY_MS),
  };
}

const MAX_TEXT_LENGTH = 200;

const names = ['q', 'integration', 'provider', 'status', 'result', 'event', 'via', 'since', 'delivery'];

const resultNames: Readonly<Record<ResultFilter, string>> = {
  draft: 'Draft',
  suggested: 'Suggestion',
  waiting: 'Waits for a release',
  filtered: 'Filtered out',
  failed: 'Draft failed',
  none: 'No trigger',
};

const asOption = (value: string, label = value): Option => ({ value, label });

function eventOptions(integrations: readonly Integration[], chosen: string | null) {
  const types = new Set(integrations.map(({ type }) => type));
  const known = providers.filter(({ id }) => types.size === 0 || types.has(id));
  const events = new Set(known.flatMap(({ id }) => Object.keys(providerOf(id).events)));
  if (chosen) events.add(chosen);
  return [...events].sort().map((event) => asOption(event));
}

export function filtersIn(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].filter(([name, value]) => names.includes(name) && value !== ''));
}

export function logPath(base: string, query: URLSearchParams, more: Record<string, string> = {}): string {
  const kept = new URLSearchParams({ ...more, ...filtersIn(query) });
  return kept.size === 0 ? `${base}/deliveries` : `${base}/deliveries?${kept}`;
}

/** The way from the log to that of a day, of the integration in `query` if it names one. */
export function dayPath(query: URLSearchParams, day: string): string {
  const integration = query.get('integration');
  return `?${new URLSearchParams({ ...(integration && { integration }), since: day })}`;
}

const POSITION = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([A-Za-z0-9_-]{1,64})$/;

export function readPosition(text: string | null): LogPosition | null {
  const [, createdAt, id] = POSITION.exec(text ?? '') ?? [];
  return createdAt === undefined || id === undefined ? null : { createdAt, id };
}

export function writePosition({ createdAt, id }: LogPosition): string {
  return `${createdAt}_${id}`;
}

type Filter = [name: string, label: string, all: string, options: readonly Option[]];

/** The two that people need most, and the others behind "More". */
export function Filters({ integrations }: { integrations: Integration[] }) {
  const { base, url, look } = useVisit();
  const query = url.searchParams;
  const chosen = query.get('integration');
  const day = dayIn(query);
  const known = integrations.map((each) => asOption(each.id, integrationName(each)));
  // The log outlives a disconnected integration.
  if (isId(chosen) && integrations.every(({ id }) => id !== chosen)) {
    known.push(asOption(chosen, `Disconnected: ${chosen}`));
  }
  // One provider needs no choice.
  const hasProviders = new Set(integrations.map(({ type }) => type)).size > 1 || query.has('provider');
  const { delivery, q = delivery, ...folded } = filtersIn(query);
  const selects: Filter[] = [
    ['integration', 'Integration', 'All integrations', known],
    ['provider', 'Provider', 'All providers', providers.map(({ id, name }) => asOption(id, name))],
    ['status', 'Status', 'All statuses', deliveryStatuses.map((each) => asOption(each, capitalized(each)))],
    ['event', 'Event', 'All events', eventOptions(integrations, query.get('event'))],
    ['result', 'Result', 'All results', resultFilters.map((each) => asOption(each, resultNames[each]))],
    ['via', 'Arrival', 'All arrivals', ways],
    [
      'since',
      'Time',
      'Any time',
      day === null ? spans : [...spans, asOption(query.get('since') ?? '', dayName(day, look.zone))],
    ],
  ];
  const isCommon = ([name]: Filter) => name === 'status' || name === 'since';
  const selectOf = ([name, label, all, options]: Filter) =>
    name === 'provider' && !hasProviders ? null : (
      <Select {...{ name, label, all, options }} isLabelHidden value={query.get(name) ?? ''} />
    );
  return (
    <FilterBar
      path="deliveries"
      isFiltered={Object.keys(filtersIn(query)).length > 0}
      folded={Object.keys(folded).length}
      search={
        <SearchField
          label="Search titles, payloads and IDs"
          value={q ?? ''}
          clearTo={logPath(base, new URLSearchParams(folded))}
        />
      }
    >
      {selects.filter(isCommon).map(selectOf)}
      <More
        label="More"
        kind="more-filters"
        isOpen={selects.some((each) => !isCommon(each) && query.has(each[0]))}
      >
        <div class="bar">{selects.filter((each) => !isCommon(each)).map(selectOf)}</div>
      </More>
    </FilterBar>
  );
}
