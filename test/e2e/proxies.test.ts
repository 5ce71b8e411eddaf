import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { samplePayload } from '../../src/providers/index.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { owner, setUpLink } from '../support/dashboard-browser.ts';
import { githubRequest } from '../support/deliveries.ts';
import { formOf } from '../support/form-of.ts';
import { root, type ServerProcess, startTidings } from '../support/server.ts';
import { until } from '../support/until.ts';

// The configurations of docs/proxies.md work: the dashboard, a large delivery, and the address of the client.

const HOST = 'tidings.example.com';
const ORIGIN = `https://${HOST}`;
const page = await Bun.file(join(root, 'docs/proxies.md')).text();

/** The block of the page in this language, without TLS, on this port of the machine. */
function configured(language: string, from: string, to: string, upstream: string): string {
  const [, block = ''] = new RegExp(`\`\`\`${language}\\n(.+?)\`\`\``, 's').exec(page) ?? [];
  expect(block).toContain(from);
  return block
    .replace(from, to)
    .replace('127.0.0.1:3000', upstream)
    .replaceAll(/^ *ssl_.*\n/gm, '');
}

const proxies: Record<
  string,
  (folder: string, port: number, upstream: string) => [text: string, words: string[]]
> = {
  caddy: (folder, port, upstream) => [
    `{\n\tadmin off\n\tstorage file_system ${folder}\n}\n${configured('caddyfile', `${HOST} {`, `http://${HOST}:${port} {`, upstream)}`,
    ['run', '--adapter', 'caddyfile', '--config', join(folder, 'proxy.conf')],
  ],
  nginx: (folder, port, upstream) => [
    `pid ${folder}/pid; error_log stderr; daemon off; master_process off; events {}
http {
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
access_log off;
${configured('nginx', 'listen 443 ssl;', `listen 127.0.0.1:${port};`, upstream)}
}`,
    ['-p', folder, '-c', join(folder, 'proxy.conf')],
  ],
};

describe.each(Object.keys(proxies).filter((name) => Bun.which(name) !== null))('behind %s', (name) => {
  const folder = temporaryFolder();
  const dataDir = join(folder.path, 'data');
  let server: ServerProcess;
  let proxy: Bun.Subprocess;
  let port = 0;

  /** A request of a client that names another address than its own. */
  const request = (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, host: HOST, 'x-forwarded-for': '203.0.113.9' },
    });

  beforeAll(async () => {
    server = await startTidings(dataDir, [], {
      environment: { PUBLIC_URL: ORIGIN, CLIENT_IP_HEADER: 'X-Forwarded-For' },
      until: 'Set up the dashboard',
    });
    const held = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
    port = held.port;
    held.stop(true);
    const [text, words] = proxies[name]?.(folder.path, port, new URL(server.url).host) ?? ['', []];
    await Bun.write(join(folder.path, 'proxy.conf'), text);
    proxy = Bun.spawn([name, ...words], {
      env: { PATH: Bun.env.PATH, HOME: folder.path },
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await until(
      () =>
        request('/ping').then(
          (response) => response.status,
          () => 0,
        ),
      (status) => status === 200,
    );
  });

  afterAll(async () => {
    proxy.kill();
    await proxy.exited;
    await server.stop();
    folder.remove();
  });

  test('a person sets up the dashboard and signs in', async () => {
    const { pathname, search } = new URL(setUpLink(server));
    const html = await (await request(`${pathname}${search}`)).text();
    const fields = formOf(html, '/setup');
    for (const [field, value] of Object.entries({ ...owner, organization: 'Acme' })) fields.set(field, value);
    const made = await request('/setup', {
      method: 'POST',
      body: fields.toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: ORIGIN,
        'sec-fetch-site': 'same-origin',
      },
    });
    expect(made.status, await made.text()).toBe(303);
    const cookie = made.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
    expect(cookie).toContain('__Host-');
    const opened = await request(made.headers.get('location') ?? '', { headers: { cookie } });
    expect(opened.status).toBe(200);
  });

  test('a delivery of 20 MiB arrives unchanged', async () => {
    const [{ id: organization }] = await cliJson(dataDir, ['organization', 'list']);
    const connected = await cliJson(dataDir, [
      ...['integration', 'connect', 'github', '--organization', organization, '--repository', 'acme/rocket'],
    ]);
    const payload = {
      ...samplePayload('github', 'release', { now: new Date() }),
      padding: 'x'.repeat(20 * 1024 * 1024),
    };
    const [, init] = githubRequest(connected, payload, { event: 'release' });
    const response = await request(new URL(connected.webhookUrl).pathname, init);
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ received: true }),
    ]);
  });

  test("the audit log has the address that the proxy saw, not the client's own claim", async () => {
    const events: { address: string | null }[] = await cliJson(dataDir, ['audit', 'list']);
    const addresses = events.map(({ address }) => address).filter((address) => address !== null);
    expect(new Set(addresses)).toEqual(new Set(['127.0.0.1']));
  });
});

test.each(['caddy', 'nginx'])('%s understands the configurations of docs/public-page.md', async (name) => {
  if (Bun.which(name) === null) return;
  const folder = temporaryFolder();
  const text = await Bun.file(join(root, 'docs/public-page.md')).text();
  const language = name === 'caddy' ? 'caddyfile' : name;
  const blocks = Array.from(
    text.matchAll(new RegExp(`\`\`\`${language}\\n(.+?)\`\`\``, 'gs')),
    ([, code = '']) => code,
  );
  expect(blocks.length).toBeGreaterThan(0);
  const file = join(folder.path, 'proxy.conf');
  for (const block of blocks) {
    const server = block.startsWith('server') ? block.replace('443 ssl', '443') : `server { ${block} }`;
    await Bun.write(file, name === 'caddy' ? block : `pid ${folder.path}/pid; events {}\nhttp { ${server} }`);
    const words =
      name === 'caddy' ? ['adapt', '--adapter', 'caddyfile', '--config', file] : ['-t', '-c', file];
    const child = Bun.spawn([name, ...words], { stdout: 'ignore', stderr: 'pipe' });
    const errors = await new Response(child.stderr).text();
    expect(await child.exited, errors).toBe(0);
  }
  folder.remove();
});

test('the page has a configuration for each of four proxies', () => {
  for (const name of ['Caddy', 'nginx', 'Traefik', 'Cloudflare']) expect(page).toContain(`\n## ${name}\n`);
});
