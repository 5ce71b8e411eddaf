/** @jsxRuntime automatic @jsxImportSource preact */

import { listLogNews, listLogPage, MAX_SCANNED } from '../../../deliveries/log-store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { retentionDaysOf } from '../../../organizations/model.ts';
import { type Answer, fragment, get, type MemberVisit, type Page, view } from '../../page.ts';
import { Empty } from './empty.tsx';
import { filterNames, logPath, readFilter, readPosition, writePosition } from './filter.ts';
import { Filters } from './filters.tsx';
import { ReplayMany } from './replay-many.tsx';
import { Row, type RowContext } from './rows.tsx';

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
    listLogNews(tx, organization.id, filter, { since, limit: PAGE }),
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
