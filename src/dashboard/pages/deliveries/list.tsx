/** @jsxRuntime automatic @jsxImportSource preact */
import { retentionDaysOf } from '../../../audit/model.ts';
import { listDeliveries, listLogPage } from '../../../deliveries/log-store.ts';
import { type Delivery, isReplayable } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { listProviders } from '../../../providers/index.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import {
  type Column,
  counted,
  Empty,
  LinkButton,
  Pager,
  Rows,
  Status,
  Table,
  When,
} from '../../view/elements.tsx';
import { Action } from '../../view/form.tsx';
import { Filters, filtersIn, logPath, readFilter, readPosition, writePosition } from './filter.tsx';

const PATH = '/dashboard/:organizationId/deliveries';

const PAGE = 50;

/** Entries are written shortly after they arrive, not always in order, so the live tail reads this far back. */
const OVERLAP_MS = 5_000;

/** Deliveries that one form looks at, the newest first. */
const MAX_REPLAYED = 200;

/** The delivery log, its live tail, and the replay of many. */
export const deliveryLogPages: readonly Page[] = [
  get(PATH, 'member', (visit) => {
    const after = readPosition(visit.url.searchParams.get('after'));
    return after === null ? showLog(visit) : showNews(visit, Date.parse(after.createdAt));
  }),

  post(`${PATH}/replay`, 'member', async ({ deps, organization, form, base }) => {
    const filter = readFilter(form, deps.clock.now());
    const { entries, integrations } = await deps.db.read(async (tx) => ({
      entries: (await listLogPage(tx, organization.id, filter, { limit: MAX_REPLAYED })).entries,
      integrations: await listIntegrations(tx, organization.id),
    }));
    const replayed = entries.filter(
      (entry) => isReplayable(entry) && integrations.some(({ id }) => id === entry.integrationId),
    );
    // The oldest first, as they arrived.
    for (const delivery of replayed.reverse()) await replayDelivery(deps, delivery);
    return redirect(
      logPath(base, form),
      replayed.length === 0
        ? 'Nothing was replayed: only processed deliveries can be.'
        : `${counted(replayed.length, 'delivery', 'deliveries')} replayed. Existing drafts are updated, not duplicated.`,
    );
  }),
];

async function showNews({ deps, organization, url, base }: MemberVisit, after: number) {
  const now = deps.clock.now();
  const filter = readFilter(url.searchParams, now);
  const since = new Date(Math.max(after - OVERLAP_MS, filter.since?.getTime() ?? 0));
  const { entries, integrations } = await deps.db.read(async (tx) => ({
    entries: await listDeliveries(tx, organization.id, { ...filter, since }, { limit: PAGE }),
    integrations: await listIntegrations(tx, organization.id),
  }));
  return fragment(<Rows rows={entries} columns={columns(base, integrations, now)} marksOf={marksOf} />);
}

async function showLog(visit: MemberVisit) {
  const { deps, organization, base, url } = visit;
  const query = url.searchParams;
  const before = readPosition(query.get('before'));
  const { entries, next, isCut, integrations } = await deps.db.read(async (tx) => ({
    ...(await listLogPage(tx, organization.id, readFilter(query, deps.clock.now()), { limit: PAGE, before })),
    integrations: await listIntegrations(tx, organization.id),
  }));
  const isFiltered = before !== null || Object.keys(filtersIn(query)).length > 0;
  const [first] = integrations;
  const older = next && logPath(base, query, { before: writePosition(next) });
  const noneLeft = before === null ? 'No deliveries match these filters.' : 'The log has no older entries.';
  const [text, to, label] = isFiltered
    ? [isCut ? 'No matches so far.' : noneLeft, `${base}/deliveries`, 'Show all deliveries']
    : first === undefined
      ? ['Nothing is connected yet.', `${base}/integrations`, `Connect ${listProviders('or')}`]
      : ['No deliveries yet.', `${base}/integrations/${first.id}#test`, 'Send a test event'];
  return view(
    'Deliveries',
    <>
      <h1>Deliveries</h1>
      <p class="lede">
        Every webhook delivery and its outcome. Entries are kept for {retentionDaysOf[organization.plan]}{' '}
        days.
      </p>
      <Filters visit={visit} integrations={integrations} />
      <p role="status" class="hint" id="live-news" />
      {entries.length === 0 ? (
        <div id="log-empty">
          <Empty drawing={isFiltered ? 'search' : 'deliveries'}>
            <p>{text}</p>
            <LinkButton to={to} label={label} kind={isFiltered ? undefined : 'go'} />
          </Empty>
        </div>
      ) : null}
      {/* Present even when empty: the script adds rows while "Live" is on. */}
      <div id="log" hidden={entries.length === 0}>
        <Table
          caption="Deliveries, newest first"
          rows={entries}
          columns={columns(base, integrations, deps.clock.now())}
          marksOf={marksOf}
        />
      </div>
      {before === null && entries.some(isReplayable) ? (
        <details class="more">
          <summary>Replay these deliveries</summary>
          <p class="hint">
            Hands the processed ones of the newest {MAX_REPLAYED} deliveries that match these filters to the
            triggers again, for example after you created a trigger. Existing drafts are updated, not
            duplicated.
          </p>
          <Action to={`${base}/deliveries/replay`} label="Replay deliveries" fields={filtersIn(query)} />
        </details>
      ) : null}
      <Pager
        back={before && { to: logPath(base, query), label: 'Newest' }}
        next={older ? { to: older, label: isCut ? 'Search older entries' : 'Older' } : null}
      />
    </>,
    { section: 'deliveries' },
  );
}

/** By them, the script finds the newest row, and skips those that are present. */
const marksOf = (entry: Delivery) => ({ id: entry.id, 'data-at': writePosition(entry) });

const columns = (base: string, integrations: readonly Integration[], now: Date): Column<Delivery>[] => [
  { title: 'Status', cell: ({ status }) => <Status status={status} /> },
  {
    title: 'Event',
    fullText: ({ title }) => title,
    cell: ({ id, title, count, payload, replayOf, durationMs }) => (
      <>
        <a href={`${base}/deliveries/${id}`}>{title || 'Untitled'}</a>
        {count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}
        <div class="dim mono">
          {[payload.event, replayOf && 'replay', `${durationMs} ms`].filter(Boolean).join(' · ')}
        </div>
      </>
    ),
  },
  { title: 'Source', cell: (entry) => sourceOf(entry, integrations) },
  { title: 'Received', class: 'end dim', cell: ({ createdAt }) => <When at={createdAt} now={now} /> },
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
