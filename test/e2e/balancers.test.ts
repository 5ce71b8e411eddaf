import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/cli.ts';
import { connectRepository, type Fleet, startFleet } from '../support/fleet.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { rounds } from '../support/rounds.ts';
import { root } from '../support/server.ts';
import { until } from '../support/until.ts';

// The files of `deploy/` in the programs that they are for, where this machine has them: processes end one after the other,
// and nobody gets an error.

let postgres: PostgresServer;
let fleet: Fleet;
let hooks: Awaited<ReturnType<typeof connectRepository>>;

beforeAll(async () => {
  postgres = await startPostgres();
  fleet = await startFleet(await postgres.createDatabase(), 2);
  hooks = await connectRepository(fleet);
}, 300_000);

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await postgres?.stop();
});

const read = (name: string) => Bun.file(join(root, 'deploy', name)).text();

/** A port that was free a moment ago. */
function somePort(): number {
  using server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  return server.port ?? 0;
}

const hostsOf = (urls: readonly string[]) => urls.map((url) => new URL(url).host);

/** The file for this machine: without TLS, on a port of its own, in front of these processes. */
const programs = {
  nginx: async (port: number, urls: readonly string[], folder: string) => {
    const [first = '', second = ''] = hostsOf(urls);
    const text = (await read('nginx.conf'))
      .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^\s*ssl_.*$/gm, '')
      .replace('tidings-1:3000', first)
      .replace('tidings-2:3000', second);
    mkdirSync(join(folder, 'temporary'));
    // The workers of nginx have another user when root runs the test, and a service that was opened here has set the umask.
    for (const path of [folder, join(folder, 'temporary')]) chmodSync(path, 0o755);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const config = `pid ${folder}/pid; error_log ${folder}/error.log; daemon off; worker_processes 1; events {}
      http { access_log off; ${paths.map((each) => `${each}_temp_path ${folder}/temporary/${each};`).join(' ')} ${text} }`;
    await Bun.write(join(folder, 'nginx.conf'), config);
    return ['nginx', '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')];
  },
  caddy: async (port: number, urls: readonly string[], folder: string) => {
    const text = (await read('Caddyfile'))
      .replace('{$DOMAIN}', `http://127.0.0.1:${port}`)
      .replace('tidings-1:3000 tidings-2:3000', hostsOf(urls).join(' '));
    await Bun.write(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${text}`);
    return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  },
};

/** Why the program can't be tested here; null when it can. */
function missing(name: string): string | null {
  if (Bun.which(name) === null) return `${name} is not installed`;
  if (name !== 'caddy') return null;
  const version = Bun.spawnSync(['caddy', 'version'])
    .stdout.toString()
    .replace(/^v/, '')
    .trim()
    .split(' ')[0];
  return Bun.semver.satisfies(version ?? '', '>=2.11.4') ? null : `Caddy ${version} is older than 2.11.4`;
}

for (const [name, prepare] of Object.entries(programs)) {
  const reason = missing(name);
  test.if(reason === null)(
    `${name}: nobody gets an error while processes end${reason === null ? '' : ` (skipped: ${reason})`}`,
    async () => {
      const folder = temporaryFolder();
      const port = somePort();
      const words = await prepare(
        port,
        fleet.servers.map(({ url }) => url),
        folder.path,
      );
      const program = Bun.spawn(words, {
        stdout: 'ignore',
        stderr: 'ignore',
        env: { ...process.env, HOME: folder.path },
      });
      try {
        const url = `http://127.0.0.1:${port}`;
        const isUp = () =>
          fetch(`${url}/ping`).then(
            ({ status }) => status === 200,
            () => false,
          );
        await until(isUp, Boolean);
        let isOver = false;
        let sent = 0;
        const failures: string[] = [];
        const note = async (what: string, request: Promise<Response>) => {
          const response = await request;
          sent++;
          if (response.status !== 200)
            failures.push(`${what}: ${response.status} ${(await response.text()).slice(0, 80)}`);
          else await response.arrayBuffer();
        };
        const senders = Array.from({ length: 8 }, async (_, sender) => {
          for (let number = 0; !isOver; number++) {
            const id = `${name}-${sender}-${number}`;
            await note('GET', fetch(`${url}/dashboard/~/sign-in`));
            // Large bodies, which break in the middle.
            const zen = id.repeat((number % 4) * 10_000 + 1);
            await note('POST', hooks.send(url, { id, event: 'ping', payload: { zen } }));
          }
        });
        const more = async () => {
          const before = sent;
          await until(
            async () => sent,
            (count) => count >= before + 200,
          );
        };
        await more();
        for (const signal of ['SIGTERM', ...Array<'SIGKILL'>(rounds(1, 5)).fill('SIGKILL')] as const) {
          const [server] = fleet.servers;
          if (server === undefined) throw new Error('two processes run');
          const ownPort = new URL(server.url).port;
          await fleet.end(server, signal);
          await more();
          await fleet.add({ PORT: ownPort });
          await more();
        }
        isOver = true;
        await Promise.all(senders);
        expect(failures).toEqual([]);
      } finally {
        program.kill();
        await program.exited;
        folder.remove();
      }
    },
    300_000,
  );
}
