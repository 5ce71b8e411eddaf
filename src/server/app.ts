import { timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia, ValidationError } from 'elysia';
import type { Storage } from '../../db/engine.ts';
import { DatabaseUnavailable, knownFailure } from '../../db/failures.ts';
import type { DashboardDeps } from '../dashboard/page.ts';
import { bearerChallenge, ErrorBody, refusal } from '../http/openapi.ts';
import {
  createUploadBudget,
  exactPaths,
  lateRoutes,
  matchedRoutes,
  pathOf,
  requestHandling,
  requestIdOf,
} from '../http/request.ts';
import { errorJson, json, plainText } from '../http/respond.ts';
import { webhooks } from '../intake/receiver/routes.ts';
import { AppError } from '../lib/app-error.ts';
import type { Logger } from '../lib/log.ts';
import type { Deps } from '../people/deps.ts';
import { bearerToken } from '../people/keys/check.ts';
import { media } from '../posts/media/routes.ts';
import { createRepeats, posts } from '../posts/routes.ts';
import { providers } from '../providers/index.ts';
import type { Provider } from '../providers/provider.ts';
import type { CardPainter } from '../readers/public/cards.ts';
import { addDatabaseGauges } from './metrics.ts';

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

/** Logs a request that failed, and responds with what is known of the failure, or 500. */
function failed(log: Logger, request: Request, error: unknown): Response {
  const known = knownFailure(error);
  const requestId = requestIdOf(request);
  log.error({ requestId, method: request.method, err: error }, 'request failed');
  const headers = { ...known?.headers, 'x-request-id': requestId };
  return errorJson(known?.status ?? 500, known?.message ?? 'Internal server error', headers);
}

interface Failure {
  code: string | number;
  error: unknown;
  request: Request;
}

/** Turns every failure into a response. Must be used first: Elysia calls handlers in the order of registration. */
function errorHandling(log: Logger, routes: RouteTable) {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }: Failure) => {
    if (error instanceof AppError && error.isRefusal)
      return errorJson(error.status, error.message, error.headers);
    if (error instanceof ValidationError && error.type !== 'response')
      return errorJson(400, messageOf(error) ?? 'Invalid request');
    if (code === 'PARSE') return errorJson(400, 'Invalid body');
    if (code === 'NOT_FOUND') {
      const allowed = allowedMethods(routes(), pathOf(request));
      if (allowed.length === 0 || allowed.includes(request.method)) return errorJson(404, 'Not found');
      return errorJson(405, 'Method not allowed', { allow: allowed.join(', ') });
    }
    return failed(log, request, error);
  });
}

function messageOf({ validator }: ValidationError): string | undefined {
  return (validator as { schema?: { error?: string } }).schema?.error;
}

/** A function, because features are added after the error handler. */
type RouteTable = () => readonly { method: string; path: string }[];

/** For `Allow`; none when no route has the path. `GET` implies `HEAD`. */
function allowedMethods(routes: ReturnType<RouteTable>, pathname: string): string[] {
  const methods = routes
    .filter((route) => new URLPattern({ pathname: route.path }).test({ pathname }))
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...new Set(methods)].sort();
}

/**
 * `GET /ready`: whether requests should be sent here. `whyNot` says why not, in words. `warnings`: problems of a server
 * that is ready. Needs no key.
 */
function ready(whyNot: () => Promise<string | null>, warnings: () => readonly string[]) {
  return new Elysia({ name: 'ready' }).get(
    '/ready',
    async () => {
      const problem = await whyNot();
      if (problem !== null) return errorJson(503, problem);
      const known = warnings();
      return json({ ready: true, ...(known.length > 0 && { warnings: known }) });
    },
    {
      response: {
        200: Type.Object(
          {
            ready: Type.Literal(true),
            warnings: Type.Optional(
              Type.Array(Type.String(), {
                description: 'Problems that a person must see to. Absent without any.',
              }),
            ),
          },
          { additionalProperties: false },
        ),
        503: ErrorBody,
      },
      detail: {
        operationId: 'ready',
        tags: ['Health'],
        summary: 'Readiness',
        description:
          'For load balancers: 200 while the server should get requests. The database accepts writes, the disk has room, deliveries and triggers work, and the server is not stopping. `/ping` responds as long as the process runs.',
        security: [],
        responses: {
          200: { description: 'The server is ready.' },
          503: refusal('The server is not ready. The error has the reason.', [
            'The server is stopping',
            'The disk is full',
          ]),
        },
      },
    },
  );
}

