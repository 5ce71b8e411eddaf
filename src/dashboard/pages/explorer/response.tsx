/** @jsxRuntime automatic @jsxImportSource preact */
import { STATUS_CODES } from 'node:http';
import { Json } from '../../../reference/json.tsx';
import { CopyButton } from '../../../reference/samples/tabs.tsx';
import { addressOf, type Choices, type Exchange } from './request.ts';

export function Response({
  exchange,
  choices,
  base,
}: {
  exchange: Exchange;
  choices: Choices;
  base: string;
}) {
  const { status, headers, bytes, text, isCut, durationMs } = exchange;
  const etag = headers.find(([name]) => name === 'etag')?.[1];
  const page = pagesOf(exchange);
  const linkTo = (changes: Partial<Choices>) => addressOf(base, { ...choices, ...changes });
  const onPage = (number: number) => {
    const query = new URLSearchParams(choices.query);
    query.set('page', String(number));
    return linkTo({ query });
  };
  return (
    <>
      <p class="bar">
        <span class={`tag ${colorOf(status)}`}>
          {status} {STATUS_CODES[status]}
        </span>
        <span class="dim" title="Time inside Tidings, without the network">
          {durationMs.toFixed(1)} ms
        </span>
        <span class="dim">{sizeOf(bytes)}</span>
      </p>
      <p class="bar follow">
        {page.previous === null ? null : <a href={onPage(page.previous)}>Previous page</a>}
        {page.next === null ? null : <a href={onPage(page.next)}>Next page</a>}
        {etag === undefined || status !== 200 ? null : (
          <a href={linkTo({ etag })}>Send again with If-None-Match</a>
        )}
        {choices.etag === '' ? null : <a href={linkTo({ etag: '' })}>Send again without If-None-Match</a>}
      </p>
      <h3 class="label">Headers</h3>
      <div class="card body-text">
        <pre>
          {headers.map(([name, value]) => (
            <>
              <span class="key">{name}:</span> {value}
              {'\n'}
            </>
          ))}
        </pre>
      </div>
      <h3 class="label">Body</h3>
      {bytes === 0 ? (
        <p class="dim">No body.</p>
      ) : (
        <>
          {isCut ? (
            <p class="hint">This page shows the first 256 KiB. Run a sample to get the whole body.</p>
          ) : null}
          <div class="card body-text">
            <CopyButton of="formatted" what="the formatted body" />
            <pre>
              <code id="formatted">{isCut ? text : <Json text={text} />}</code>
            </pre>
          </div>
          <details class="more">
            <summary>Raw body</summary>
            <CopyButton of="raw" what="the raw body" />
            {/* A text area keeps every character. An HTML parser drops one line break at its beginning. */}
            <textarea id="raw" class="mono" readOnly rows={8} aria-label="Raw body">
              {`\n${text}`}
            </textarea>
          </details>
        </>
      )}
    </>
  );
}

function colorOf(status: number): string {
  if (status < 300) return 'processed';
  if (status < 400) return 'duplicate';
  return status < 500 ? 'rejected' : 'failed';
}

function sizeOf(bytes: number): string {
  return bytes < 10_000
    ? `${bytes.toLocaleString('en')} bytes`
    : `${Math.round(bytes / 1_000).toLocaleString('en')} kB`;
}

/** The pages before and after the list in the response. */
function pagesOf({ status, text, isCut }: Exchange): { previous: number | null; next: number | null } {
  if (status !== 200 || isCut) return { previous: null, next: null };
  const { pagination = {} } = JSON.parse(text) as {
    pagination?: { previousPage?: number | null; nextPage?: number | null };
  };
  return { previous: pagination.previousPage ?? null, next: pagination.nextPage ?? null };
}
