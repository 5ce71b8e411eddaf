import { expect, test } from 'bun:test';
import { Unkey } from '@unkey/api';
import {
  BadRequestErrorResponse as BadRequest,
  ForbiddenErrorResponse as Forbidden,
  NotFoundErrorResponse as NotFound,
  UnauthorizedErrorResponse as Unauthorized,
} from '@unkey/api/models/errors';
import { fixedClock } from './clock.ts';
import { allFaults, type Fault, holdDeadAddress, startClosingServer } from './unkey/faults.ts';
import { API_ID, OTHER_API_ID, permissionOn, ROOT_KEY, startUnkeyServer } from './unkey-server.ts';

// The stand-in is held against Unkey's own client, which validates every answer.

function start(options: { rootKey?: string; timeoutMs?: number } = {}) {
  const clock = fixedClock();
  const server = startUnkeyServer({ clock });
  return { clock, server, unkey: client(server.url, options), [Symbol.dispose]: server[Symbol.dispose] };
}

function client(serverURL: string, { rootKey = ROOT_KEY, timeoutMs = 10_000 } = {}) {
  return new Unkey({ serverURL, rootKey, timeoutMs, retryConfig: { strategy: 'none' } });
}

test('a key lives: create, verify, get, update, delete', async () => {
  using world = start();
  const { unkey, clock } = world;
  const createdAt = clock.now().getTime();
  const { data: created } = await unkey.keys.createKey({
    apiId: API_ID,
    prefix: 'tdk',
    name: 'Website',
    externalId: 'org_1',
    permissions: ['api.read'],
    expires: createdAt + 60_000,
    byteLength: 32,
  });
  expect(created.key).toMatch(/^tdk_[1-9A-HJ-NP-Za-km-z]{42,44}$/);

  clock.advance(1_000);
  const verification = await unkey.keys.verifyKey({ key: created.key, permissions: 'api.read' });
  expect(verification.data).toEqual({
    valid: true,
    code: 'VALID',
    keyId: created.keyId,
    name: 'Website',
    enabled: true,
    expires: createdAt + 60_000,
    permissions: ['api.read'],
    identity: { id: expect.any(String), externalId: 'org_1' },
  });

  const shown = await unkey.keys.getKey({ keyId: created.keyId });
  expect(shown.data).toMatchObject({
    start: created.key.slice(0, 8),
    createdAt,
    lastUsedAt: createdAt + 1_000,
    enabled: true,
  });
  expect(JSON.stringify(shown)).not.toContain(created.key);

  const codeFor = async (permissions: string) =>
    (await unkey.keys.verifyKey({ key: created.key, permissions })).data.code;
  expect(await codeFor('api.write')).toBe('INSUFFICIENT_PERMISSIONS');
  clock.advance(59_000);
  expect(await codeFor('api.read')).toBe('VALID');
  clock.advance(1);
  expect(await codeFor('api.write')).toBe('EXPIRED');
  await unkey.keys.updateKey({ keyId: created.keyId, enabled: false });
  expect(await codeFor('api.write')).toBe('DISABLED');
  expect((await unkey.keys.getKey({ keyId: created.keyId })).data.enabled).toBe(false);
  await unkey.keys.deleteKey({ keyId: created.keyId });
  expect((await unkey.keys.verifyKey({ key: created.key })).data).toEqual({
    valid: false,
    code: 'NOT_FOUND',
  });
});

test('a key without a permission still names its identity', async () => {
  using world = start();
  const { key } = (await world.unkey.keys.createKey({ apiId: API_ID, externalId: 'org_1' })).data;
  const { data } = await world.unkey.keys.verifyKey({ key, permissions: 'api.read' });
  expect(data).toMatchObject({ valid: false, identity: { externalId: 'org_1' } });
  expect(data.permissions).toBeUndefined();
});

