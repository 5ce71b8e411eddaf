import type { listRecoveries } from '../../../integrations/hook-store.ts';
import {
  type ComparedDelivery,
  findMissed,
  MAX_REDELIVERED,
  redeliverMissed,
} from '../../../integrations/missed.ts';
import { describeMissed } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { span } from '../../../lib/time.ts';
import { providerOf } from '../../../providers/index.ts';
import type { Page } from '../../page.ts';
import { Clock, counted, LinkButton, More, Section, When } from '../../view/elements.tsx';
import { FormError, Mark } from '../../view/form.tsx';
import { Table } from '../../view/list.tsx';
import { formPages, type IntegrationVisit, problemOf, subpage } from './subpage.tsx';
import type { PageProps } from './webhooks.tsx';

const MAX_ROWS = 200;

export const routes: readonly Page[] = [...formPages('missed', showMissed, redeliver)];

async function showMissed(visit: IntegrationVisit, error?: string) {
  return subpage(visit, { title: 'Missed deliveries' }, await renderMissed(visit, error));
}

async function renderMissed(visit: IntegrationVisit, error: string | undefined) {
  const { integration, path, deps } = visit;
  const { id, type, isManaged } = integration;
  const { name, api, words } = providerOf(type);
  if (api?.redelivery == null) return <p class="lede">{words.redelivery}</p>;
  if (!isManaged) {
    return (
      <>
        <p class="lede">
          With a token, Tidings compares the deliveries of {name} with the log every 10 minutes, and requests
          the missing ones again. {name} keeps them for {span(api.redelivery.keptMs)}.
        </p>
        <LinkButton to={`${path}/token`} label="Add token" kind="go" />
      </>
    );
  }
  const comparison = await findMissed(deps, id).catch((failure: unknown) => problemOf(visit, failure));
  if (typeof comparison === 'string') {
    return (
      <>
        <FormError error={comparison} />
        <p>Tidings could not compare the deliveries. Nothing was changed.</p>
        <LinkButton to={`${path}/missed`} label="Check again" />
      </>
    );
  }
  const { counts, missed, since, isCut, unknown } = comparison;
  return (
    <>
      <p class="lede">
        {missed.length === 0 ? 'No deliveries are missing: ' : `Deliveries of ${name}: `}
        {counts.arrived} arrived, {counts.failed} failed, {counts['never-arrived']} never arrived since{' '}
        <Clock at={since} />.{isCut ? ` ${name} has more, which Tidings did not compare.` : ''}
      </p>
      {unknown.map(({ place, problem }) => (
        <p class="note">
          Tidings could not read the deliveries of {place}. {problemOf(visit, problem)}
        </p>
      ))}
      <FormError error={error} />
      {missed.length === 0 ? (
        <LinkButton to={path} label="Back to the integration" />
      ) : (
        missedForm(visit, missed)
      )}
    </>
  );
}

function missedForm({ path, form }: IntegrationVisit, missed: readonly ComparedDelivery[]) {
  const chosen = form.getAll('delivery');
  return (
    <form method="post" action={`${path}/missed`} data-once>
      <Mark />
      <div class="bar">
        {missed.length !== 1 && (
          <button type="submit" name="which" value="chosen" class="button" data-busy="Requesting…">
            Redeliver selected
          </button>
        )}
        <button type="submit" name="which" value="all" class="button go" data-busy="Requesting…">
          {missed.length === 1 ? 'Redeliver' : `Redeliver all ${missed.length}`}
        </button>
      </div>
      <Table
        caption="Missed deliveries, oldest first"
        rows={missed.slice(0, MAX_ROWS)}
        columns={[
          {
            title: 'Event',
            cell: ({ deliveryId, place, event, action }) => (
              <label class="check">
                <input
                  type="checkbox"
                  name="delivery"
                  value={deliveryId}
                  checked={chosen.includes(deliveryId)}
                />
                <span>
                  {[event, action].filter(Boolean).join(' ')}
                  <span class="hint">
                    {place} <span class="mono whole">{deliveryId}</span>
                  </span>
                </span>
              </label>
            ),
          },
          {
            title: 'Result',
            cell: ({ fate, attempts }) => (
              <>
                <span class={`tag ${fate === 'failed' ? 'failed' : 'rejected'}`}>
                  {fate === 'failed' ? 'Failed' : 'Never arrived'}
                </span>
                {attempts > 1 && <div class="dim">{attempts} attempts</div>}
              </>
            ),
          },
          { title: 'Reason', class: 'reason', cell: ({ cause }) => cause && describeMissed(cause) },
          {
            title: 'Delivered',
            class: 'dim',
            cell: ({ deliveredAt }) => <When at={deliveredAt} />,
          },
        ]}
      />
      {missed.length > MAX_ROWS && (
        <p class="hint">{missed.length - MAX_ROWS} more deliveries are missing.</p>
      )}
    </form>
  );
}

/** The provider's responses to redelivery requests. The deliveries arrive at the receiver a moment later. */
async function redeliver(visit: IntegrationVisit) {
  const { id, type } = visit.integration;
  const { name } = providerOf(type);
  const results = await redeliverMissed(visit.deps, id, wantedOf(visit.form));
  const refused = results.flatMap(({ deliveryId, problem }) =>
    problem === null ? [] : [{ deliveryId, message: problemOf(visit, problem) }],
  );
  const accepted = results.length - refused.length;
  const title =
    accepted > 0
      ? `Requested ${counted(accepted, 'delivery', 'deliveries')} from ${name}`
      : refused.length > 0
        ? `${name} refused to redeliver`
        : 'No deliveries are missing';
  return subpage(
    { ...visit, isRefused: refused.length > 0 },
    { title },
    <p class="lede">
      {accepted === 0 ? 'Nothing was requested.' : 'They appear in the log as they arrive.'}
      {results.length === MAX_REDELIVERED
        ? ` Tidings requests at most ${MAX_REDELIVERED} at a time. Check again for the rest.`
        : ''}
    </p>,
    refused.length > 0 && (
      <div class="problem" role="alert">
        <p>Not redelivered:</p>
        <ul>
          {refused.map(({ deliveryId, message }) => (
            <li>
              <span class="mono">{deliveryId}</span>: {message}
            </li>
          ))}
        </ul>
      </div>
    ),
    <p class="bar">
      <LinkButton
        to={`deliveries?integration=${id}`}
        label="Open log"
        kind={accepted > 0 ? 'go' : undefined}
      />
      <LinkButton to={`${visit.path}/missed`} label="Check again" />
    </p>,
  );
}

