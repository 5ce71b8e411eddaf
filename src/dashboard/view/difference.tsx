import type { ComponentChildren } from 'preact';
import type { SuggestedLine } from '../../drafting/store.ts';
import { compareLines } from '../../drafting/suggestions.ts';
import { formatTime } from '../../lib/time.ts';
import type { FieldConflict } from '../edit.ts';
import { useHref, useVisit } from './elements.tsx';

/** The subject of a form, in words. `labels`: of its fields. `show`: a value as text, where it is not what people see. */
export interface EditWords {
  noun: string;
  labels?: Readonly<Record<string, string>>;
  show?: (field: string, value: unknown) => string | null;
}

interface Conflicts {
  conflicts: readonly FieldConflict[];
  words: EditWords;
}

function inWords({ field, stored, typed }: FieldConflict, { labels = {}, show }: EditWords) {
  const { zone } = useVisit().look;
  const textIn = (value: unknown) =>
    value instanceof Date ? formatTime(value, zone) : (show?.(field, value) ?? textOf(value));
  return { label: labels[field] ?? field, stored: textIn(stored), typed: textIn(typed) };
}

/** Shows both values of each field after somebody else saved first. `to`: the page with the stored ones. */
export function EditConflict({ conflicts, to, words }: Conflicts & { to: string }) {
  const href = useHref(to);
  return (
    <div class="problem conflict" role="alert" {...FOCUS} data-problem>
      <p>
        <strong>
          This {words.noun} was changed while you had it open, and your version is not saved yet.
        </strong>
      </p>
      <p>
        Your version is below. Save it to replace the stored one; or{' '}
        <a href={href} data-discard>
          discard it and open the stored one
        </a>
        .
      </p>
      {conflicts.map((conflict) => {
        const { label, stored, typed } = inWords(conflict, words);
        return (
          <>
            <Difference
              label={`${label}: changes that you would save`}
              lines={compareLines(stored, typed)}
              otherwise="The stored version follows."
            />
            <details>
              <summary>{label}: the stored version</summary>
              {stored === '' ? <p class="dim">Empty</p> : <pre class="stored">{stored}</pre>}
            </details>
          </>
        );
      })}
    </div>
  );
}

/** Shows what somebody else changed after a page was opened, whose button then does nothing. `typed` is what the page showed. */
export function ChangedSince({ conflicts, words }: Conflicts) {
  return (
    <div class="problem conflict" role="alert" {...FOCUS} data-problem>
      <p>
        <strong>Somebody changed this {words.noun} after you opened it, so nothing was done.</strong>
      </p>
      <p>You see it as it is now. Choose again if you still want to.</p>
      {conflicts.map((conflict) => {
        const { label, stored: after, typed: before } = inWords(conflict, words);
        return conflict.typed === undefined ? (
          <p>
            {label}: {changeTo(after)}
          </p>
        ) : (
          <Difference
            label={`${label}: what changed`}
            lines={compareLines(before, after)}
            otherwise="You see the new text below."
          />
        );
      })}
    </div>
  );
}

/** A change of a value that is not known as it was before. */
function changeTo(after: string): string {
  if (after === '') return 'removed.';
  if (/^.{1,80}$/.test(after)) return `changed to ${after}.`;
  return 'changed. The one that you saw is no longer in the version history.';
}

/** As the summary of a refused form does. */
const FOCUS = { tabIndex: -1, autoFocus: true };

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'On' : 'Off';
  if (Array.isArray(value)) return value.map(textOf).join('\n');
  return typeof value === 'object' ? Object.values(value).join(' ') : String(value);
}

/** Unchanged lines to show beside a change. */
const CONTEXT = 2;

/** Bounds of a difference: a page may show eleven. */
const MAX_LINES = 1_000;
const MAX_CHARACTERS = 50_000;

/** A longer difference is folded: it would push the editor away. */
const MAX_OPEN = 40;

const elements = { added: 'ins', removed: 'del', same: 'span' } as const;

/** The changes from one text to another, line by line; `otherwise` says where both are, if there are too many. */
export function Difference(props: {
  label: string;
  lines: readonly SuggestedLine[] | null;
  otherwise: ComponentChildren;
}) {
  const { label, lines, otherwise } = props;
  const shown = lines === null ? null : withoutLongSame(lines);
  if (shown === null || shown.length > MAX_LINES || lengthOf(shown) > MAX_CHARACTERS) {
    return <p>The texts are too different to compare them line by line. {otherwise}</p>;
  }
  return (
    <details open={shown.length <= MAX_OPEN}>
      <summary>{label}</summary>
      <pre class="difference">
        {shown.map((piece) => {
          if (typeof piece === 'string') return <span class="dim">{piece}</span>;
          const Line = elements[piece.kind];
          // An empty line keeps its height.
          return <Line>{piece.line || ' '}</Line>;
        })}
      </pre>
    </details>
  );
}

function lengthOf(pieces: readonly (SuggestedLine | string)[]): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? 0 : piece.line.length), 0);
}

/** Each change with its context; a text for the unchanged lines in between. */
function withoutLongSame(lines: readonly SuggestedLine[]): (SuggestedLine | string)[] {
  const pieces: (SuggestedLine | string)[] = [];
  let left: SuggestedLine[] = [];
  const flush = () => {
    // A single line takes no more room than the words for it.
    pieces.push(...(left.length > 1 ? [`… ${left.length} unchanged lines`] : left));
    left = [];
  };
  for (const [index, line] of lines.entries()) {
    const context = lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1);
    if (context.some(({ kind }) => kind !== 'same')) {
      flush();
      pieces.push(line);
    } else left.push(line);
  }
  flush();
  return pieces;
}
