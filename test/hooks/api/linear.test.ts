import { expect, test } from 'bun:test';
import { linearApi } from '../../../src/hooks/api/linear.ts';
import { ALL_PUBLIC_TEAMS, type HookWish, type ProblemKind } from '../../../src/hooks/model.ts';
import { allFaults, type Fault, RESET_AT } from '../../support/linear-api/faults.ts';
import { type LinearApi, startLinearApi } from '../../support/linear-api/server.ts';
import { holdDeadAddress, startClosingServer } from '../../support/unkey/faults.ts';
import { problemOf } from './problem-of.ts';

const SECRET = 'whsec-that-nobody-must-see';
const wish: HookWish = {
  url: 'https://tidings.example/api/webhooks/linear/org_1/int_1',
  secret: SECRET,
  events: ['Issue', 'Project'],
};
const changed: HookWish = { url: 'https://new.example/hook', secret: `${SECRET}-2`, events: ['Issue'] };

function start() {
  const server = startLinearApi();
  const [engineering = never(), design = never(), vault = never()] = server.workspace.teams;
  const linear = linearApi(server.url, server.adminKey);
  return { server, linear, engineering, design, vault, [Symbol.dispose]: server[Symbol.dispose] };
}

function never(): never {
  throw new Error('The workspace lacks a team');
}

test('lists all public teams first, then the teams by name', async () => {
  using world = start();
  expect(await world.linear.listPlaces()).toEqual({
    places: [
      { id: ALL_PUBLIC_TEAMS, name: 'All public teams', canAdminister: true },
      { id: world.design.id, name: 'Design (DES)', canAdminister: true },
      { id: world.engineering.id, name: 'Engineering (ENG)', canAdminister: true },
      { id: world.vault.id, name: 'Vault (VLT)', canAdminister: true },
    ],
    isCut: false,
  });
  expect(world.server.operations.map(({ fields }) => fields)).toEqual([['viewer', 'teams']]);
});

test.each([
  ['a member', { admin: false }, false],
  ['an admin', { admin: true }, true],
  ['an owner', { owner: true }, true],
])('%s sees whether webhooks may be made, and no private team of others', async (_, roles, canAdminister) => {
  using world = start();
  const linear = linearApi(world.server.url, world.server.workspace.addKey(roles));
  const { places } = await linear.listPlaces();
  expect(places.map((place) => place.name)).toEqual([
    'All public teams',
    'Design (DES)',
    'Engineering (ENG)',
  ]);
  expect(places.map((place) => place.canAdminister)).toEqual(places.map(() => canAdminister));
});

test('the user of an OAuth application counts as an admin, and its token goes after Bearer', async () => {
  using world = start();
  const token = world.server.workspace.addOAuthToken(['read', 'write', 'admin'], { app: true });
  const linear = linearApi(world.server.url, token);
  expect((await linear.getPlace('ENG')).canAdminister).toBe(true);
  expect((await linear.createHook(world.engineering.id, wish)).isActive).toBe(true);
});

test.each([
  [250 - 3, false, 1],
  [251 - 3, false, 2],
  [1000 - 3, false, 4],
  [1001 - 3, true, 4],
])('reads teams in pages, and stops at a thousand: %d more', async (more, isCut, requests) => {
  using world = start();
  for (let i = 0; i < more; i++) world.server.workspace.addTeam(`T${i}`, `Team ${i}`);
  const listed = await world.linear.listPlaces();
  expect(listed.isCut).toBe(isCut);
  expect(new Set(listed.places.map(({ id }) => id)).size).toBe(1 + Math.min(more + 3, 1000));
  expect(world.server.operations).toHaveLength(requests);
});

test.each([
  ['its key', () => 'ENG'],
  ['its key in small letters, with spaces around', () => ' eng '],
  ['its name', () => 'Engineering'],
  ['its label', () => 'Engineering (ENG)'],
  ['its id', (id: string) => id],
  ['its id in capitals', (id: string) => id.toUpperCase()],
])('finds a team by %s, in one request', async (_, write) => {
  using world = start();
  const { id } = world.engineering;
  expect(await world.linear.getPlace(write(id))).toEqual({
    id,
    name: 'Engineering (ENG)',
    canAdminister: true,
  });
  expect(world.server.operations).toHaveLength(1);
});

