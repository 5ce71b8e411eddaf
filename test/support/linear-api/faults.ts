import type { GraphQLError } from 'graphql';
import { refusals } from './refusal.ts';

/** The end of the stand-in's rate limit. */
export const RESET_AT = new Date('2026-11-21T04:10:00Z');

const html = (status: number) =>
  new Response('<!doctype html><title>Not what you asked for</title>', {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });

const json = (body: string, status = 200, headers: Record<string, string> = {}) =>
  new Response(body, { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers } });

const errors = (error: GraphQLError, status = 200, headers: Record<string, string> = {}) =>
  json(JSON.stringify({ errors: [error], data: null }), status, headers);

const resetAt = String(RESET_AT.getTime());

/** Ways in which Linear, or a proxy in front of it, fails. Each gets the request's body. */
export const faults = {
  'never answers': () => Promise.withResolvers<Response>().promise,
  'stops in the middle of its answer': () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue('{"data":') });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  },
  'answers 500 with an error of its own': () => errors(refusals.internal(), 500),
  'answers 200 with an error of its own': () => errors(refusals.internal()),
  'answers 503 with a page': () => html(503),
  'answers 200 with a page': () => html(200),
  'answers 404 with a page': () => html(404),
  'answers 403 with a page': () => html(403),
  'answers 401 with a page': () => html(401),
  'redirects to itself': () => new Response(null, { status: 302, headers: { location: '/graphql' } }),
  'answers broken JSON': () => json('{"data":{"viewer":{"adm'),
  'answers an empty body': () => json(''),
  'answers null': () => json('null'),
  'answers JSON of another shape': () => json('{"data":{"viewer":null,"webhookUpdate":7}}'),
  'answers errors that are none': () => json('{"errors":"all of them"}', 400),
  'takes no more requests': () =>
    errors(refusals.rateLimited(), 400, {
      'x-ratelimit-requests-limit': '2500',
      'x-ratelimit-requests-remaining': '0',
      'x-ratelimit-requests-reset': resetAt,
      'x-ratelimit-complexity-remaining': '2999999',
      'x-ratelimit-complexity-reset': String(RESET_AT.getTime() + 3_600_000),
    }),
  'takes no more that costs so much': () =>
    errors(refusals.rateLimited(), 400, {
      'x-ratelimit-requests-remaining': '12',
      'x-ratelimit-requests-reset': String(RESET_AT.getTime() + 3_600_000),
      'x-ratelimit-complexity-remaining': '0',
      'x-ratelimit-complexity-reset': resetAt,
    }),
  'says how long to wait': () =>
    errors(refusals.rateLimited(), 400, {
      'retry-after': '90',
      date: new Date(RESET_AT.getTime() - 90_000).toUTCString(),
    }),
  'says nonsense about when': () =>
    errors(refusals.rateLimited(), 400, {
      'retry-after': 'soon',
      'x-ratelimit-requests-remaining': '0',
      'x-ratelimit-requests-reset': '9'.repeat(30),
    }),
  'answers 429 with a page': () => html(429),
  'has no more room for webhooks': () => errors(refusals.usageLimit()),
  'refuses the plan': () => errors(refusals.featureNotAccessible()),
  'refuses the scope as an authentication error': () => {
    const error = refusals.noScope('admin');
    Object.assign(error.extensions, { type: 'authentication error', code: 'AUTHENTICATION_ERROR' });
    return errors(error, 401);
  },
  'repeats what it was sent': (body: string, token: string) =>
    json(
      JSON.stringify({
        errors: [
          {
            message: `Token ${token}: variable "$input" got invalid value\n${JSON.stringify(JSON.parse(body).variables)}.`,
            extensions: { type: 'graphql error', code: 'BAD_USER_INPUT' },
          },
        ],
      }),
      400,
    ),
  'says that nothing came of it': () =>
    json(
      '{"data":{"webhookUpdate":{"success":false,"lastSyncId":1},"webhookDelete":{"success":false,"lastSyncId":1}}}',
    ),
} as const satisfies Record<string, (body: string, token: string) => Response | Promise<Response>>;

/** The last one fails after it did its work. */
export type Fault = keyof typeof faults | 'does it and answers 502';
export const allFaults: Fault[] = [
  ...(Object.keys(faults) as (keyof typeof faults)[]),
  'does it and answers 502',
];
