import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { sql } from 'drizzle-orm';
import { DatabaseUnavailable } from '../../../db/failures.ts';
import { openPostgres } from '../../../db/postgres/client.ts';
import { startBalancer } from '../../support/balancer.ts';
import { cli, temporaryFolder } from '../../support/cli.ts';
import { connectRepository, type Fleet, startFleet } from '../../support/fleet.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { root, type ServerProcess } from '../../support/server.ts';
import { promote, startStandby } from '../../support/standby.ts';
import { startTcpProxy, type TcpProxy, through } from '../../support/tcp-proxy.ts';
import { until } from '../../support/until.ts';

// A server process whose PostgreSQL is in trouble, as its clients see it: clear refusals that say when to come again,
// and recovery without a restart. The process reaches the database through a proxy that fails as networks do.

/** The most that a request may take while the database does not answer. The process itself gives up much sooner. */
const PATIENCE_MS = 60_000;

/** For all that `expectTrouble` asks at once. */
const POOL = 8;

/** How Kubernetes asks the processes of `deploy/`. */
const manifest = Bun.YAML.parse(await Bun.file(join(root, 'deploy/kubernetes.yml')).text());
const [deployment] = manifest as { spec: { template: { spec: { containers: [Record<string, Probe>] } } } }[];
const [probes] = deployment?.spec.template.spec.containers ?? [];
interface Probe {
  httpGet: { path: string };
}
const isReady = () => get(probes?.readinessProbe?.httpGet.path ?? '');
const isAlive = () => get(probes?.livenessProbe?.httpGet.path ?? '');

let postgres: PostgresServer;
let heir: PostgresServer | undefined;
let proxy: TcpProxy;
let fleet: Fleet;
let server: ServerProcess;
let hooks: Awaited<ReturnType<typeof connectRepository>>;
let key: string;
let url: string;

beforeAll(async () => {
  postgres = await startPostgres({ max_connections: '20' });
  url = await postgres.createDatabase();
  proxy = await startTcpProxy({ port: postgres.port });
  fleet = await startFleet(url, 0, { DATABASE_POOL: String(POOL) });
  server = await fleet.add({ DATABASE_URL: through(proxy, url) });
  hooks = await connectRepository(fleet);
  ({ key } = await fleet.json('key', 'create', '--organization', 'acme', '--name', 'Site'));
}, 300_000);

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await heir?.stop();
  await postgres?.stop();
});

afterEach(async () => {
  proxy.isClosed = false;
  proxy.isSilent = false;
  proxy.losesAnswerTo = () => false;
  await recovered();
  // Nobody had to start it again.
  expect(() => process.kill(server.pid, 0)).not.toThrow();
}, 300_000);

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.url + path, { headers, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) });
const list = () => get('/v1/acme/posts', { authorization: `Bearer ${key}` });
const page = () => get('/dashboard/acme', { cookie: 'tidings_session=abc' });

let sent = 0;
const ping = () => ({ id: `ping-${++sent}`, event: 'ping', payload: { zen: 'x' } });

/** Waits until the process says that it is ready and takes deliveries and requests again. */
async function recovered(): Promise<void> {
  await until(
    () => isReady().then(({ status }) => status),
    (status) => status === 200,
  );
  await until(
    async () => [(await list()).status, await hooks.deliver(server.url, ping())],
    (statuses) => statuses.every((status) => status === 200),
  );
}

/** The statuses of a delivery in the log. */
async function statusesOf(id: string): Promise<string[]> {
  const entries: { referenceId: string; status: string }[] = await fleet.json(
    'delivery',
    'list',
    '--organization',
    'acme',
    '--limit',
    '1000',
  );
  return entries.filter(({ referenceId }) => referenceId === id).map(({ status }) => status);
}

async function expectRefused(response: Response): Promise<void> {
  expect(response.status).toBe(503);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await response.json()).toEqual({ error: expect.any(String) });
}

/** Everything that a client may ask for is refused in a way that says to come again. */
async function expectTrouble(): Promise<void> {
  const delivery = ping();
  const [delivered, listed, dashboard, ready, alive] = await Promise.all([
    hooks.send(server.url, delivery),
    list(),
    page(),
    isReady(),
    isAlive(),
  ]);
  await expectRefused(delivered);
  await expectRefused(listed);
  expect(dashboard.status).toBe(503);
  expect(dashboard.headers.get('refresh')).toBe('5');
  expect(await dashboard.text()).toContain('Database unavailable');
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain('The database cannot be written (UNREACHABLE)');
  expect(alive.status).toBe(200);
  refused.push(delivery.id);
}

/** Deliveries that were answered with 503 and not sent again. */
const refused: string[] = [];

async function expectNothingRecorded(): Promise<void> {
  await recovered();
  for (const id of refused.splice(0)) expect(await statusesOf(id)).not.toContain('processed');
}

