import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import type { Deps } from '../../deps.ts';
import { bearerChallenge, documented, refusal } from '../../http/openapi.ts';
import { plainText } from '../../http/respond.ts';
import { requireMetricsAccess } from './access.ts';
import { addGauges } from './gauges.ts';

/** What the metrics need to know of the server beside what features are given. */
export interface MetricsAccess {
  /** The address of the other end of a request's connection; null when it is not known. */
  readonly peerAddress: (request: Request) => string | null;
  /** `METRICS_TOKEN`. */
  readonly metricsToken: string | undefined;
}

/** `GET /metrics`: what Prometheus reads. Open to this machine, or to who has the token. */
export function metrics(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>,
  { peerAddress, metricsToken }: MetricsAccess,
) {
  addGauges(deps);

  return new Elysia({ name: 'metrics' }).get(
    '/metrics',
    ({ request }) => {
      requireMetricsAccess({ headers: request.headers, address: peerAddress(request) }, metricsToken);
      const text = deps.metrics.registry.render((metric, error) =>
        deps.log.warn({ metric, err: error }, 'a metric could not be read'),
      );
      return plainText(text, 'text/plain; version=0.0.4; charset=utf-8');
    },
    {
      detail: documented({
        operationId: 'metrics',
        tags: ['Health'],
        summary: 'Metrics for Prometheus',
        description:
          'Counts and measures in the text format 0.0.4. Without `METRICS_TOKEN` only clients on the same machine are answered, and no proxy; with it whoever sends it as a Bearer token.',
        security: [],
        responses: {
          200: Type.String({ description: 'Every metric, a line for each set of labels.' }),
          401: refusal(
            '`METRICS_TOKEN` is set, and was not sent.',
            ['Send "Authorization: Bearer" with the METRICS_TOKEN of this server'],
            bearerChallenge,
          ),
          403: refusal('The client is on another machine, or behind a proxy.', [
            'Metrics are for clients on this machine, unless METRICS_TOKEN is set',
          ]),
        },
      }),
    },
  );
}