function wantedOf(form: URLSearchParams): string[] | 'all' {
  if (form.get('which') === 'all') return 'all';
  const chosen = form.getAll('delivery');
  if (chosen.length > 0) return chosen;
  throw new AppError(400, 'Select at least one delivery. Nothing was requested.');
}

// The ledger of what was compared with the provider, what was missing, and what came back.

type Row = Awaited<ReturnType<typeof listRecoveries>>[number];

const MAX_PLACES = 10;
const MAX_ENTRIES = 10;

export function RecoverySection({
  integration,
  rows,
}: Pick<PageProps, 'integration'> & { rows: readonly Row[] }) {
  const { name, api, words } = providerOf(integration.type);
  const { one } = words.place;
  const entries = rows.flatMap(entriesOf).sort((a, b) => (a.at < b.at ? 1 : -1));
  const lost = rows.flatMap(({ placeName, recovery }) =>
    (recovery?.lost ?? []).map((each) => ({ place: placeName, ...each })),
  );
  const shown = rows.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_PLACES);
  return (
    <Section id="recovery" title="Missed deliveries">
      <p class="hint">
        {api?.redelivery != null
          ? `Every 10 minutes, Tidings compares what ${name} delivered with the log, and requests what is missing.`
          : `Every 10 minutes, Tidings reads the changes at ${name}, and drafts what no webhook delivered.`}
        {words.noHeartbeat !== undefined && ` ${words.noHeartbeat}`}
        {integration.app !== null &&
          ` ${name} sends no ping of an App on request, so the heartbeat requests the newest delivery again, which the log lists as a duplicate.`}
      </p>
      <Table
        caption={`Comparison with ${name}, by ${one}`}
        rows={shown}
        columns={[
          { title: 'Where', cell: ({ placeName }) => placeName },
          { title: 'State', cell: (row) => <State row={row} /> },
          {
            title: 'Last comparison',
            isLabeled: true,
            class: 'dim',
            cell: ({ recovery }) => {
              const at = recovery?.comparedAt ?? recovery?.readAt;
              return at == null ? 'None yet' : <When at={at} />;
            },
          },
        ]}
      />
      {rows.length > shown.length && <p class="hint">And {rows.length - shown.length} more.</p>}
      {entries.length > 0 && (
        <Table
          caption="Comparisons that found something missing, newest first"
          rows={entries.slice(0, MAX_ENTRIES)}
          columns={[
            { title: 'When', cell: ({ at }) => <When at={at} /> },
            { title: 'Where', class: 'dim', cell: ({ place }) => place },
            { title: 'Missing', isLabeled: true, cell: ({ missing }) => missing },
            { title: 'Result', cell: ({ result }) => result },
          ]}
        />
      )}
      {lost.length > 0 && (
        <More label={`${counted(lost.length, 'delivery', 'deliveries')} lost`} isOpen>
          <ul>
            {lost.slice(0, MAX_ENTRIES).map(({ place, deliveryId, reason }) => (
              <li>
                {place} <span class="mono whole">{deliveryId}</span>: {reason}
              </li>
            ))}
          </ul>
        </More>
      )}
    </Section>
  );
}

/** Those that need a look come first. */
const rank = ({ recovery }: Row) =>
  recovery?.problem != null || recovery?.isOff || recovery?.heartbeat?.problem != null ? 0 : 1;

function State({ row: { recovery } }: { row: Row }) {
  const { problem = null, isOff = false, queue = [], unread = [], heartbeat } = recovery ?? {};
  const reason = problem ?? (isOff ? 'The webhook is switched off. Tidings reads the changes.' : null);
  const failed =
    reason ??
    (heartbeat?.problem == null
      ? null
      : `The last ${heartbeat.redelivered == null ? 'ping' : 'requested delivery'} did not arrive: ${heartbeat.problem}`);
  if (failed !== null) {
    return (
      <>
        <span class="tag failed">Problem</span>
        <div class="reason">{failed}</div>
      </>
    );
  }
  if (queue.length > 0) return <span class="tag soon">{queue.length} to request</span>;
  return (
    <>
      <span class="tag active">OK</span>
      {unread.map(({ event, reason: why }) => (
        <div class="reason">
          Tidings can't read {event}: {why}
        </div>
      ))}
    </>
  );
}

const results = {
  requested: 'Requested again',
  read: 'Read through the API',
  lost: 'Lost',
};

function entriesOf({ placeName: place, recovery }: Row) {
  const { rounds = [], reads = [] } = recovery ?? {};
  return [
    ...rounds.map(({ at, missed, compared, result, arrived }) => ({
      at,
      place,
      missing: `${missed} of ${compared}`,
      result: arrived === 0 ? results[result] : `${arrived} arrived`,
    })),
    ...reads.map(({ at, news, compared }) => ({
      at,
      place,
      missing: compared === undefined ? String(news) : `${news} of ${compared}`,
      result: results.read,
    })),
  ];
}
