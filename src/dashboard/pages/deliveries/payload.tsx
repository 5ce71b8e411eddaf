/** @jsxRuntime automatic @jsxImportSource preact */

import type { DeliveryStatus } from '../../../deliveries/model.ts';
import { isRecord } from '../../../lib/validation.ts';

/** Limits of the tree. Real payloads are smaller. */
const MAX_DEPTH = 8;
const MAX_NODES = 500;
const MAX_TEXT = 2_000;

/** The payload's data as a tree that opens and closes. */
export function Payload({ data, status }: { data: Record<string, unknown> | null; status: DeliveryStatus }) {
  if (data === null) {
    return (
      <p class="hint">
        {status === 'processed'
          ? 'This event has no data.'
          : 'Tidings keeps the data of processed deliveries only.'}
      </p>
    );
  }
  return (
    <div class="card tree">
      <Branch value={data} depth={0} budget={{ nodes: MAX_NODES }} />
    </div>
  );
}

/** Counts down while the tree is rendered. */
interface Budget {
  nodes: number;
}

function Branch({ value, depth, budget }: { value: object; depth: number; budget: Budget }) {
  const all = Object.entries(value);
  const visible = all.slice(0, Math.max(budget.nodes, 0));
  budget.nodes -= visible.length;
  return (
    <ul>
      {visible.map(([name, each]) => (
        <li>
          <Leaf name={name} value={each} depth={depth} budget={budget} />
        </li>
      ))}
      {visible.length < all.length ? <li class="dim">…and {all.length - visible.length} more</li> : null}
    </ul>
  );
}

function Leaf({
  name,
  value,
  depth,
  budget,
}: {
  name: string;
  value: unknown;
  depth: number;
  budget: Budget;
}) {
  if (!Array.isArray(value) && !isRecord(value)) {
    return (
      <>
        <span class="key">{cut(name)}</span> <span class={`value ${typeof value}`}>{textOf(value)}</span>
      </>
    );
  }
  const size = Object.keys(value).length;
  const words = Array.isArray(value)
    ? size === 1
      ? '1 item'
      : `${size} items`
    : size === 1
      ? '1 field'
      : `${size} fields`;
  if (size === 0 || depth >= MAX_DEPTH) {
    return (
      <>
        <span class="key">{cut(name)}</span> <span class="dim">{words}</span>
      </>
    );
  }
  return (
    <details open={depth < 2 && size <= 20}>
      <summary>
        <span class="key">{cut(name)}</span> <span class="dim">{words}</span>
      </summary>
      <Branch value={value} depth={depth + 1} budget={budget} />
    </details>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? cut(value) : String(value);
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
