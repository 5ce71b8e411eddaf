import { type FaultCounts, planFaults as plan, type Respond } from '../stand-in.ts';

// Ways in which GitHub, or a proxy in front of it, refuses or fails any request.

type Headers = Record<string, string>;

const json = (status: number, message: string, headers: Headers = {}) =>
  Response.json(
    { message, documentation_url: 'https://docs.github.com/rest', status: String(status) },
    { status, headers },
  );

const text = (status: number, body: string, type = 'application/json; charset=utf-8') =>
  new Response(body, { status, headers: { 'content-type': type } });

const page = (status: number) =>
  text(status, '<!doctype html><title>Unicorn!</title>', 'text/html; charset=utf-8');

const LIMIT = 'API rate limit exceeded for user ID 1.';
const SECONDARY = 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
const SAML =
  'Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization.';

/** The end of the hour for `rate limit`: 21 November 2026, 04:10 UTC. */
const RESET = {
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': String(Date.UTC(2026, 10, 21, 4, 10) / 1000),
};

const faults = {
  'answers 401': () => json(401, 'Bad credentials'),
  'answers 403 for its rate limit': () => json(403, LIMIT, RESET),
  'answers 429 for its rate limit': () => json(429, LIMIT, RESET),
  'answers 403 for its secondary rate limit': () => json(403, SECONDARY, { 'retry-after': '30' }),
  'answers 429 without a time': () => json(429, 'Too many requests'),
  'answers 403 for its secondary rate limit without a time': () => json(403, SECONDARY),
  'answers 403 and asks for a wait of years': () => json(403, SECONDARY, { 'retry-after': '999999999' }),
  'wants single sign-on': () =>
    json(403, SAML, {
      'x-github-sso': 'required; url=https://github.com/orgs/acme/sso?authorization_request=A1',
    }),
  'wants single sign-on without the header': () => json(403, SAML),
  'answers 403 for the permission': () =>
    json(403, 'Resource not accessible by personal access token', {
      'x-accepted-github-permissions': 'repository_hooks=write',
    }),
  'answers 403 for the right': () => json(403, 'Must have admin rights to Repository.'),
  'answers 403 for its IP allow list': () =>
    json(403, 'The `acme` organization has an IP allow list enabled, and your IP address is not permitted.'),
  'answers 410': () => json(410, 'This feature is gone'),
  'answers 451': () => json(451, 'Repository access blocked'),
  'answers 500': () => json(500, 'Server Error'),
  'answers 502 with a page': () => page(502),
  'answers 200 with a page': () => page(200),
  'answers 404 with a page': () => page(404),
  'answers broken JSON': () => text(200, '[{"id":1,"fu'),
  'answers JSON of another shape': () => text(200, '{"data":{"viewer":null}}'),
  'answers null': () => text(200, 'null'),
  'answers with an empty body': () => text(200, ''),
  'redirects without end': ({ url }: Request) =>
    new Response(null, { status: 307, headers: { location: url } }),
  'never answers': () => Promise.withResolvers<Response>().promise,
  'stops in the middle of its answer': () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue('[{"id":') });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  },
} as const satisfies Record<string, (request: Request) => Response | Promise<Response>>;

export type Fault = keyof typeof faults;
export const allFaults = Object.keys(faults) as Fault[];

/** Redirects to another server. */
export const redirectTo =
  (location: string, status = 302) =>
  () =>
    new Response(null, { status, headers: { location } });

/** A queue of faults. Call `next` once for each request. */
export function planFaults() {
  const { add, next } = plan();
  return {
    add: (fault: Fault | Respond, counts?: FaultCounts) =>
      add(typeof fault === 'string' ? faults[fault] : fault, counts),
    next,
  };
}
