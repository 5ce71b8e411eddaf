import { AppError } from '../../../lib/app-error.ts';
import { allowReading } from '../../../posts/admission.ts';
import type { DashboardDeps } from '../../page.ts';

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
