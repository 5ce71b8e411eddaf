import { expect, test } from 'bun:test';
import { ALL_PUBLIC_TEAMS, type HookWish, type ProblemKind } from '../../../src/providers/api.ts';
import { linearApi } from '../../../src/providers/linear/api/index.ts';
import { allFaults, type Fault, RESET_AT } from '../../support/linear-api/faults.ts';
import type { LinearApi } from '../../support/linear-api/server.ts';
import { startLinear } from '../../support/linear-world.ts';
import { problemOf } from '../../support/problem-of.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';

const SECRET = 'whsec-that-nobody-must-see';
const wish: HookWish = {
  url: 'https://tidings.example/api/webhooks/linear/org_1/int_1',
  secret: SECRET,
  events: ['Issue', 'Project'],
};
const BAD_TOKEN =
  'Linear refused the token: it is unknown, revoked or expired. Make a new API key at https://linear.app/settings/account/security.';
const ADMINS_ONLY =
  'The token may not administer webhooks: Linear lets only workspace admins do that (OAuth: the scope admin). Ask an admin for an API key.';
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

test.each(tokens)('%s is refused whatever is asked of webhooks', async (_, tokenFor, kind, message) => {
  using world = startLinear();
  const token = tokenFor(world.server);
  const linear = linearApi(world.server.url, token);
  const id = crypto.randomUUID();
  for (const call of [
    linear.listHooks(ALL_PUBLIC_TEAMS),
    linear.findHook(ALL_PUBLIC_TEAMS, id),
    linear.createHook(ALL_PUBLIC_TEAMS, wish),
    linear.changeHook(ALL_PUBLIC_TEAMS, id, wish),
    linear.deleteHook(ALL_PUBLIC_TEAMS, id),
  ]) {
    const problem = await problemOf(call, [token, SECRET]);
    expect([problem.kind, problem.message]).toEqual([kind, message]);
  }
  expect(world.server.workspace.hooks).toEqual([]);
});

test('names another scope that is missing', async () => {
  using world = startLinear();
  const token = world.server.workspace.addOAuthToken(['admin'], { admin: true });
  const problem = await problemOf(linearApi(world.server.url, token).listPlaces(), [token]);
  expect(problem.kind).toBe('missing-permission');
  expect(problem.message).toBe(
    'The token lacks a permission: Linear says "The scope read is required". Ask a workspace admin for an API key.',
  );
});

const LATER = 'Try again later.';
const notLinear = (status = '') =>
  `What answers at URL does not answer as Linear's API does${status}. Check LINEAR_API_URL.`;
const until = `Linear takes no more requests from this token until 2026-11-21T04:10:00Z. Try again then.`;
const forNow = 'Linear takes no more requests from this token for now. Try again in a few minutes.';
const slow: Fault[] = ['never answers', 'stops in the middle of its answer'];
const failures: Partial<Record<Fault, [ProblemKind, string, retryAt?: Date]>> = {
  'answers 500 with an error of its own': [
    'provider-failed',
    `Linear failed: it says "An unexpected error occurred". ${LATER}`,
  ],
  'answers 200 with an error of its own': [
    'provider-failed',
    `Linear failed: it says "An unexpected error occurred". ${LATER}`,
  ],
  'answers 503 with a page': ['provider-failed', `Linear failed with status 503. ${LATER}`],
  'does it and answers 502': ['provider-failed', `Linear failed with status 502. ${LATER}`],
  'answers 200 with a page': ['provider-failed', notLinear(' (status 200)')],
  'answers 404 with a page': ['provider-failed', notLinear(' (status 404)')],
  'answers 403 with a page': ['provider-failed', notLinear(' (status 403)')],
  'answers 401 with a page': ['bad-token', BAD_TOKEN],
  'redirects to itself': ['provider-failed', notLinear(' (status 302)')],
  'answers broken JSON': ['provider-failed', notLinear()],
  'answers an empty body': ['provider-failed', notLinear()],
  'answers null': ['provider-failed', notLinear()],
  'answers JSON of another shape': ['provider-failed', notLinear()],
  'answers errors that are none': ['provider-failed', notLinear()],
  'takes no more requests': ['rate-limited', until, RESET_AT],
  'takes no more that costs so much': ['rate-limited', until, RESET_AT],
  'says how long to wait': ['rate-limited', until, RESET_AT],
  'says nonsense about when': ['rate-limited', forNow],
  'answers 429 with a page': ['rate-limited', forNow],
  'has no more room for webhooks': [
    'too-many-hooks',
    'Linear takes no more webhooks there: it says "You have reached the limit of webhooks".',
  ],
  'refuses the plan': ['refused', 'Linear refused it: it says "Your plan does not include webhooks".'],
  'refuses the scope as an authentication error': ['missing-permission', ADMINS_ONLY],
  'says that nothing came of it': [
    'provider-failed',
    'Linear did not do it, and does not say why. Try again later.',
  ],
};

