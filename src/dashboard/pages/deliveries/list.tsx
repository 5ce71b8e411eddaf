import type { ReadTx } from '../../../../db/engine.ts';
import { listResults } from '../../../drafting/triggers/results-store.ts';
import { scriptAsset } from '../../../http/look/assets.ts';
import { replayDelivery } from '../../../intake/receiver/replay.ts';
import {
  findDelivery,
  type LogFilter,
  type LogPosition,
  listDeliveries,
  listLogPage,
  type ResultFilter,
  resultFilters,
} from '../../../integrations/deliveries/log-store.ts';
import { type Delivery, deliveryStatuses, isReplayable } from '../../../integrations/deliveries/store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/words.ts';
import { isId } from '../../../lib/text.ts';
import { DAY_MS } from '../../../lib/time.ts';
import { retentionDaysOf } from '../../../people/audit.ts';
import { listProviders, providerOf, providers } from '../../../providers/index.ts';
import script from '../../client/deliveries.client.js' with { type: 'text' };
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { capitalized, counted, Link, LinkButton, More, Status, useVisit } from '../../view/elements.tsx';
import { Action, Hidden, type Option, Select } from '../../view/form.tsx';
import {
  type Column,
  dateColumn,
  Empty,
  FilterBar,
  Pager,
  Rows,
  SearchField,
  SelectionBar,
  Table,
} from '../../view/list.tsx';
import { OutcomeCell } from './result.tsx';

const PATH = '/dashboard/:organizationId/deliveries';

const PAGE = 25;

/** Entries are written shortly after they arrive, not always in order, so the live tail reads this far back. */
const OVERLAP_MS = 5_000;

/** Deliveries that one form looks at, the newest first. */
const MAX_REPLAYED = 200;

const SELECTION = 'replay-selected';

const ONLY_PROCESSED = 'only processed deliveries can be';

/** The script of the log and of a delivery's page. */
export const deliveriesScript = scriptAsset('deliveries.js', script);

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => {
    const { searchParams } = visit.url;
    const after = readPosition(searchParams.get('after'));
    if (after === null && !searchParams.has('pending')) return showLog(visit);
    return showNews(visit, after === null ? null : Date.parse(after.createdAt));
  }),

  post(`${PATH}/replay`, 'member', async (visit) => {
    const { deps, form, base } = visit;
    const { entries, integrations } = await readReplayed(visit);
    const replayed = entries.filter(
      (entry) => isReplayable(entry) && integrations.some(({ id }) => id === entry.integrationId),
    );
    // The oldest first, as they arrived.
    for (const delivery of replayed.reverse()) await replayDelivery(deps, delivery);
    const count = counted(replayed.length, 'delivery', 'deliveries');
    const nothing =
      form.has('selection') && entries.length === 0 ? 'no delivery is selected' : ONLY_PROCESSED;
    const skipped = entries.length - replayed.length;
    const rest = form.has('selection') && skipped > 0 ? ` ${skipped} skipped: ${ONLY_PROCESSED}.` : '';
    return redirect(
      logPath(base, form),
      replayed.length === 0
        ? `Nothing was replayed: ${nothing}.`
        : `${count} replayed. Existing drafts are updated, not duplicated.${rest}`,
    );
  }),
];

/** The selected entries; without a selection, those that match the filters. */
function readReplayed({ deps, organization: { id }, form }: MemberVisit) {
  const selected = form.getAll('selected').filter(isId).slice(0, MAX_REPLAYED);
  const filter = readFilter(form, deps.clock.now());
  return deps.db.read(async (tx) => ({
    entries: form.has('selection')
      ? newestFirst(await findEntries(tx, id, selected))
      : (await listLogPage(tx, id, filter, { limit: MAX_REPLAYED })).entries,
    integrations: await listIntegrations(tx, id),
  }));
}

async function findEntries(tx: ReadTx, organizationId: string, ids: readonly string[]): Promise<Delivery[]> {
  const found = await Promise.all(ids.map((id) => findDelivery(tx, organizationId, id)));
  return found.filter((entry) => entry !== null);
}

