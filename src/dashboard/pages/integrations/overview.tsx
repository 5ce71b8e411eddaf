/** @jsxRuntime automatic @jsxImportSource preact */
import type { ReadTx } from '../../../../db/engine.ts';
import { countDays, type DayCounts, findLastDeliveryTime } from '../../../deliveries/count-store.ts';
import { deliveryStatuses } from '../../../deliveries/model.ts';
import { type Integration, webhookUrl } from '../../../integrations/model.ts';
import { listHistoryOnly } from '../../../integrations/store.ts';
import type { MemberVisit } from '../../page.ts';
import { Bars, counted, ToCopy, When } from '../../view/elements.tsx';

// What an integration delivered lately, and where to.

export async function readOverview(tx: ReadTx, integration: Integration, now: Date) {
  const last = await findLastDeliveryTime(tx, integration.id);
  return {
    integration,
    days: await countDays(tx, integration, now, 30),
    last,
    isHistoryOnly: last === null && (await listHistoryOnly(tx, [integration])).has(integration.id),
  };
}

/** The picture of recent deliveries, and the webhook URLs. */
export function Overview({
  integration,
  days,
  last,
  isHistoryOnly,
  visit: { deps, base },
}: Awaited<ReturnType<typeof readOverview>> & { visit: MemberVisit }) {
  const { id, repositories, isManaged, isPolled, app } = integration;
  const words = describeDays(days);
  // With a token, nobody needs to paste them. A long list is folded too.
  const isOpen = !isManaged && !isPolled && !isHistoryOnly && repositories.length <= 3;
  const own = repositories.length === 0 || app !== null ? [undefined] : repositories;
  const urls = own.map((repository) => (
    <>
      {own.length > 1 ? <p class="label">Webhook URL of {repository?.fullName}</p> : null}
      <ToCopy text={webhookUrl(deps.publicUrl(), integration, repository?.id)} />
    </>
  ));
  return (
    <>
      <Bars
        columns={days.map((day) => countByStatus([day]))}
        label={words}
        names={days.map(({ day }) => dayName.format(new Date(day)))}
      />
      <p class="hint">
        {words}.{' '}
        {last === null ? (
          isHistoryOnly ? (
            'Not connected: only past releases were imported.'
          ) : isPolled ? (
            'Waiting for the first event.'
          ) : (
            'Waiting for the first delivery.'
          )
        ) : (
          <>
            Last delivery <When at={last} now={deps.clock.now()} />.{' '}
            <a href={`${base}/deliveries?integration=${id}`}>View all</a>
          </>
        )}
      </p>
      <details class="more" open={isOpen}>
        <summary>{urls.length === 1 ? 'Webhook URL' : counted(urls.length, 'webhook URL')}</summary>
        {urls}
      </details>
    </>
  );
}

/** Days are counted in UTC. */
const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

/** The statuses that occur, each with its number of deliveries. */
function countByStatus(days: readonly DayCounts[]): [status: string, entries: number][] {
  return deliveryStatuses
    .map((status): [string, number] => [status, sum(days.map(({ counts }) => counts[status] ?? 0))])
    .filter(([, entries]) => entries > 0);
}

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
function describeDays(days: readonly DayCounts[]): string {
  const counts = countByStatus(days);
  if (counts.length === 0) return `No deliveries in ${days.length} days`;
  const total = counted(sum(counts.map(([, entries]) => entries)), 'delivery', 'deliveries');
  const parts = counts.map(([status, entries]) => `${entries.toLocaleString('en')} ${status}`);
  return `${total} in ${days.length} days: ${parts.join(', ')}`;
}