test('each fault is tried', () => {
  const tried = [...slow, ...Object.keys(failures), 'repeats what it was sent'];
  expect(tried.toSorted()).toEqual(allFaults.toSorted());
});

test.each(Object.entries(failures))('when Linear %s', async (fault, [kind, message, retryAt]) => {
  using world = startLinear();
  world.server.fault = fault as Fault;
  const problem = await problemOf(world.linear.changeHook('x', crypto.randomUUID(), wish), [
    world.server.adminKey,
    SECRET,
  ]);
  expect([problem.kind, problem.message]).toEqual([kind, message.replace('URL', world.server.url)]);
  expect(problem.retryAt).toEqual(retryAt ?? null);
});

test.each([301, 302, 307, 308])('a %d to another server is not followed', async (status) => {
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
  const problem = await problemOf(linearApi(url, 'lin_api_x').changeHook('x', 'y', wish), [
    'lin_api_x',
    SECRET,
  ]);
  expect(problem.message).toBe(notLinear(` (status ${status})`).replace('URL', url));
  expect(seen).toEqual([]);
});

test.each(slow)('when Linear %s, it is given up', async (fault) => {
  using world = startLinear();
  world.server.fault = fault;
  const linear = linearApi(world.server.url, world.server.adminKey, { timeoutMs: 50 });
  for (const call of [linear.listPlaces(), linear.changeHook('x', 'y', wish), linear.deleteHook('x', 'y')]) {
    const problem = await problemOf(call, [world.server.adminKey, SECRET]);
    expect(problem.kind).toBe('provider-failed');
    expect(problem.message).toBe('Linear did not answer within 0.05 seconds. Try again later.');
  }
});

test('what Linear repeats is told without secrets, and cut', async () => {
  using world = startLinear();
  world.server.fault = 'repeats what it was sent';
  const secrets = [world.server.adminKey, SECRET];
  const problem = await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, wish), secrets);
  expect(problem.kind).toBe('refused');
  expect(problem.message).toBe(
    `Linear refused it: it says "Token …: variable "$input" got invalid value {"input":{"url":"${wish.url}","secret":"…","resourceTypes":["Issue","Project"],"enabled":true,"allPublicTeams":…".`,
  );

  const listing = await problemOf(world.linear.listPlaces(), secrets);
  expect(listing.message).toBe(
    'Linear refused it: it says "Token …: variable "$input" got invalid value {"first":250,"after":null}".',
  );
});

test('answers of another shape are refused when lists are asked for', async () => {
  using world = startLinear();
  world.server.fault = 'answers JSON of another shape';
  for (const call of [world.linear.listPlaces(), world.linear.listHooks(ALL_PUBLIC_TEAMS)]) {
    expect((await problemOf(call)).message).toBe(notLinear().replace('URL', world.server.url));
  }
});

test('what was done although no answer came is found as made already', async () => {
  using world = startLinear();
  world.server.fault = 'does it and answers 502';
  expect((await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, wish))).kind).toBe('provider-failed');
  world.server.fault = null;
  expect((await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, wish))).kind).toBe('hook-exists');
  expect(await world.linear.listHooks(ALL_PUBLIC_TEAMS)).toHaveLength(1);
});

test('nobody listens there', async () => {
  using dead = await holdDeadAddress();
  const linear = linearApi(`${dead.url.replace('//', '//ada:hush@')}/graphql`, 'lin_api_k');
  for (const call of [linear.listPlaces(), linear.changeHook('x', 'y', wish)]) {
    const problem = await problemOf(call, ['lin_api_k', SECRET, 'hush']);
    expect(problem.kind).toBe('provider-failed');
    expect(problem.message).toBe(
      `Linear cannot be reached at ${dead.url}/graphql (ECONNREFUSED). Check the network and LINEAR_API_URL.`,
    );
  }
});

test('somebody hangs up', async () => {
  using closing = startClosingServer();
  const problem = await problemOf(linearApi(closing.url, 'lin_api_k').listPlaces());
  expect(problem.kind).toBe('provider-failed');
  expect(problem.message).toStartWith(`Linear cannot be reached at ${closing.url}/ (`);
});

test('no token goes out in the clear', async () => {
  const problem = await problemOf(linearApi('http://linear.example/graphql', 'lin_api_k').listPlaces());
  expect(problem.kind).toBe('provider-failed');
  expect(problem.message).toBe('LINEAR_API_URL must be an https URL, or one of this machine.');
});
