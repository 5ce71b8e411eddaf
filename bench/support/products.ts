import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { copyPosts, directusCommand, pocketbaseExecutable, run } from './peers.ts';
import type { DataFolder } from './seed.ts';
import { freePort, type Program, pocketbase, type Server } from './server.ts';
import type { Load } from './wrk.ts';

// Other products with the same posts in their own database, read through their own API.

/** A list in the form that all products are compared in. */
export interface Listed {
  posts: unknown[];
  total: number;
}

/** A product that serves the posts. */
export interface Product {
  server: Server;
  /** The newest 10 published posts. */
  load: Load;
  read(answer: unknown): Listed;
}

/** What starting a product takes. */
export interface Place {
  folder: string;
  start(program: Program): Promise<Server>;
}

const EMAIL = 'bench@example.com';
const PASSWORD = 'a-password-of-the-benchmark';
const TEXTS = ['title', 'content', 'markdown', 'contentType', 'status', 'createdAt', 'updatedAt'];

/** PocketBase with a token of a superuser. Throws `BenchError`. */
export async function startPocketbase(
  data: DataFolder,
  path: string | undefined,
  place: Place,
): Promise<Product> {
  const executable = await pocketbaseExecutable(path);
  const folder = join(place.folder, 'pocketbase');
  await run([executable, 'superuser', 'upsert', EMAIL, PASSWORD, `--dir=${folder}`], {
    cwd: place.folder,
    environment: {},
  });
  const server = await place.start(pocketbase(executable, folder, freePort()));
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

/** Directus with a static token, without its cache. Throws `BenchError`. */
export async function startDirectus(data: DataFolder, place: Place): Promise<Product> {
  const { node, script } = await directusCommand();
  const folder = join(place.folder, 'directus');
  await mkdir(folder);
  const databaseFile = join(folder, 'directus.db');
  const token = Bun.randomUUIDv7();
  const url = `http://127.0.0.1:${freePort()}`;
  const environment = {
    DB_CLIENT: 'sqlite3',
    DB_FILENAME: databaseFile,
    SECRET: token,
    ADMIN_EMAIL: EMAIL,
    ADMIN_PASSWORD: PASSWORD,
    ADMIN_TOKEN: token,
    HOST: '127.0.0.1',
    PORT: new URL(url).port,
    PUBLIC_URL: url,
    LOG_LEVEL: 'warn',
    TELEMETRY: 'false',
    CACHE_ENABLED: 'false',
    STORAGE_LOCAL_ROOT: folder,
    EXTENSIONS_PATH: folder,
  };
  await run([node, script, 'bootstrap'], { cwd: folder, environment });
  const program = { name: 'directus', executable: node, words: [script, 'start'], environment };
  const server = await place.start({ ...program, health: { url, path: '/server/ping' } });
  const headers = { authorization: `Bearer ${token}` };
  const field = (name: string, type: string) => ({ field: name, type, schema: {}, meta: {} });
  await post(
    `${url}/collections`,
    {
      collection: 'posts',
      schema: {},
      meta: {},
      fields: [
        { ...field('id', 'string'), schema: { is_primary_key: true } },
        ...TEXTS.map((name) => field(name, 'text')),
        field('sourceMetadata', 'json'),
      ],
    },
    headers,
  );
  copyPosts(data.databaseFile, databaseFile);

  const query = new URLSearchParams({
    limit: '10',
    page: '1',
    sort: '-createdAt,-id',
    'filter[status][_eq]': 'published',
    meta: 'filter_count',
  });
  return {
    server,
    load: { paths: [`/items/posts?${query}`], headers },
    read(answer) {
      const { data: posts, meta } = answer as { data: unknown[]; meta: { filter_count: number } };
      return { posts, total: meta.filter_count };
    },
  };
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
