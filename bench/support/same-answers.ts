import { BenchError } from './bench-error.ts';
import type { Case } from './cases.ts';
import type { Server } from './server.ts';

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
