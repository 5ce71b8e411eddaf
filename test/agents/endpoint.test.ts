import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Storage } from '../../db/engine.ts';
import {
  type CreatedKey,
  embeddedKeys,
  type KeyService,
  KeyServiceUnavailable,
  type Verdict,
} from '../../src/people/keys/store.ts';
import { changePublication } from '../../src/readers/public/service.ts';
import { holdOpen, readsOf } from '../support/held-request.ts';
import { JSON_HEADERS, type McpApp, PING, startMcp } from '../support/mcp.ts';
import { allRows } from '../support/rows.ts';
import type { TestApp } from '../support/test-app.ts';

// Refusals before any tool runs.

let mcp: McpApp;
let key: CreatedKey;

beforeEach(async () => {
  mcp = await startMcp();
  key = await mcp.app.addKey('org_a');
});

afterEach(() => mcp[Symbol.asyncDispose]());

type Refusal = [status: number, message: unknown];

async function errorOf(pending: Promise<Response>): Promise<Refusal> {
  const response = await pending;
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  const body = (await response.json()) as { error: unknown };
  expect(Object.keys(body)).toEqual(['error']);
  return [response.status, body.error];
}

const OFF =
  'Forbidden: the endpoint for agents is off. An owner can switch it on in the dashboard under Publishing, Agents';

describe('a key', () => {
  test('answers a message without a session', async () => {
    const response = await mcp.post(key);
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  test('is required, and must be known and short', async () => {
    const missing = await mcp.post(null);
    expect(missing.headers.get('www-authenticate')).toBe('Bearer');
    expect(await errorOf(Promise.resolve(missing))).toEqual([401, 'Missing API key']);
    expect(await errorOf(mcp.post('tdk_unknown'))).toEqual([401, 'INVALID_KEY']);
    expect(await errorOf(mcp.post('x'.repeat(513)))).toEqual([401, 'INVALID_KEY']);
  });

  test('needs api.read, whatever else it may do', async () => {
    const writer = await mcp.app.addKey('org_a', ['posts.suggest']);
    expect(await errorOf(mcp.post(writer))).toEqual([403, 'Forbidden']);
  });

  test('that is revoked is refused on the next request', async () => {
    const gone = await mcp.app.addKey('org_a');
    expect((await mcp.post(gone)).status).toBe(200);
    await mcp.app.deps.keys.revokeKey(gone.id);
    expect(await errorOf(mcp.post(gone))).toEqual([401, 'INVALID_KEY']);
  });

  test('of an organization whose endpoint is off is refused', async () => {
    expect(await errorOf(mcp.post(await mcp.app.addKey('org_b')))).toEqual([403, OFF]);
  });
});

test('a limit and an outage of the key service pass through, also at the second check', async () => {
  const verdicts: Verdict[] = [];
  const verifyKey: KeyService['verifyKey'] = async () => {
    const verdict = verdicts.shift();
    if (verdict === undefined) throw new KeyServiceUnavailable(new Error('gone'));
    return verdict;
  };
  await using limited = await startMcp({ keys: (base) => ({ ...embeddedKeys(base), verifyKey }) });
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const holder = { keyId: 'k', name: 'Bot', organizationId: 'org_a' };
  expect(await errorOf(limited.post('tdk_x'))).toEqual([503, 'Authentication service unavailable']);
  verdicts.push({ outcome: 'limited', code: 'RATE_LIMITED', headers: { 'retry-after': '7' } });
  const response = await limited.post('tdk_x');
  expect(response.headers.get('retry-after')).toBe('7');
  expect(await errorOf(Promise.resolve(response))).toEqual([429, 'RATE_LIMITED']);
  verdicts.push({ outcome: 'valid', ...holder });
  expect(await errorOf(limited.post('tdk_x', list))).toEqual([503, 'Authentication service unavailable']);
  verdicts.push({ outcome: 'valid', ...holder }, { outcome: 'limited', code: 'USAGE_EXCEEDED', headers: {} });
  expect(await errorOf(limited.post('tdk_x', list))).toEqual([429, 'USAGE_EXCEEDED']);
  verdicts.push({ outcome: 'valid', ...holder, organizationId: null });
  expect(await errorOf(limited.post('tdk_x'))).toEqual([403, 'Forbidden: organization access denied']);
});

test('switching off and on takes effect on the next request', async () => {
  const { deps } = mcp.app;
  expect((await mcp.post(key)).status).toBe(200);
  await changePublication(deps, 'org_a', { isMcpOn: false });
  expect(await errorOf(mcp.post(key))).toEqual([403, OFF]);
  await changePublication(deps, 'org_a', { isMcpOn: true });
  expect((await mcp.post(key)).status).toBe(200);
});

describe.each([
  ['a revoked key', ({ deps }: TestApp, id: string) => deps.keys.revokeKey(id), 401, 'INVALID_KEY'],
  ['a deleted key', ({ deps }: TestApp, id: string) => deps.keys.deleteKey(id), 401, 'INVALID_KEY'],
  [
    'an endpoint that is off',
    ({ deps }: TestApp) => changePublication(deps, 'org_a', { isMcpOn: false }),
    403,
    OFF,
  ],
] as const)('%s ends a suggestion', (_, end, status, message) => {
  const suggestion = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'suggest_change', arguments: { id: 'first', title: 'Stolen' } },
  });
  let writer: CreatedKey;
  beforeEach(async () => {
    writer = await mcp.app.addKey('org_a', ['api.read', 'posts.suggest']);
    await mcp.app.addPosts('org_a', { id: 'first' });
  });
  const suggestions = async () => (await allRows(mcp.app.db)).post_suggestions;

  test('that is still arriving', async () => {
    // The key, and the switch.
    const admitted = readsOf(mcp.app.db, 2);
    const headers = { ...JSON_HEADERS, authorization: `Bearer ${writer.key}` };
    const held = await holdOpen(Number(mcp.url.port), '/mcp', suggestion, headers);
    await admitted;
    await end(mcp.app, writer.id);
    const { status: answered, text } = await held.finish();
    expect([answered, text]).toEqual([status, expect.stringContaining(JSON.stringify({ error: message }))]);
    expect(await suggestions()).toEqual([]);
  });

  test('right before it is stored', async () => {
    const { db } = mcp.app;
    const { write } = db;
    db.write = (async (...given: Parameters<Storage['write']>) => {
      db.write = write;
      await end(mcp.app, writer.id);
      return write.apply(db, given);
    }) as Storage['write'];
    expect(await errorOf(mcp.post(writer, suggestion))).toEqual([status, message]);
    expect(await suggestions()).toEqual([]);
  });
});

