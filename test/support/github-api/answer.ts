import { accessHeaders, tokenOf } from './access.ts';
import { type ApiRequest, routeOf } from './contract.ts';
import { type Answer, operations } from './operations.ts';
import { GithubRefusal, refusals } from './refusal.ts';
import type { StoredToken } from './state.ts';
import { repositoryAt, type World } from './world.ts';

/** GitHub's responses, with the headers that every response has. */
export function answerTo(
  world: World,
  asked: ApiRequest & { url: URL; authorization: string | null },
): Answer {
  const { method, path, url, body } = asked;
  const route = routeOf(method, path);
  const operation = operations[route?.route ?? ''];
  let token: StoredToken | null = null;
  const headers = () => ({ ...LIMITS, ...accessHeaders(token, operation?.access ?? null) });
  try {
    const known = tokenOf(asked.authorization, world.tokens);
    token = known;
    if (route === null || operation === undefined) throw refusals.notFound();
    const repository = () => repositoryAt(world, path, url.search, method, known);
    const answered = operation.run({ world, token: known, url, params: route.params, body, repository });
    return { ...answered, headers: { ...headers(), ...answered.headers } };
  } catch (error) {
    if (!(error instanceof GithubRefusal)) throw error;
    return { status: error.status, body: error.body(), headers: { ...headers(), ...error.more.headers } };
  }
}

const LIMITS = {
  'x-ratelimit-limit': '5000',
  'x-ratelimit-remaining': '4999',
  'x-ratelimit-reset': '1795234200',
  'x-ratelimit-used': '1',
  'x-ratelimit-resource': 'core',
  'x-github-media-type': 'github.v3; format=json',
  'x-github-api-version-selected': '2022-11-28',
};
