import type { DayCounts } from '../../integrations/deliveries/count-store.ts';
import { deliveryStatuses } from '../../integrations/deliveries/store.ts';
import { formatShortDay } from '../../lib/time.ts';
import { counted, useVisit } from './elements.tsx';

// A picture of the deliveries of each day.

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

type Part = readonly [kind: string, words: string, amount: number];

/** The results that occur, each with its number of deliveries. */
function partsOf(days: readonly DayCounts[]): Part[] {
  const failedDrafts = sum(days.map((day) => day.failedDrafts ?? 0));
  const byStatus = deliveryStatuses.map((status): Part => {
    const amount = sum(days.map(({ counts }) => counts[status] ?? 0));
    return [status, status, status === 'processed' ? Math.max(amount - failedDrafts, 0) : amount];
  });
  const parts = [...byStatus, ['failed', 'with a failed draft', failedDrafts] as const];
  return parts.filter(([, , amount]) => amount > 0);
}

const describeParts = (parts: readonly Part[]) =>
  parts.map(([, words, amount]) => `${amount.toLocaleString('en')} ${words}`).join(', ');

const totalOf = (parts: readonly Part[]) => sum(parts.map(([, , amount]) => amount));

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
export function describeDays(days: readonly DayCounts[]): string {
  const parts = partsOf(days);
  if (parts.length === 0) return `No deliveries in ${days.length} days`;
  const total = counted(totalOf(parts), 'delivery', 'deliveries');
  return `${total} in ${days.length} days: ${describeParts(parts)}`;
}

/** Such as "Nov 20". Days are counted in UTC. `zone`: that of the page's other times. */
export const dayName = (day: string | Date, zone: string): string =>
  `${formatShortDay(day, 'UTC')}${zone === 'UTC' ? '' : ' (UTC)'}`;

export const hasDeliveries = (days: readonly DayCounts[]): boolean => partsOf(days).length > 0;

const WIDTH = 420;
const HEIGHT = 72;
const GAP = 4;
const MAX_BAR = 24;

const tenths = (number: number) => Math.round(number * 10) / 10;

const box = (x: number, bottom: number, width: number, height: number) =>
  `M${tenths(x)} ${tenths(bottom)}h${tenths(width)}v${-tenths(height)}h${-tenths(width)}z`;

/** The script shows a day's value; screen readers get a table. `hrefOf`: the page about a day. */
export function Chart(props: {
  days: readonly DayCounts[];
  label: string;
  hrefOf?: (day: string) => string;
}) {
  const { days, label, hrefOf } = props;
  const { zone } = useVisit().look;
  const nameOf = (day: string) => dayName(day, zone);
  const columns = days.map((each) => ({ day: each.day, name: nameOf(each.day), parts: partsOf([each]) }));
  const heights = columns.map(({ parts }) => totalOf(parts));
  const scale = (HEIGHT - 4) / Math.max(...heights, 1);
  const pitch = WIDTH / columns.length;
  const bar = Math.min(pitch - GAP, MAX_BAR);
  return (
    <figure class="chart" data-chart aria-label={label}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map(({ day, name, parts }, index) => {
          const x = index * pitch;
          let top = HEIGHT;
          const column = (
            <g>
              <title>{`${name}: ${describeParts(parts) || 'none'}`}</title>
              <path class="slot" d={box(x, HEIGHT, pitch, HEIGHT)} />
              {parts.map(([kind, , amount]) => {
                const bottom = top;
                // Keep one part among hundreds visible.
                top = Math.max(top - Math.max(amount * scale, 2), 0);
                return <path class={kind} d={box(x + (pitch - bar) / 2, bottom, bar, bottom - top)} />;
              })}
            </g>
          );
          return hrefOf === undefined || parts.length === 0 ? (
            column
          ) : (
            // The keyboard moves from day to day in the script.
            <a href={hrefOf(day)} tabindex={-1}>
              {column}
            </a>
          );
        })}
        <line class="base" x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
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
                    <td>{describeParts(parts)}</td>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/** The colors of a chart, with the number of deliveries of each. */
export function Legend({ days }: { days: readonly DayCounts[] }) {
  return (
    <p class="hint legend">
      {partsOf(days).map(([kind, words, amount]) => (
        <span class={kind}>
          {amount.toLocaleString('en')} {words}
        </span>
      ))}
    </p>
  );
}
