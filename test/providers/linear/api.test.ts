import { expect, test } from 'bun:test';
import { ALL_PUBLIC_TEAMS, type HookSettings } from '../../../src/providers/api.ts';
import { linearApi } from '../../../src/providers/linear/api/index.ts';
import { startLinearApi } from '../../support/linear-api/server.ts';
import { startLinear } from '../../support/linear-world.ts';
import { problemOf } from '../../support/problem-of.ts';

const SECRET = 'whsec-never-shown';
const settings: HookSettings = {
  url: 'https://tidings.example/api/webhooks/linear/org_1/int_1',
  secret: SECRET,
  events: ['Issue', 'Project'],
};
const changed: HookSettings = { url: 'https://new.example/hook', secret: `${SECRET}-2`, events: ['Issue'] };

test.each([
  ['a team', (teamId: string) => teamId],
  ['all public teams', () => ALL_PUBLIC_TEAMS],
])('a webhook for %s is created, found, listed, changed and deleted', async (_, choose) => {
  using world = startLinear();
  const { linear, server, engineering, design } = world;
  const { hooks } = server.workspace;
  const placeId = choose(engineering.id);
  const isAll = placeId === ALL_PUBLIC_TEAMS;
  const made = await linear.createHook(placeId, { ...settings, events: ['Project', 'Issue'] });
  const reported = {
    id: hooks[0]?.id ?? 'none',
    placeId,
    url: settings.url,
    events: ['Issue', 'Project'],
    isActive: true,
    isJson: null,
    hasSecret: null,
    lastResponse: null,
  };
  const stored = {
    id: reported.id,
    url: settings.url,
    secret: SECRET,
    label: 'Tidings',
    resourceTypes: ['Project', 'Issue'],
    enabled: true,
    allPublicTeams: isAll,
    teamId: isAll ? null : engineering.id,
  };
  expect(made).toEqual(reported);
  expect(hooks).toEqual([stored]);
  expect(await linear.findHook(placeId, made.id)).toEqual(reported);
  expect(await linear.listHooks(placeId)).toEqual([reported]);

  // Another place may have a webhook with the same URL.
  await linear.createHook(design.id, settings);
  expect(await linear.listHooks(placeId)).toEqual([reported]);
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

test('no query reads a secret, and lists are read page by page', async () => {
  using world = startLinear();
  const { linear, server, engineering } = world;
  for (let i = 0; i < 251; i++) {
    await linear.createHook(engineering.id, { ...settings, url: `https://tidings.example/${i}` });
  }
  expect(await linear.listHooks(engineering.id)).toHaveLength(251);
  const asked = server.operations.map(({ query }) => query).filter((query) => query.includes('secret'));
  expect(asked).toEqual([]);
});

test('Linear has neither pings nor deliveries', () => {
  const linear = linearApi('https://api.linear.app/graphql', 'lin_api_x');
  expect(Object.keys(linear).sort()).toEqual([
    ...[
      'changeHook',
      'createHook',
      'deleteHook',
      'findHook',
      'findHookAnywhere',
      'getPlace',
      'listChanges',
      'listHooks',
      'listPlaces',
      'type',
    ],
  ]);
});

test('a second webhook with the URL for the place is hook-exists', async () => {
  using world = startLinear();
  const { linear, server, engineering } = world;
  for (const placeId of [engineering.id, ALL_PUBLIC_TEAMS]) {
    await linear.createHook(placeId, settings);
    const problem = await problemOf(linear.createHook(placeId, settings));
    expect(problem.kind).toBe('hook-exists');
    expect(problem.message).toBe(
      'Linear has a webhook with this URL there already. Delete it at https://linear.app/settings/api, or take it over.',
    );
  }
  expect(server.workspace.hooks).toHaveLength(2);
});

test('a missing webhook or team is named', async () => {
  using world = startLinear();
  const gone = crypto.randomUUID();
  const hook = await problemOf(world.linear.changeHook(world.design.id, gone, settings));
  expect([hook.kind, hook.message]).toEqual(['hook-not-found', 'The webhook no longer exists at Linear.']);
  const place = await problemOf(world.linear.createHook(gone, settings));
  expect([place.kind, place.message]).toEqual([
    'place-not-found',
    'The token cannot see this Linear team, or it does not exist.',
  ]);
});

test.each(['http://tidings.example/hook', 'https://localhost/hook', 'http://127.0.0.1:3000/hook'])(
  'Linear does not deliver to %s',
  async (url) => {
    using server = startLinearApi({ takesLocalUrls: false });
    const linear = linearApi(server.url, server.adminKey);
    const problem = await problemOf(linear.createHook(ALL_PUBLIC_TEAMS, { ...settings, url }));
    expect(problem.kind).toBe('unreachable-url');
    expect(problem.message).toBe(
      `Linear rejected the webhook's URL: "url must be a publicly accessible HTTPS, non-localhost URL". Set PUBLIC_URL to a public https URL.`,
    );
    expect(server.workspace.hooks).toEqual([]);
  },
);
