import { expect, test } from 'bun:test';
import { ALL_PUBLIC_TEAMS } from '../../../src/providers/api.ts';
import { linearApi } from '../../../src/providers/linear/api/index.ts';
import { startLinear } from '../../support/linear-world.ts';
import { problemOf } from '../../support/problem-of.ts';

test('all public teams come first, then the teams by name', async () => {
  using world = startLinear();
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
])('%s sees the right to create webhooks, and no private team of others', async (_, roles, canAdminister) => {
  using world = startLinear();
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
  using world = startLinear();
  const token = world.server.workspace.addOAuthToken(['read', 'write', 'admin'], { app: true });
  const linear = linearApi(world.server.url, token);
  expect((await linear.getPlace('ENG')).canAdminister).toBe(true);
  const settings = { url: 'https://tidings.example/hook', secret: 'secret', events: ['Issue'] };
  expect((await linear.createHook(world.engineering.id, settings)).isActive).toBe(true);
});

test.each([
  [250 - 3, false, 1],
  [251 - 3, false, 2],
  [1000 - 3, false, 4],
  [1001 - 3, true, 4],
])('teams are read in pages, at most a thousand: %d more', async (more, isCut, requests) => {
  using world = startLinear();
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
])('one request finds a team by %s', async (_, write) => {
  using world = startLinear();
  const { id } = world.engineering;
  expect(await world.linear.getPlace(write(id))).toEqual({
    id,
    name: 'Engineering (ENG)',
    canAdminister: true,
  });
  expect(world.server.operations).toHaveLength(1);
});

test.each([ALL_PUBLIC_TEAMS, 'All public teams'])('%s is a place too', async (written) => {
  using world = startLinear();
  const place = { id: ALL_PUBLIC_TEAMS, name: 'All public teams', canAdminister: true };
  expect(await world.linear.getPlace(written)).toEqual(place);
});

const ENTER = `Enter a team's key, such as ENG, its name, its ID, or ${ALL_PUBLIC_TEAMS}.`;
test.each([
  ['OPS', `The token cannot see a Linear team OPS. ${ENTER}`],
  ['Engineer', `The token cannot see a Linear team Engineer. ${ENTER}`],
  [crypto.randomUUID(), null],
  ['', `The token cannot see a Linear team of that name. ${ENTER}`],
  ['x'.repeat(10_000), `The token cannot see a Linear team of that name. ${ENTER}`],
])('there is no team %p', async (written, message) => {
  using world = startLinear();
  const problem = await problemOf(world.linear.getPlace(written));
  expect(problem.kind).toBe('place-not-found');
  expect(problem.message).toBe(message ?? `The token cannot see a Linear team ${written}. ${ENTER}`);
});

test('a name that matches several teams is refused; a label is not', async () => {
  using world = startLinear();
  const { workspace } = world.server;
  const other = workspace.addTeam('PLT', 'Engineering');
  const byKey = workspace.addTeam('OPS', 'ENG');
  const twice = await problemOf(world.linear.getPlace('Engineering'));
  expect(twice.kind).toBe('place-not-found');
  expect(twice.message).toBe(
    'Several Linear teams match Engineering: Engineering (ENG), Engineering (PLT). Enter one of these in full.',
  );
  expect((await problemOf(world.linear.getPlace('ENG'))).message).toBe(
    'Several Linear teams match ENG: ENG (OPS), Engineering (ENG). Enter one of these in full.',
  );
  expect((await world.linear.getPlace('Engineering (PLT)')).id).toBe(other.id);
  expect((await world.linear.getPlace('ENG (OPS)')).id).toBe(byKey.id);
});

test('control characters in the name of a team become spaces', async () => {
  using world = startLinear();
  world.server.workspace.addTeam('EVL', 'Evil\u001b[2J\r\n\u009b31mTeam');
  const { places } = await world.linear.listPlaces();
  expect(places.map(({ name }) => name)).toContain('Evil [2J 31mTeam (EVL)');
  expect((await world.linear.getPlace('EVL')).name).toBe('Evil [2J 31mTeam (EVL)');
});
