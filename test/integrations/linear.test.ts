import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createTrigger } from '../../src/drafting/triggers/service.ts';
import { connectIntegration, connectWithToken } from '../../src/integrations/connect.ts';
import { diagnose } from '../../src/integrations/doctor.ts';
import { findMissed } from '../../src/integrations/missed.ts';
import { addPlace, disconnectIntegration, removePlace } from '../../src/integrations/places.ts';
import { rotateSecret, syncHooks } from '../../src/integrations/rotate.ts';
import { revealSecret } from '../../src/integrations/store.ts';
import { setToken } from '../../src/integrations/token.ts';
import { ALL_PUBLIC_TEAMS, type ProblemKind } from '../../src/providers/api.ts';
import { logOf } from '../support/deliveries.ts';
import { createHookWorld, type HookWorld, startStream } from '../support/hooks.ts';
import type { Fault } from '../support/linear-api/faults.ts';
import { rejection } from '../support/refusal.ts';
import { allRows } from '../support/rows.ts';

let world: HookWorld;

beforeEach(async () => {
  world = await createHookWorld();
});

afterEach(() => world[Symbol.asyncDispose]());

const atLinear = () => world.linear.workspace.hooks;
const count = async (table: string) => (await allRows(world.db))[table]?.length;

const connect = (places: string[] = [], token = world.linear.adminKey) =>
  connectWithToken(world.deps, { type: 'linear', organizationId: 'org_a', token, places });

const ALL_TYPES = [
  'Attachment',
  'InitiativeUpdate',
  'Issue',
  'Project',
  'ProjectUpdate',
  'Release',
  'ReleaseNote',
];

/** An issue of a team is completed. Resolves to what the webhooks answered. */
async function complete(key: string): Promise<number[]> {
  const team = world.linear.workspace.teams.find((each) => each.key === key);
  if (team === undefined) throw new Error(`there is no team ${key}`);
  const sent = await world.linear.emit({
    type: 'Issue',
    action: 'update',
    data: {
      id: crypto.randomUUID(),
      identifier: `${key}-1`,
      title: 'Fuel gauge',
      url: `https://linear.app/acme/issue/${key}-1`,
      teamId: team.id,
      team: { id: team.id, key, name: team.name },
      stateId: 'state_done',
      state: { id: 'state_done', name: 'Done', type: 'completed' },
      labels: [],
    },
    updatedFrom: { stateId: 'state_doing' },
  });
  return sent.map(({ status }) => status);
}

test('all public teams share one webhook with our secret, and its events are processed', async () => {
  const { integrationId, places } = await connect();
  expect(places).toMatchObject([{ place: 'All public teams', hasPinged: null }]);
  const [hook] = atLinear();
  expect(atLinear()).toHaveLength(1);
  expect(hook).toMatchObject({
    allPublicTeams: true,
    teamId: null,
    enabled: true,
    resourceTypes: ALL_TYPES,
    url: places[0]?.webhookUrl ?? '',
    secret: await revealSecret(world.deps, integrationId),
  });
  expect(await complete('ENG')).toEqual([200]);
  expect(await logOf(world)).toMatchObject([{ status: 'processed', payload: { action: 'completed' } }]);
});

test('chosen teams have a webhook each; one is added and removed', async () => {
  const { integrationId } = await connect(['eng', 'Vault']);
  expect(atLinear().map(({ allPublicTeams }) => allPublicTeams)).toEqual([false, false]);
  expect([await complete('ENG'), await complete('VLT'), await complete('DES')]).toEqual([[200], [200], []]);
  await addPlace(world.deps, integrationId, 'Design (DES)');
  expect(await complete('DES')).toEqual([200]);
  await removePlace(world.deps, integrationId, 'Vault (VLT)');
  expect(await complete('VLT')).toEqual([]);
  expect(atLinear()).toHaveLength(2);
});

test('a connected team is refused; all public teams may be those of another workspace', async () => {
  const { integrationId } = await connect(['ENG']);
  expect(await rejection(connect(['DES', 'Engineering']))).toMatchObject({
    problem: { code: 'place_connected', place: 'Engineering (ENG)', integrationId },
  });
  expect(atLinear()).toHaveLength(1);
  const publicTeams = await connect();
  expect(await rejection(connect())).toMatchObject({
    problem: { code: 'place_connected', integrationId: publicTeams.integrationId },
  });
  expect(atLinear()).toHaveLength(2);
  const other = world.linear.addWorkspace();
  await connect([], other.addKey({ admin: true }));
  expect(other.hooks).toHaveLength(1);
});

test('triggers decide which events are delivered', async () => {
  const { integrationId } = await connect();
  await createTrigger(world.deps, { integrationId, event: 'Project', contentType: 'changelog' });
  expect(await syncHooks(world.deps)).toBe(1);
  expect(atLinear()[0]?.resourceTypes).toEqual(['Project']);
  expect(atLinear()[0]?.secret).toBe(await revealSecret(world.deps, integrationId));
});

