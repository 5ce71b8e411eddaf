import { STATUS_CODES } from 'node:http';
import { AppError } from '../../../lib/app-error.ts';
import { allowReading } from '../../../posts/admission.ts';
import { Json } from '../../../readers/reference/endpoint.tsx';
import { CopyButton } from '../../../readers/reference/samples/tabs.tsx';
import type { DashboardDeps } from '../../page.ts';
import { More, useVisit } from '../../view/elements.tsx';

// The request that the explorer's address describes, and the response of the service.

export const operations = {
  listPosts: { name: 'List posts', parameters: ['limit', 'page', 'sort', 'status', 'contentType'] },
  getPost: { name: 'Get one post', parameters: ['status', 'contentType'] },
} as const;

export interface Choices {
  operation: keyof typeof operations;
  postId: string;
  /** The parameters of the operation as they were typed, which may be invalid. */
  query: URLSearchParams;
  etag: string;
  /** True once somebody pressed "Send request". */
  isSent: boolean;
}

export function readChoices(given: URLSearchParams): Choices {
  const operation = given.get('operation') === 'getPost' ? 'getPost' : 'listPosts';
  const names: readonly string[] = operations[operation].parameters;
  // A form sends its empty fields too.
  const query = [...given].filter(([name, value]) => names.includes(name) && value !== '');
  return {
    operation,
    postId: (given.get('postId') ?? '').trim(),
    query: new URLSearchParams(query),
    etag: (given.get('etag') ?? '').trim(),
    isSent: given.has('send'),
  };
}

/** The address of the explorer with these choices. */
export function addressOf(base: string, { operation, postId, query, etag, isSent }: Choices): string {
  const fields = new URLSearchParams([['operation', operation], ...query]);
  if (postId !== '') fields.set('postId', postId);
  if (etag !== '') fields.set('etag', etag);
  if (isSent) fields.set('send', '1');
  return `${base}/explorer?${fields}${isSent ? '#response' : ''}`;
}

export function pathOf(organizationId: string, { operation, postId, query }: Choices): string {
  const list = `/v1/${organizationId}/posts`;
  const path = operation === 'getPost' ? `${list}/${encodeURIComponent(postId || 'POST_ID')}` : list;
  return query.size === 0 ? path : `${path}?${query}`;
}

export function headersOf({ etag }: Choices): [name: string, value: string][] {
  return etag === '' ? [] : [['If-None-Match', etag]];
}

/** Throws `AppError` 400 with `fields` when no client could send the request. */
export function requireSendable({ operation, postId, etag }: Choices): void {
  const fields: Record<string, string> = {};
  if (operation === 'getPost' && postId === '') fields.postId = 'Enter the id of a post.';
  // A path segment of dots leads to another path.
  if (/^\.{1,2}$/.test(postId)) fields.postId = 'A URL cannot contain this id. Enter another one.';
  if (!/^[ -~]*$/.test(etag)) {
    fields.etag = 'A header cannot contain one of these characters. Copy the ETag of a response.';
  }
  if (Object.keys(fields).length > 0) throw new AppError(400, 'The request cannot be sent.', { fields });
}

/** The displayed part of a body. */
const MAX_SHOWN_BYTES = 256 * 1024;

export interface Exchange {
  status: number;
  headers: [name: string, value: string][];
  bytes: number;
  /** The body, cut at `MAX_SHOWN_BYTES`. */
  text: string;
  isCut: boolean;
  durationMs: number;
}

/** Sends the request to the service in this process, as a member of the organization: no key is needed or used. */
export async function send(
  { self }: Pick<DashboardDeps, 'self'>,
  organizationId: string,
  choices: Choices,
): Promise<Exchange> {
  const url = `http://localhost${pathOf(organizationId, choices)}`;
  const request = allowReading(new Request(url, { headers: headersOf(choices) }), organizationId);
  const startedAt = performance.now();
  const response = await self(request);
  const body = await response.bytes();
  const durationMs = performance.now() - startedAt;
  return {
    status: response.status,
    headers: [...response.headers],
    bytes: body.byteLength,
    // `stream` leaves out a character that was cut.
    text: new TextDecoder().decode(body.subarray(0, MAX_SHOWN_BYTES), { stream: true }),
    isCut: body.byteLength > MAX_SHOWN_BYTES,
    durationMs,
  };
}

export function Response({ exchange, choices }: { exchange: Exchange; choices: Choices }) {
  const { base } = useVisit();
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
        {page.previous !== null && <a href={onPage(page.previous)}>Previous page</a>}
        {page.next !== null && <a href={onPage(page.next)}>Next page</a>}
        {etag !== undefined && status === 200 && <a href={linkTo({ etag })}>Send again with If-None-Match</a>}
        {choices.etag !== '' && <a href={linkTo({ etag: '' })}>Send again without If-None-Match</a>}
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
          {isCut && (
            <p class="hint">This page shows the first 256 KiB. Run a sample to get the whole body.</p>
          )}
          <div class="card body-text">
            <CopyButton of="formatted" what="the formatted body" />
            <pre>
              <code id="formatted">{isCut ? text : <Json text={text} />}</code>
            </pre>
          </div>
          <More label="Raw body">
            <CopyButton of="raw" what="the raw body" />
            {/* A text area keeps every character. An HTML parser drops one line break at its beginning. */}
            <textarea id="raw" class="mono" readOnly rows={8} aria-label="Raw body">
              {`\n${text}`}
            </textarea>
          </More>
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
