import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import { copyPosts, pocketbaseExecutable, run } from './peers.ts';
import type { DataFolder } from './seed.ts';
import { freePort, type Program, pocketbase, type Server } from './server.ts';
import type { Load } from './wrk.ts';

// Another product with the same posts in its own database, read through its own API.

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
