/** @jsxRuntime automatic @jsxImportSource preact */
import type { SuggestedLine } from '../../drafts/model.ts';

/** Lines that stay between two changes and are not worth showing; this many are left at each end. */
const CONTEXT = 2;

/** How many lines are shown, so that a page stays one. */
const MAX_LINES = 1_000;

type Shown = SuggestedLine | { kind: 'skipped'; lines: SuggestedLine[] };

/** How many lines are open at once: more would push away what the page is about. */
const MAX_OPEN = 40;

/** What changes from one text to another, line by line; what stays is cut short. It can be folded. */
export function Difference({ label, lines }: { label: string; lines: readonly SuggestedLine[] }) {
  const all = withoutLongSame(lines);
  const shown = all.slice(0, MAX_LINES);
  return (
    <details open={all.length <= MAX_OPEN}>
      <summary>{label}</summary>
      <pre class="difference">
        {shown.map((each) => (
          <Line line={each} />
        ))}
        {all.length > shown.length ? <span class="dim">… and so on</span> : null}
      </pre>
    </details>
  );
}

function Line({ line }: { line: Shown }) {
  if (line.kind === 'skipped') {
    return <span class="dim">{`… ${line.lines.length} lines as before`}</span>;
  }
  // An empty line keeps its height.
  const text = line.line === '' ? ' ' : line.line;
  if (line.kind === 'added') return <ins>{text}</ins>;
  if (line.kind === 'removed') return <del>{text}</del>;
  return <span>{text}</span>;
}

function withoutLongSame(lines: readonly SuggestedLine[]): Shown[] {
  const isNearChange = lines.map(() => false);
  lines.forEach(({ kind }, index) => {
    if (kind === 'same') return;
    isNearChange.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const shown: Shown[] = [];
  lines.forEach((line, index) => {
    const last = shown.at(-1);
    if (isNearChange[index]) shown.push(line);
    else if (last?.kind === 'skipped') last.lines.push(line);
    else shown.push({ kind: 'skipped', lines: [line] });
  });
  // A single line takes no more room than the words for it.
  return shown.flatMap((each) => (each.kind === 'skipped' && each.lines.length === 1 ? each.lines : [each]));
}
