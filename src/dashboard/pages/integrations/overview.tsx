import type { ReadTx } from '../../../../db/engine.ts';
import {
  countDays,
  type DayCounts,
  findLastDeliveryTime,
} from '../../../integrations/deliveries/count-store.ts';
import { deliveryStatuses } from '../../../integrations/deliveries/store.ts';
import { COMPARED_MS } from '../../../integrations/missed.ts';
import { findMissedCheckedAt, type Integration, listHistoryOnly } from '../../../integrations/store.ts';
import { findPause, type Pause } from '../../../integrations/uptime.ts';
import { describeLocalAddress, webhookUrl } from '../../../integrations/words.ts';
import { tidings } from '../../../lib/build.ts';
import type { Deps } from '../../../people/deps.ts';
import type { IntegrationType } from '../../../providers/ids.ts';
import { providerOf } from '../../../providers/index.ts';
import { counted, Link, LinkButton, More, ToCopy, useVisit, When } from '../../view/elements.tsx';
import { exactTime } from './subpage.tsx';

// The latest deliveries of an integration, their address, and what may be wrong with them.

export async function readOverview(tx: ReadTx, integration: Integration, now: Date) {
  const last = await findLastDeliveryTime(tx, integration.id);
  return {
    integration,
    days: await countDays(tx, integration, now, 30),
    last,
    isHistoryOnly: last === null && (await listHistoryOnly(tx, [integration])).has(integration.id),
  };
}

type OverviewProps = Awaited<ReturnType<typeof readOverview>>;

