import { expect, test } from 'bun:test';
import { ALL_PUBLIC_TEAMS, type HookSettings, type ProblemKind } from '../../../src/providers/api.ts';
import { problemOf as problemOfResponse } from '../../../src/providers/linear/api/client.ts';
import { linearApi } from '../../../src/providers/linear/api/index.ts';
import { serviceAt } from '../../../src/providers/rest.ts';
import { allFaults, type Fault, RESET_AT } from '../../support/linear-api/faults.ts';
import type { LinearApi } from '../../support/linear-api/server.ts';
import { startLinear } from '../../support/linear-world.ts';
import { problemOf } from '../../support/problem-of.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';

const SECRET = 'whsec-never-shown';
const settings: HookSettings = {
  url: 'https://tidings.example/api/webhooks/linear/org_1/int_1',
  secret: SECRET,
  events: ['Issue', 'Project'],
};
const BAD_TOKEN =
  'Linear rejected the token: it is unknown, revoked or expired. Create a new API key at https://linear.app/settings/account/security.';
const ADMINS_ONLY =
  "The token can't manage webhooks: at Linear, only workspace admins can (OAuth: the scope admin). Ask an admin for an API key.";
const tokens: [string, (server: LinearApi) => string, ProblemKind, string][] = [
  ['an unknown key', () => 'lin_api_unknown', 'bad-token', BAD_TOKEN],
  ['an unknown OAuth token', () => 'whatever', 'bad-token', BAD_TOKEN],
  [
    'a revoked key',
    ({ workspace, adminKey }) => {
      workspace.revoke(adminKey);
      return adminKey;
    },
    'bad-token',
    BAD_TOKEN,
  ],
  ["a member's key", ({ workspace }) => workspace.addKey(), 'missing-permission', ADMINS_ONLY],
  [
    'an OAuth token without the scope',
    ({ workspace }) => workspace.addOAuthToken(['read', 'write'], { admin: true }),
    'missing-permission',
    ADMINS_ONLY,
  ],
];

test.each(tokens)('%s is refused by every method for webhooks', async (_, tokenFor, kind, message) => {
  using world = startLinear();
  const token = tokenFor(world.server);
  const linear = linearApi(world.server.url, token);
  const id = crypto.randomUUID();
  for (const call of [
    () => linear.listHooks(ALL_PUBLIC_TEAMS),
    () => linear.findHook(ALL_PUBLIC_TEAMS, id),
    () => linear.createHook(ALL_PUBLIC_TEAMS, settings),
    () => linear.changeHook(ALL_PUBLIC_TEAMS, id, settings),
    () => linear.deleteHook(ALL_PUBLIC_TEAMS, id),
  ]) {
    const problem = await problemOf(call(), [token, SECRET]);
    expect([problem.kind, problem.message]).toEqual([kind, message]);
  }
  expect(world.server.workspace.hooks).toEqual([]);
});

test('a missing scope is named', async () => {
  using world = startLinear();
  const token = world.server.workspace.addOAuthToken(['admin'], { admin: true });
  const problem = await problemOf(linearApi(world.server.url, token).listPlaces(), [token]);
  expect(problem.kind).toBe('missing-permission');
  expect(problem.message).toBe(
    'The token lacks a permission. Linear says: "The scope read is required". Ask a workspace admin for an API key.',
  );
});

const LATER = 'Try again later.';
const notLinear = (status = 200) =>
  `The server at URL is not Linear's API: it sent an unexpected response with status ${status}. Check LINEAR_API_URL.`;
const until = `Linear accepts no more requests from this token until 2026-11-21T04:10:00Z. Try again then.`;
const forNow = 'Linear accepts no more requests from this token for now. Try again in a few minutes.';
const slow: Fault[] = ['never answers', 'stops in the middle of its answer'];
const failures: Partial<Record<Fault, [ProblemKind, string, retryAt?: Date]>> = {
  'answers 500 with an error of its own': [
    'provider-failed',
    `Linear failed: "An unexpected error occurred". ${LATER}`,
  ],
  'answers 200 with an error of its own': [
    'provider-failed',
    `Linear failed: "An unexpected error occurred". ${LATER}`,
  ],
  'answers 503 with a page': ['provider-failed', `Linear failed with status 503. ${LATER}`],
  'does it and answers 502': ['provider-failed', `Linear failed with status 502. ${LATER}`],
  'answers 200 with a page': ['provider-failed', notLinear()],
  'answers 404 with a page': ['provider-failed', notLinear(404)],
  'answers 403 with a page': ['provider-failed', notLinear(403)],
  'answers 401 with a page': ['bad-token', BAD_TOKEN],
  'redirects to itself': ['provider-failed', notLinear(302)],
  'answers broken JSON': ['provider-failed', notLinear()],
  'answers an empty body': ['provider-failed', notLinear()],
  'answers null': ['provider-failed', notLinear()],
  'answers JSON of another shape': ['provider-failed', notLinear()],
  'answers errors that are none': ['provider-failed', notLinear(400)],
  'takes no more requests': ['rate-limited', until, RESET_AT],
  'takes no more that costs so much': ['rate-limited', until, RESET_AT],
  'says how long to wait': ['rate-limited', until, RESET_AT],
  'says nonsense about when': ['rate-limited', forNow],
  'answers 429 with a page': ['rate-limited', forNow],
  'has no more room for webhooks': [
    'too-many-hooks',
    'Linear rejected another webhook: "You have reached the limit of webhooks".',
  ],
  'refuses the plan': ['refused', 'Linear rejected the request: "Your plan does not include webhooks".'],
  'refuses the scope as an authentication error': ['missing-permission', ADMINS_ONLY],
  'says that nothing came of it': [
    'provider-failed',
    'Linear rejected the request without a reason. Try again later.',
  ],
};