describe('a request', () => {
  test('by GET, DELETE and PUT gets 405, so that nothing stays open', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS']) {
      const response = await fetch(mcp.url, { method, headers: JSON_HEADERS });
      expect(response.headers.get('allow')).toBe('POST');
      expect(await errorOf(Promise.resolve(response))).toEqual([405, 'Method not allowed']);
    }
  });

  test('of a page of another site is refused before the key is looked at', async () => {
    const refused: Refusal = [403, 'Forbidden: requests of other websites are not allowed'];
    for (const origin of [
      'http://evil.example',
      'null',
      'http://localhost:1',
      `${mcp.url.origin}.evil.example`,
    ]) {
      expect(await errorOf(mcp.post(null, PING, { headers: { origin } }))).toEqual(refused);
      expect(await errorOf(mcp.post(key, PING, { headers: { origin } }))).toEqual(refused);
    }
    expect((await mcp.post(key, PING, { headers: { origin: mcp.url.origin } })).status).toBe(200);
  });

  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  test.each([
    ['is no JSON', '{', {}, 400, 'Invalid JSON'],
    ['is no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), {}, 400, 'Invalid JSON'],
    ['is empty', '', {}, 400, 'Invalid JSON'],
    ['is no message', '{"id":1}', {}, 400, 'Bad Request: the request body is not a valid JSON-RPC message'],
    ['is null', 'null', {}, 400, 'Bad Request: the request body is not a valid JSON-RPC message'],
    [
      'is a batch',
      `[${PING}]`,
      {},
      400,
      'Batches are not supported. Send each message in a request of its own',
    ],
    ['is a form', 'a=b', { 'content-type': 'text/plain' }, 400, 'Invalid JSON'],
    [
      'is of another type',
      PING,
      { 'content-type': 'text/plain' },
      415,
      'Unsupported Media Type: Content-Type must be application/json',
    ],
    [
      'accepts no JSON',
      PING,
      { accept: 'text/html' },
      406,
      'Not Acceptable: Client must accept both application/json and text/event-stream',
    ],
    [
      'is of an unknown version',
      PING,
      { 'mcp-protocol-version': '2020-01-01' },
      400,
      expect.stringContaining('Unsupported protocol version: 2020-01-01'),
    ],
  ])('that %s is refused', async (_, body, headers, status, message) => {
    expect(await errorOf(mcp.post(key, body, { headers: headers as never }))).toEqual([status, message]);
  });

  test.each([
    'application/json',
    '*/*',
    'application/*',
    'text/html, application/json;q=0.9',
    'APPLICATION/JSON; charset=utf-8',
    'text/event-stream, application/json',
    '',
  ])('that accepts "%s" gets JSON', async (accept) => {
    const response = await mcp.post(key, PING, { headers: { accept } });
    expect([response.status, await response.json()]).toMatchObject([200, { result: {} }]);
  });

  test.each(['text/event-stream', 'application/jsonp', 'text/json'])(
    'that accepts "%s" is refused',
    async (accept) => {
      expect((await errorOf(mcp.post(key, PING, { headers: { accept } })))[0]).toBe(406);
    },
  );

  test('that nests deeper than anything is refused, and the next one is answered', async () => {
    expect((await errorOf(mcp.post(key, deep)))[0]).toBe(400);
    expect((await mcp.post(key)).status).toBe(200);
  });

  test('that nests deep in an argument gets the refusal of the tool', async () => {
    const nested = '['.repeat(100_000) + ']'.repeat(100_000);
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_posts","arguments":{"page":${nested}}}}`;
    const response = await mcp.post(key, call);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      {
        result: {
          isError: true,
          content: [{ type: 'text', text: 'page is wrong: expected integer, not a list' }],
        },
      },
    ]);
  });

  test('with more than 256 KiB is refused, with and without a length', async () => {
    const large = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { x: 'x'.repeat(256 * 1024) },
    });
    const refused: Refusal = [413, 'Payload too large. A message has 256 KiB at most'];
    expect(await errorOf(mcp.post(key, large))).toEqual(refused);
    const streamed = new Blob([large]).stream();
    expect(await errorOf(mcp.post(key, streamed))).toEqual(refused);
    const fits = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { x: 'x'.repeat(255 * 1024) },
    });
    expect((await mcp.post(key, fits)).status).toBe(200);
  });

  test('that is a notification gets 202 without a body', async () => {
    const response = await mcp.post(
      key,
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    );
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  test('for an unknown method or tool gets an error of the protocol', async () => {
    const send = async (method: string, params: object) =>
      (await mcp.post(key, JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }))).json();
    expect(await send('resources/list', {})).toMatchObject({ id: 7, error: { code: -32601 } });
    expect(await send('tools/call', { name: 'delete_post' })).toMatchObject({
      id: 7,
      error: { code: -32602, message: expect.stringContaining('Unknown tool') },
    });
  });
});
