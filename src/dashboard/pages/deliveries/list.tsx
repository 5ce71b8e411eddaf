/** @jsxRuntime automatic @jsxImportSource preact */

import { retentionDaysOf } from '../../../audit/model.ts';
import { listDeliveries, listLogPage, MAX_SCANNED } from '../../../deliveries/log-store.ts';
import { type Delivery, isReplayable } from '../../../deliveries/model.ts';
import { type Integration, integrationName, providerNames } from '../../../integrations/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { listProviders } from '../../../providers/index.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { type Answer, fragment, get, type MemberVisit, type Page, post, redirect, view } from '../../page.ts';
import { Status, When } from '../../view/elements.tsx';
import { Filters, filterNames, logPath, readFilter, readPosition, writePosition } from './filter.tsx';

function Empty({
  base,
  kind,
  integrations,
}: {
  base: string;
  kind: 'beginning' | 'filtered' | 'cut' | 'end';
  integrations: readonly Integration[];
}) {
  if (kind === 'cut') {
    return (
      <div class="card empty">
        <p>No matches so far. Search older entries, or choose a shorter time.</p>
      </div>
    );
  }
  if (kind === 'filtered' || kind === 'end') {
    return (
      <div class="card empty">
        <p>{kind === 'filtered' ? 'No deliveries match these filters.' : 'The log has no older entries.'}</p>
        <a class="button" href={`${base}/deliveries`}>
          Show all deliveries
        </a>
      </div>
    );
  }
  const [first] = integrations;
  return first === undefined ? (
    <div class="card empty">
      <p>Nothing is connected yet. Each delivery appears here as soon as it arrives.</p>
      <a class="button go" href={`${base}/integrations`}>
        Connect {listProviders('or')}
      </a>
    </div>
  ) : (
    <div class="card empty">
      <p>No deliveries yet. Each one appears here as soon as it arrives, processed or not.</p>
      <a class="button go" href={`${base}/integrations/${first.id}#test`}>
        Send a test event
      </a>
    </div>
  );
}

interface RowContext {
  base: string;
  now: Date;
  integrations: readonly Integration[];
}

function Row({ entry, base, now, integrations }: RowContext & { entry: Delivery }) {
  const { id, title, status, payload, durationMs, count, replayOf, createdAt } = entry;
  return (
    <tr id={id} data-at={writePosition(entry)}>
      <td>
        <Status status={status} />
      </td>
      <td>
        <a href={`${base}/deliveries/${id}`}>{title || 'Untitled'}</a>
        {count > 1 ? ` (${count.toLocaleString('en')} times)` : ''}
        <div class="dim mono">
          {[payload.event, replayOf === null ? null : 'replay', `${durationMs} ms`]
            .filter(Boolean)
            .join(' · ')}
        </div>
      </td>
      <td>{sourceOf(entry, integrations)}</td>
      <td class="end dim">
        <When at={createdAt} now={now} />
      </td>
    </tr>
  );
}

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

/** Deliveries that one form looks at, the newest first. */
const MAX_REPLAYED = 200;

/** Replays the deliveries that match the filters, oldest first. */
export const replayMany: Page = post(
  '/dashboard/:organizationId/deliveries/replay',
  'member',
  async ({ deps, organization, form, base }) => {
    const filter = readFilter(form, deps.clock.now());
    const { entries, integrations } = await deps.db.read(async (tx) => ({
      entries: (await listLogPage(tx, organization.id, filter, { limit: MAX_REPLAYED })).entries,
      integrations: await listIntegrations(tx, organization.id),
    }));
    const connected = new Set(integrations.map(({ id }) => id));
    const replayed = entries
      .filter((entry) => isReplayable(entry) && connected.has(entry.integrationId))
      .reverse();
    for (const delivery of replayed) await replayDelivery(deps, delivery);
    const notice =
      replayed.length === 0
        ? 'Nothing was replayed: only processed deliveries can be.'
        : `${replayed.length === 1 ? '1 delivery' : `${replayed.length} deliveries`} replayed. Existing drafts are updated, not duplicated.`;
    return redirect(logPath(base, form), notice);
  },
);

