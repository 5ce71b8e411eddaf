/** @jsxRuntime automatic @jsxImportSource preact */
import type { AppError } from '../../../lib/app-error.ts';
import { isRecord } from '../../../lib/validation.ts';

/** A line and a column of a template, from 1. */
export interface Place {
  line: number;
  column: number;
}

/** Where a template of a refused rule fails; null where that is unknown. */
export function placeOf(error: AppError | undefined, field: string): Place | null {
  const { places } = error?.details ?? {};
  const place: unknown = isRecord(places) ? places[field] : null;
  return isRecord(place) ? { line: Number(place.line), column: Number(place.column) } : null;
}

/** Lines above and below the line of the error. */
const AROUND = 1;
/** Characters of a line before the error, and of any line in all. */
const BEFORE = 40;
const MAX_LENGTH = 120;

/** The lines of a template around an error, which is marked. */
export function Excerpt({ source, line, column }: Place & { source: string }) {
  const lines = source.split('\n');
  const first = Math.max(line - AROUND, 1);
  return (
    <pre class="excerpt">
      {lines.slice(first - 1, line + AROUND).map((text, index) => {
        const number = first + index;
        return (
          <span class={number === line ? 'excerpt-line wrong' : 'excerpt-line'}>
            <span class="excerpt-number">{number}</span>
            <code>{number === line ? marked(text, column - 1) : text.slice(0, MAX_LENGTH)}</code>
          </span>
        );
      })}
    </pre>
  );
}

function marked(text: string, at: number) {
  const start = Math.max(at - BEFORE, 0);
  const [word = ''] = /^(?:[\w.]+|\W)/.exec(text.slice(at)) ?? [];
  const end = at + word.length;
  return (
    <>
      {start > 0 ? '…' : ''}
      {text.slice(start, at)}
      <mark>{word || ' '}</mark>
      {text.slice(end, start + MAX_LENGTH)}
    </>
  );
}
