import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { composeDraft } from '../../src/drafting/compose.ts';
import { createApp } from '../../src/server/app.ts';
import { connectGithub, githubRequest, logOf } from '../support/deliveries.ts';
import { exchange } from '../support/raw-http.ts';
import { createTestApp } from '../support/test-app.ts';

// Requests that `fetch` cannot send: without a Host header, with several, and with an invalid one.

const app = createTestApp();
let server: ReturnType<typeof Bun.serve>;
let authorization: string;

beforeAll(async () => {
  const { fetch } = createApp({
    ...app.deps,
    compose: async (recipe, material) => composeDraft(recipe, material),
    peerAddress: (request) => server.requestIP(request)?.address ?? null,
  });
  server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
  await app.addOrganization('org_a');
  await app.addPosts('org_a', { id: 'one' }, { id: 'two' });
  authorization = `Authorization: Bearer ${(await app.addKey('org_a')).key}`;
});

afterAll(() => server.stop(true));

const send = (...head: string[]) => exchange(server.port, head);

/** Status and body. */
const outcome = (answer: string) => `${answer.slice(9, 12)} ${answer.split('\r\n\r\n')[1]}`;

describe('HTTP/1.0 without Host', () => {
  test('the content API answers, and reads the query', async () => {
    const list = await send('GET /v1/org_a/posts?limit=1 HTTP/1.0', authorization);
    expect(JSON.parse(outcome(list).slice(4))).toMatchObject({
      posts: [{ id: 'two' }],
      pagination: { limit: 1, totalItems: 2 },
    });
    const one = await send('GET /v1/org_a/posts/one HTTP/1.0', authorization);
    expect(JSON.parse(outcome(one).slice(4))).toMatchObject({ post: { id: 'one' } });
  });

  test.each([
    ['GET /ping HTTP/1.0', '200 pong'],
    ['GET /v1/org_a/posts HTTP/1.0', '401 {"error":"Missing API key"}'],
    ['GET http://example.com/ping HTTP/1.0', '200 pong'],
    ['GET /nope HTTP/1.0', '404 {"error":"Not found"}'],
    ['GET /v1/../ping HTTP/1.0', '200 pong'],
    ['GET //[ HTTP/1.0', '404 {"error":"Not found"}'],
    ['POST /ping HTTP/1.0', '405 {"error":"Method not allowed"}'],
  ])('%s', async (line, expected) => {
    expect(outcome(await send(line))).toBe(expected);
  });

  test('the address of the client is known', async () => {
    expect(await send('GET /metrics HTTP/1.0')).toStartWith('HTTP/1.1 200 ');
  });

  test('a delivery is processed', async () => {
    const connected = await connectGithub(app, 'org_a');
    const [path, init] = githubRequest(connected, { zen: 'Speak like a human.' });
    const headers = Object.entries(init.headers as Record<string, string>).map((pair) => pair.join(': '));
    const body = String(init.body);
    const head = [`POST ${path} HTTP/1.0`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`];
    expect(await exchange(server.port, head, body)).toStartWith('HTTP/1.1 200 ');
    expect(await logOf(app)).toMatchObject([{ status: 'processed', payload: { event: 'ping' } }]);
  });
});

test('an empty Host header is valid', async () => {
  const close = 'Connection: close';
  expect(outcome(await send('GET /ping HTTP/1.1', 'Host: ', close))).toBe('200 pong');
  expect(await send('GET /v1/org_a/posts HTTP/1.1', 'Host: ', authorization, close)).toStartWith(
    'HTTP/1.1 200 ',
  );
});

describe('an invalid Host header is refused on every path', () => {
  test.each([
    [['Host: a.example', 'Host: b.example']],
    [['Host: a.example', 'Host: a.example']],
    [['Host: ', 'Host: a.example']],
    [['Host: a.example, b.example']],
    [['Host: x/v1/y?z']],
    [['Host: x?y']],
    [['Host: /']],
    [['Host: a b']],
    [['Host: a@b']],
    [['Host: [']],
    [['Host: a:99999']],
    [['Host: 1.2.3.999']],
    [['Host: xn--a']],
  ])('%j', async (hosts) => {
    for (const line of [
      'GET /ping',
      'GET /v1/org_a/posts',
      'POST /api/webhooks/github/o/i/r',
      'GET /changelog/a',
      'GET /nope',
    ]) {
      for (const version of ['HTTP/1.0', 'HTTP/1.1']) {
        const answer = await send(`${line} ${version}`, ...hosts, authorization, 'Connection: close');
        expect(outcome(answer), `${line} ${version}`).toBe('400 {"error":"Invalid Host header"}');
      }
    }
  });
});

test('a request like an earlier one is refused for its hosts or its body all the same', async () => {
  const ask = (...more: string[]) =>
    send('GET /v1/org_a/posts HTTP/1.1', 'Host: example.com', authorization, ...more, 'Connection: close');
  for (let time = 0; time < 3; time++) {
    expect(outcome(await ask())).toStartWith('200 ');
    expect(outcome(await ask('Host: example.com'))).toBe('400 {"error":"Invalid Host header"}');
    expect(outcome(await ask('Content-Length: 30000000'))).toBe('413 {"error":"Payload too large"}');
  }
});
