import type { Fetch } from './request-log.ts';
import { errorJson } from './respond.ts';

/** No provider sends more (GitHub's own cap), and nothing else is sent to us at all. */
const MAX_BODY_BYTES = 25 * 1024 * 1024;

/**
 * Refuses a body that says itself that it is too large, on every path. One that does not say is not read here:
 * who reads a body counts its bytes.
 */
export function withBodyLimit(fetch: Fetch): Fetch {
  return (request) => {
    const declared = Number(request.headers.get('content-length') ?? 0);
    return declared > MAX_BODY_BYTES ? errorJson(413, 'Payload too large') : fetch(request);
  };
}
