import { timingSafeEqual } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { DatabaseUnavailable } from '../../db/failures.ts';
import { bearerChallenge, ErrorBody, refusal } from '../http/openapi.ts';
import { errorJson, json, plainText } from '../http/respond.ts';
import { AppError } from '../lib/app-error.ts';
import type { Deps } from '../people/deps.ts';
import { bearerToken } from '../people/keys/check.ts';
import { addDatabaseGauges } from './metrics.ts';

/**
 * `GET /ready`: whether requests should be sent here. `whyNot` says why not, in words. `warnings`: problems of a server
 * that is ready. Needs no key.
 */
export function ready(whyNot: () => Promise<string | null>, warnings: () => readonly string[]) {
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

/** Access to `/metrics`. */
export interface MetricsAccess {
  /** The address of the other end of a request's connection; null when it is not known. */
  readonly peerAddress: (request: Request) => string | null;
  /** `METRICS_TOKEN`. */
  readonly metricsToken: string | undefined;
}

/** `GET /metrics`: what Prometheus reads. Open to this machine, or to who has the token. */
export function metrics(
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
export const ping = new Elysia({ name: 'ping' }).get('/ping', () => plainText('pong'), {
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
