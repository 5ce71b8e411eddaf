import type { listRecoveries } from '../../../integrations/recovery-store.ts';
import { providerOf } from '../../../providers/index.ts';
import { counted, More, Section, When } from '../../view/elements.tsx';
import { Table } from '../../view/list.tsx';
import type { PageProps } from './webhooks.tsx';

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