const newestFirst = (entries: Delivery[]) =>
  entries.sort((one, other) => (writePosition(one) < writePosition(other) ? 1 : -1));

/** The rows since then, and the rows whose draft was being written. */
async function showNews(visit: MemberVisit, after: number | null) {
  const { deps, organization, url } = visit;
  const now = deps.clock.now();
  const filter = readFilter(url.searchParams, now);
  const pending = (url.searchParams.get('pending') ?? '').split(',').filter(isId).slice(0, PAGE);
  const { entries, ...rest } = await deps.db.read(async (tx) => {
    const since = new Date(Math.max((after ?? 0) - OVERLAP_MS, filter.since?.getTime() ?? 0));
    const news =
      after === null ? [] : await listDeliveries(tx, organization.id, { ...filter, since }, { limit: PAGE });
    const left = pending.filter((id) => news.every((entry) => entry.id !== id));
    const entries = [...news, ...(await findEntries(tx, organization.id, left))];
    return { entries, ...(await readBeside(tx, organization.id, entries)) };
  });
  return fragment(<Rows rows={entries} columns={columns(rest)} selection={selection} marksOf={marksOf} />);
}

/** Data of the rows beside their entries. */
async function readBeside(tx: ReadTx, organizationId: string, entries: readonly Delivery[]) {
  const integrations = await listIntegrations(tx, organizationId);
  const ids = entries.map(({ id }) => id);
  const results = ids.length === 0 ? [] : await listResults(tx, organizationId, ids);
  return { integrations, results: Map.groupBy(results, ({ deliveryId }) => deliveryId) };
}

async function showLog(visit: MemberVisit) {
  const { deps, organization, base, url } = visit;
  const query = url.searchParams;
  const now = deps.clock.now();
  const before = readPosition(query.get('before'));
  const { entries, next, isCut, ...rest } = await deps.db.read(async (tx) => {
    const page = await listLogPage(tx, organization.id, readFilter(query, now), { limit: PAGE, before });
    return { ...page, ...(await readBeside(tx, organization.id, page.entries)) };
  });
  const older = next && logPath(base, query, { before: writePosition(next) });
  const filters = Object.entries(filtersIn(query));
  return view(
    {
      title: 'Deliveries',
      facts: `Every webhook delivery and its result. Entries are kept for ${retentionDaysOf[organization.plan]} days.`,
      actions:
        // The script shows it, and adds new rows while it is pressed. An older page has none.
        before === null ? (
          <button
            type="button"
            class="button live"
            data-live={logPath(base, query)}
            data-since={now.toISOString()}
            data-script
            aria-pressed="false"
            hidden
          >
            Live
          </button>
        ) : null,
      scripts: [deliveriesScript],
    },
    <Filters integrations={rest.integrations} />,
    <p role="status" class="hint" id="live-news" />,
    entries.length === 0 && (
      <NoEntries isCut={isCut} first={rest.integrations[0]} isOlder={before !== null} />
    ),
    // Present even when empty: the script adds rows while "Live" is on.
    <div id="log" hidden={entries.length === 0} data-log={logPath(base, query)}>
      <Table
        caption="Deliveries, newest first"
        kind="log"
        rows={entries}
        columns={columns(rest)}
        selection={selection}
        marksOf={marksOf}
      />
      <SelectionBar id={SELECTION} to="deliveries/replay">
        <Hidden values={[['selection', 'yes'], ...filters]} />
        <button type="submit" class="button">
          Replay deliveries
        </button>
      </SelectionBar>
    </div>,
    before === null && entries.some(isReplayable) && (
      <More label="Replay all matching deliveries">
        <p class="hint">
          Hands the newest {MAX_REPLAYED} matching deliveries to the triggers again, for example after you
          created a trigger. Existing drafts are updated, not duplicated.
        </p>
        <Action to="deliveries/replay" label="Replay all deliveries" fields={filtersIn(query)} />
      </More>
    ),
    <Pager
      back={before && { to: logPath(base, query), label: 'Newest' }}
      next={older ? { to: older, label: isCut ? 'Search older entries' : 'Older' } : null}
    />,
  );
}

