import { Elysia } from 'elysia';
import type { Storage } from '../db/engine.ts';
import { agents } from './agents/routes.ts';
import type { DashboardDeps } from './dashboard/page.ts';
import { dashboard } from './dashboard/routes.ts';
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
import { feeds } from './public/feeds/routes.ts';
import { publicPages } from './public/routes.ts';
import { webhooks } from './receiver/routes.ts';
import { docs } from './reference/routes.ts';

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

/** The HTTP side of Tidings. Anything that is not used here is not served. */
export function createApp(
  deps: Omit<DashboardDeps, 'self' | 'peerAddress' | 'clientIpHeader' | 'uploadBudget'> &
    Partial<ServerFacts>,
  webhookProviders: readonly Provider[] = providers,
): { fetch: Fetch } {
  const { whyNotReady = async () => null, peerAddress = () => null, metricsToken, clientIpHeader } = deps;
  const uploadBudget = createUploadBudget(deps.metrics);
  const matched: MatchedRoute = { current: null };
  const repeats = createRepeats(deps.db, deps.metrics);
  const app = new Elysia({
    // `/v1/x/posts/` is another path than `/v1/x/posts`, not a post without an id.
    strictPath: true,
    // Otherwise the path is cut wrong for short host names.
    handler: { standardHostname: false },
  });

  app
    .use(errorHandling(deps.log, () => app.routes))
    .use(routeMatching(matched))
    .use(ping)
    .use(ready(whyNotReady))
    .use(metrics(deps, { peerAddress, metricsToken }))
    .use(posts({ ...deps, db: deps.contentDb ?? deps.db, repeats }))
    .use(media(deps))
    .use(agents(deps))
    .use(feeds(deps))
    .use(publicPages({ ...deps, peerAddress, clientIpHeader }))
    .use(webhooks(deps, webhookProviders, uploadBudget))
    .use(
      dashboard({
        ...deps,
        uploadBudget,
        // Metrics and log count the requests of clients.
        self: (request) => app.fetch(request),
        peerAddress,
        clientIpHeader,
      }),
    )
    .use(docs(deps, () => app));

  return { fetch: withRequestHandling(app.fetch, { ...deps, matched, findRepeated: repeats.find }) };
}
