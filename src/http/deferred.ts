import type { AnyElysia } from 'elysia';
import { AppError } from '../lib/app-error.ts';
import { lazily } from '../lib/lazy.ts';
import type { Logger } from '../lib/log.ts';
import { failed } from './failure.ts';
import { type Fetch, type MatchedRoute, type UploadBudget, UploadError, whileBodyWaits } from './request.ts';
import { errorJson } from './respond.ts';

/** Routes that load at the first request for one of their paths, so that a start neither waits nor pays for them. */
export interface Deferred {
  readonly owns: (path: string) => boolean;
  readonly fetch: Fetch;
  /** Loads the feature. Rejects when a module cannot be read, and tries again at the next call. */
  readonly load: () => Promise<AnyElysia>;
}

/**
 * `paths`: each is exact, or ends with `/*`; no other feature has routes below them. `load` imports the parts of the
 * feature. It is an app of its own, with its own 404 and 405. While it cannot be loaded, requests get 503, and so do those
 * whose bodies exceed the budget while it loads.
 */
export function deferred(
  { log, matched, uploadBudget }: { log: Logger; matched: MatchedRoute; uploadBudget: UploadBudget },
  paths: readonly string[],
  load: () => Promise<readonly AnyElysia[]>,
): Deferred {
  let app: AnyElysia | undefined;
  const loaded = lazily(async () => {
    const [{ featureApp }, parts] = await Promise.all([import('./feature-app.ts'), load()]);
    app = featureApp({ log, matched }, parts);
    return app;
  });
  const exact = new Set(paths.filter((path) => !path.endsWith('/*')));
  const prefixes = paths.filter((path) => path.endsWith('/*')).map((path) => path.slice(0, -1));

  async function fetchLate(request: Request): Promise<Response> {
    const { current } = matched;
    try {
      await whileBodyWaits(request, uploadBudget, loaded());
    } catch (cause) {
      if (cause instanceof UploadError) return errorJson(503, 'Too many uploads', { 'retry-after': '1' });
      const error = new AppError(503, 'This part of Tidings could not be loaded', {
        cause,
        headers: { 'retry-after': '1' },
      });
      return failed(log, request, error);
    }
    // Other requests came meanwhile.
    matched.current = current;
    return send(request);
  }

  function send(request: Request): Response | Promise<Response> {
    return app === undefined ? fetchLate(request) : app.fetch(request);
  }

  return {
    owns: (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix)),
    fetch: send,
    load: loaded,
  };
}