/** In place of the rows: why there are none, and what to do. */
function NoEntries(props: { first: Integration | undefined; isCut: boolean; isOlder: boolean }) {
  const { first, isCut, isOlder } = props;
  const { base, url } = useVisit();
  const isFiltered = isOlder || Object.keys(filtersIn(url.searchParams)).length > 0;
  const noneLeft = isOlder ? 'The log has no older entries.' : 'No deliveries match these filters.';
  const [text, to, label] = isFiltered
    ? [isCut ? 'No matches so far.' : noneLeft, `${base}/deliveries`, 'Show all deliveries']
    : first === undefined
      ? ['Nothing is connected yet.', `${base}/integrations`, `Connect ${listProviders('or')}`]
      : ['No deliveries yet.', `${base}/integrations/${first.id}#test`, 'Send test event'];
  return (
    <div id="log-empty">
      <Empty drawing={isFiltered ? 'search' : 'deliveries'}>
        <p>{text}</p>
        <LinkButton to={to} label={label} kind={isFiltered ? undefined : 'go'} />
      </Empty>
    </div>
  );
}

/** By them, the script finds the newest row, and skips those that are present. */
const marksOf = ({ id }: Delivery) => ({ id });

const selection = {
  form: SELECTION,
  valueOf: ({ id }: Delivery) => id,
  labelOf: ({ title, createdAt }: Delivery) => `${title || 'delivery'}, ${createdAt}`,
};

type Beside = Awaited<ReturnType<typeof readBeside>>;

const columns = ({ integrations, results }: Beside): Column<Delivery>[] => [
  {
    title: 'Status',
    // A delivery was taken, but nobody gets its draft.
    cell: ({ id, status }) =>
      results.get(id)?.some(({ outcome }) => outcome === 'failed') ? (
        <span class="tag failed">Draft failed</span>
      ) : (
        <Status status={status} />
      ),
  },
  {
    title: 'Event',
    fullText: ({ title }) => title,
    cell: ({ id, title, count, payload, replayOf, isPolled, durationMs }) => (
      <>
        <Link to={`deliveries/${id}`}>{title || 'Untitled'}</Link>
        {count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}
        <div class="dim mono">
          {[payload.event, replayOf && 'replay', isPolled ? 'polled' : `${durationMs} ms`]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </>
    ),
  },
  {
    title: 'Result',
    isLabeled: true,
    cell: (entry) => {
      const repositories = integrations.find(({ id }) => id === entry.integrationId)?.repositories ?? [];
      const cell = { entry, results: results.get(entry.id) ?? [], repositories };
      return entry.status === 'processed' && entry.payload.data !== null ? <OutcomeCell {...cell} /> : null;
    },
  },
  { title: 'Source', class: 'source', cell: (entry) => sourceOf(entry, integrations) },
  dateColumn('Received'),
];

/** The delivery's repository; its provider when it has none. */
export function sourceOf(
  { integrationId, integrationType, repositoryId }: Delivery,
  integrations: readonly Integration[],
): string {
  const integration = integrations.find(({ id }) => id === integrationId);
  if (integration === undefined) return `${providerNames[integrationType]}, disconnected`;
  const repository = integration.repositories.find(({ id }) => id === repositoryId);
  return repository?.fullName ?? integrationName(integration);
}

// The filters of the log in its address.

const spans = [
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '24h', label: 'Last 24 hours', ms: DAY_MS },
  { value: '7d', label: 'Last 7 days', ms: 7 * DAY_MS },
  { value: '30d', label: 'Last 30 days', ms: 30 * DAY_MS },
];

/** How entries reach the log. */
const ways = [
  { value: 'webhook', label: 'Webhook', isPolled: false },
  { value: 'polling', label: 'Polled', isPolled: true },
];

