import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase, type SqliteDatabase } from '../../db/sqlite/client.ts';
import { hmacSha256 } from '../../src/providers/provider.ts';
import { cliJson, temporaryFolder } from '../support/cli.ts';
import { root, type ServerProcess, startTidings } from '../support/server.ts';
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
  const words = [join(root, 'src/cli.ts'), 'post', 'import', '--organization', organizationId, file];
  return Bun.spawn([process.execPath, ...words], {
    env: { PATH: Bun.env.PATH, DATA_DIR: folder.path, LOG_LEVEL: 'silent' },
    stdout: 'pipe',
  });
}

/** An organization, and what a site sees of its newest post and of how many there are. */
async function addReader(organizationId: string) {
  await json('organization', 'create', '--name', organizationId, '--id', organizationId);
  const { key } = await json('key', 'create', '--organization', organizationId, '--name', 'Site');
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${server.url}/v1/${organizationId}/posts${path}`, { headers });
    return response.json() as Promise<{ post: object | null; pagination: { totalItems: number } }>;
  };
  return {
    total: async () => (await get('?limit=1')).pagination.totalItems,
    hasLast: async () => (await get(`/${organizationId}-${POSTS - 1}`)).post !== null,
  };
}

const countRows = (table: string) =>
  Number(db.$client.query(`select count(*) from ${table}`).values()[0]?.[0]);

test('deliveries are acknowledged while it runs, and a reader sees none of its posts or all', async () => {
  const reader = await addReader('acme');
  const repository = ['--organization', 'acme', '--repository', 'a/b'];
  const { secret, webhookUrl } = await json('integration', 'connect', 'github', ...repository);
  const deliver = async (id: string) => {
    const body = JSON.stringify({ zen: id });
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'ping',
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${hmacSha256(secret, body)}`,
    };
    const url = `${server.url}${new URL(webhookUrl).pathname}`;
    return (await fetch(url, { method: 'POST', headers, body })).status;
  };

  const child = await startImport('acme', POSTS);
  const statuses: number[] = [];
  const totals = new Set<number>();
  while (child.exitCode === null) {
    statuses.push(await deliver(`delivery-${statuses.length}`));
    const before = await reader.total();
    const hasLast = await reader.hasLast();
    totals.add(before);
    if (before === POSTS) expect(hasLast).toBe(true);
    if (!hasLast) expect(before).toBe(0);
  }
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toContain(`${POSTS} created, 0 updated, 0 unchanged`);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect([...totals].sort()).toEqual([0, POSTS]);
  expect(countRows('deliveries')).toBe(statuses.length);
  expect(await reader.total()).toBe(POSTS);
}, 120_000);

test.each([
  ['staging', 0],
  ['applying', POSTS],
])(
  'kill -9 while it is %s leaves %d posts, before and after the next start of the server',
  async (state, total) => {
    const reader = await addReader(state);
    const stored = countRows('posts');
    const child = await startImport(state, POSTS);
    const look = async () => ({
      state: db.$client.query('select state from imports').values()[0]?.[0],
      staged: countRows('staged_posts'),
    });
    const isMidway = (found: Awaited<ReturnType<typeof look>>) =>
      found.state === state && found.staged > 0 && found.staged < POSTS;
    await until(look, isMidway, 60_000);
    child.kill('SIGKILL');
    await child.exited;
    expect(await look()).toSatisfy(isMidway);
    expect(await reader.total()).toBe(total);
    expect(await reader.hasLast()).toBe(total > 0);

    db.$client.run('update imports set beat_at = 0');
    await server.stop('SIGKILL');
    server = await startTidings(folder.path);
    expect(await reader.total()).toBe(total);
    await until(look, (found) => found.state === undefined && found.staged === 0, 60_000);
    expect(await reader.total()).toBe(total);
    expect(await reader.hasLast()).toBe(total > 0);
    expect(countRows('posts') - stored).toBe(total);
  },
  120_000,
);

test.skipIf(!mayMount)(
  'on a disk that becomes full, leaves nothing',
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
    expect(commandOnMount(seed.path, importing, output.path).exitCode).toBe(1);
    expect(await cliJson(output.path, ['post', 'list', '--organization', 'acme'])).toEqual([]);
    await Bun.write(file, JSON.stringify(posts.slice(0, 5)));
    expect(await cliJson(output.path, importing)).toMatchObject([{ created: 5 }]);
    for (const each of [seed, output]) each.remove();
  },
  120_000,
);
