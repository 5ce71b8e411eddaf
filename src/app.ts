import { Elysia } from 'elysia';
import type { DashboardDeps } from './dashboard/page.ts';
import { dashboard } from './dashboard/routes.ts';
import { docs } from './docs/routes.ts';
import { withBodyLimit } from './http/body-limit.ts';
import { errorHandling } from './http/errors.ts';
import { type Fetch, withRequestLog } from './http/request-log.ts';
import { ping } from './ping/routes.ts';
import { posts } from './posts/routes.ts';
import type { Provider } from './webhooks/provider.ts';
import { providers } from './webhooks/providers/index.ts';
import { webhooks } from './webhooks/routes.ts';

/** The whole HTTP side of Tidings. Reads as a table of contents: what is not used here is not served. */
export function createApp(
  deps: Omit<DashboardDeps, 'self'>,
  webhookProviders: readonly Provider[] = providers,
): { fetch: Fetch } {
  const app = new Elysia({
    // `/v1/x/posts/` is another path than `/v1/x/posts`, not a post without an id.
    strictPath: true,
    // Otherwise the path is cut wrong for short host names.
    handler: { standardHostname: false },
  });

  app
    .use(errorHandling(deps.log, () => app.routes))
    .use(ping)
    .use(posts(deps))
    .use(webhooks(deps, webhookProviders))
    .use(dashboard({ ...deps, self: (request) => served(request) }))
    .use(docs(deps, () => app));

  const served = withRequestLog(withBodyLimit(app.fetch), deps.log);
  return { fetch: served };
}