test.each([ALL_PUBLIC_TEAMS, 'All public teams'])('%s is a place too', async (written) => {
  using world = start();
  const place = { id: ALL_PUBLIC_TEAMS, name: 'All public teams', canAdminister: true };
  expect(await world.linear.getPlace(written)).toEqual(place);
});

const GIVE = `Give a team's key, such as ENG, its name or its id, or ${ALL_PUBLIC_TEAMS}.`;
test.each([
  ['OPS', `The token sees no team OPS at Linear. ${GIVE}`],
  ['Engineer', `The token sees no team Engineer at Linear. ${GIVE}`],
  [crypto.randomUUID(), null],
  ['', `The token sees no team of that name at Linear. ${GIVE}`],
  ['x'.repeat(10_000), `The token sees no team of that name at Linear. ${GIVE}`],
])('finds no team %p', async (written, message) => {
  using world = start();
  const problem = await problemOf(world.linear.getPlace(written));
  expect(problem.kind).toBe('place-not-found');
  expect(problem.message).toBe(message ?? `The token sees no team ${written} at Linear. ${GIVE}`);
});

test('a name that means more than one team is refused, and its label is not', async () => {
  using world = start();
  const { workspace } = world.server;
  const other = workspace.addTeam('PLT', 'Engineering');
  const byKey = workspace.addTeam('OPS', 'ENG');
  const twice = await problemOf(world.linear.getPlace('Engineering'));
  expect(twice.kind).toBe('place-not-found');
  expect(twice.message).toBe(
    'More than one team at Linear goes by Engineering: Engineering (ENG), Engineering (PLT). Give one of these in full.',
  );
  expect((await problemOf(world.linear.getPlace('ENG'))).message).toBe(
    'More than one team at Linear goes by ENG: ENG (OPS), Engineering (ENG). Give one of these in full.',
  );
  expect((await world.linear.getPlace('Engineering (PLT)')).id).toBe(other.id);
  expect((await world.linear.getPlace('ENG (OPS)')).id).toBe(byKey.id);
});

test.each([
  ['a team', (teamId: string) => teamId],
  ['all public teams', () => ALL_PUBLIC_TEAMS],
])('a webhook for %s lives: make, find, list, change, delete', async (_, choose) => {
  using world = start();
  const { linear, server, engineering, design } = world;
  const { hooks } = server.workspace;
  const placeId = choose(engineering.id);
  const isAll = placeId === ALL_PUBLIC_TEAMS;
  const made = await linear.createHook(placeId, { ...wish, events: ['Project', 'Issue'] });
  const told = {
    id: hooks[0]?.id ?? never(),
    placeId,
    url: wish.url,
    events: ['Issue', 'Project'],
    isActive: true,
    isJson: null,
    hasSecret: null,
    lastResponse: null,
  };
  const stored = {
    id: told.id,
    url: wish.url,
    secret: SECRET,
    label: 'Tidings',
    resourceTypes: ['Project', 'Issue'],
    enabled: true,
    allPublicTeams: isAll,
    teamId: isAll ? null : engineering.id,
  };
  expect(made).toEqual(told);
  expect(hooks).toEqual([stored]);
  expect(await linear.findHook(placeId, made.id)).toEqual(told);
  expect(await linear.listHooks(placeId)).toEqual([told]);

  // The same URL may serve another place, whose webhooks are its own.
  await linear.createHook(design.id, wish);
  expect(await linear.listHooks(placeId)).toEqual([told]);
  expect(await linear.findHook(design.id, made.id)).toBeNull();

  for (const hook of hooks) hook.enabled = false;
  expect((await linear.findHook(placeId, made.id))?.isActive).toBe(false);
  await linear.changeHook(placeId, made.id, changed);
  expect(hooks[0]).toEqual({ ...stored, url: changed.url, secret: changed.secret, resourceTypes: ['Issue'] });
  expect(hooks[1]?.enabled).toBe(false);

  await linear.deleteHook(placeId, made.id);
  expect(await linear.findHook(placeId, made.id)).toBeNull();
  expect(hooks).toHaveLength(1);
  await linear.deleteHook(placeId, made.id);
  expect(hooks).toHaveLength(1);
});

test('never asks for a secret, and sees those of one page after the other', async () => {
  using world = start();
  const { linear, server, engineering } = world;
  for (let i = 0; i < 251; i++) {
    await linear.createHook(engineering.id, { ...wish, url: `https://tidings.example/${i}` });
  }
  expect(await linear.listHooks(engineering.id)).toHaveLength(251);
  const asked = server.operations.map(({ query }) => query).filter((query) => query.includes('secret'));
  expect(asked).toEqual([]);
});