test('a rotation during a stream of deliveries refuses none', async () => {
  const { integrationId } = await connect();
  const stream = startStream(3, () => complete('ENG'));
  for (let round = 0; round < 4; round++) {
    const { secret } = await rotateSecret(world.deps, integrationId);
    expect(atLinear()[0]?.secret).toBe(secret);
    await stream.settled();
  }
  const answers = await stream.end();
  expect(answers.length).toBeGreaterThan(5);
  expect(answers.filter((status) => status !== 200)).toEqual([]);
});

test('disconnecting deletes the webhook; a revoked key cannot, unless it is forced', async () => {
  const { integrationId } = await connect();
  world.linear.workspace.revoke(world.linear.adminKey);
  expect(await rejection(disconnectIntegration(world.deps, integrationId))).toMatchObject({
    kind: 'bad-token',
  });
  expect([atLinear().length, await count('integrations')]).toEqual([1, 1]);
  const next = world.linear.workspace.addKey({ admin: true });
  await setToken(world.deps, integrationId, next);
  await disconnectIntegration(world.deps, integrationId);
  expect([atLinear().length, await count('integrations'), await count('hooks')]).toEqual([0, 0, 0]);
});

test('a webhook that was set up by hand is found by its URL and taken over', async () => {
  const { integrationId, webhookUrl } = await connectIntegration(world.deps, 'linear', 'org_a');
  const { teams, hooks } = world.linear.workspace;
  const teamId = teams.find(({ key }) => key === 'DES')?.id ?? null;
  const pasted = { label: null, resourceTypes: ['Issue'], enabled: false, allPublicTeams: false };
  hooks.push({ id: crypto.randomUUID(), url: webhookUrl, secret: 'wrong', teamId, ...pasted });
  // A workspace of any size is looked through once.
  for (let number = 0; number < 30; number++) world.linear.workspace.addTeam(`T${number}`, 'Team');
  const asked = world.linear.operations.length;
  const [place] = await setToken(world.deps, integrationId, world.linear.adminKey);
  expect(place).toMatchObject({ place: 'Design (DES)', hookId: hooks[0]?.id ?? '' });
  expect(world.linear.operations.length - asked).toBeLessThan(8);
  expect(hooks).toHaveLength(1);
  expect(hooks[0]).toMatchObject({ enabled: true, resourceTypes: ALL_TYPES, teamId });
  expect(hooks[0]?.secret).toBe(await revealSecret(world.deps, integrationId));
});

describe('a refusal leaves nothing on either side', () => {
  test.each<[Fault, ProblemKind]>([
    ['answers 503 with a page', 'provider-failed'],
    ['answers 500 with an error of its own', 'provider-failed'],
    ['answers broken JSON', 'provider-failed'],
    ['takes no more requests', 'rate-limited'],
    ['answers 401 with a page', 'bad-token'],
  ])('%s', async (fault, kind) => {
    world.linear.fault = fault;
    expect(await rejection(connect())).toMatchObject({ kind });
    expect([atLinear().length, await count('integrations'), await count('hooks')]).toEqual([0, 0, 0]);
  });

  test.each<[string, () => Promise<unknown>, ProblemKind]>([
    ['an unknown key', () => connect([], 'lin_api_unknown'), 'bad-token'],
    ["a member's key", () => connect([], world.linear.workspace.addKey()), 'missing-permission'],
    [
      'an OAuth token without the scope',
      () => connect([], world.linear.workspace.addOAuthToken(['read', 'write'], { admin: true })),
      'missing-permission',
    ],
    ['a team that is not there', () => connect(['eng', 'OPS']), 'place-not-found'],
  ])('%s', async (_, work, kind) => {
    expect(await rejection(work())).toMatchObject({ kind });
    expect([atLinear().length, await count('integrations'), await count('hooks')]).toEqual([0, 0, 0]);
  });
});

test('the doctor finds changes at Linear, which does not list its deliveries', async () => {
  const { integrationId } = await connect();
  await complete('ENG');
  const deps = { ...world.deps, fetch: (request: Request) => fetch(request) };
  expect(await diagnose(deps, integrationId)).toMatchObject({ ok: true });
  const [hook] = atLinear();
  if (hook === undefined) throw new Error('the hook is missing');
  hook.enabled = false;
  hook.resourceTypes = ['Issue'];
  const { ok, findings } = await diagnose(deps, integrationId);
  expect(ok).toBe(false);
  expect(findings.find(({ name }) => name === 'hook')).toMatchObject({
    code: 'hook_differs',
    hookId: hook.id,
    differences: [
      { code: 'inactive' },
      {
        code: 'missing_events',
        events: ['Attachment', 'InitiativeUpdate', 'Project', 'ProjectUpdate', 'Release', 'ReleaseNote'],
      },
    ],
  });
  expect(await rejection(findMissed(world.deps, integrationId))).toMatchObject({ code: 'no_delivery_list' });
  expect((await world.hooks(integrationId))[0]?.placeId).toBe(ALL_PUBLIC_TEAMS);
});
