import type { Fetch } from './request-log.ts';
import { errorJson } from './respond.ts';

/**
 * Refuses requests with several Host headers or an invalid one (RFC 9112 section 3.2). Bun joins several with a comma,
 * and leaves the URL relative when Host is missing, as HTTP/1.0 allows, or cannot be part of a URL.
 */
export function withHost(fetch: Fetch): Fetch {
  return (request) => {
    const host = request.headers.get('host');
    if (host?.includes(',')) return errorJson(400, 'Invalid Host header');
    if (request.url.startsWith('/')) {
      if (host) return errorJson(400, 'Invalid Host header');
      // A copy of the request would lose the client's address.
      Object.defineProperty(request, 'url', { value: new URL(`http://localhost${request.url}`).href });
    }
    return fetch(request);
  };
}