test('has neither pings nor deliveries', () => {
  const linear = linearApi('https://api.linear.app/graphql', 'lin_api_x');
  expect(Object.keys(linear).sort()).toEqual([
    ...['changeHook', 'createHook', 'deleteHook', 'findHook', 'getPlace', 'listHooks', 'listPlaces', 'type'],
  ]);
});

test('refuses a second webhook with the URL for the place, and makes none', async () => {
  using world = start();
  const { linear, server, engineering } = world;
  for (const placeId of [engineering.id, ALL_PUBLIC_TEAMS]) {
    await linear.createHook(placeId, wish);
    const problem = await problemOf(linear.createHook(placeId, wish));
    expect(problem.kind).toBe('hook-exists');
    expect(problem.message).toBe(
      'Linear has a webhook with this URL there already. Delete it at https://linear.app/settings/api, or take it over.',
    );
  }
  expect(server.workspace.hooks).toHaveLength(2);
});

test('what is gone is named', async () => {
  using world = start();
  const gone = crypto.randomUUID();
  const hook = await problemOf(world.linear.changeHook(world.design.id, gone, wish));
  expect([hook.kind, hook.message]).toEqual(['hook-not-found', 'The webhook is not at Linear any more.']);
  const place = await problemOf(world.linear.createHook(gone, wish));
  expect([place.kind, place.message]).toEqual([
    'place-not-found',
    'Linear has no such team, or the token cannot see it.',
  ]);
});

test.each(['http://tidings.example/hook', 'https://localhost/hook', 'http://127.0.0.1:3000/hook'])(
  'Linear does not deliver to %s',
  async (url) => {
    using server = startLinearApi({ takesLocalUrls: false });
    const linear = linearApi(server.url, server.adminKey);
    const problem = await problemOf(linear.createHook(ALL_PUBLIC_TEAMS, { ...wish, url }));
    expect(problem.kind).toBe('unreachable-url');
    expect(problem.message).toBe(
      `Linear does not take the webhook's URL: it says "url must be a publicly accessible HTTPS, non-localhost URL". It must be a public https URL, so set PUBLIC_URL to one.`,
    );
    expect(server.workspace.hooks).toEqual([]);
  },
);

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
  using world = start();
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
  using world = start();
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
  using world = start();
  world.server.fault = fault as Fault;
  const problem = await problemOf(world.linear.changeHook('x', crypto.randomUUID(), wish), [
    world.server.adminKey,
    SECRET,
  ]);
  expect([problem.kind, problem.message]).toEqual([kind, message.replace('URL', world.server.url)]);
  expect(problem.retryAt).toEqual(retryAt ?? null);
});

test.each(slow)('when Linear %s, it is given up', async (fault) => {
  using world = start();
  world.server.fault = fault;
  const linear = linearApi(world.server.url, world.server.adminKey, 50);
  for (const call of [linear.listPlaces(), linear.changeHook('x', 'y', wish), linear.deleteHook('x', 'y')]) {
    const problem = await problemOf(call, [world.server.adminKey, SECRET]);
    expect(problem.kind).toBe('provider-failed');
    expect(problem.message).toBe('Linear did not answer within 0.05 seconds. Try again later.');
  }
});

test('what Linear repeats is told without secrets, and cut', async () => {
  using world = start();
  world.server.fault = 'repeats what it was sent';
  const secrets = [world.server.adminKey, SECRET];
  const problem = await problemOf(world.linear.createHook(ALL_PUBLIC_TEAMS, wish), secrets);
  expect(problem.kind).toBe('refused');
  expect(problem.message).toStartWith('Linear refused it: it says "Variable');
  expect(problem.message.length).toBeLessThan(260);

  const listing = await problemOf(world.linear.listPlaces(), secrets);
  expect(listing.message).toStartWith('Linear refused it: it says "Variable');
});

test('answers of another shape are refused when lists are asked for', async () => {
  using world = start();
  world.server.fault = 'answers JSON of another shape';
  for (const call of [world.linear.listPlaces(), world.linear.listHooks(ALL_PUBLIC_TEAMS)]) {
    expect((await problemOf(call)).message).toBe(notLinear().replace('URL', world.server.url));
  }
});

test('what was done although no answer came is found as made already', async () => {
  using world = start();
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
