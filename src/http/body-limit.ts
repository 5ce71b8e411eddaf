import { AppError } from '../lib/app-error.ts';
import type { Fetch } from './request-log.ts';
import { errorJson } from './respond.ts';

/** No provider sends more (GitHub's own cap), and nothing else is sent to us at all. */
const MAX_BODY_BYTES = 25 * 1024 * 1024;

/** Who reads bodies refuses a large one itself, and writes that down. */
const READS_BODIES = '/api/webhooks/';

/** Whether a body says itself that it is too large. */
export function declaresTooMuch(headers: Headers): boolean {
  return Number(headers.get('content-length') ?? 0) > MAX_BODY_BYTES;
}

/** Refuses a body that says itself that it is too large, on every path. Nobody reads one that does not. */
export function withBodyLimit(fetch: Fetch): Fetch {
  return (request) => {
    if (!declaresTooMuch(request.headers) || request.url.includes(READS_BODIES)) return fetch(request);
    return errorJson(413, 'Payload too large');
  };
}

/** The raw bytes of a body, counted as they come. Throws `AppError` 413 when there are too many. */
export async function readRawBody(request: Request): Promise<Uint8Array> {
  if (declaresTooMuch(request.headers)) throw tooLarge();
  if (request.headers.has('content-length')) return request.bytes();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): AppError {
  return new AppError(413, 'Payload too large');
}
