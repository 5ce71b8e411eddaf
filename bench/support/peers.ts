import { Database } from 'bun:sqlite';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, BenchError } from './run.ts';
import type { DataFolder, SeededPosts } from './seed.ts';
import { run, type Server, startServer } from './server.ts';
import type { Load } from './wrk.ts';

// Hono from npm and PocketBase from Go's module proxy, with the same posts. They are installed once, into
// `bench/.peers`, which Git ignores.

const FOLDER = Bun.fileURLToPath(import.meta.resolve('../.peers'));
const SOURCES = Bun.fileURLToPath(import.meta.resolve('../peers'));

const PACKAGES = { hono: '4.13.19' };
const POCKETBASE = 'github.com/pocketbase/pocketbase/examples/base@v0.40.4';

/** A list of posts in the form that all are compared in. */
export interface Listed {
  posts: unknown[];
  total: number;
}

export interface Peer {
  server: Server;
  /** The newest 10 published posts. */
  load: Load;
  read(answer: unknown): Listed;
}

type Data = DataFolder & SeededPosts;

/** The form of the content API. */
export function readList(answer: unknown): Listed {
  const { posts, pagination } = answer as { posts: unknown[]; pagination: { totalItems: number } };
  return { posts, total: pagination.totalItems };
}

/** Hono on Bun with `COUNT(*)`. Throws `BenchError`. */
export async function startHono(bench: Bench, { databaseFile, list, headers }: Data): Promise<Peer> {
  const folder = join(FOLDER, 'services');
  const manifest = JSON.stringify({ private: true, type: 'module', dependencies: PACKAGES });
  const stamp = Bun.file(join(folder, 'installed.json'));
  if (!(await stamp.exists()) || (await stamp.text()) !== manifest) {
    await mkdir(folder, { recursive: true });
    await Bun.write(join(folder, 'package.json'), manifest);
    await run(bench, [process.execPath, 'install'], { cwd: folder });
    await stamp.write(manifest);
  }
  // Beside its packages, so that it finds them.
  const path = join(folder, 'hono.js');
  await copyFile(join(SOURCES, 'hono.js'), path);
  const server = await startServer(bench, { words: [path, databaseFile] });
  return { server, load: { paths: [list], headers }, read: readList };
}

const EMAIL = 'bench@example.com';
const PASSWORD = 'a-password-of-the-benchmark';
const TEXTS = ['title', 'content', 'markdown', 'contentType', 'status', 'createdAt', 'updatedAt'];

/** PocketBase with a token of a superuser. Throws `BenchError`. */
export async function startPocketbase(bench: Bench, data: Data): Promise<Peer> {
  const executable = await pocketbaseExecutable(bench);
  const folder = join(bench.folder, 'pocketbase');
  await run(bench, [executable, 'superuser', 'upsert', EMAIL, PASSWORD, `--dir=${folder}`]);
  const server = await startServer(bench, {
    executable,
    // It wants to be told a port, and takes a binary in the folder of temporary files for a developer's.
    words: ['serve', `--http=127.0.0.1:${freePort()}`, `--dir=${folder}`, '--dev=false'],
    announcement: /Server started at (http:\S+)\n/,
  });
  const { token } = (await post(`${server.url}/api/collections/_superusers/auth-with-password`, {
    identity: EMAIL,
    password: PASSWORD,
  })) as { token: string };
  const headers = { authorization: token };
  const fields = [...TEXTS.map((name) => ({ name, type: 'text' })), { name: 'sourceMetadata', type: 'json' }];
  await post(`${server.url}/api/collections`, { name: 'posts', type: 'base', fields }, headers);
  copyPosts(data.databaseFile, join(folder, 'data.db'));
  const query = new URLSearchParams({
    page: '1',
    perPage: '10',
    filter: "status='published'",
    sort: '-createdAt,-id',
  });
  return {
    server,
    load: { paths: [`/api/collections/posts/records?${query}`], headers },
    read(answer) {
      const { items, totalItems } = answer as { items: Record<string, unknown>[]; totalItems: number };
      const posts = items.map(({ collectionId, collectionName, ...own }) => own);
      return { posts, total: totalItems };
    },
  };
}

/** Builds PocketBase with Go unless one was named. Throws `BenchError`. */
async function pocketbaseExecutable(bench: Bench): Promise<string> {
  const path = bench.pocketbase;
  if (path !== undefined) {
    if (await Bun.file(path).exists()) return path;
    throw new BenchError(`--pocketbase ${path}: file not found`);
  }
  const folder = join(FOLDER, 'pocketbase');
  const executable = join(folder, 'base');
  if (await Bun.file(executable).exists()) return executable;
  if (Bun.which('go') === null) {
    throw new BenchError('Go is not installed. Install it, or name a PocketBase with --pocketbase PATH.');
  }
  // The module may need a later Go, which Go fetches.
  const environment = { GOBIN: folder, GOTOOLCHAIN: 'auto' };
  await run(bench, ['go', 'install', '-trimpath', '-ldflags=-s -w', POCKETBASE], { cwd: '/', environment });
  return executable;
}

/** A port that nobody listens on now. */
function freePort(): number {
  const socket = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  const { port } = socket;
  socket.stop(true);
  return port;
}

async function post(url: string, value: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(value),
  });
  const text = await response.text();
  if (!response.ok) throw new BenchError(`${url} responded ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text);
}

/** Copies the posts into the table `posts` of another SQLite file, whose columns have the names of the API. */
function copyPosts(from: string, into: string): void {
  const db = new Database(into);
  try {
    db.run('PRAGMA busy_timeout = 5000');
    db.run('ATTACH ? AS tidings', [from]);
    db.run(`INSERT INTO main.posts
        (id, title, content, markdown, contentType, sourceMetadata, status, createdAt, updatedAt)
      SELECT id, title, content, markdown, content_type, source_metadata, status, created_at, updated_at
      FROM tidings.posts`);
    // The peer's own index for this list.
    db.run('CREATE INDEX IF NOT EXISTS posts_in_order ON posts (status, createdAt, id)');
  } finally {
    db.close();
  }
}
