import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { samplePayload } from '../../src/providers/index.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { cookieOf } from '../support/dashboard.ts';
import { rounds } from '../support/rounds.ts';
import { type ServerProcess, startTidings } from '../support/server.ts';

// `check:long` measures an hour of mixed traffic; `MEMORY_MINUTES` shortens it by hand.

const MINUTES = Number(Bun.env.MEMORY_MINUTES ?? rounds(0, 60));

/** How much of the time it may grow, to fill caches and compile, as a share of the whole. */
const WARM = 1 / 3;
const MAX_GROWTH = 1.05;

const folder = temporaryFolder();
let server: ServerProcess;

afterEach(async () => {
  await server.stop('SIGKILL');
});
afterAll(() => folder.remove());

/** Memory of its own, in MB: pages of files are the system's to drop. */
function ownMegabytes(): number {
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test.skipIf(process.platform !== 'linux')(
  'a server sets the options of the engine that nobody has set',
  async () => {
    server = await startTidings(folder.path, [], { environment: { BUN_JSC_forceRAMSize: '268435456' } });
    const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0');
    const options = environment.filter((each) => each.startsWith('BUN_')).sort();
    expect(options).toEqual([
      'BUN_CONFIG_MAX_HTTP_REQUESTS=1024',
      'BUN_JSC_forceRAMSize=268435456',
      'BUN_JSC_useFTLJIT=0',
    ]);
    expect(await server.stop()).toBe(0);
  },
);

describe.skipIf(MINUTES === 0 || process.platform !== 'linux')('under mixed traffic', () => {
  let webhook: { path: string; secret: string };
  let key: string;
  let cookie: string;
  let post = { path: '/dashboard/acme/posts/~', seen: '' };

  const json = (...words: string[]) => cliJson(folder.path, words);
  const headers = () => ({ cookie, 'sec-fetch-site': 'same-origin' });

  beforeAll(async () => {
    await json('organization', 'create', '--name', 'Acme', '--id', 'acme', '--plan', 'pro');
    const connected = await json(
      ...['integration', 'connect', 'github', '--organization', 'acme', '--repository', 'acme/rocket'],
    );
    await json(
      ...['trigger', 'create', '--integration', connected.integrationId],
      ...['--event', 'release', '--content-type', 'changelog'],
    );
    ({ key } = await json('key', 'create', '--organization', 'acme', '--name', 'site'));
    const { url } = await json('user', 'create', '--email', 'ann@acme.example', '--organization', 'acme');
    server = await startTidings(folder.path);
    webhook = { path: new URL(connected.webhookUrl).pathname, secret: connected.secret };
    const { pathname, searchParams } = new URL(url);
    const password = 'correct horse battery staple';
    const response = await fetch(`${server.url}${pathname}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token: searchParams.get('token') ?? '', password }),
    });
    cookie = cookieOf(response) ?? '';
    expect(cookie).not.toBe('');
  });

  async function deliver(n: number): Promise<void> {
    const event = n % 50 === 0 ? 'release' : n % 5 === 0 ? 'ping' : 'push';
    const payload = samplePayload('github', event, { repository: 'acme/rocket', now: new Date() });
    const body = JSON.stringify(payload);
    const response = await fetch(`${server.url}${webhook.path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-github-event': event,
        'x-github-delivery': crypto.randomUUID(),
        'x-hub-signature-256': `sha256=${hmacSha256(webhook.secret, body)}`,
      },
      body,
    });
    await response.bytes();
    expect(response.status).toBe(200);
  }

  /** A client that goes away in the middle of a body of 256 KB. */
  async function abort(): Promise<void> {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    const head = [`POST ${webhook.path} HTTP/1.1`, 'host: x', 'content-type: application/json'];
    const names = ['event: push', 'delivery: x'].map((each) => `x-github-${each}`);
    head.push(...names, `x-hub-signature-256: sha256=${'0'.repeat(64)}`, 'content-length: 300000', '', '');
    await new Promise<void>((resolve) => {
      socket.write(head.join('\r\n'));
      socket.write('a'.repeat(256 * 1024), () => resolve());
      socket.on('close', () => resolve());
    });
    socket.destroy();
  }

  async function load(n: number): Promise<void> {
    const pages = [
      'posts',
      'deliveries',
      'integrations',
      'posts?status=draft',
      'posts/~/new',
      'deliveries?status=ignored',
    ];
    const page = await fetch(`${server.url}/dashboard/acme/${pages[n % pages.length]}`, {
      headers: headers(),
    });
    await page.text();
    expect(page.status).toBe(200);
    const list = await fetch(`${server.url}/v1/acme/posts?page=${1 + (n % 3)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await list.text();
    expect(list.status).toBe(200);
  }

  async function autosave(n: number): Promise<void> {
    const markdown = `${'A line of the text that somebody writes. '.repeat(60)}\n\n- ${n}\n`;
    const response = await fetch(`${server.url}${post.path}/autosave`, {
      method: 'POST',
      headers: headers(),
      body: new URLSearchParams({ title: 'A draft', markdown, seen: post.seen, mark: 'memory' }),
    });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('data-outcome="saved"');
    const attribute = (name: string) => new RegExp(` data-${name}="([^"]*)"`).exec(text)?.[1] ?? '';
    post = { path: attribute('path'), seen: attribute('seen') };
    expect(post).toEqual({ path: expect.stringContaining('/posts/'), seen: expect.stringMatching(/./) });
  }

  test(
    `the server's memory stays the same from ${(MINUTES * WARM).toFixed(0)} to ${MINUTES} minutes`,
    async () => {
      const samples: number[] = [];
      const began = performance.now();
      for (let n = 0; performance.now() - began < MINUTES * 60_000; n++) {
        const next = began + (n + 1) * 100;
        await Promise.all([
          ...Array.from({ length: 5 }, (_, at) => deliver(n * 5 + at)),
          ...(n % 2 === 0 ? [abort(), load(n >> 1)] : []),
          ...(n % 10 === 0 ? [autosave(n)] : []),
        ]);
        if (n % 50 === 0) samples.push(ownMegabytes());
        await Bun.sleep(Math.max(0, next - performance.now()));
      }
      const part = Math.ceil(samples.length / 8);
      const first = Math.floor(samples.length * WARM);
      const [before, after] = [median(samples.slice(first, first + part)), median(samples.slice(-part))];
      expect(after / before, `${before.toFixed(0)} MB, then ${after.toFixed(0)}`).toBeLessThan(MAX_GROWTH);
      expect(await server.stop()).toBe(0);
    },
    (MINUTES + 2) * 60_000,
  );
});
