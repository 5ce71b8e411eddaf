import { Elysia } from 'elysia';
import type { Storage } from '../db/engine.ts';
import type { DashboardDeps } from './dashboard/page.ts';
import { APP_OPTIONS, deferred } from './http/deferred.ts';
import { errorHandling } from './http/errors.ts';
import { ping } from './http/ping.ts';
import {
  createUploadBudget,
  type Fetch,
  type MatchedRoute,
  routeMatching,
  withRequestHandling,
} from './http/request.ts';
import { media } from './media/routes.ts';
import { type MetricsAccess, metrics, ready } from './operate/routes.ts';
import { createRepeats } from './posts/repeats.ts';
import { posts } from './posts/routes.ts';
import { providers } from './providers/index.ts';
import type { Provider } from './providers/provider.ts';
import type { CardPainter } from './public/card-queue.ts';
import { webhooks } from './receiver/routes.ts';

/** The server that the app runs in. Without one the app is always ready, and nobody may read the metrics. */
export interface ServerFacts extends MetricsAccess {
  /** Why no requests should be sent here; null when the server is ready. */
  readonly whyNotReady: () => Promise<string | null>;
  /** `CLIENT_IP_HEADER`: the header in which the trusted proxy names the client. */
  readonly clientIpHeader: string | undefined;
  /** The content API reads posts from it. Absent: from the database. */
  readonly contentDb: Pick<Storage, 'read'>;
  /** Draws social images. Absent: there are none. */
  readonly drawCard: CardPainter['draw'];
}

/**
 * The HTTP side of Tidings. Anything that is not used here is not served. Health, the content API, its images and the
 * receiver are there from the start; the rest loads at its first request.
 */
export function createApp(
  deps: Omit<DashboardDeps, 'self' | 'peerAddress' | 'clientIpHeader' | 'uploadBudget'> &
    Partial<ServerFacts>,
  webhookProviders: readonly Provider[] = providers,
): { fetch: Fetch } {
  const { whyNotReady = async () => null, peerAddress = () => null, metricsToken, clientIpHeader } = deps;
  const uploadBudget = createUploadBudget(deps.metrics);
  const matched: MatchedRoute = { current: { route: null } };
  const context = { log: deps.log, matched };
  const repeats = createRepeats(deps.db, deps.metrics);
  const app = new Elysia(APP_OPTIONS);

  const agentSide = deferred(context, ['/mcp'], async () => {
    const { agents } = await import('./agents/routes.ts');
    return agents(deps);
  });
  const publicSide = deferred(context, ['/changelog/*'], async () => {
    const [{ feeds }, { publicPages }] = await Promise.all([
      import('./public/feeds/routes.ts'),
      import('./public/routes.ts'),
    ]);
    return new Elysia().use(feeds(deps)).use(publicPages({ ...deps, peerAddress, clientIpHeader }));
  });
  const dashboardSide = deferred(context, ['/setup', '/dashboard', '/dashboard/*'], async () => {
    const { dashboard } = await import('./dashboard/routes.ts');
    return dashboard({
      ...deps,
      uploadBudget,
      // Metrics and log count the requests of clients.
      self(request) {
        matched.current = { route: null };
        return app.fetch(request);
      },
      peerAddress,
      clientIpHeader,
    });
  });
  const reference = deferred(context, ['/', '/openapi.json', '/docs', '/docs/*'], async () => {
    const { docs } = await import('./reference/routes.ts');
    return docs(deps, { routes: [...app.routes, ...(await publicSide.load()).routes] });
  });

  app
    .use(errorHandling(deps.log, () => app.routes))
    .use(routeMatching(matched))
    .use(ping)
    .use(ready(whyNotReady))
    .use(metrics(deps, { peerAddress, metricsToken }))
    .use(posts({ ...deps, db: deps.contentDb ?? deps.db, repeats }))
    .use(media(deps))
    .use(webhooks(deps, webhookProviders, uploadBudget))
    .use(agentSide.routes)
    .use(publicSide.routes)
    .use(dashboardSide.routes)
    .use(reference.routes);

  return { fetch: withRequestHandling(app.fetch, { ...deps, matched, findRepeated: repeats.find }) };
}
