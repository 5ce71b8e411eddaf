import { type AnyElysia, Elysia } from 'elysia';
import { AppError } from '../lib/app-error.ts';
import { lazily } from '../lib/lazy.ts';
import type { Logger } from '../lib/log.ts';
import { errorHandling } from './errors.ts';
import { type MatchedRoute, routeMatching } from './request.ts';

/** For every app, which matches paths exactly as they are written. */
export const APP_OPTIONS = {
  // `/v1/x/posts/` is another path than `/v1/x/posts`, not a post without an id.
  strictPath: true,
  // Otherwise the path is cut wrong for short host names.
  handler: { standardHostname: false },
} as const;

/** Routes that load at the first request for one of their paths, so that a start neither waits nor pays for them. */
export interface Deferred {
  /** For the app: sends all requests for these paths to the feature. */
  readonly routes: AnyElysia;
  /** Loads the feature. Rejects when a module cannot be read, and tries again at the next call. */
  readonly load: () => Promise<AnyElysia>;
}

/**
 * `paths`: each is exact, or ends with `/*`; no other routes may be below them. `load` imports the feature. It is an app
 * of its own, with its own 404 and 405. While it cannot be loaded, requests get 503.
 */
export function deferred(
  { log, matched }: { log: Logger; matched: MatchedRoute },
  paths: readonly string[],
  load: () => Promise<AnyElysia>,
): Deferred {
  const loaded = lazily(async () => {
    const feature = await load();
    const app: AnyElysia = new Elysia(APP_OPTIONS)
      .use(errorHandling(log, () => app.routes))
      .use(routeMatching(matched))
      .use(feature);
    return app;
  });

  async function send({ request }: { request: Request }): Promise<Response> {
    const { current } = matched;
    const app = await loaded().catch((cause: unknown) => {
      throw new AppError(503, 'This part of Tidings could not be loaded', {
        cause,
        headers: { 'retry-after': '1' },
      });
    });
    // Other requests came meanwhile. The feature records its own route, or none.
    matched.current = current;
    current.route = null;
    return app.fetch(request);
  }

  const routes = new Elysia();
  for (const path of paths) {
    // Elysia would answer HEAD of `all` by the length of a GET's body, and the feature has left the body out already.
    routes.all(path, send, { parse: 'none' }).head(path, send);
  }
  return { routes, load: loaded };
}
