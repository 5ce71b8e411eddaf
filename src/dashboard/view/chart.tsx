const BAR = 10;
const GAP = 4;
const HEIGHT = 72;

/** A day or the like. Without parts, it is a gap. */
interface Column {
  name: string;
  /** Stacked, each with its class. */
  parts: readonly (readonly [kind: string, amount: number])[];
}

/** `label` describes the picture. The script shows a column's value; screen readers get a table. */
export function Bars({ columns, label }: { columns: readonly Column[]; label: string }) {
  const heights = columns.map(({ parts }) => parts.reduce((sum, [, amount]) => sum + amount, 0));
  const scale = (HEIGHT - 4) / Math.max(...heights, 1);
  const width = columns.length * (BAR + GAP) - GAP;
  return (
    <figure class={heights.some(Boolean) ? 'chart' : 'chart none'} data-chart aria-label={label}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map((column, index) => (
          <Bar column={column} x={index * (BAR + GAP)} scale={scale} />
        ))}
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
            {columns.map(({ name, parts }) =>
              parts.length === 0 ? null : (
                <tr>
                  <th scope="row">{name}</th>
                  <td>{words(parts)}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function Bar({ column: { name, parts }, x, scale }: { column: Column; x: number; scale: number }) {
  const value = `${name}: ${words(parts)}`;
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
}

const words = (parts: Column['parts']) =>
  parts.map(([kind, amount]) => `${amount.toLocaleString('en')} ${kind}`).join(', ') || 'none';
