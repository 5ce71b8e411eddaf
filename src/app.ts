import type { Storage } from '../db/engine.ts';
import type { DashboardDeps } from './dashboard/page.ts';
import { deferred } from './http/deferred.ts';
import { createUploadBudget, type Fetch, type MatchedRoute, withRequestHandling } from './http/request.ts';
import { errorJson, plainText } from './http/respond.ts';
import type { MetricsAccess } from './operate/routes.ts';
import { createRepeats } from './posts/repeats.ts';
import type { Provider } from './providers/provider.ts';
import type { CardPainter } from './public/card-queue.ts';

/** The server that the app runs in. Without one the app is always ready, and nobody may read the metrics. */
export interface ServerFacts extends MetricsAccess {
  /** Why no requests should be sent here; null when the server is ready. */
  readonly whyNotReady: () => Promise<string | null>;
  /** Problems that a person must see to, although the server is ready. */
  readonly readyWarnings: () => readonly string[];
  /** `CLIENT_IP_HEADER`: the header in which the trusted proxy names the client. */
  readonly clientIpHeader: string | undefined;
  /** The content API reads posts from it. Absent: from the database. */
  readonly contentDb: Pick<Storage, 'read'>;
  /** Draws social images. Absent: there are none. */
  readonly drawCard: CardPainter['draw'];
}

export interface App {
  readonly fetch: Fetch;
  /** Loads what readers and providers call, before they do. Rejects when a module cannot be read. */
  load(): Promise<unknown>;
}

/**
 * The HTTP side of Tidings. Anything that is not used here is not served. `/ping` is there from the start; each feature
 * loads at its first request.
 */
export function createApp(
  deps: Omit<DashboardDeps, 'self' | 'peerAddress' | 'clientIpHeader' | 'uploadBudget'> &
    Partial<ServerFacts>,
  webhookProviders?: readonly Provider[],
): App {
  const {
    whyNotReady = async () => null,
    readyWarnings = () => [],
    peerAddress = () => null,
    metricsToken,
    clientIpHeader,
  } = deps;
  const uploadBudget = createUploadBudget(deps.metrics);
  const matched: MatchedRoute = { current: { route: null } };
  const context = { log: deps.log, matched, uploadBudget };
  const repeats = createRepeats(deps.db, deps.metrics);

  const content = deferred(context, ['/v1/*'], async () => {
    const { posts } = await import('./posts/routes.ts');
    return [posts({ ...deps, db: deps.contentDb ?? deps.db, repeats })];
  });
  const receiver = deferred(context, ['/api/webhooks/*'], async () => {
    const [{ webhooks }, { providers }] = await Promise.all([
      import('./receiver/routes.ts'),
      import('./providers/index.ts'),
    ]);
    return [webhooks(deps, webhookProviders ?? providers, uploadBudget)];
  });
  const images = deferred(context, ['/media/*'], async () => {
    const { media } = await import('./media/routes.ts');
    return [media(deps)];
  });
  const health = deferred(context, ['/ping', '/ready', '/metrics'], async () => {
    const [{ ping }, { ready, metrics }] = await Promise.all([
      import('./http/ping.ts'),
      import('./operate/routes.ts'),
    ]);
    return [ping, ready(whyNotReady, readyWarnings), metrics(deps, { peerAddress, metricsToken })];
  });
  const agentSide = deferred(context, ['/mcp'], async () => {
    const { agents } = await import('./agents/routes.ts');
    return [agents(deps)];
  });
  const publicSide = deferred(context, ['/changelog/*'], async () => {
    const [{ feeds }, { publicPages }] = await Promise.all([
      import('./public/feeds/routes.ts'),
      import('./public/routes.ts'),
    ]);
    return [feeds(deps), publicPages({ ...deps, peerAddress, clientIpHeader })];
  });
  const dashboardSide = deferred(context, ['/setup', '/dashboard', '/dashboard/*'], async () => {
    const { dashboard } = await import('./dashboard/routes.ts');
    const routes = await dashboard({
      ...deps,
      uploadBudget,
      // Metrics and log count the requests of clients.
      self(request) {
        matched.current = { route: null };
        return dispatch(request);
      },
      peerAddress,
      clientIpHeader,
    });
    return [routes];
  });
  const reference = deferred(context, ['/', '/openapi.json', '/docs', '/docs/*'], async () => {
    const { docs } = await import('./reference/routes.ts');
    const documented = await Promise.all(
      [health, content, images, receiver, publicSide].map((one) => one.load()),
    );
    return [docs(deps, { routes: documented.flatMap(({ routes }) => routes) })];
  });
  const features = [content, receiver, images, health, agentSide, publicSide, dashboardSide, reference];

  function dispatch(request: Request): Response | Promise<Response> {
    const path = rawPathOf(request);
    // A start answers it before anything else has loaded.
    if (path === PING && request.method === 'GET') {
      matched.current.route = PING;
      return plainText('pong');
    }
    const feature = features.find(({ owns }) => owns(path));
    return feature?.fetch(request) ?? errorJson(404, 'Not found');
  }

  return {
    fetch: withRequestHandling(dispatch, { ...deps, matched, findRepeated: repeats.find }),
    load: () => Promise.all([receiver.load(), content.load()]),
  };
}

const PING = '/ping';

/** The path as the client wrote it, which is how routes match it. */
function rawPathOf({ url }: Request): string {
  const start = url.indexOf('/', 'http://'.length);
  const end = url.indexOf('?', start);
  return url.slice(start, end === -1 ? undefined : end);
}