export function Overview({ integration, days, last, isHistoryOnly }: OverviewProps) {
  const { deps } = useVisit();
  const { id, repositories, isManaged, isPolled, app } = integration;
  const words = describeDays(days);
  // With a token, nobody needs to paste them. A long list is folded too.
  const isOpen = !isManaged && !isPolled && !isHistoryOnly && repositories.length <= 3;
  const own = repositories.length === 0 || app !== null ? [undefined] : repositories;
  return (
    <>
      <Chart days={days} label={words} />
      <p class="hint">
        {words}.{' '}
        {last !== null ? (
          <>
            Last delivery <When at={last} />. <Link to={`deliveries?integration=${id}`}>View all</Link>
          </>
        ) : isHistoryOnly ? (
          'Not connected: only past releases were imported.'
        ) : isPolled ? (
          'Waiting for the first event.'
        ) : (
          'Waiting for the first delivery.'
        )}
      </p>
      <More label={own.length === 1 ? 'Webhook URL' : counted(own.length, 'webhook URL')} isOpen={isOpen}>
        {own.map((repository) => (
          <>
            {own.length > 1 && <p class="label">Webhook URL of {repository?.fullName}</p>}
            <ToCopy text={webhookUrl(deps.publicUrl(), integration, repository?.id)} />
          </>
        ))}
      </More>
    </>
  );
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The statuses that occur, each with its number of deliveries. */
function countByStatus(days: readonly DayCounts[]): [status: string, entries: number][] {
  return deliveryStatuses
    .map((status): [string, number] => [status, sum(days.map(({ counts }) => counts[status] ?? 0))])
    .filter(([, entries]) => entries > 0);
}

const describeCounts = (counts: [status: string, entries: number][]) =>
  counts.map(([status, entries]) => `${entries.toLocaleString('en')} ${status}`).join(', ');

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
function describeDays(days: readonly DayCounts[]): string {
  const counts = countByStatus(days);
  if (counts.length === 0) return `No deliveries in ${days.length} days`;
  const total = counted(sum(counts.map(([, entries]) => entries)), 'delivery', 'deliveries');
  return `${total} in ${days.length} days: ${describeCounts(counts)}`;
}

/** Days are counted in UTC. */
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

const BAR = 10;
const GAP = 4;
const HEIGHT = 72;

/** A bar for each day. `label` describes the picture. The script shows a day's value; screen readers get a table. */
function Chart({ days, label }: { days: readonly DayCounts[]; label: string }) {
  const columns = days.map((each) => ({
    name: dayName.format(new Date(each.day)),
    parts: countByStatus([each]),
  }));
  const heights = columns.map(({ parts }) => sum(parts.map(([, amount]) => amount)));
  const scale = (HEIGHT - 4) / Math.max(...heights, 1);
  const width = columns.length * (BAR + GAP) - GAP;
  return (
    <figure class={heights.some(Boolean) ? 'chart' : 'chart none'} data-chart aria-label={label}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map(({ name, parts }, index) => {
          const value = `${name}: ${describeCounts(parts) || 'none'}`;
          const x = index * (BAR + GAP);
          let top = HEIGHT;
          return (
            <g data-value={value}>
              <title>{value}</title>
              <rect class="slot" x={x - GAP / 2} y={0} width={BAR + GAP} height={HEIGHT} />
              {parts.map(([kind, amount]) => {
                // Keep one part among hundreds visible.
                const height = Math.max(amount * scale, 2);
                top -= height;
                const y = Math.max(top, 0).toFixed(1);
                return <rect class={kind} x={x} y={y} width={BAR} height={height.toFixed(1)} />;
              })}
            </g>
          );
        })}
        <line class="base" x1={0} x2={width} y1={HEIGHT} y2={HEIGHT} />
      </svg>
      <figcaption>
        <span>{columns[0]?.name}</span>
        <output data-chart-value />
        <span>{columns.at(-1)?.name}</span>
      </figcaption>
      <div class="hidden">
        <table>
          <caption>{label}</caption>
          <tbody>
            {columns.map(
              ({ name, parts }) =>
                parts.length > 0 && (
                  <tr>
                    <th scope="row">{name}</th>
                    <td>{describeCounts(parts)}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/**
 * Warns of webhook URLs that a provider cannot reach. Without a `type`, it names all providers. `pollFor`: the
 * organization for which to offer polling instead.
 */
export function LocalAddressNote(props: { url: string; type?: IntegrationType; pollFor?: string }) {
  const { url, type, pollFor } = props;
  const text = describeLocalAddress(type ?? null, url);
  return text === null ? null : (
    <div class="note">
      <p>{text}</p>
      {type !== undefined && pollFor !== undefined && (
        <>
          <p>Without one, Tidings can ask {providerOf(type).name} for new events instead:</p>
          <ToCopy
            text={`${tidings} integration connect ${type} --organization ${pollFor} --repository OWNER/NAME --poll`}
            label="Copy command"
          />
        </>
      )}
    </div>
  );
}

/** The newest pause of the server, for each integration that was not checked for missed deliveries since. */
export async function findPauses(
  deps: Pick<Deps, 'db' | 'clock'>,
  integrations: readonly Integration[],
): Promise<Map<string, Pause>> {
  const pauses = new Map<string, Pause>();
  const compared = integrations.filter(
    ({ type, isManaged, isPolled }) => isManaged && !isPolled && providerOf(type).api?.listsDeliveries,
  );
  if (compared.length === 0) return pauses;
  // Providers list no older deliveries.
  const since = new Date(deps.clock.now().getTime() - COMPARED_MS).toISOString();
  const newest = await findPause(deps, since);
  if (newest === null) return pauses;
  await deps.db.read(async (tx) => {
    for (const { id, createdAt } of compared) {
      if (newest.to > ((await findMissedCheckedAt(tx, id)) ?? createdAt)) pauses.set(id, newest);
    }
  });
  return pauses;
}

/** Warns that deliveries may be missing. */
export function PauseNote({ pause, to }: { pause: Pause; to: string }) {
  const { isOwner } = useVisit();
  return (
    <div class="note">
      <p>
        Tidings was not running from {exactTime(pause.from)} to {exactTime(pause.to)}. Deliveries from that
        time may be missing.
      </p>
      <p>
        {isOwner ? (
          <LinkButton to={to} label="Check for missed deliveries" />
        ) : (
          <span class="dim">Owners can check for missed deliveries.</span>
        )}
      </p>
    </div>
  );
}
