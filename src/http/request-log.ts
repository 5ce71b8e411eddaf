import type { Logger } from '../lib/log.ts';

export type Fetch = (request: Request) => Response | Promise<Response>;

/** The path that was asked for. An odd `Host` makes the URL a relative one. */
export function pathOf(request: Request): string {
  return new URL(request.url, 'http://localhost').pathname;
}

const requestIds = new WeakMap<Request, string>();

/** The id that ties a request's log lines and its answer together. Made when first asked for. */
export function requestIdOf(request: Request): string {
  let id = requestIds.get(request);
  if (id === undefined) {
    id = `req_${Bun.randomUUIDv7('base64url')}`;
    requestIds.set(request, id);
  }
  return id;
}

/** Logs each request when it is answered: refusals at `info`, our own failures at `warn`, the rest at `debug`. */
export function withRequestLog(fetch: Fetch, log: Logger): Fetch {
  return async (request) => {
    const startedAt = performance.now();
    const response = await fetch(request);
    const level = response.status >= 500 ? 'warn' : response.status >= 400 ? 'info' : 'debug';
    if (log.isLevelEnabled(level)) {
      log[level](
        {
          requestId: requestIdOf(request),
          method: request.method,
          path: pathOf(request).slice(0, 500),
          status: response.status,
          durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
        },
        'request',
      );
    }
    return response;
  };
}
