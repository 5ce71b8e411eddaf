import type { ReadTx } from '../../../../db/engine.ts';
import { listResults, readDays } from '../../../drafting/triggers/results-store.ts';
import { scriptAsset } from '../../../http/look/assets.ts';
import { replayDelivery } from '../../../intake/receiver/send.ts';
import {
  findDelivery,
  type LogFilter,
  type LogPage,
  listDeliveries,
  listLogPage,
  searchLog,
} from '../../../integrations/deliveries/log-store.ts';
import { type Delivery, isReplayable } from '../../../integrations/deliveries/store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { type Integration, providerNames, sourceName } from '../../../integrations/words.ts';
import { isId } from '../../../lib/text.ts';
import { formatTime } from '../../../lib/time.ts';
import { retentionDaysOf } from '../../../people/audit.ts';
import script from '../../client/deliveries.client.js' with { type: 'text' };
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { Chart, describeDays, hasDeliveries, Legend } from '../../view/chart.tsx';
import { counted, Link, LinkButton, Status, useVisit, When } from '../../view/elements.tsx';
import { Hidden } from '../../view/form.tsx';
import { type Column, dateColumn, Empty, Pager, Rows, SelectionBar, Table } from '../../view/list.tsx';
import { dayPath, Filters, filtersIn, logPath, readFilter, readPosition, writePosition } from './filters.tsx';
import { OutcomeCell } from './result.tsx';

const PATH = '/dashboard/:organizationId/deliveries';

const PAGE = 25;

/** Entries are written shortly after they arrive, not always in order, so the live tail reads this far back. */
const OVERLAP_MS = 5_000;

const MAX_REPLAYED = 200;

const SELECTION = 'replay';

const ONLY_PROCESSED = 'only processed deliveries can be replayed';

export const deliveriesScript = scriptAsset('deliveries.js', script);

export const routes: readonly Page[] = [
  get(PATH, 'member', (visit) => {
    const { searchParams } = visit.url;
    const after = readPosition(searchParams.get('after'));
    if (after === null && !searchParams.has('pending')) return showLog(visit);
    return showNews(visit, after === null ? null : Date.parse(after.createdAt));
  }),

  post(`${PATH}/replay`, 'publisher', async (visit) => {
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

async function readReplayed({ deps, organization: { id }, form }: MemberVisit) {
  const selected = form.getAll('selected').filter(isId).slice(0, MAX_REPLAYED);
  const filter = readFilter(form, deps.clock.now());
  const isChosen = form.has('selection') && !form.has('all');
  const matching = isChosen ? null : await readPage(deps, id, filter, { limit: MAX_REPLAYED });
  return deps.db.read(async (tx) => ({
    entries: matching?.entries ?? newestFirst(await findEntries(tx, id, selected)),
    integrations: await listIntegrations(tx, id),
  }));
}

function readPage(
  { db }: Pick<MemberVisit['deps'], 'db'>,
  organizationId: string,
  { text, ...filter }: LogFilter,
  page: Parameters<typeof listLogPage>[3],
): Promise<LogPage> {
  return text === undefined
    ? db.read((tx) => listLogPage(tx, organizationId, filter, page))
    : searchLog(db, organizationId, { ...filter, text }, page);
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
  const filter = readFilter(query, now);
  const kept = retentionDaysOf[organization.plan];
  const page = await readPage(deps, organization.id, filter, { limit: PAGE, before });
  const { entries, next, isCut } = page;
  const { days, ...rest } = await deps.db.read(async (tx) => {
    const of = { id: filter.integrationId, organizationId: organization.id };
    const days = before === null ? await readDays(tx, of, now, kept) : [];
    return { days, ...(await readBeside(tx, organization.id, entries)) };
  });
  const older = next && logPath(base, query, { before: writePosition(next) });
  const filters = Object.entries(filtersIn(query));
  const isNew = entries.length === 0 && before === null && filters.length === 0;
  return view(
    {
      title: 'Deliveries',
      facts: `Every webhook delivery and its result. Entries are kept for ${kept} days.`,
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
    hasDeliveries(days) && (
      <>
        <Chart days={days} label={describeDays(days)} hrefOf={(day) => dayPath(query, day)} />
        <Legend days={days} />
      </>
    ),
    !isNew && <Filters integrations={rest.integrations} />,
    <p role="status" class="hint" id="live-news" />,
    filter.text !== undefined && isCut && next !== null && (
      <p class="hint">
        Searched the newest entries, back to <When at={next.createdAt} />.
      </p>
    ),
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
        {entries.some(isReplayable) && (
          <button type="submit" name="all" value="yes" class="button" data-all-matching>
            {describeAll(filters.length === 0 ? days : null)}
          </button>
        )}
      </SelectionBar>
    </div>,
    <Pager
      back={before && { to: logPath(base, query), label: 'Newest' }}
      next={older ? { to: older, label: isCut ? 'Search older entries' : 'Older' } : null}
    />,
  );
}

/** Names the button for all entries. `days`: null where filters leave some of them out. */
function describeAll(days: readonly { counts: Partial<Record<string, number>> }[] | null): string {
  const total = (days ?? [])
    .flatMap(({ counts }) => Object.values(counts))
    .reduce<number>((sum, count = 0) => sum + count, 0);
  if (total === 0) return `Replay all matching, ${MAX_REPLAYED} at most`;
  return total > MAX_REPLAYED ? `Replay the newest ${MAX_REPLAYED}` : `Replay all ${total}`;
}

function NoEntries(props: { first: Integration | undefined; isCut: boolean; isOlder: boolean }) {
  const { first, isCut, isOlder } = props;
  const { base, url } = useVisit();
  const isFiltered = isOlder || Object.keys(filtersIn(url.searchParams)).length > 0;
  const noneLeft = isOlder ? 'The log has no older entries.' : 'No deliveries match these filters.';
  const [text, to, label] = isFiltered
    ? [isCut ? 'No matches so far.' : noneLeft, `${base}/deliveries`, 'Show all deliveries']
    : first === undefined
      ? ['Nothing is connected yet.', `${base}/integrations`, 'Connect provider']
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
  labelOf: ({ title, createdAt }: Delivery, zone: string) =>
    `${title || 'delivery'}, ${formatTime(createdAt, zone)}`,
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
    isMain: true,
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

export function sourceOf(
  { integrationId, integrationType, repositoryId }: Delivery,
  integrations: readonly Integration[],
): string {
  const integration = integrations.find(({ id }) => id === integrationId);
  if (integration === undefined) return `${providerNames[integrationType]}, disconnected`;
  return sourceName(integration, repositoryId);
}
