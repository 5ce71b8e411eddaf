import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import '../../src/dashboard/routes.ts'; // Pages add their scripts to the assets.
import { assets } from '../../src/http/look/assets.ts';
import { systemClock } from '../../src/lib/time.ts';
import { readImage } from '../../src/posts/media/service.ts';
import type { Post } from '../../src/posts/model.ts';
import { bareFolder, buildBinary } from '../support/binary.ts';
import { temporaryFolder } from '../support/cli.ts';
import { cookieOf } from '../support/dashboard.ts';
import { root, type ServerProcess, startProcess } from '../support/server.ts';
import { API_ID, ROOT_KEY, startUnkeyServer } from '../support/unkey-server.ts';
import { until } from '../support/until.ts';

// The binary is built once, with the build script, and run where nothing else is.
setDefaultTimeout(300_000);

// In this process a service may have been opened, which keeps its files from everybody else; the binary, which runs as
// another user, has to read what is written here.
const umask = process.umask(0o022);

const folder = temporaryFolder();
const binary = Bun.env.TEST_BINARY ?? buildBinary(folder.path);
const built = dirname(binary);
const bare = bareFolder(binary, join(folder.path, 'bare'));

/** The binary's environment: no settings of the shell, and an empty path. */
const EMPTY = { PATH: '/nowhere', HOME: '/nowhere', DATA_DIR: 'data' };

