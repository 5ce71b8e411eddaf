import { type AnyElysia, Elysia } from 'elysia';
import type { Logger } from '../lib/log.ts';
import { errorHandling } from './errors.ts';
import type { MatchedRoute } from './request.ts';

/** The app of one feature, which matches paths exactly as they are written. */
export function featureApp(
  { log, matched }: { log: Logger; matched: MatchedRoute },
  parts: readonly AnyElysia[],
): AnyElysia {
  const app: AnyElysia = new Elysia({
    // `/v1/x/posts/` is another path than `/v1/x/posts`, not a post without an id.
    strictPath: true,
    // Otherwise the path is cut wrong for short host names.
    handler: { standardHostname: false },
  });
  app.use(errorHandling(log, () => app.routes)).onBeforeHandle({ as: 'global' }, ({ route }) => {
    matched.current.route = route;
  });
  for (const part of parts) app.use(part);
  return app;
}