test('the tables cover every fault', () => {
  const covered = [...slow, ...Object.keys(failures), 'repeats what it was sent'];
  expect(covered.toSorted()).toEqual(allFaults.toSorted());
});

test.each(Object.entries(failures))(
  'Linear %s: the problem has a kind and a sentence',
  async (fault, [kind, message, retryAt]) => {
    using world = startLinear();
    world.server.fault = fault as Fault;
    const problem = await problemOf(world.linear.changeHook('x', crypto.randomUUID(), settings), [
      world.server.adminKey,
      SECRET,
    ]);
    expect([problem.kind, problem.message]).toEqual([kind, message.replace('URL', world.server.url)]);
    expect(problem.retryAt).toEqual(retryAt ?? null);
  },
);

test.each([301, 302, 307, 308])('a redirect with %d is not followed', async (status) => {
  const seen: string[] = [];
  using elsewhere = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      seen.push(await request.text());
      return Response.json({ data: { webhookUpdate: { success: true } } });
    },
  });
  using redirecting = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(null, { status, headers: { location: `http://127.0.0.1:${elsewhere.port}/` } }),
  });
  const url = `http://127.0.0.1:${redirecting.port}/graphql`;
  const problem = await problemOf(linearApi(url, 'lin_api_x').changeHook('x', 'y', settings), [
    'lin_api_x',
    SECRET,
  ]);
  expect(problem.message).toBe(notLinear(status).replace('URL', url));
  expect(seen).toEqual([]);
});

test.each(slow)('when Linear %s, the request times out', async (fault) => {
  using world = startLinear();
  world.server.fault = fault;
  const linear = linearApi(world.server.url, world.server.adminKey, { timeoutMs: 50 });
  for (const call of [
    () => linear.listPlaces(),
    () => linear.changeHook('x', 'y', settings),
    () => linear.deleteHook('x', 'y'),
  ]) {
    const problem = await problemOf(call(), [world.server.adminKey, SECRET]);
    expect(problem.kind).toBe('provider-failed');
    expect(problem.message).toBe('Linear did not respond within 0.05 s. Try again later.');
  }
});

test('secrets that Linear repeats are hidden, and long reasons are cut', async () => {
  using world = startLinear();
  world.server.fault = 'repeats what it was sent';
  const secrets = [world.server.adminKey, SECRET];
  const problem = await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, settings), secrets);
  expect(problem.kind).toBe('refused');
  expect(problem.message).toBe(
    `Linear rejected the request: "Token …: variable "$input" got invalid value {"input":{"url":"${settings.url}","secret":"…","resourceTypes":["Issue","Project"],"enabled":true,"allPublicTeams":…".`,
  );

  const listing = await problemOf(world.linear.listPlaces(), secrets);
  expect(listing.message).toBe(
    'Linear rejected the request: "Token …: variable "$input" got invalid value {"first":250,"after":null}".',
  );
});

test('a list of another shape is not Linear', async () => {
  using world = startLinear();
  world.server.fault = 'answers JSON of another shape';
  for (const call of [() => world.linear.listPlaces(), () => world.linear.listHooks(ALL_PUBLIC_TEAMS)]) {
    expect((await problemOf(call())).message).toBe(notLinear().replace('URL', world.server.url));
  }
});

test('a webhook that Linear created before it failed is hook-exists', async () => {
  using world = startLinear();
  world.server.fault = 'does it and answers 502';
  expect((await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, settings))).kind).toBe('provider-failed');
  world.server.fault = null;
  expect((await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, settings))).kind).toBe('hook-exists');
  expect(await world.linear.listHooks(ALL_PUBLIC_TEAMS)).toHaveLength(1);
});

test('an address where nobody listens cannot be reached', async () => {
  using dead = await holdDeadAddress();
  const linear = linearApi(`${dead.url.replace('//', '//ada:hush@')}/graphql`, 'lin_api_k');
  for (const call of [() => linear.listPlaces(), () => linear.changeHook('x', 'y', settings)]) {
    const problem = await problemOf(call(), ['lin_api_k', SECRET, 'hush']);
    expect(problem.kind).toBe('provider-failed');
    expect(problem.message).toBe(
      `Linear at ${dead.url}/graphql cannot be reached (ECONNREFUSED). Check the network and LINEAR_API_URL.`,
    );
  }
});

test('a closed connection is a server that cannot be reached', async () => {
  using closing = startClosingServer();
  const problem = await problemOf(linearApi(closing.url, 'lin_api_k').listPlaces());
  expect(problem.kind).toBe('provider-failed');
  expect(problem.message).toStartWith(`Linear at ${closing.url} cannot be reached (`);
});

test('no token is sent over plain http', async () => {
  const problem = await problemOf(linearApi('http://linear.example/graphql', 'lin_api_k').listPlaces());
  expect(problem.kind).toBe('provider-failed');
  expect(problem.message).toBe('LINEAR_API_URL must be an https URL, or one of this machine.');
});

test('the reset of a budget counts without the Date of the response', () => {
  const resetOf = (reset: string) => {
    const headers = new Headers({
      'x-ratelimit-requests-remaining': '0',
      'x-ratelimit-requests-reset': reset,
    });
    const service = serviceAt('https://api.linear.app/graphql', 'Linear', 'LINEAR_API_URL');
    const response = { status: 429, headers, text: '', json: undefined };
    return problemOfResponse(response, { service, secrets: [] }).retryAt;
  };
  expect(resetOf(String(RESET_AT.getTime()))).toEqual(RESET_AT);
  expect(resetOf('9'.repeat(30))).toBeNull();
});
