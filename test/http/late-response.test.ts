import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Storage } from '../../db/engine.ts';
import { composeDraft } from '../../src/drafting/compose.ts';
import { beginTurn, publicContent, rendered } from '../../src/http/respond.ts';
import { createApp } from '../../src/server/app.ts';
import { testSqlite } from '../support/database.ts';
import { exchange } from '../support/raw-http.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';
import { until } from '../support/until.ts';

// Bodies that exceed Bun's send buffer are sent as direct streams. The client must not see a difference.

const app = await appWithOrganization();
await app.addPosts(
  'org_a',
  ...Array.from({ length: 10 }, () => ({ markdown: 'quieter engines\n'.repeat(256) })),
);
const { key } = await app.addKey('org_a');

const large = crypto.getRandomValues(Buffer.alloc(65_536)).toString('base64').repeat(200);
const medium = large.slice(0, 400_000);
const bodies = new Map([
  ['/large', rendered(Uint8Array.from(Buffer.from(large)))],
  ['/medium', rendered(Uint8Array.from(Buffer.from(medium)))],
]);

/** Reads in a later turn of the event loop, as from a database across a network. */
const lateDb: Storage = {
  ...app.db,
  async read(work) {
    await nextTurn();
    return app.db.read(work);
  },
};
const lateApp = createApp({
  ...app.deps,
  db: lateDb,
  compose: async (recipe, material) => composeDraft(recipe, material),
});

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

let server: ReturnType<typeof Bun.serve>;

const list = '/v1/org_a/posts';

const requestLines = (path: string, method = 'GET') => [
  `${method} ${path} HTTP/1.1`,
  'Host: localhost',
  `Authorization: Bearer ${key}`,
];

/** The response to one request on a connection of its own. */
const send = (lines: readonly string[]) => exchange(server.port, [...lines, 'Connection: close']);

interface Received {
  head: string;
  body: string;
}

/** Reads one response by its `Content-Length`. Null while a part is missing. */
function readResponse(text: string): Received | null {
  const start = text.indexOf('\r\n\r\n') + 4;
  if (start < 4) return null;
  const head = text.slice(0, start);
  expect(head).not.toMatch(/^transfer-encoding:/im);
  const lengths = Array.from(head.matchAll(/^content-length: (\d+)\r$/gim), ([, length]) => Number(length));
  expect(lengths).toHaveLength(1);
  const end = start + (lengths[0] ?? 0);
  return text.length < end ? null : { head, body: text.slice(start, end) };
}

/** A connection that is kept open. */
async function connect() {
  let text = '';
  let isClosed = false;
  let wake = (): void => undefined;
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port ?? 0,
    socket: {
      data: (_, bytes) => {
        text += bytes.toString();
        wake();
      },
      close: () => {
        isClosed = true;
        wake();
      },
    },
  });
  const more = () => new Promise<void>((resolve) => (wake = resolve));
  return {
    socket,
    /** Sends a request and waits for the first bytes of the response. */
    async start(path: string): Promise<void> {
      socket.write([...requestLines(path), '', ''].join('\r\n'));
      await more();
    },
    /** Reads the rest of the response. The server must send nothing more. */
    async receive(): Promise<Received> {
      for (;;) {
        const response = readResponse(text);
        if (response !== null) {
          expect(text.length).toBe(response.head.length + response.body.length);
          text = '';
          return response;
        }
        if (isClosed) throw new Error(`closed after ${text.length} bytes`);
        await more();
      }
    },
  };
}

describe.each(['the same', 'a later'])('a response that is given in %s turn of the event loop', (turn) => {
  const isLate = turn === 'a later';

  beforeAll(() => {
    server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        const content = bodies.get(new URL(request.url).pathname);
        if (content === undefined) return (isLate ? lateApp : app).fetch(request);
        beginTurn(request);
        if (isLate) await nextTurn();
        return publicContent(request, content, { 'content-type': 'text/plain' });
      },
    });
  });
  afterAll(() => server.stop(true));

  test('of 42 KB is whole, with its length and without chunks', async () => {
    const expected = await (await app.request(list, bearer(key))).text();
    expect(expected.length).toBeWithin(42_000, 60_000);
    const answer = await send(requestLines(list));
    const response = readResponse(answer);
    expect(response?.head).toStartWith('HTTP/1.1 200 OK\r\n');
    expect(response?.head).toMatch(/^etag: "/im);
    expect(response?.body).toBe(expected);
    expect(answer).toBe(`${response?.head}${response?.body}`);
  });

  test('leaves the connection to the next request', async () => {
    const connection = await connect();
    const responses: Received[] = [];
    for (const path of [list, `${list}/post_3`, '/medium', '/nope', list]) {
      await connection.start(path);
      responses.push(await connection.receive());
    }
    connection.socket.end();
    expect(responses.map(({ head }) => head.slice(9, 12))).toEqual(['200', '200', '200', '404', '200']);
    expect(JSON.parse(responses[1]?.body ?? '')).toMatchObject({ post: { id: 'post_3' } });
    expect(responses[2]?.body).toBe(medium);
    expect(responses[4]?.body).toBe(responses[0]?.body ?? '');
  });

  test('to HEAD has the length of GET and no body', async () => {
    const got = readResponse(await send(requestLines(list)));
    const head = await send(requestLines(list, 'HEAD'));
    expect(head).toEndWith('\r\n\r\n');
    expect(/^content-length: (\d+)\r$/im.exec(head)?.[1]).toBe(String(got?.body.length));
  });

  test('to a client that has it is 304', async () => {
    const got = readResponse(await send(requestLines(list)));
    const etag = /^etag: (.+)\r$/im.exec(got?.head ?? '')?.[1];
    const answer = await send([...requestLines(list), `If-None-Match: ${etag}`]);
    expect(answer).toStartWith('HTTP/1.1 304 ');
    expect(answer).toEndWith('\r\n\r\n');
  });

  test('of 17 MB reaches a client that stops reading for a while', async () => {
    const { socket, start, receive } = await connect();
    await start('/large');
    socket.pause();
    expect(readResponse(await send(requestLines(list)))).not.toBeNull();
    socket.resume();
    const { body } = await receive();
    socket.end();
    // Not `expect(body)`, which would print both.
    expect(body === large).toBe(true);
  });

  test('may be abandoned by the client', async () => {
    const { socket, start } = await connect();
    await start('/large');
    socket.terminate();
    await until(
      async () => server.pendingRequests,
      (count) => count === 0,
    );
    expect(readResponse(await send(requestLines(list)))).not.toBeNull();
  });

  test('compressed is whole too', async () => {
    const response = await fetch(new URL('/medium', server.url), {
      headers: { 'accept-encoding': 'gzip' },
      decompress: false,
    });
    const body = await response.bytes();
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('content-length')).toBe(String(body.byteLength));
    expect(Buffer.from(Bun.gunzipSync(body)).toString()).toBe(medium);
  });

  // Bun closes a connection that sends a request before the response to a late one, as any on PostgreSQL.
  if (isLate) return;
  testSqlite('may follow another to a client that pipelines requests', async () => {
    const second = [...requestLines('/medium'), 'Connection: close', '', ''].join('\r\n');
    const answer = await exchange(server.port, requestLines(list), second);
    const first = readResponse(answer);
    expect(JSON.parse(first?.body ?? '')).toMatchObject({ pagination: { totalItems: 10 } });
    expect(readResponse(answer.slice(`${first?.head}${first?.body}`.length))?.body).toBe(medium);
  });
});
