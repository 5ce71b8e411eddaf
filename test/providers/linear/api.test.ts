import { expect, test } from 'bun:test';
import { ALL_PUBLIC_TEAMS, type HookWish } from '../../../src/providers/api.ts';
import { linearApi } from '../../../src/providers/linear/api/index.ts';
import { startLinearApi } from '../../support/linear-api/server.ts';
import { startLinear } from '../../support/linear-world.ts';
import { problemOf } from '../../support/problem-of.ts';

const SECRET = 'whsec-that-nobody-must-see';
const wish: HookWish = {
  url: 'https://tidings.example/api/webhooks/linear/org_1/int_1',
  secret: SECRET,
  events: ['Issue', 'Project'],
};
const changed: HookWish = { url: 'https://new.example/hook', secret: `${SECRET}-2`, events: ['Issue'] };

test.each([
  ['a team', (teamId: string) => teamId],
  ['all public teams', () => ALL_PUBLIC_TEAMS],
])('a webhook for %s lives: make, find, list, change, delete', async (_, choose) => {
  using world = startLinear();
  const { linear, server, engineering, design } = world;
  const { hooks } = server.workspace;
  const placeId = choose(engineering.id);
  const isAll = placeId === ALL_PUBLIC_TEAMS;
  const made = await linear.createHook(placeId, { ...wish, events: ['Project', 'Issue'] });
  const told = {
    id: hooks[0]?.id ?? 'none',
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
  using world = startLinear();
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
    ...[
      'changeHook',
      'createHook',
      'deleteHook',
      'findHook',
      'findHookAnywhere',
      'getPlace',
      'listHooks',
      'listPlaces',
      'type',
    ],
  ]);
});

test('refuses a second webhook with the URL for the place, and makes none', async () => {
  using world = startLinear();
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
  using world = startLinear();
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