describe('a database that is gone', () => {
  test('gives 503, a calm dashboard and a reason, and comes back by itself', async () => {
    proxy.isClosed = true;
    proxy.breakAll();
    await expectTrouble();
    // A provider that sends it again later loses nothing.
    const again = ping();
    expect(await hooks.deliver(server.url, again)).toBe(503);
    proxy.isClosed = false;
    await until(
      () => hooks.deliver(server.url, again),
      (status) => status === 200,
    );
    expect((await statusesOf(again.id)).filter((status) => status === 'processed')).toHaveLength(1);
    await expectNothingRecorded();
  }, 300_000);

  test('serves behind a load balancer within seconds after it is back', async () => {
    const second = await fleet.add({ DATABASE_URL: through(proxy, url) });
    using balancer = await startBalancer(() => [server.url, second.url]);
    // A process that knows the address verifies a delivery without the database.
    for (const { url } of [server, second]) expect(await hooks.deliver(url, ping())).toBe(200);
    const failures = async ({ url }: ServerProcess) =>
      Number(
        /^tidings_deliveries_failed_in_a_row (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1],
      );
    proxy.isClosed = true;
    proxy.breakAll();
    // Deliveries that arrived before the balancer noticed.
    const urls = [server, second].flatMap(({ url }) => Array.from({ length: 5 }, () => url));
    await Promise.all(urls.map((url) => hooks.deliver(url, ping())));
    expect(Math.min(await failures(server), await failures(second))).toBeGreaterThanOrEqual(3);
    await until(
      () => hooks.deliver(balancer.url, ping()),
      () => balancer.ready().length === 0,
    );
    expect(await hooks.deliver(balancer.url, ping())).toBe(503);
    proxy.isClosed = false;
    // Nobody calls the processes but the balancer.
    const authorization = `Bearer ${key}`;
    await until(
      async () => [
        await hooks.deliver(balancer.url, ping()),
        (await fetch(`${balancer.url}/v1/acme/posts`, { headers: { authorization } })).status,
        balancer.ready().length,
      ],
      (found) => found.join() === '200,200,2',
      60_000,
    );
    await fleet.end(second);
  }, 300_000);

  test('is not noticed when only its connections ended', async () => {
    await using admin = new SQL(url, { max: 1 });
    for (let round = 0; round < 3; round++) {
      await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      expect((await list()).status).toBe(200);
      expect(await hooks.deliver(server.url, ping())).toBe(200);
    }
  }, 300_000);

  test('may restart, and crash', async () => {
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      await postgres.kill(signal);
      await expectTrouble();
      await postgres.restart();
      await expectNothingRecorded();
    }
  }, 300_000);
});

describe('a network that swallows everything', () => {
  test('gives 503 in bounded time, keeps no process from stopping, and the next request after it works', async () => {
    // Every new connection waits for minutes.
    const patient = `${through(proxy, url)}?connect_timeout=200`;
    const stopping = await fleet.add({ DATABASE_URL: patient });
    proxy.isSilent = true;
    const stopped = fleet.end(stopping);
    await expectTrouble();
    expect(await stopped).toBe(0);
    expect(await stopping.stderr()).toContain('stopped without waiting for the database');
    proxy.isSilent = false;
    await expectNothingRecorded();
  }, 300_000);

  test('costs at most one request when another machine took over the address', async () => {
    // All connections of the pool are open and idle.
    await Promise.all(Array.from({ length: 20 }, list));
    proxy.silenceAll();
    // A job may find out first.
    const first = await list();
    if (first.status !== 200) await expectRefused(first);
    expect((await list()).status).toBe(200);
    expect(await hooks.deliver(server.url, ping())).toBe(200);
  }, 300_000);

  test('may lose the answer of COMMIT: the delivery is sent again, and there is one', async () => {
    const delivery = ping();
    proxy.losesAnswerTo = (statements) => statements.includes('COMMIT');
    expect(await hooks.deliver(server.url, delivery)).toBe(503);
    proxy.losesAnswerTo = () => false;
    await until(
      () => hooks.deliver(server.url, delivery),
      (status) => status === 200,
    );
    const statuses = await statusesOf(delivery.id);
    expect(statuses.filter((status) => status === 'processed')).toHaveLength(1);
    expect(statuses).toContain('duplicate');
  }, 300_000);
});

