import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { ping, postSigned } from '../support/fleet.ts';
import { program, type ServerProcess, startTidings } from '../support/server.ts';
import { commandOnMount, mayMount } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

// A large import in a process of its own, beside a server.

const POSTS = 3_000;

const folder = temporaryFolder();
let server: ServerProcess;
let db: SqliteDatabase;

beforeAll(async () => {
  server = await startTidings(folder.path);
  db = openDatabase(join(folder.path, 'tidings.db'));
}, 60_000);

afterAll(async () => {
  db.$client.close();
  await server.stop('SIGKILL');
  folder.remove();
});

const json = (...words: string[]) => cliJson(folder.path, words);

async function startImport(organizationId: string, count: number) {
  const file = join(folder.path, `${organizationId}.json`);
  const posts = Array.from({ length: count }, (_, n) => ({
    id: `${organizationId}-${n}`,
    title: `Post ${n}`,
    markdown: `**Text** of post ${n}`,
  }));
  await Bun.write(file, JSON.stringify(posts));
  return Bun.spawn([...program, 'post', 'import', '--organization', organizationId, file], {
    env: { PATH: Bun.env.PATH, DATA_DIR: folder.path, LOG_LEVEL: 'silent' },
    stdout: 'pipe',
  });
}

/** An organization, and what a site sees of it. */
async function addReader(organizationId: string) {
  await json('organization', 'create', '--name', organizationId, '--id', organizationId);
  const { key } = await json('key', 'create', '--organization', organizationId, '--name', 'Site');
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${server.url}/v1/${organizationId}/posts${path}`, { headers });
    return response.json() as Promise<{ pagination: { totalItems: number } }>;
  };
  return { total: async () => (await get('?limit=1')).pagination.totalItems };
}

const countRows = (table: string) =>
  Number(db.$client.query(`select count(*) from ${table}`).values()[0]?.[0]);

test('deliveries are acknowledged while it runs, and a reader sees more of its posts each time', async () => {
  const reader = await addReader('acme');
  const repository = ['--organization', 'acme', '--repository', 'a/b'];
  const { secret, webhookUrl } = await json('integration', 'connect', 'github', ...repository);
  const url = `${server.url}${new URL(webhookUrl).pathname}`;
  const child = await startImport('acme', POSTS);
  const statuses: number[] = [];
  const totals: number[] = [];
  while (child.exitCode === null) {
    statuses.push((await postSigned(url, secret, ping(`delivery-${statuses.length}`))).status);
    totals.push(await reader.total());
  }
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toContain(`${POSTS} created, 0 updated, 0 unchanged`);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(totals).toEqual(totals.toSorted((a, b) => a - b));
  expect(countRows('deliveries')).toBe(statuses.length);
  expect(await reader.total()).toBe(POSTS);
}, 120_000);

test('kill -9 leaves whole posts, and the same command completes it', async () => {
  const reader = await addReader('killed');
  const child = await startImport('killed', POSTS);
  await until(reader.total, (total) => total > 0, 60_000);
  child.kill('SIGKILL');
  await child.exited;
  const total = await reader.total();
  expect(total).toBeLessThan(POSTS);
  const again = await startImport('killed', POSTS);
  expect(await again.exited).toBe(0);
  const left = `${POSTS - total} created, 0 updated, ${total} unchanged`;
  expect(await new Response(again.stdout).text()).toContain(left);
  expect(await reader.total()).toBe(POSTS);
}, 120_000);

test.skipIf(!mayMount)(
  'on a disk that becomes full, says how far it came, and is completed with room',
  async () => {
    const seed = temporaryFolder();
    const output = temporaryFolder();
    await cliJson(seed.path, ['organization', 'create', '--name', 'Acme', '--id', 'acme']);
    const file = join(output.path, 'posts.json');
    const posts = Array.from({ length: 30 }, (_, n) => ({
      id: `p${n}`,
      title: 'P',
      markdown: 'x'.repeat(100_000),
    }));
    await Bun.write(file, JSON.stringify(posts));
    const importing = ['post', 'import', '--organization', 'acme', file];
    const { exitCode, stderr } = commandOnMount(seed.path, importing, output.path);
    expect(exitCode).toBe(1);
    const [, done] = /(\d+) of 30 posts are imported\. Import the same file again/.exec(String(stderr)) ?? [];
    const listing = ['post', 'list', '--organization', 'acme', '--limit', '100'];
    expect(await cliJson(output.path, listing)).toHaveLength(Number(done));
    const left = { created: 30 - Number(done), unchanged: Number(done) };
    expect(await cliJson(output.path, importing)).toMatchObject([left]);
    for (const each of [seed, output]) each.remove();
  },
  120_000,
);
