import { afterEach, beforeEach, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/lib/time.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { root, type ServerProcess, startProcess, startTidings } from '../support/server.ts';
import { API_ID, ROOT_KEY, startUnkeyServer } from '../support/unkey-server.ts';
import { until } from '../support/until.ts';

let folder: ReturnType<typeof temporaryFolder>;
const running: ServerProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop('SIGKILL')));
  folder.remove();
});

async function start(...given: Parameters<typeof startTidings>): Promise<ServerProcess> {
  const server = await startTidings(...given);
  running.push(server);
  return server;
}

const dataDir = () => join(folder.path, 'data');

const json = (...words: string[]) => cliJson(dataDir(), words);

test('serves from any working folder, and says so in one line whatever the log level', async () => {
  const server = await start(dataDir(), ['--log-level', 'silent'], { cwd: tmpdir() });
  // A script may rely on the first line; the rest is for people.
  expect(server.stdout()).toStartWith(`Listening on ${server.url}\n`);
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await (await fetch(`${server.url}/ping`)).text()).toBe('pong');
  expect((await fetch(`${server.url}/docs`)).status).toBe(200);
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as { servers: unknown };
  expect(document.servers).toEqual([{ url: server.url.replace('127.0.0.1', 'localhost') }]);
});

test.each([
  ['elsewhere', tmpdir()],
  ['below it', join(root, 'docs')],
  ['above it', join(root, '..')],
])('the source serves its pages from a working folder %s, too', async (_, cwd) => {
  const words = [process.execPath, join(root, 'src/cli.ts'), 'serve'];
  const server = await startProcess(words, { dataDir: dataDir(), cwd });
  running.push(server);
  for (const path of ['/docs', '/dashboard/~/sign-in'])
    expect((await fetch(`${server.url}${path}`)).status).toBe(200);
});

test('a server that watches its files ends at the first Ctrl-C', async () => {
  const watching = [process.execPath, '--watch', join(root, 'src/cli.ts'), 'serve'];
  const server = await startProcess(watching, { dataDir: dataDir() });
  running.push(server);
  expect((await fetch(`${server.url}/ping`)).status).toBe(200);
  expect(await server.stop('SIGINT')).toBe(0);
});

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it with 0, everything in the one file', async (signal) => {
  const server = await start(dataDir());
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const { key } = await json('key', 'create', '--organization', 'acme', '--name', 'A');
  const response = await fetch(`${server.url}/v1/acme/posts`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);

  expect(await server.stop(signal)).toBe(0);
  expect(Bun.file(join(dataDir(), 'tidings.db-wal')).size).toBe(0);
  // The use of the key was still to be written.
  expect(await json('key', 'list', '--organization', 'acme')).toMatchObject([
    { lastUsedAt: expect.stringMatching(/Z$/) },
  ]);
});