test('lists in pages, by id, one identity only', async () => {
  using world = start();
  const { unkey } = world;
  const made: string[] = [];
  for (const externalId of ['org_1', 'org_2', 'org_1', 'org_1', 'org_1']) {
    const { keyId } = (await unkey.keys.createKey({ apiId: API_ID, externalId })).data;
    if (externalId === 'org_1') made.push(keyId);
  }
  const page = async (cursor?: string) => {
    const request = { apiId: API_ID, externalId: 'org_1', limit: 2, ...(cursor && { cursor }) };
    const { data, pagination } = (await unkey.apis.listKeys(request)).result;
    return { ids: data.map(({ keyId }) => keyId), ...pagination };
  };
  const first = await page();
  expect(first.hasMore).toBe(true);
  const second = await page(first.cursor);
  expect(second.hasMore).toBe(false);
  expect(second.cursor).toBeUndefined();
  expect([...first.ids, ...second.ids]).toEqual(made.toSorted());
});

test('answers one verification as configured', async () => {
  using world = start();
  const { key } = (await world.unkey.keys.createKey({ apiId: API_ID, externalId: 'org_1' })).data;
  world.server.answerNext({ valid: false, code: 'SOMETHING_NEW', identity: undefined });
  const forced = (await world.unkey.keys.verifyKey({ key })).data;
  expect(forced).toMatchObject({ valid: false, code: 'SOMETHING_NEW' });
  expect(forced.identity).toBeUndefined();
  expect((await world.unkey.keys.verifyKey({ key })).data.code).toBe('VALID');
});

const refused: [string, (unkey: Unkey) => Promise<unknown>, new (...rest: never[]) => Error, string][] = [
  [
    'an API it does not have',
    ({ keys }) => keys.createKey({ apiId: 'api_x' }),
    NotFound,
    'The specified API',
  ],
  ['to list such an API', ({ apis }) => apis.listKeys({ apiId: 'api_x' }), NotFound, 'The specified API'],
  ['a key it does not have', ({ keys }) => keys.getKey({ keyId: 'key_x' }), NotFound, 'the requested key'],
  ['to update such a key', ({ keys }) => keys.updateKey({ keyId: 'key_x' }), NotFound, 'the requested key'],
  ['to delete such a key', ({ keys }) => keys.deleteKey({ keyId: 'key_x' }), NotFound, 'the requested key'],
  ['an empty key', ({ keys }) => keys.verifyKey({ key: '' }), BadRequest, 'body.key'],
  ['a long key', ({ keys }) => keys.verifyKey({ key: 'x'.repeat(513) }), BadRequest, 'body.key'],
  ['a malformed id', ({ keys }) => keys.getKey({ keyId: 'no-such-key' }), BadRequest, 'body.keyId'],
  ['a large page', ({ apis }) => apis.listKeys({ apiId: API_ID, limit: 101 }), BadRequest, 'body.limit'],
  ['an odd field', ({ keys }) => keys.updateKey({ keyId: 'key_1', meta: {} }), BadRequest, 'body.meta'],
];

test.each(refused)('refuses %s', async (_, call, expected, mentioned) => {
  using world = start();
  const error = await failureOf(call(world.unkey));
  expect(error).toBeInstanceOf(expected);
  expect(error.message).toContain(mentioned);
});

// The real server's own order of checks decides between 404 and 403.
test.each([
  ['create_key', NotFound, ({ keys }: Unkey) => keys.createKey({ apiId: API_ID })],
  ['read_api', NotFound, ({ apis }: Unkey) => apis.listKeys({ apiId: API_ID })],
  ['read_key', NotFound, ({ apis }: Unkey) => apis.listKeys({ apiId: API_ID })],
  ['read_key', NotFound, ({ keys }: Unkey, { key }: Created) => keys.whoami({ key })],
  ['read_api', Forbidden, ({ apis }: Unkey) => apis.getApi({ apiId: API_ID })],
  ['read_key', Forbidden, ({ keys }: Unkey, { keyId }: Created) => keys.getKey({ keyId })],
  ['update_key', Forbidden, ({ keys }: Unkey, { keyId }: Created) => keys.updateKey({ keyId })],
  ['delete_key', Forbidden, ({ keys }: Unkey, { keyId }: Created) => keys.deleteKey({ keyId })],
] as const)('without %s a root key gets a %p', async (action, expected, call) => {
  using world = start();
  const { data } = await world.unkey.keys.createKey({ apiId: API_ID });
  world.server.permissions.delete(permissionOn(action));
  expect(await failureOf(call(world.unkey, data))).toBeInstanceOf(expected);
});