function readFilter(query: URLSearchParams, now: Date): LogFilter {
  const text = (name: string) => query.get(name)?.trim() || undefined;
  const integrationId = query.get('integration');
  const span = spans.find(({ value }) => value === query.get('since'));
  return {
    integrationId: isId(integrationId) ? integrationId : undefined,
    integrationType: providers.find(({ id }) => id === query.get('provider'))?.id,
    status: deliveryStatuses.find((each) => each === query.get('status')),
    event: text('event'),
    result: resultFilters.find((each) => each === query.get('result')),
    anyId: text('delivery'),
    isPolled: ways.find(({ value }) => value === query.get('via'))?.isPolled,
    since: span && new Date(now.getTime() - span.ms),
  };
}

const names = ['integration', 'provider', 'status', 'result', 'event', 'via', 'since', 'delivery'];

const resultNames: Readonly<Record<ResultFilter, string>> = {
  draft: 'Draft',
  suggested: 'Suggestion',
  waiting: 'Waits for a release',
  filtered: 'Filtered out',
  failed: 'Draft failed',
  none: 'No trigger',
};

const asOption = (value: string, label = value): Option => ({ value, label });

/** The events of the connected providers, and the chosen one. */
function eventOptions(integrations: readonly Integration[], chosen: string | null) {
  const types = new Set(integrations.map(({ type }) => type));
  const known = providers.filter(({ id }) => types.size === 0 || types.has(id));
  const events = new Set(known.flatMap(({ id }) => Object.keys(providerOf(id).events)));
  if (chosen) events.add(chosen);
  return [...events].sort().map((event) => asOption(event));
}

function filtersIn(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].filter(([name, value]) => names.includes(name) && value !== ''));
}

/** The path of the log with the filters of `query`, and with `more` parameters. */
function logPath(base: string, query: URLSearchParams, more: Record<string, string> = {}): string {
  const kept = new URLSearchParams({ ...more, ...filtersIn(query) });
  return kept.size === 0 ? `${base}/deliveries` : `${base}/deliveries?${kept}`;
}

const POSITION = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([A-Za-z0-9_-]{1,64})$/;

/** Null for anything but a position. */
function readPosition(text: string | null): LogPosition | null {
  const [, createdAt, id] = POSITION.exec(text ?? '') ?? [];
  return createdAt === undefined || id === undefined ? null : { createdAt, id };
}

function writePosition({ createdAt, id }: LogPosition): string {
  return `${createdAt}_${id}`;
}

function Filters({ integrations }: { integrations: Integration[] }) {
  const { base, url } = useVisit();
  const query = url.searchParams;
  const chosen = query.get('integration');
  const known = integrations.map((each) => asOption(each.id, integrationName(each)));
  // The log outlives a disconnected integration.
  if (isId(chosen) && integrations.every(({ id }) => id !== chosen)) {
    known.push(asOption(chosen, `Disconnected: ${chosen}`));
  }
  // One provider needs no choice.
  const hasProviders = new Set(integrations.map(({ type }) => type)).size > 1 || query.has('provider');
  const { delivery, ...folded } = filtersIn(query);
  const selects: [name: string, label: string, all: string, options: readonly Option[]][] = [
    ['integration', 'Integration', 'All integrations', known],
    ['provider', 'Provider', 'All providers', providers.map(({ id, name }) => asOption(id, name))],
    ['status', 'Status', 'All statuses', deliveryStatuses.map((each) => asOption(each, capitalized(each)))],
    ['event', 'Event', 'All events', eventOptions(integrations, query.get('event'))],
    ['result', 'Result', 'All results', resultFilters.map((each) => asOption(each, resultNames[each]))],
    ['via', 'Arrival', 'All arrivals', ways],
    ['since', 'Since', 'Any time', spans],
  ];
  return (
    <FilterBar
      path="deliveries"
      isFiltered={Object.keys(filtersIn(query)).length > 0}
      folded={Object.keys(folded).length}
      search={
        <SearchField
          label="Delivery ID"
          name="delivery"
          value={delivery ?? ''}
          clearTo={logPath(base, new URLSearchParams(folded))}
        />
      }
    >
      {selects.map(([name, label, all, options]) =>
        name === 'provider' && !hasProviders ? null : (
          <Select {...{ name, label, all, options }} isLabelHidden value={query.get(name) ?? ''} />
        ),
      )}
    </FilterBar>
  );
}
