import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Post } from '../../src/posts/model.ts';
import { temporaryFolder } from '../support/cli.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import type { ServerProcess } from '../support/server.ts';
import { pauseReplay, resumeReplay, startStandby } from '../support/standby.ts';
import { until } from '../support/until.ts';

// A process that reads posts from a streaming standby.

const BOUND_MS = 10_000;

let primary: PostgresServer;
let standby: PostgresServer;
let fleet: Fleet;
let server: ServerProcess;
let key: string;
let replicaUrl: string;
const folder = temporaryFolder();

beforeAll(async () => {
  primary = await startPostgres();
  const url = new URL(await primary.createEmptyDatabase());
  standby = await startStandby(primary);
  const replica = new URL(url);
  replica.port = String(standby.port);
  replicaUrl = replica.href;
  fleet = await startFleet(url.href, 1, { DATABASE_READ_URL: replicaUrl });
  const [first] = fleet.servers;
  if (first === undefined) throw new Error('no process runs');
  server = first;
  await fleet.json('organization', 'create', '--name', 'Acme', '--id', 'acme');
  ({ key } = await fleet.json('key', 'create', '--organization', 'acme', '--name', 'Website'));
}, 300_000);

afterAll(async () => {
  folder.remove();
  await fleet?.[Symbol.asyncDispose]();
  await standby?.stop();
  await primary?.stop();
});

async function listTitles(): Promise<string[]> {
  const response = await fetch(`${server.url}/v1/acme/posts`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  const { posts } = (await response.json()) as { posts: Post[] };
  return posts.map(({ title }) => title).sort();
}

async function importPost(title: string): Promise<void> {
  const file = join(folder.path, `${title}.json`);
  await Bun.write(file, JSON.stringify([{ title, markdown: title }]));
  await fleet.json('post', 'import', '--organization', 'acme', file);
}

/** How often the standby has looked at the table that every list needs. */
async function countReads(): Promise<number> {
  await using connection = new SQL(replicaUrl, { max: 1 });
  const [row] = await connection`
    SELECT coalesce(sum(seq_scan + idx_scan), 0)::int AS reads FROM pg_stat_user_tables WHERE relname = 'post_counts'`;
  return row.reads;
}

/** Asks for lists until the standby has answered some. */
async function expectReads(): Promise<void> {
  const before = await countReads();
  await until(
    async () => {
      await listTitles();
      return countReads();
    },
    (count) => count > before,
  );
}

test('lists come from the standby, and show each post within 10 seconds', async () => {
  await importPost('First');
  await expectReads();
  await pauseReplay(standby);
  await importPost('Second');
  const committedAt = performance.now();
  await until(async () => {
    const askedAt = performance.now();
    const titles = await listTitles();
    const isCurrent = titles.includes('Second');
    if (!isCurrent) expect(askedAt - committedAt).toBeLessThan(BOUND_MS);
    return isCurrent;
  }, Boolean);
  await resumeReplay(standby);
  await expectReads();
}, 300_000);

test('lists come from the primary while the standby is away', async () => {
  await expectReads();
  await standby.kill('SIGKILL');
  await importPost('Third');
  // Nothing is stale: the standby is not there.
  expect(await listTitles()).toContain('Third');
  await standby.restart();
  await expectReads();
}, 300_000);