/** Headers by which a proxy identifies its client. */
const FORWARDING =
  /^(forwarded|x-forwarded.*|x-real-ip|.*client-ip|x-original-.*|x-envoy-.*|x-amzn-.*|cf-.*|via)$/;

const LOOPBACK = /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

const NO_TOKEN = 'Send "Authorization: Bearer" with the METRICS_TOKEN of this server';
const NOT_LOCAL = 'Metrics are for clients on this machine, unless METRICS_TOKEN is set';

/**
 * With a token, the metrics are for everybody who sends it. Without one: for clients on this machine, unless a header
 * shows a proxy, or `Host` is another name than this machine's own. Throws `AppError` 401 or 403.
 */
function requireMetricsAccess({ headers }: Request, address: string | null, token: string | undefined): void {
  if (token !== undefined) {
    const given = bearerToken(headers.get('authorization'));
    if (given !== null && isSame(given, token)) return;
    throw new AppError(401, NO_TOKEN, {
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
  const isLocal =
    address !== null &&
    LOOPBACK.test(address) &&
    LOOPBACK_HOST.test(headers.get('host') ?? 'localhost') &&
    ![...headers.keys()].some((name) => FORWARDING.test(name));
  if (!isLocal) throw new AppError(403, NOT_LOCAL);
}

/** In constant time; hashed first, so that not even the length can be told from it. */
function isSame(given: string, token: string): boolean {
  const hash = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

interface MetricsAccess {
  /** The address of the other end of a request's connection; null when it is not known. */
  readonly peerAddress: (request: Request) => string | null;
  readonly metricsToken: string | undefined;
}

/** `GET /metrics`: what Prometheus reads. Open to this machine, or to who has the token. */
function metrics(
  deps: Pick<Deps, 'db' | 'clock' | 'elapsed' | 'log' | 'metrics'>,
  { peerAddress, metricsToken }: MetricsAccess,
) {
  addDatabaseGauges(deps);
  return new Elysia({ name: 'metrics' }).get(
    '/metrics',
    async ({ request }) => {
      requireMetricsAccess(request, peerAddress(request), metricsToken);
      const text = await deps.metrics.registry.render((metric, error) => {
        // The connections log an outage once, for all that need the database.
        if (!(error instanceof DatabaseUnavailable))
          deps.log.warn({ metric, err: error }, 'a metric could not be read');
      });
      return plainText(text, 'text/plain; version=0.0.4; charset=utf-8');
    },
    {
      response: {
        200: Type.String({ description: 'All metrics, one line for each set of labels.' }),
        401: ErrorBody,
        403: ErrorBody,
      },
      detail: {
        operationId: 'metrics',
        tags: ['Health'],
        summary: 'Metrics for Prometheus',
        description:
          'Returns metrics in the Prometheus text format 0.0.4. If `METRICS_TOKEN` is set, send it as a Bearer token. Otherwise only clients on the same machine have access, without a proxy.',
        security: [],
        responses: {
          401: refusal(
            '`METRICS_TOKEN` is set, and the request does not have it.',
            [NO_TOKEN],
            bearerChallenge,
          ),
          403: refusal('The client is on another machine or behind a proxy.', [NOT_LOCAL]),
        },
      },
    },
  );
}

/** `GET /ping`: the health check (section 4.3 of the spec). Needs no key and reads nothing. */
const ping = new Elysia({ name: 'ping' }).get('/ping', () => plainText('pong'), {
  // Not a literal: Orval assigns the text of any response to it, which does not compile.
  response: { 200: Type.String({ description: 'The server is up.', examples: ['pong'] }) },
  detail: {
    operationId: 'ping',
    tags: ['Health'],
    summary: 'Health check',
    description: 'Returns `pong` while the process runs. Needs no key.',
    security: [],
  },
});