test('a database that other clients use up: a command says so, requests get 503, and both work again', async () => {
  const others: SQL[] = [];
  proxy.isClosed = true;
  proxy.breakAll();
  const isFull = async () => {
    const other = new SQL(url, { max: 1, idleTimeout: 0 });
    try {
      await other`SELECT 1`;
      others.push(other);
      return false;
    } catch (error) {
      await other.close();
      expect(String(error)).toContain('too many');
      return true;
    }
  };
  await until(isFull, (is) => is);
  proxy.isClosed = false;
  await until(
    () => get('/ready').then((response) => response.text()),
    (text) => text.includes('UNREACHABLE'),
  );
  await expectRefused(await list());
  const folder = temporaryFolder();
  const { exitCode, stderr } = await cli(folder.path, ['organization', 'list'], {
    environment: fleet.environment,
  });
  folder.remove();
  expect(exitCode).toBe(1);
  expect(stderr).toContain('too many clients already');
  expect(stderr).toContain('Raise max_connections of the server, or lower DATABASE_POOL.');
  for (const other of others) await other.close();
  await recovered();
}, 300_000);

test('a primary that became a standby: lists work, deliveries get 503, and a promotion ends that', async () => {
  await postgres.restart({ files: { 'standby.signal': '' } });
  await until(
    () => list().then(({ status }) => status),
    (status) => status === 200,
  );
  await expectRefused(await hooks.send(server.url, ping()));
  const ready = await get('/ready');
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain('READ_ONLY');
  await using admin = new SQL(url, { max: 1 });
  await admin`SELECT pg_promote()`;
  await recovered();
}, 300_000);

test('a statement that the server cancels: 503, and the next request works', async () => {
  await using admin = new SQL(url, { max: 1 });
  await admin`BEGIN`.simple();
  await admin`LOCK TABLE deliveries`;
  const delivering = hooks.send(server.url, ping());
  await until(
    () => admin`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
    (rows) => rows.length > 0,
  );
  await expectRefused(await delivering);
  await admin`ROLLBACK`.simple();
}, 300_000);

describe('several processes', () => {
  /** The process that leads, by its lease. */
  async function findLeader(admin: SQL): Promise<ServerProcess | undefined> {
    const [row] = await admin`SELECT holder FROM leases WHERE name = 'leader'`;
    return fleet.servers.find(({ pid }) => row?.holder.includes(`-${pid}-`));
  }

  test('a leader that was frozen leads no more when it wakes up, and serves on', async () => {
    await using admin = new SQL(url, { max: 1 });
    const other = await fleet.add();
    const leader = await until(() => findLeader(admin), Boolean);
    if (leader === undefined) throw new Error('nobody leads');
    const heir = leader === server ? other : server;
    process.kill(leader.pid, 'SIGSTOP');
    try {
      await until(
        () => findLeader(admin),
        (found) => found === heir,
      );
    } finally {
      process.kill(leader.pid, 'SIGCONT');
    }
    await until(
      () => fetch(`${leader.url}/ready`).then(({ status }) => status),
      (status) => status === 200,
    );
    const delivery = ping();
    expect(await hooks.deliver(leader.url, delivery)).toBe(200);
    expect(await hooks.deliver(heir.url, delivery)).toBe(200);
    expect((await statusesOf(delivery.id)).sort()).toEqual(['duplicate', 'processed']);
    expect(await findLeader(admin)).toBe(heir);
    await fleet.end(other);
  }, 300_000);

  test('one that vanishes within a transaction holds up the others for some seconds at most', async () => {
    // Its locks are those of work without a key, which runs alone.
    await using own = await startTcpProxy({ port: postgres.port });
    const limits = { answerMs: 1_000, giveUpMs: 4_000, idleMs: 6_000 };
    const db = await openPostgres(through(own, url), 'command', { poolSize: 1, limits });
    const stuck = db.write(async (tx) => {
      await tx.values(sql`SELECT 1`);
      own.silenceAll();
      await tx.values(sql`DELETE FROM organizations RETURNING 1`);
    });
    await expect(stuck).rejects.toBeInstanceOf(DatabaseUnavailable);
    expect(await hooks.deliver(server.url, ping())).toBe(503);
    await until(
      () => hooks.deliver(server.url, ping()),
      (status) => status === 200,
    );
    expect(postgres.log()).toContain('idle-in-transaction timeout');
    expect(await fleet.json('organization', 'list')).toHaveLength(1);
    await db.close();
  }, 300_000);
});

test('a failover: the old primary stays on as a standby, and another server takes over its address', async () => {
  heir = await startStandby(postgres);
  await recovered();
  await postgres.restart({ files: { 'standby.signal': '' } });
  // All connections lead to the old primary, which only reads from now on.
  await until(
    () => list().then(({ status }) => status),
    (status) => status === 200,
  );
  await promote(heir);
  proxy.target = { port: heir.port };
  await recovered();
  await using admin = new SQL(heir.url(new URL(url).pathname.slice(1)), { max: 1 });
  const delivery = ping();
  expect(await hooks.deliver(server.url, delivery)).toBe(200);
  expect(await admin`SELECT status FROM deliveries WHERE reference_id = ${delivery.id}`).toHaveLength(1);
}, 300_000);