test('SIGTERM lets a delivery that is under way finish, refuses new ones, and is not ready', async () => {
  const server = await start(dataDir());
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const words = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'a/b'];
  const { webhookUrl, secret } = await json(...words);
  const { hostname, port } = new URL(server.url);
  const body = '{"zen":"Anything added dilutes everything else."}';
  const head = [
    `POST ${new URL(webhookUrl).pathname} HTTP/1.1`,
    'host: localhost',
    'x-github-event: ping',
    'x-github-delivery: under-way',
    `x-hub-signature-256: sha256=${hmacSha256(secret, body)}`,
    `content-length: ${body.length}`,
  ];
  const answer = Promise.withResolvers<string>();
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (_, chunk) => answer.resolve(chunk.toString()),
      error: (_, error) => answer.reject(error),
    },
  });
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`);
  // Answered after what was sent before it: the server has begun with the delivery.
  await fetch(`${server.url}/ping`);

  const ended = server.stop('SIGTERM');
  const ask = (path: string, method = 'GET') => fetch(`${server.url}${path}`, { method, keepalive: false });
  const notReady = await until(
    () => ask('/ready'),
    ({ status }) => status !== 200,
  );
  expect(notReady.status).toBe(503);
  expect(await notReady.json()).toEqual({ error: 'The server is stopping' });
  expect(await (await ask('/ping')).text()).toBe('pong');
  const refused = await ask(new URL(webhookUrl).pathname, 'POST');
  expect({ status: refused.status, body: await refused.json() }).toEqual({
    status: 503,
    body: { error: 'The server is stopping' },
  });
  socket.write(body.slice(10));
  expect(await answer.promise).toStartWith('HTTP/1.1 200 OK');
  expect(await ended).toBe(0);
  const log = await json('delivery', 'list', '--organization', 'acme');
  expect(log).toMatchObject([{ referenceId: 'under-way', status: 'processed' }]);
});

test('metrics are for this machine, and not for who comes through a proxy on it', async () => {
  const server = await start(dataDir());
  const ask = (headers: Record<string, string> = {}) => fetch(`${server.url}/metrics`, { headers });
  await fetch(`${server.url}/ping`);
  const text = await (await ask()).text();
  for (const line of [
    /^tidings_http_requests_total\{route="\/ping",method="GET",status="200"\} 1$/m,
    /^tidings_build_info\{version="\d+\.\d+\.\d+",bun="[\d.]+"\} 1$/m,
    /^process_start_time_seconds \d{10}(\.\d+)?$/m,
    /^process_resident_memory_bytes \d{8,}$/m,
    /^process_cpu_seconds_total [\d.]+$/m,
    /^tidings_event_loop_delay_seconds\{quantile="1"\} [\d.e-]+$/m,
    /^tidings_database_bytes\{file="database"\} \d{4,}$/m,
    /^tidings_database_bytes\{file="wal"\} \d+$/m,
  ]) {
    expect(text).toMatch(line);
  }
  expect((await ask({ 'x-forwarded-for': '203.0.113.9' })).status).toBe(403);
  expect((await fetch(`${server.url}/ready`)).status).toBe(200);
});

test('commands take effect at once while it runs', async () => {
  const server = await start(dataDir());
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const { id, key } = await json('key', 'create', '--organization', 'acme', '--name', 'A');
  const get = () => fetch(`${server.url}/v1/acme/posts`, { headers: { authorization: `Bearer ${key}` } });
  expect(await (await get()).json()).toMatchObject({ posts: [] });

  const changelog = join(folder.path, 'CHANGELOG.md');
  await Bun.write(changelog, '## 1.0.0 - 2026-01-02\n\nFirst\n');
  await json('post', 'import', '--organization', 'acme', changelog);
  const { posts } = (await (await get()).json()) as { posts: { id: string }[] };
  expect(posts).toMatchObject([{ title: '1.0.0' }]);
  await json('post', 'unpublish', posts[0]?.id ?? '');
  expect(await (await get()).json()).toMatchObject({ posts: [] });

  await json('key', 'revoke', id);
  const refused = await get();
  expect(refused.status).toBe(401);
  expect(await refused.json()).toEqual({ error: 'INVALID_KEY' });
});

test('with UNKEY_ROOT_KEY set, Unkey keeps and verifies the keys', async () => {
  using unkey = startUnkeyServer({ clock: systemClock });
  const environment = {
    UNKEY_ROOT_KEY: ROOT_KEY,
    UNKEY_API_ID: API_ID,
    UNKEY_BASE_URL: unkey.url,
    UNKEY_TIMEOUT_MS: '10000',
  };
  const server = await start(dataDir(), [], { environment });
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const words = ['key', 'create', '--organization', 'acme', '--name', 'A'];
  const { key } = await cliJson(dataDir(), words, { environment });
  const get = () => fetch(`${server.url}/v1/acme/posts`, { headers: { authorization: `Bearer ${key}` } });
  expect((await get()).status).toBe(200);
  expect(unkey.requests).toEqual(['keys.createKey', 'keys.verifyKey', 'keys.verifyKey']);
  unkey.fault = 'answers 500';
  expect((await get()).status).toBe(503);
});

test('a command speaks of the address that the server was started with', async () => {
  const server = await start(dataDir(), ['--public-url', 'https://tidings.example.com']);
  await json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  const words = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'];
  const urlOf = async (environment: Record<string, string> = {}) => {
    const { webhookUrl } = (await cliJson(dataDir(), words, { environment })) as { webhookUrl: string };
    return webhookUrl;
  };
  // The server writes it down once it listens.
  await until(
    () => urlOf(),
    (url) => url.startsWith('https://tidings.example.com/api/webhooks/github/acme/int_'),
  );
  await server.stop();
  expect(await urlOf()).toStartWith('https://tidings.example.com/');
  expect(await urlOf({ PUBLIC_URL: 'https://other.example.com' })).toStartWith('https://other.example.com/');
});

test('a public https address without CLIENT_IP_HEADER is a warning in the log', async () => {
  const warned = async (...words: string[]) => {
    const server = await start(dataDir(), words);
    await server.stop();
    return (await server.stderr()).includes('CLIENT_IP_HEADER is not set');
  };
  const url = ['--public-url', 'https://tidings.example.com'];
  expect(await warned(...url)).toBe(true);
  expect(await warned(...url, '--client-ip-header', 'X-Forwarded-For')).toBe(false);
  expect(await warned()).toBe(false);
});
