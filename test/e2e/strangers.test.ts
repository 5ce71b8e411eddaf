import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { buildBinary } from '../support/binary.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { type ServerProcess, startProcess } from '../support/server.ts';
import { until } from '../support/until.ts';

// Bounds on memory and storage that senders without a secret or a session can use in the compiled service.

setDefaultTimeout(120_000);

const MIB = 1024 * 1024;

const folder = temporaryFolder();
const dataDir = join(folder.path, 'data');
const sockets: Socket[] = [];
let server: ServerProcess;
let webhookPath: string;
let secret: string;

beforeAll(async () => {
  const binary = Bun.env.TEST_BINARY ?? buildBinary(folder.path);
  await cliJson(dataDir, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
  const words = ['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'];
  const connected = await cliJson(dataDir, words);
  secret = connected.secret;
  webhookPath = new URL(connected.webhookUrl).pathname;
  server = await startProcess([binary, 'serve'], { dataDir });
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server?.stop('SIGKILL');
  folder.remove();
});

/** The most memory that the service has held so far. */
function peakBytes(): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

interface Upload {
  socket: Socket;
  /** The status line, once there is an answer. */
  status(): string | null;
}

/** Sends the head and `bytes` of a body that declares one more; resolves when they are sent, or answered. */
async function sendUnfinished(path: string, headers: Record<string, string>, bytes: number): Promise<Upload> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  sockets.push(socket);
  let status: string | null = null;
  const over = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      status ??= data.toString().split('\r\n')[0] ?? '';
      resolve();
    });
    socket.on('error', () => resolve());
    socket.on('close', () => resolve());
  });
  const all = { host: 'localhost', 'content-length': String(bytes + 1), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.write([`POST ${path} HTTP/1.1`, ...head, '', ''].join('\r\n'));
  const chunk = Buffer.alloc(Math.min(MIB, bytes), 'a');
  for (let sent = 0; sent < bytes && status === null && !socket.destroyed; sent += chunk.byteLength) {
    const part = chunk.subarray(0, Math.min(chunk.byteLength, bytes - sent));
    const isFlushed = new Promise<void>((resolve) => void socket.write(part, () => resolve()));
    await Promise.race([isFlushed, over]);
  }
  return { socket, status: () => status };
}

const forged = {
  'content-type': 'application/json',
  'x-github-event': 'ping',
  'x-github-delivery': 'forged',
  'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
};

async function deliver(bytes: number): Promise<number> {
  const body = JSON.stringify({ zen: 'x'.repeat(bytes - '{"zen":""}'.length) });
  expect(body).toHaveLength(bytes);
  const signature = `sha256=${hmacSha256(secret, body)}`;
  const headers = { ...forged, 'x-github-delivery': `real-${bytes}`, 'x-hub-signature-256': signature };
  return (await fetch(`${server.url}${webhookPath}`, { method: 'POST', headers, body })).status;
}

const log = () => cliJson(dataDir, ['delivery', 'list', '--organization', 'acme', '--limit', '1000']);

test('a delivery of 25 MiB is taken', async () => {
  expect(await deliver(25 * MIB)).toBe(200);
});

test('2,000 aborted uploads are a row a minute, and no failure of the service', async () => {
  const before = (await log()).length;
  for (let round = 0; round < 100; round++) {
    const uploads = await Promise.all(
      Array.from({ length: 20 }, () => sendUnfinished(webhookPath, forged, 1000)),
    );
    for (const { socket } of uploads) socket.end();
  }
  const entries = await until(
    async () => (await log()).slice(0, -before) as Record<string, unknown>[],
    (found) => found.reduce((sum, { count }) => sum + Number(count), 0) >= 2000,
  );
  expect(
    new Set(entries.map(({ status, statusCode, reason }) => `${status} ${statusCode} ${reason}`)),
  ).toEqual(new Set(['rejected 400 The connection closed before the whole body arrived']));
  expect(entries.reduce((sum, { count }) => sum + Number(count), 0)).toBe(2000);
  expect(entries.length).toBeLessThanOrEqual(3);
  expect(await metric('tidings_deliveries_total{provider="github",outcome="failed"}')).toBe(0);
  expect(await metric('tidings_unverified_upload_bytes')).toBe(0);
});

test.skipIf(process.platform !== 'linux').each([
  // The first request for the dashboard loads it, and bodies wait meanwhile.
  ['while the dashboard loads', ['HTTP/1.1 401 Unauthorized', 'HTTP/1.1 503 Service Unavailable']],
  ['afterwards', ['HTTP/1.1 401 Unauthorized']],
])(
  '300 unfinished forms of 2 MiB without a session are answered at once, and hold no memory, %s',
  async (_, expected) => {
    const before = peakBytes();
    const headers = {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const uploads = await Promise.all(
      Array.from({ length: 300 }, () =>
        sendUnfinished('/dashboard/acme/integrations/int_x/enable', headers, 2 * MIB - 1),
      ),
    );
    await until(
      async () => uploads.filter(({ status }) => status() === null).length,
      (waiting) => waiting === 0,
    );
    expect(expected).toEqual(expect.arrayContaining([...new Set(uploads.map(({ status }) => status()))]));
    expect((peakBytes() - before) / MIB).toBeLessThan(100);
  },
);

test.skipIf(process.platform !== 'linux')(
  '60 unfinished deliveries of 25 MiB share 64 MiB, and real ones get through beside them',
  async () => {
    const before = peakBytes();
    const uploads = await Promise.all(
      Array.from({ length: 60 }, () => sendUnfinished(webhookPath, forged, 25 * MIB - 1)),
    );
    const held = await metric('tidings_unverified_upload_bytes');
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(64 * MIB);
    expect(await deliver(10_000)).toBe(200);
    expect(await deliver(25 * MIB - 1)).toBe(200);
    const statuses = new Set(uploads.map(({ status }) => status()));
    statuses.delete(null);
    expect(statuses).toEqual(new Set(['HTTP/1.1 503 Service Unavailable']));
    expect(uploads.filter(({ status }) => status() === null).length).toBeLessThanOrEqual(2);
    expect((peakBytes() - before) / MIB).toBeLessThan(300);
  },
);
