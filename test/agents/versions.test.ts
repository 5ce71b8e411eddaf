import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { LATEST_PROTOCOL_VERSION, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import type { Storage } from '../../db/engine.ts';
import type { CreatedKey } from '../../src/people/keys/store.ts';
import { call, JSON_HEADERS, type McpApp, startMcp } from '../support/mcp.ts';
import { allRows } from '../support/rows.ts';

// Clients of the protocol 2026-07-28, which has no handshake: each request says what it speaks.

const NEWEST = '2026-07-28';

let mcp: McpApp;
let key: CreatedKey;

beforeEach(async () => {
  mcp = await startMcp();
  key = await mcp.app.addKey('org_a', ['api.read', 'posts.suggest']);
  await mcp.app.addPosts('org_a', { id: 'first', title: 'Quiet engines' });
});

afterEach(() => mcp[Symbol.asyncDispose]());

const envelope = {
  'io.modelcontextprotocol/protocolVersion': NEWEST,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function message(method: string, params: object = {}, _meta: object = envelope) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } });
  const name = 'name' in params ? { 'mcp-name': String(params.name) } : {};
  const headers: Record<string, string> = { 'mcp-protocol-version': NEWEST, 'mcp-method': method, ...name };
  return { body, headers };
}

async function send(method: string, params?: object, more: Record<string, string> = {}, meta?: object) {
  const { body, headers } = message(method, params, meta);
  const response = await mcp.post(key, body, { headers: { ...headers, ...more } });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  return [response.status, await response.json()];
}

test.each<[VersionNegotiationMode, string]>([
  ['legacy', LATEST_PROTOCOL_VERSION],
  ['auto', NEWEST],
  [{ pin: NEWEST }, NEWEST],
])('a client that negotiates %p speaks %s', async (mode, version) => {
  const client = await mcp.connect(key, { versionNegotiation: { mode } });
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
  expect(client.getServerVersion()).toMatchObject({ name: 'tidings', title: 'Tidings' });
  expect(client.getServerCapabilities()).toEqual({ tools: {} });
  expect(client.getInstructions()).toContain('published changelog posts');
  expect((await client.listTools()).tools).toHaveLength(4);
  expect((await call(client, 'list_posts')).posts).toHaveLength(1);
  expect(await call(client, 'get_post', { id: 'none' })).toBe('No such post');
  expect(await call(client, 'suggest_change', { id: 'first', title: 'Loud' })).toEqual({ received: true });
  expect((await allRows(mcp.app.db)).post_suggestions).toHaveLength(1);
});

describe('a request of 2026-07-28', () => {
  test.each(['*/*', 'application/json', ''])('that accepts "%s" gets JSON', async (accept) => {
    const discovered = await send('server/discover', {}, { accept });
    expect(discovered).toMatchObject([200, { id: 7, result: { supportedVersions: [NEWEST] } }]);
  });

  test('lists the tools of the key, for this key alone', async () => {
    key = await mcp.app.addKey('org_a');
    const listed = await send('tools/list');
    expect(listed).toMatchObject([200, { result: { cacheScope: 'private', tools: { length: 3 } } }]);
  });

  test.each<[string, Parameters<typeof send>, [status: number, code: number]]>([
    ['of an unknown method', ['nope'], [404, -32601]],
    [
      'for a subscription',
      ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
      [200, -32603],
    ],
    ['whose header names another method', ['tools/list', {}, { 'mcp-method': 'tools/call' }], [400, -32020]],
    [
      'without capabilities',
      ['tools/list', {}, {}, { ...envelope, 'io.modelcontextprotocol/clientCapabilities': undefined }],
      [400, -32602],
    ],
  ])('%s is refused as JSON-RPC', async (_, given, [status, code]) => {
    expect(await send(...given)).toMatchObject([status, { id: 7, error: { code } }]);
  });

  test('of a later version learns which versions there are', async () => {
    const later = { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
    const refused = await send('tools/list', {}, { 'mcp-protocol-version': '2027-01-01' }, later);
    expect(refused).toMatchObject([400, { error: { code: -32022, data: { supported: [NEWEST] } } }]);
  });

  test('with a revoked key gets 401, also right before it stores something', async () => {
    const suggestion = message('tools/call', {
      name: 'suggest_change',
      arguments: { id: 'first', title: 'Stolen' },
    });
    const { db, deps } = mcp.app;
    const { write } = db;
    db.write = (async (...given: Parameters<Storage['write']>) => {
      db.write = write;
      await deps.keys.revokeKey(key.id);
      return write.apply(db, given);
    }) as Storage['write'];
    for (const _ of ['during the request', 'before it']) {
      const response = await mcp.post(key, suggestion.body, { headers: suggestion.headers });
      expect([response.status, await response.json()]).toEqual([401, { error: 'INVALID_KEY' }]);
    }
    expect((await allRows(mcp.app.db)).post_suggestions).toEqual([]);
  });

  test('whose client leaves is no failure of the server', async () => {
    const { body, headers } = message('tools/call', { name: 'list_posts', arguments: {} });
    const { db } = mcp.app;
    const { read } = db;
    const leaving = new AbortController();
    let reads = 0;
    db.read = (async (...given: Parameters<Storage['read']>) => {
      // The key, the switch, both again, and the posts.
      if (++reads === 4) leaving.abort();
      return read.apply(db, given);
    }) as Storage['read'];
    const request = new Request(mcp.url, {
      method: 'POST',
      body,
      headers: { ...JSON_HEADERS, ...headers, authorization: `Bearer ${key.key}` },
      signal: leaving.signal,
    });
    const response = await mcp.app.fetch(request);
    expect([reads, response.status, await response.text()]).toEqual([4, 499, '']);
    expect(mcp.app.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
