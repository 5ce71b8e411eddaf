import { type Fetch, pathOf } from './request-log.ts';
import { errorJson } from './respond.ts';

/** No provider sends more (GitHub's own cap), and nothing else is sent to us at all. */
const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** Who reads bodies refuses a large one itself, and writes that down. */
const READS_BODIES = '/api/webhooks/';

/** Whether a body says itself that it is too large. */
export function declaresTooMuch(headers: Headers, maxBytes: number = MAX_BODY_BYTES): boolean {
  return Number(headers.get('content-length') ?? 0) > maxBytes;
}

/** Refuses a body that says itself that it is too large, on every path. Nobody reads one that does not. */
export function withBodyLimit(fetch: Fetch): Fetch {
  return (request) => {
    if (!declaresTooMuch(request.headers) || pathOf(request).startsWith(READS_BODIES)) return fetch(request);
    return errorJson(413, 'Payload too large');
  };
}

/** The raw bytes of a body, counted as they come; null when there are too many. */
export async function readRawBody(
  request: Request,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<Uint8Array | null> {
  if (declaresTooMuch(request.headers, maxBytes)) return null;
  if (request.headers.has('content-length')) return request.bytes();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