test('a key verifies only for a root key that may verify keys of its API', async () => {
  using world = start();
  const { unkey, server } = world;
  server.permissions.add(permissionOn('create_key', OTHER_API_ID));
  const { key } = (await unkey.keys.createKey({ apiId: OTHER_API_ID })).data;
  const code = async () => (await unkey.keys.verifyKey({ key })).data.code;
  expect(await code()).toBe('NOT_FOUND');
  server.permissions.add(permissionOn('verify_key', '*'));
  expect(await code()).toBe('VALID');
});

test('another node answers from its cache for 10 seconds, and once more within 10 minutes', async () => {
  using world = start();
  const { unkey, server, clock } = world;
  const { key, keyId } = (await unkey.keys.createKey({ apiId: API_ID })).data;
  const code = async () => (await unkey.keys.verifyKey({ key })).data.code;
  server.isOtherNode = true;
  expect(await code()).toBe('VALID');
  await unkey.keys.updateKey({ keyId, enabled: false });
  clock.advance(9_999);
  expect(await code()).toBe('VALID');
  clock.advance(590_000);
  expect([await code(), await code()]).toEqual(['VALID', 'DISABLED']);
});

test('refuses another root key', async () => {
  using world = start({ rootKey: 'unkey_other' });
  const error = await failureOf(world.unkey.keys.verifyKey({ key: 'tdk_x' }));
  expect(error).toBeInstanceOf(Unauthorized);
  expect(error.message).toContain('The provided root key is invalid.');
});

const failures: [Fault, string][] = [
  ['answers 500', 'InternalServerErrorResponse'],
  ['answers 429', 'APIError'],
  ['answers 403: the root key may not verify', 'ForbiddenErrorResponse'],
  ['answers 200 with a page', 'APIError'],
  ['answers 403 with a page', 'APIError'],
  ['answers 403 with JSON of another shape', 'ResponseValidationError'],
  ['answers 502 with a page', 'APIError'],
  ['answers broken JSON', 'SyntaxError'],
  ['answers an empty body', 'SyntaxError'],
  ['answers JSON of another shape', 'ResponseValidationError'],
  ['answers null', 'ResponseValidationError'],
];
const hangs: Fault[] = ['never answers', 'stops in the middle of its answer'];

test('each fault is tried', () => {
  expect([...hangs, ...failures.map(([fault]) => fault)].toSorted()).toEqual(allFaults.toSorted());
});

test.each(failures)('a server that %s makes the client throw %s', async (fault, name) => {
  using world = start();
  world.server.fault = fault;
  expect((await failureOf(world.unkey.keys.verifyKey({ key: 'tdk_x' }))).name).toBe(name);
});

test.each(hangs)('a server that %s makes the client give up after its timeout', async (fault) => {
  using world = start({ timeoutMs: 50 });
  world.server.fault = fault;
  expect((await failureOf(world.unkey.keys.verifyKey({ key: 'tdk_x' }))).name).toEndWith('TimeoutError');
});

test('nobody listens there', async () => {
  using dead = await holdDeadAddress();
  const error = await failureOf(client(dead.url).keys.verifyKey({ key: 'tdk_x' }));
  expect(error.name).toBe('UnexpectedClientError');
});

test('somebody hangs up', async () => {
  using closing = startClosingServer();
  const error = await failureOf(client(closing.url).keys.verifyKey({ key: 'tdk_x' }));
  expect(error.name).toBe('ConnectionError');
  expect(closing.connections()).toBe(1);
});

type Created = { key: string; keyId: string };

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const failure = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (failure instanceof Error) return failure;
  throw new Error('The call did not fail');
}
