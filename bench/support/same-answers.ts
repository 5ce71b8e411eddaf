import { BenchError } from './bench-error.ts';
import type { Case } from './cases.ts';
import type { Listed } from './products.ts';
import type { Server } from './server.ts';
import type { Load } from './wrk.ts';

// Servers are worth comparing only while they give the same answers.

/** How many of a case's paths are looked at. */
const LOOKED_AT = 25;

/** Throws `BenchError` unless every server gives the same JSON as the first, and there is something in it. */
export async function requireSameAnswers(
  servers: readonly Server[],
  { name, paths }: Case,
  key: string,
): Promise<void> {
  for (const path of paths.slice(0, LOOKED_AT)) {
    const [first, ...others] = await Promise.all(servers.map((server) => getJson(server, path, key)));
    if (first === undefined || isEmpty(first)) throw new BenchError(`${name}: ${path} holds no post`);
    for (const [index, other] of others.entries()) {
      if (Bun.deepEquals(first, other, true)) continue;
      throw new BenchError(
        `${name}: ${servers[index + 1]?.name} answers ${path} otherwise than ${servers[0]?.name}`,
      );
    }
  }
}

/** A list on one server. Without `read`, the body has the form of the content API. */
interface ListOn {
  server: Server;
  load: Load;
  read: ((answer: unknown) => Listed) | null;
}

/** Throws `BenchError` unless both lists have the same posts in the same order, and the same total. */
export async function requireSameList(ours: ListOn, peer: ListOn): Promise<void> {
  const [expected, actual] = await Promise.all([readList(ours), readList(peer)]);
  if (expected.posts.length === 0) throw new BenchError('the list has no post');
  if (!Bun.deepEquals(expected, actual, true)) {
    throw new BenchError(`${peer.server.name} responds with another list than ${ours.server.name}`);
  }
}

async function readList({ server, load: { paths, headers }, read }: ListOn): Promise<Listed> {
  const response = await fetch(`${server.url}${paths[0]}`, { headers });
  const text = await response.text();
  if (!response.ok) throw new BenchError(`${server.name} responds ${response.status}: ${text.slice(0, 300)}`);
  return (read ?? readContentApi)(JSON.parse(text));
}

function readContentApi(answer: unknown): Listed {
  const { posts, pagination } = answer as { posts: unknown[]; pagination: { totalItems: number } };
  return { posts, total: pagination.totalItems };
}

/** The `ETag` that the server gives, which it must then answer with 304. Throws `BenchError` when it does not. */
export async function requireRevalidation(server: Server, path: string, key: string): Promise<string> {
  const first = await get(server, path, key, { 'if-none-match': '"none"' });
  const etag = first.headers.get('etag');
  if (etag === null) throw new BenchError(`${server.name} gives ${path} no ETag`);
  const again = await get(server, path, key, { 'if-none-match': etag });
  if (again.status !== 304)
    throw new BenchError(`${server.name} answers ${again.status} for ${path}, not 304`);
  return etag;
}

async function getJson(server: Server, path: string, key: string): Promise<object> {
  const response = await get(server, path, key);
  if (response.status !== 200) throw new BenchError(`${server.name} answers ${response.status} for ${path}`);
  return (await response.json()) as object;
}

function get(
  server: Server,
  path: string,
  key: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}`, ...headers } });
}

function isEmpty(answer: object): boolean {
  if ('posts' in answer && Array.isArray(answer.posts)) return answer.posts.length === 0;
  return !('post' in answer) || answer.post === null;
}
