/** @jsxRuntime automatic @jsxImportSource preact */

import { type DayCounts, MAX_COUNTED_PER_DAY } from '../../../deliveries/count-store.ts';
import { type DeliveryStatus, deliveryStatuses } from '../../../deliveries/model.ts';

const BAR = 10;
const GAP = 4;
const HEIGHT = 48;

/** The days of an integration as bars, and in words for those who do not see them. */
export function Picture({ days }: { days: readonly DayCounts[] }) {
  const totals = days.map(totalOf);
  const most = Math.max(...totals, 1);
  const width = days.length * (BAR + GAP) - GAP;
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={inWords(days)}
    >
      {days.map((day, index) => (
        <Bar day={day} x={index * (BAR + GAP)} scale={(HEIGHT - 2) / most} />
      ))}
    </svg>
  );
}

function Bar({ day: { counts }, x, scale }: { day: DayCounts; x: number; scale: number }) {
  let top = HEIGHT;
  const parts = deliveryStatuses.flatMap((status) => {
    const entries = counts[status] ?? 0;
    if (entries === 0) return [];
    // One failure among hundreds is to be seen too.
    const height = Math.max(entries * scale, 1.5);
    top -= height;
    return [{ status, height, y: Math.max(top, 0) }];
  });
  if (parts.length === 0) return <rect class="none" x={x} y={HEIGHT - 1} width={BAR} height={1} />;
  return (
    <>
      {parts.map(({ status, height, y }) => (
        <rect class={status} x={x} y={y.toFixed(1)} width={BAR} height={height.toFixed(1)} />
      ))}
    </>
  );
}

function totalOf({ counts }: DayCounts): number {
  return Object.values(counts).reduce((sum, entries) => sum + entries, 0);
}

/** Such as "412 deliveries in 30 days: 400 processed, 12 ignored". */
export function inWords(days: readonly DayCounts[]): string {
  const total = days.map(totalOf).reduce((sum, each) => sum + each, 0);
  if (total === 0) return `No delivery in ${days.length} days`;
  const atLeast = days.some((day) => totalOf(day) >= MAX_COUNTED_PER_DAY) ? 'More than ' : '';
  const of = (status: DeliveryStatus) => days.reduce((sum, { counts }) => sum + (counts[status] ?? 0), 0);
  const parts = deliveryStatuses.flatMap((status) => {
    const entries = of(status);
    return entries === 0 ? [] : [`${entries.toLocaleString('en')} ${status}`];
  });
  const deliveries = total === 1 ? '1 delivery' : `${total.toLocaleString('en')} deliveries`;
  return `${atLeast}${deliveries} in ${days.length} days: ${parts.join(', ')}`;
}
