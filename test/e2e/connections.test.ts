import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../support/cli.ts';
import { rounds } from '../support/rounds.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

// Bun's HTTP server handles these connections before Tidings sees a request. docs/proxies.md and docs/api.md state it.

const folder = temporaryFolder();
let server: ServerProcess;

beforeAll(async () => {
  server = await startTidings(join(folder.path, 'data'));
});

afterAll(async () => {
  await server.stop('SIGKILL');
  folder.remove();
});

function open(text: string) {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const closed = Promise.withResolvers<void>();
  const connection = { socket, received: '', isClosed: false, closed: closed.promise };
  socket.on('data', (data) => {
    connection.received += data;
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    connection.isClosed = true;
    closed.resolve();
  });
  socket.write(text);
  return connection;
}

const PING = 'GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n';
const responses = (text: string) => text.split('HTTP/1.1 200 OK').length - 1;

/** Longer than Caddy keeps an idle connection, the longest of the common proxies. */
const IDLE_MS = rounds(0, 121_000);

test('an unfinished head ends although it grows, and an idle connection outlives the pools of proxies', async () => {
  const idle = open(PING);
  await until(
    async () => responses(idle.received),
    (count) => count === 1,
  );
  const unfinished = ['', 'GET /ping HTTP/1.1\r\nHo', 'GET /ping HTTP/1.1\r\nX: '].map(open);
  const growing = unfinished.at(-1);
  const growth = setInterval(() => growing?.socket.write('a'), 500);
  try {
    await Promise.all([...unfinished.map(({ closed }) => closed), Bun.sleep(IDLE_MS)]);
  } finally {
    clearInterval(growth);
  }
  expect(idle.isClosed).toBe(false);
  idle.socket.write(PING);
  await until(
    async () => responses(idle.received),
    (count) => count === 2,
  );
  idle.socket.destroy();
}, 180_000);

test.each([
  ['a method that nobody knows', 'BREW /ping HTTP/1.1\r\nHost: x\r\n\r\n', ''],
  ['a method in lower case', 'get /ping HTTP/1.1\r\nHost: x\r\n\r\n', ''],
  ['no host', 'GET /ping HTTP/1.1\r\n\r\n', '400 Bad Request'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    '400 Bad Request',
  ],
  ['another version', 'GET /ping HTTP/2.0\r\nHost: x\r\n\r\n', '505 HTTP Version Not Supported'],
  [
    'a head over 16 KiB',
    `GET /ping HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
    '431 Request Header Fields Too Large',
  ],
])('%s is refused without a body, and the connection closed', async (_, request, status) => {
  const connection = open(request);
  await connection.closed;
  expect(connection.received).toBe(status === '' ? '' : `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
});
