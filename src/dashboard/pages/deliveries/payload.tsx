/** @jsxRuntime automatic @jsxImportSource preact */
import { isRecord } from '../../../lib/validation.ts';
import { counted } from '../../view/elements.tsx';

// Limits of the tree. Real payloads are smaller.
const MAX_DEPTH = 8;
const MAX_NODES = 500;
const MAX_TEXT = 2_000;

interface Place {
  depth: number;
  /** Counts down while the tree is rendered. */
  budget: { nodes: number };
}

/** The payload's data as a tree that opens and closes. */
export function Payload({ data }: { data: object }) {
  return (
    <div class="card tree">
      <Branch value={data} depth={0} budget={{ nodes: MAX_NODES }} />
    </div>
  );
}

function Branch({ value, ...place }: Place & { value: object }) {
  const all = Object.entries(value);
  const visible = all.slice(0, place.budget.nodes);
  place.budget.nodes -= visible.length;
  return (
    <ul>
      {visible.map(([name, each]) => (
        <li>
          <Node name={name} value={each} {...place} />
        </li>
      ))}
      {visible.length < all.length ? <li class="dim">…and {all.length - visible.length} more</li> : null}
    </ul>
  );
}

function Node({ name, value, depth, budget }: Place & { name: string; value: unknown }) {
  const isList = Array.isArray(value);
  const isLeaf = !isList && !isRecord(value);
  const size = isLeaf ? 0 : Object.keys(value).length;
  const line = (
    <>
      <span class="key">{cut(name)}</span>{' '}
      {isLeaf ? (
        <span class={`value ${typeof value}`}>{cut(String(value))}</span>
      ) : (
        <span class="dim">{counted(size, isList ? 'item' : 'field')}</span>
      )}
    </>
  );
  if (isLeaf || size === 0 || depth >= MAX_DEPTH) return line;
  return (
    <details open={depth < 2 && size <= 20}>
      <summary>{line}</summary>
      <Branch value={value} depth={depth + 1} budget={budget} />
    </details>
  );
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}…` : text;
}
