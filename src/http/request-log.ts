import type { Logger } from '../lib/log.ts';
import { withoutSecrets } from '../lib/log-error.ts';
import type { MatchedRoute, RecordRequest } from './request-metrics.ts';

export type Fetch = (request: Request) => Response | Promise<Response>;

/** The path of the URL, which is relative when `Host` is missing or invalid (see `withHost`). */
export function pathOf({ url }: Request): string {
  return new URL(url.startsWith('/') ? `http://localhost${url}` : url).pathname;
}

const requestIds = new WeakMap<Request, string>();

/** What a proxy before us may call a request: enough for every tracer's ids, and nothing that could be a text. */
const GIVEN_ID = /^[A-Za-z0-9_.:-]{8,128}$/;

/**
 * The id that ties a request's log lines and its answer together: the `X-Request-Id` that it came with, when that is
 * well formed, or one of ours. Made when first asked for: most requests are neither logged nor answered with it.
 */
export function requestIdOf(request: Request): string {
  let id = requestIds.get(request);
  if (id === undefined) {
    const given = request.headers.get('x-request-id');
    id = given !== null && GIVEN_ID.test(given) ? given : `req_${Bun.randomUUIDv7('base64url')}`;
    requestIds.set(request, id);
  }
  return id;
}

/**
 * Counts each request and logs it when it is answered: refusals at `info`, our own failures at `warn`, the rest at
 * `debug`. The path is logged without its query, which may hold a one-time link's token.
 */
export function withRequestLog(
  fetch: Fetch,
  { log, record, matched }: { log: Logger; record: RecordRequest; matched: MatchedRoute },
): Fetch {
  return async (request) => {
    const startedAt = performance.now();
    matched.current = null;
    const answer = fetch(request);
    // Read at once: the next request has another.
    const route = matched.current;
    const response = await answer;
    const durationMs = performance.now() - startedAt;
    record(route, request.method, response.status, durationMs / 1000);
    const level = response.status >= 500 ? 'warn' : response.status >= 400 ? 'info' : 'debug';
    if (log.isLevelEnabled(level)) {
      log[level](
        {
          requestId: requestIdOf(request),
          method: request.method,
          // A client may put a key where an id belongs.
          path: withoutSecrets(pathOf(request).slice(0, 500)),
          status: response.status,
          durationMs: Math.round(durationMs * 100) / 100,
        },
        'request',
      );
    }
    return response;
  };
}
