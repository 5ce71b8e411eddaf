import { afterEach, expect, test } from 'bun:test';
import { cli } from '../support/cli.ts';

/** Processes to end after a test. */
const servers: { stop(closeActive: true): void }[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.stop(true);
});

const NO_FOLDER = '/nowhere/data';

const check = (environment: Record<string, string>, ...words: string[]) =>
  cli(NO_FOLDER, ['healthcheck', ...words], { environment });

function serveHttp(status: number, hostname = '127.0.0.1'): string {
  const server = Bun.serve({
    hostname,
    port: 0,
    fetch: ({ url }) => new Response('pong', { status: new URL(url).pathname === '/ping' ? status : 404 }),
  });
  servers.push(server);
  return String(server.port);
}

test.each([
  ['127.0.0.1', 'http://127.0.0.1'],
  ['0.0.0.0', 'http://127.0.0.1'],
  ['localhost', 'http://localhost'],
])('asks /ping where HOST=%s is reached from here, and needs no data folder', async (HOST, asked) => {
  const PORT = serveHttp(200, HOST);
  expect(await check({ HOST, PORT })).toEqual({
    exitCode: 0,
    stdout: `${asked}:${PORT}/ping responds.\n`,
    stderr: '',
  });
});

test('flags win over the environment, and --json gives one value', async () => {
  const port = serveHttp(200);
  const { stdout } = await check({ PORT: '1' }, '--port', port, '--json');
  expect(JSON.parse(stdout)).toEqual({ url: `http://127.0.0.1:${port}/ping`, status: 200 });
});

test.each([
  ['127.0.0.1', 'http://127.0.0.1', 'the connection was refused'],
  ['::', 'http://[::1]', ''],
  ['::1', 'http://[::1]', ''],
  ['[::]', 'http://[::1]', ''],
  ['nowhere.invalid', 'http://nowhere.invalid', ''],
])('nothing that listens on HOST=%s is exit 1', async (HOST, asked, why) => {
  const PORT = serveHttp(200);
  servers.pop()?.stop(true);
  const { exitCode, stdout, stderr } = await check({ HOST, PORT });
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toStartWith(`error: ${asked}:${PORT}/ping: ${why}`);
});

test('another answer than 200 is exit 1', async () => {
  const port = serveHttp(503);
  expect(await check({ PORT: port })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `error: http://127.0.0.1:${port}/ping answered 503, not 200\n`,
  });
});

test('a server that takes the connection and says nothing is exit 1, after a second', async () => {
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  servers.push(silent);
  expect(await check({ PORT: String(silent.port) })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `error: http://127.0.0.1:${silent.port}/ping: no response within 1 s\n`,
  });
});

test('the port 0 says nothing of where the service listens', async () => {
  expect(await check({ PORT: '0' })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'error: PORT is 0, so the port is unknown. Set it with --port.\n',
  });
});

test('a wrong setting is exit 2', async () => {
  const { exitCode, stderr } = await check({ PORT: 'http' });
  expect(exitCode).toBe(2);
  expect(stderr).toContain('PORT must be');
});

test('a proxy of the environment is not asked', async () => {
  const port = serveHttp(200);
  const child = Bun.spawn([process.execPath, 'src/cli.ts', 'healthcheck', '--port', port], {
    env: { PATH: Bun.env.PATH, HTTP_PROXY: 'http://127.0.0.1:1', http_proxy: 'http://127.0.0.1:1' },
    stderr: 'inherit',
  });
  expect(await child.exited).toBe(0);
});
