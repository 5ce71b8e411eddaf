import type { Delivery } from '../../../integrations/deliveries/store.ts';
import { tidings } from '../../../lib/build.ts';
import { isRecord } from '../../../lib/validation.ts';
import { Copy, counted, Segments } from '../../view/elements.tsx';

// Limits of the tree. Real payloads are smaller.
const MAX_DEPTH = 8;
const MAX_NODES = 500;
const MAX_TEXT = 2_000;

/** Longer JSON is not part of the tree's page, in characters. */
const MAX_BESIDE = 100_000;

const MAX_JSON = 1_000_000;

const JSON_ID = 'payload-json';

interface PayloadProps {
  entry: Delivery;
  path: string;
  query: URLSearchParams;
}

export function PayloadSection({ entry: { id, status, payload }, path, query }: PayloadProps) {
  // The data of a rejected delivery is for its reason alone.
  const data = status === 'processed' ? payload.data : null;
  const isJson = query.get('payload') === 'json';
  return (
    <section aria-labelledby="payload">
      <div class="bar section-head">
        <h2 id="payload" class="flat">
          Payload
        </h2>
        {data !== null && (
          <Segments
            label="Payload view"
            items={[
              { to: `${path}#payload`, label: 'Tree', isCurrent: !isJson },
              { to: `${path}?payload=json#payload`, label: 'JSON', isCurrent: isJson },
            ]}
          />
        )}
      </div>
      {data !== null ? (
        isJson ? (
          <Json data={data} id={id} />
        ) : (
          <Tree data={data} />
        )
      ) : (
        <p class="hint">
          {status === 'processed'
            ? 'This event has no data.'
            : 'Tidings keeps only the data of processed deliveries.'}
        </p>
      )}
    </section>
  );
}

function Json({ data, id }: { data: object; id: string }) {
  const text = JSON.stringify(data, null, 2);
  if (text.length > MAX_JSON) {
    return (
      <p class="hint">
        The payload is too large for this page. Run <code>{`${tidings} delivery show ${id} --json`}</code>.
      </p>
    );
  }
  return (
    <>
      <div class="bar">
        <Copy text={JSON_ID} label="Copy payload" />
      </div>
      <pre id={JSON_ID} class="wrap json">
        {text}
      </pre>
    </>
  );
}

function Tree({ data }: { data: object }) {
  const text = JSON.stringify(data, null, 2);
  const isBeside = text.length <= MAX_BESIDE;
  return (
    <div data-payload>
      <div class="bar" data-script hidden>
        <div class="field grow search">
          <input
            type="search"
            data-payload-search
            placeholder="Search payload"
            aria-label="Search payload"
            autocomplete="off"
          />
        </div>
        <span class="dim" role="status" data-payload-count />
        <button type="button" class="button" data-payload-fold>
          Expand all
        </button>
        {isBeside && <Copy text={JSON_ID} label="Copy payload" />}
      </div>
      {/* The script copies values from it: the tree shortens long ones. */}
      {isBeside && (
        <pre id={JSON_ID} hidden>
          {text}
        </pre>
      )}
      <div class="card tree">
        <Branch value={data} depth={0} budget={{ nodes: MAX_NODES }} />
      </div>
    </div>
  );
}

interface Place {
  depth: number;
  /** Counts down while the tree is rendered. */
  budget: { nodes: number };
}

function Branch({ value, ...place }: Place & { value: object }) {
  const all = Object.entries(value);
  const visible = all.slice(0, place.budget.nodes);
  place.budget.nodes -= visible.length;
  return (
    <ul>
      {visible.map(([name, each]) => (
        <li data-key={name}>
          <Node name={name} value={each} {...place} />
        </li>
      ))}
      {visible.length < all.length && (
        <li class="dim">
          …and {all.length - visible.length} more. <a href="?payload=json#payload">View JSON</a>
        </li>
      )}
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
  if (isLeaf || size === 0 || depth >= MAX_DEPTH) return <div class="line">{line}</div>;
  return (
    <details open={depth < 2 && size <= 20}>
      <summary class="line">{line}</summary>
      <Branch value={value} depth={depth + 1} budget={budget} />
    </details>
  );
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}…` : text;
}
