import { afterAll, beforeAll, expect, test } from 'bun:test';
import { samplePayload } from '../../src/providers/index.ts';
import { connectRepository, type Fleet, startFleet } from '../support/fleet.ts';
import { changed } from '../support/payloads.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import type { ServerProcess } from '../support/server.ts';
import { until } from '../support/until.ts';

// Two processes on one PostgreSQL, of which one stands still for a while: SIGSTOP, as a paused container.

let postgres: PostgresServer;
let fleet: Fleet;
let hooks: Awaited<ReturnType<typeof connectRepository>>;

beforeAll(async () => {
  postgres = await startPostgres();
  fleet = await startFleet(await postgres.createDatabase(), 2, { LOG_LEVEL: 'info' });
  hooks = await connectRepository(fleet);
  await fleet.json('trigger', 'create', '--integration', hooks.integrationId, '--event', 'release');
}, 300_000);

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
  await postgres?.stop();
});

async function isLeader({ url }: ServerProcess): Promise<boolean> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return metrics.includes('\ntidings_leader 1\n');
}

async function leadersOf(servers: readonly ServerProcess[]): Promise<ServerProcess[]> {
  const leads = await Promise.all(servers.map(isLeader));
  return servers.filter((_, at) => leads[at]);
}

const isOne = (found: readonly unknown[]) => found.length === 1;

const titlesOf = async (): Promise<string[]> =>
  (await fleet.json('post', 'list', '--organization', 'acme')).map(({ title }: { title: string }) => title);

test('a leader that stands still is replaced, and does not lead when it wakes up', async () => {
  const [leader] = await until(() => leadersOf(fleet.servers), isOne);
  const rest = fleet.servers.filter((server) => server !== leader);
  if (leader === undefined) throw new Error('one leads');
  process.kill(leader.pid, 'SIGSTOP');
  try {
    expect(await until(() => leadersOf(rest), isOne)).toEqual(rest);
    // The other process does the work of both meanwhile.
    const sample = samplePayload('github', 'release', { repository: 'a/b', now: new Date(2026, 0, 1) }) ?? {};
    const payload = changed(sample, { 'release.tag_name': 'v1', 'release.name': 'Made meanwhile' });
    expect(await hooks.deliver(rest[0]?.url ?? '', { id: 'v1', event: 'release', payload })).toBe(200);
    expect(await until(titlesOf, isOne)).toEqual(['Made meanwhile']);
  } finally {
    process.kill(leader.pid, 'SIGCONT');
  }
  await until(
    () => isLeader(leader),
    (leads) => !leads,
  );
  await until(() => leadersOf(fleet.servers), isOne);
  expect(await titlesOf()).toEqual(['Made meanwhile']);
}, 300_000);

test('each log line names its process, as the metrics do', async () => {
  const server = await fleet.add();
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const name = /tidings_build_info\{.*process="([^"]+)"\} 1/.exec(metrics)?.[1] ?? '';
  expect(name).toContain(`-${server.pid}-`);
  await hooks.deliver(server.url, { id: 'one', event: 'ping', payload: { zen: 'one' } });
  expect(await fleet.end(server)).toBe(0);
  const lines = (await server.stderr()).trim().split('\n');
  expect(lines.length).toBeGreaterThan(0);
  expect(new Set(lines.map((line) => JSON.parse(line).process))).toEqual(new Set([name]));
}, 300_000);