/** Nothing when none of the entries can be replayed. */
function ReplayMany({
  base,
  query,
  entries,
}: {
  base: string;
  query: URLSearchParams;
  entries: readonly Delivery[];
}) {
  if (!entries.some(isReplayable)) return null;
  return (
    <details class="more">
      <summary>Replay these deliveries</summary>
      <p class="hint">
        Hands the processed ones of the newest {MAX_REPLAYED} deliveries that match these filters to the
        triggers again, for example after you created a trigger. Existing drafts are updated, not duplicated.
      </p>
      <form method="post" action={`${base}/deliveries/replay`}>
        {filterNames.map((name) =>
          query.get(name) ? <input type="hidden" name={name} value={query.get(name) ?? ''} /> : null,
        )}
        <button type="submit" class="button">
          Replay deliveries
        </button>
      </form>
    </details>
  );
}

const PAGE = 50;

/** Entries are written shortly after they arrive, not always in order, so the live tail reads this far back. */
const OVERLAP_MS = 5_000;

/** The delivery log. */
export const deliveryLog: Page = get('/dashboard/:organizationId/deliveries', 'member', async (visit) => {
  const { deps, organization, base, url } = visit;
  const now = deps.clock.now();
  const integrations = await deps.db.read((tx) => listIntegrations(tx, organization.id));
  const context = { base, now, integrations };
  const after = readPosition(url.searchParams.get('after'));
  return after === null ? showLog(visit, context) : showNews(visit, context, new Date(after.createdAt));
});

async function showNews(
  { deps, organization, url }: MemberVisit,
  context: RowContext,
  after: Date,
): Promise<Answer> {
  const filter = readFilter(url.searchParams, context.now);
  const since = new Date(Math.max(after.getTime() - OVERLAP_MS, filter.since?.getTime() ?? 0));
  const entries = await deps.db.read((tx) =>
    listDeliveries(tx, organization.id, { ...filter, since }, { limit: PAGE }),
  );
  return fragment(entries.map((entry) => <Row entry={entry} {...context} />));
}

async function showLog(visit: MemberVisit, context: RowContext): Promise<Answer> {
  const { deps, organization, base, url } = visit;
  const query = url.searchParams;
  const before = readPosition(query.get('before'));
  const filter = readFilter(query, context.now);
  const { entries, next, isCut } = await deps.db.read((tx) =>
    listLogPage(tx, organization.id, filter, { limit: PAGE, before }),
  );
  const isFiltered = filterNames.some((name) => query.get(name));
  const days = retentionDaysOf[organization.plan];
  return view(
    'Deliveries',
    <>
      <h1>Deliveries</h1>
      <p class="lede">Every webhook delivery and its outcome. Entries are kept for {days} days.</p>
      <Filters
        base={base}
        query={query}
        integrations={context.integrations}
        isLive={before === null}
        now={context.now}
      />
      <p role="status" class="hint" id="live-news" />
      {entries.length === 0 ? (
        <div id="log-empty">
          <Empty
            base={base}
            kind={isCut ? 'cut' : before !== null ? 'end' : isFiltered ? 'filtered' : 'beginning'}
            integrations={context.integrations}
          />
        </div>
      ) : null}
      {/* Present even when empty: the script adds rows while "Live" is on. */}
      <div id="log" class="card" hidden={entries.length === 0}>
        <table class="list">
          <caption class="hidden">Deliveries, newest first</caption>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Event</th>
              <th scope="col">Source</th>
              <th scope="col" class="end">
                Received
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <Row entry={entry} {...context} />
            ))}
          </tbody>
        </table>
      </div>
      <ReplayMany base={base} query={query} entries={before === null ? entries : []} />
      {isCut ? (
        <p class="hint">
          {MAX_SCANNED.toLocaleString('en')} entries were searched. Older entries may match too.
        </p>
      ) : null}
      <nav class="pages" aria-label="Pages of the log">
        {before === null ? <span /> : <a href={logPath(base, query)}>Newest</a>}
        {next === null ? null : (
          <a href={logPath(base, query, { before: writePosition(next) })} rel="next">
            {isCut ? 'Search older entries' : 'Older'}
          </a>
        )}
      </nav>
    </>,
    { section: 'deliveries' },
  );
}