async function run(words: string[], environment: Record<string, string> = {}) {
  const child = Bun.spawn(bare.command(words), {
    cwd: bare.path,
    env: { ...EMPTY, ...environment },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, stdout, stderr };
}

async function json(words: string[], environment?: Record<string, string>) {
  const { exitCode, stdout, stderr } = await run([...words, '--json'], environment);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

const serve = (words: string[] = [], environment: Record<string, string> = {}, waitFor = 'Set up') =>
  startProcess(bare.command(['serve', ...words]), {
    dataDir: 'data',
    cwd: bare.path,
    environment: { ...EMPTY, ...environment },
    until: waitFor,
  });

afterAll(() => {
  process.umask(umask);
  folder.remove();
});

test('the checksum file is that of the binary, and a second build gives the same bytes', async () => {
  const again = join(folder.path, 'again');
  mkdirSync(again);
  // A commit that is empty, as a container's build passes it, counts as none.
  const bytes = await Bun.file(buildBinary(again, ['--commit', ''])).bytes();
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
  const checksum = (place: string) => Bun.file(join(place, 'tidings.sha256')).text();
  expect([await checksum(again), await checksum(built)]).toEqual([
    `${sha256}  tidings\n`,
    `${sha256}  tidings\n`,
  ]);
});

test('nothing of the folder that it was built in is inside', async () => {
  const bytes = Buffer.from(await Bun.file(join(built, 'tidings')).arrayBuffer());
  expect(['src/drafting/thread-main.ts', root, folder.path].map((path) => bytes.includes(path))).toEqual([
    true,
    false,
    false,
  ]);
});

test('--version tells version and commit', async () => {
  const git = (...words: string[]) => Bun.spawnSync(['git', ...words], { cwd: root }).stdout.toString();
  const commit = () =>
    git('rev-parse', 'HEAD').slice(0, 7) + (git('status', '--porcelain') === '' ? '' : '-dirty');
  const expected = Bun.which('git') === null ? 'unknown' : commit();
  expect((await run(['--version'])).stdout).toBe(`tidings ${manifest.version} (${expected})\n`);
});

describe(`in ${bare.kind}`, () => {
  let server: ServerProcess;
  let key: string;

  beforeAll(async () => {
    server = await serve();
    await json(['organization', 'create', '--name', 'Acme', '--id', 'acme']);
    ({ key } = await json(['key', 'create', '--organization', 'acme', '--name', 'Site']));
  });

  afterAll(async () => {
    await server?.stop('SIGKILL');
  });

  test.each([
    ['/ping', 'text/plain', 'pong'],
    ['/openapi.json', 'application/json', `"version": "${manifest.version}"`],
    ['/docs', 'text/html', '</html>'],
  ])('%s', async (path, type, content) => {
    const response = await fetch(`${server.url}${path}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toStartWith(type);
    expect(await response.text()).toContain(content);
  });

  test('the dashboard, with its style sheet and its script as they are in the source', async () => {
    const [, setup = ''] = /^Set up the dashboard: (\S+)$/m.exec(server.stdout()) ?? [];
    const page = await (await fetch(setup)).text();
    expect(page).toContain('<form');
    for (const extension of ['css', 'js']) {
      const [path = ''] = new RegExp(`/dashboard/~/[\\w-]+\\.${extension}`).exec(page) ?? [];
      const asset = await fetch(`${server.url}${path}`);
      expect(asset.status).toBe(200);
      const inSource = assets.find((each) => each.path === path)?.content.body;
      expect(await asset.text()).toBe(new TextDecoder().decode(inSource));
    }
  });

  test('posts are imported from a file, long ones read in a thread, and read with a key', async () => {
    const words = '**word** '.repeat(1_000);
    await Bun.write(join(bare.path, 'CHANGELOG.md'), `## 1.0.0 - 2026-01-02\n\n${words}\n`);
    await json(['post', 'import', '--organization', 'acme', 'CHANGELOG.md']);
    const ask = (headers: Record<string, string>) => fetch(`${server.url}/v1/acme/posts`, { headers });
    expect(await (await ask({ authorization: `Bearer ${key}` })).json()).toMatchObject({
      posts: [{ title: '1.0.0', content: words.replaceAll('*', '').trim() }],
    });
    expect((await ask({})).status).toBe(401);
  });

  test('a signed delivery becomes a draft, which is made in a thread', async () => {
    const where = ['--organization', 'acme', '--repository', 'acme/rocket'];
    const { integrationId } = await json(['integration', 'connect', 'github', ...where]);
    const makes = ['--event', 'release', '--content-type', 'changelog'];
    await json(['trigger', 'create', '--integration', integrationId, ...makes]);
    const url = ['--url', server.url];
    const sent = await json(['send', 'github', 'release', '--integration', integrationId, ...url]);
    expect(sent).toMatchObject({ status: 200, body: { received: true } });
    const drafts = ['post', 'list', '--organization', 'acme', '--status', 'draft'];
    const [draft] = await until<Post[]>(
      () => json(drafts),
      (found) => found.length > 0,
    );
    expect(draft).toMatchObject({
      contentType: 'changelog',
      status: 'draft',
      title: 'Rocket 2.4.0: quieter engines',
    });
  });

  test('a social image is drawn in a thread, whose renderer is compressed', async () => {
    await json(['page', 'set', '--organization', 'acme', '--slug', 'acme', '--on']);
    const response = await fetch(`${server.url}/changelog/acme/card.png`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(await readImage(await response.bytes())).toMatchObject({ width: 1200, height: 630 });
  });

  test('healthcheck says whether it answers', async () => {
    const PORT = new URL(server.url).port;
    expect(await run(['healthcheck'], { PORT, HOST: '0.0.0.0' })).toEqual({
      exitCode: 0,
      stdout: `http://127.0.0.1:${PORT}/ping responds.\n`,
      stderr: '',
    });
  });

  test('keys can be at Unkey, whose code is loaded only then', async () => {
    using unkey = startUnkeyServer({ clock: systemClock });
    const settings = { UNKEY_ROOT_KEY: ROOT_KEY, UNKEY_API_ID: API_ID, UNKEY_BASE_URL: unkey.url };
    await json(['key', 'create', '--organization', 'acme', '--name', 'A'], settings);
    expect(unkey.requests).toEqual(['keys.createKey', 'keys.verifyKey']);
  });

  test('SIGTERM ends it with 0', async () => {
    expect(await server.stop('SIGTERM')).toBe(0);
  });

  test('the demo says how to run the binary, and what lies in the folder is not its settings', async () => {
    await Bun.write(join(bare.path, '.env'), 'PORT=http\n');
    await Bun.write(join(bare.path, 'bunfig.toml'), 'preload = ["./nothing.ts"]\n');
    const demo = await serve(['--demo', '--data-dir', 'data/demo'], {}, 'Stop with Ctrl-C');
    expect(demo.stdout()).toMatch(/^ +Publish it: +tidings post publish post_\w+$/m);
    expect(demo.stdout()).not.toContain('bun run');
    expect(await demo.stop('SIGTERM')).toBe(0);
  });
});

describe('a flood of sign-ins', () => {
  const EMAIL = 'ann@acme.example';
  const PASSWORD = 'correct horse battery';
  const HOME = '198.51.100.1';
  const EVIL = '203.0.113.66';
  let server: ServerProcess;
  let browser = '';

  /** Sends a form as a client at this address, through a proxy that names it. */
  async function post(path: string, fields: Record<string, string>, address: string, cookie = '') {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'x-forwarded-for': `192.0.2.1, ${address}`, cookie },
      body: new URLSearchParams(fields),
    });
    await response.bytes();
    return response;
  }

  async function signIn(password: string, address: string, cookie?: string) {
    return (await post('/dashboard/~/sign-in', { email: EMAIL, password }, address, cookie)).status;
  }

  async function hashes(outcome: string) {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(
      new RegExp(`^tidings_password_hashes_total{outcome="${outcome}"} (\\d+)$`, 'm').exec(text)?.[1],
    );
  }

  /** Sends a sign-in and closes the connection at once. */
  async function abandon(email: string) {
    const body = `email=${email}&password=wrong`;
    const head = ['POST /dashboard/~/sign-in HTTP/1.1', 'Host: localhost', `X-Forwarded-For: ${EVIL}`];
    const type = ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${body.length}`];
    const { promise, resolve } = Promise.withResolvers<void>();
    await Bun.connect({
      hostname: '127.0.0.1',
      port: Number(new URL(server.url).port),
      socket: {
        open: (socket) => void socket.end([...head, ...type, '', body].join('\r\n')),
        data: () => undefined,
        close: () => resolve(),
      },
    });
    await promise;
  }

  beforeAll(async () => {
    const settings = { CLIENT_IP_HEADER: 'X-Forwarded-For' };
    server = await serve(['--data-dir', 'data/guessing'], settings);
    const [, token = ''] = /\/setup\?token=(\S+)$/m.exec(server.stdout()) ?? [];
    const fields = { token, email: EMAIL, organization: 'Acme' };
    // The binary holds the list of common passwords, which it loads now.
    expect((await post('/setup', { ...fields, password: 'password123' }, HOME)).status).toBe(400);
    const done = await post('/setup', { ...fields, password: PASSWORD }, HOME);
    expect(done.status).toBe(303);
    browser = cookieOf(done, 'tidings_browser') ?? 'none';
  });

  afterAll(async () => {
    await server?.stop('SIGKILL');
  });

  test('200 sign-ins whose connections close at once cost the owner a few hashes of waiting', async () => {
    const before = await hashes('done');
    await Promise.all(Array.from({ length: 200 }, (_, number) => abandon(`nobody${number}@acme.example`)));
    const sent = await hashes('done');
    expect(await signIn(PASSWORD, HOME)).toBe(303);
    // Those of the flood that have a place, and the owner's own.
    expect((await hashes('done')) - sent).toBeLessThanOrEqual(6);
    expect(await signIn(PASSWORD, EVIL, browser)).toBe(303);
    const flood = (await hashes('done')) - before - 2;
    expect(flood).toBeLessThanOrEqual(60);
    expect((await hashes('dropped')) + (await hashes('refused'))).toBeGreaterThan(0);
  });
});
