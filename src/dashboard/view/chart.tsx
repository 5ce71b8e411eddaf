const BAR = 10;
const GAP = 4;
const HEIGHT = 72;

type Part = [kind: string, amount: number];

/**
 * Columns of stacked parts, each with its class and amount; a column without parts is a gap. `label` describes the
 * picture, `names` name the columns, such as days. The script shows a column's value; screen readers get a table.
 */
export function Bars({
  columns,
  label,
  names,
}: {
  columns: readonly Part[][];
  label: string;
  names?: readonly string[];
}) {
  const heights = columns.map((parts) => parts.reduce((sum, [, amount]) => sum + amount, 0));
  const scale = (HEIGHT - 4) / Math.max(...heights, 1);
  const width = columns.length * (BAR + GAP) - GAP;
  const values = columns.map((parts, index) => describe(parts, names?.[index]));
  return (
    <figure class={heights.some(Boolean) ? 'chart' : 'chart none'} data-chart aria-label={label}>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map((parts, index) => (
          <Column parts={parts} x={index * (BAR + GAP)} scale={scale} value={values[index] ?? ''} />
        ))}
        <line class="base" x1={0} x2={width} y1={HEIGHT} y2={HEIGHT} />
      </svg>
      {names === undefined ? null : (
        <figcaption>
          <span>{names[0]}</span>
          <output data-chart-value />
          <span>{names.at(-1)}</span>
        </figcaption>
      )}
      <Values parts={columns} names={names} label={label} />
    </figure>
  );
}

function Column(props: { parts: Part[]; x: number; scale: number; value: string }) {
  const { parts, x, scale, value } = props;
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

function Values(props: { parts: readonly Part[][]; names: readonly string[] | undefined; label: string }) {
  const { parts, names, label } = props;
  if (names === undefined) return null;
  return (
    <div class="hidden">
      <table>
        <caption>{label}</caption>
        <tbody>
          {parts.map((each, index) =>
            each.length === 0 ? null : (
              <tr>
                <th scope="row">{names[index]}</th>
                <td>{words(each)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

const words = (parts: Part[]) =>
  parts.length === 0
    ? 'none'
    : parts.map(([kind, amount]) => `${amount.toLocaleString('en')} ${kind}`).join(', ');

const describe = (parts: Part[], name: string | undefined) =>
  name === undefined ? words(parts) : `${name}: ${words(parts)}`;
