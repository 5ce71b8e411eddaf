import { type AnyElysia, Elysia } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import type { DashboardDeps } from '../dashboard/page.ts';
import { errorHandling } from '../http/errors.ts';
import {
  createUploadBudget,
  exactPaths,
  lateRoutes,
  matchedRoutes,
  requestHandling,
} from '../http/request.ts';
import { webhooks } from '../intake/receiver/routes.ts';
import { media } from '../posts/media/routes.ts';
import { createRepeats, posts } from '../posts/routes.ts';
import { providers } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { CardPainter } from '../readers/public/cards.ts';
import { type MetricsAccess, metrics, ping, ready } from './routes.ts';

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

/** The HTTP side of Tidings: plugins in the order in which a person meets them. Anything that is not used here is not served. */
export function createApp(
  deps: Omit<DashboardDeps, 'self' | 'peerAddress' | 'clientIpHeader' | 'uploadBudget'> &
    Partial<ServerFacts>,
  webhookProviders: readonly Provider[] = providers,
): AnyElysia {
  const {
    whyNotReady = async () => null,
    readyWarnings = () => [],
    peerAddress = () => null,
    metricsToken,
    clientIpHeader,
  } = deps;
  const uploadBudget = createUploadBudget(deps.metrics);
  const repeats = createRepeats(deps.db, deps.metrics);

  const errors = errorHandling(deps.log, () => app.routes);
  const content = posts({ ...deps, db: deps.contentDb ?? deps.db, repeats });
  const receiver = webhooks(deps, webhookProviders, uploadBudget);
  // Answers the dashboard's own requests: those of the explorer, and test events.
  const { fetch: self } = new Elysia(exactPaths).use(errors).use(content).use(receiver);

  const app: AnyElysia = new Elysia(exactPaths)
    .use(requestHandling({ ...deps, findRepeated: repeats.find }))
    .use(errors)
    .use(ping)
    .use(ready(whyNotReady, readyWarnings))
    .use(metrics(deps, { peerAddress, metricsToken }))
    .use(content)
    .use(media(deps))
    .use(receiver);
  const early = app.routes.slice();

  /** Features that load at their first request: at rest, they would take 5 MB for nobody. */
  const late = (paths: readonly string[], load: (mayPause: () => boolean) => Promise<AnyElysia>) =>
    lateRoutes(paths, async (mayPause) => {
      const feature = await load(mayPause);
      const routes = () => [...early, ...feature.routes];
      return new Elysia(exactPaths).use(matchedRoutes).use(errorHandling(deps.log, routes)).use(feature);
    });

  return app
    .use(
      late(['/changelog/*'], async (mayPause) => {
        await inTurns(mayPause, [
          () => import('../readers/public/feeds/routes.ts'),
          () => import('preact-render-to-string'),
        ]);
        const { feeds } = await import('../readers/public/feeds/routes.ts');
        const { publicPages } = await import('../readers/public/routes.ts');
        return feeds(deps).use(publicPages({ ...deps, peerAddress, clientIpHeader }));
      }),
    )
    .use(late(['/mcp'], async () => (await import('../readers/agents/routes.ts')).agents(deps)))
    .use(
      late(['/', '/openapi.json', '/docs', '/docs/*'], async (mayPause) => {
        await inTurns(mayPause, [
          () => import('../readers/public/feeds/routes.ts'),
          () => import('preact-render-to-string'),
          () => import('../readers/reference/routes.ts'),
        ]);
        const { feeds } = await import('../readers/public/feeds/routes.ts');
        const { docs } = await import('../readers/reference/routes.ts');
        return docs(deps, [...early, ...feeds(deps).routes]);
      }),
    )
    .use(
      late(['/setup', '/dashboard', '/dashboard/*'], async (mayPause) => {
        await inTurns(mayPause, [
          () => import('preact-render-to-string'),
          () => import('../dashboard/view/document.tsx'),
          () => import('../dashboard/pages/posts/list.tsx'),
          () => import('../dashboard/pages/integrations/list.tsx'),
          () => import('../dashboard/pages/publishing/page.tsx'),
          () => import('../dashboard/pages/posts/import.tsx'),
          () => import('../dashboard/pages/triggers/create.tsx'),
          () => import('../dashboard/pages/account.tsx'),
          () => import('../dashboard/routes.ts'),
        ]);
        const { dashboard } = await import('../dashboard/routes.ts');
        return dashboard({ ...deps, uploadBudget, self, peerAddress, clientIpHeader });
      }),
    );
}

/** Loads one part after another, and lets other requests in after each: at once, the dashboard would hold them up for 60 ms. */
async function inTurns(mayPause: () => boolean, parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  for (const load of parts) {
    if (!mayPause()) return;
    await load();
    await new Promise(setImmediate);
  }
}
