import { expect } from 'bun:test';
import { type HookWish, ProviderProblem } from '../../../src/providers/api.ts';
import type { GithubOptions } from '../../../src/providers/github/api/client.ts';
import { githubApi } from '../../../src/providers/github/api/index.ts';
import { fixedClock } from '../clock.ts';
import { type GithubApiOptions, startGithubApi } from './server.ts';
import type { StoredToken } from './state.ts';

export const SECRET = 'whsec_the-secret-of-the-webhook';
export const WISH: HookWish = { url: 'http://127.0.0.1:1/hook', secret: SECRET, events: ['push', 'release'] };
export const FINE: StoredToken = { user: 'mona', permissions: { repository_hooks: 'write' } };

/** GitHub with acme/rocket, which mona administers, and our client with her token. */
export function startRocket(
  options: GithubApiOptions & Partial<GithubOptions> & { token?: StoredToken } = {},
) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const github = startGithubApi({ clock, ...options });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const token = github.addToken(options.token ?? FINE);
  const api = githubApi(github.url, token, { clock, ...options });
  return { clock, github, repository, token, api, [Symbol.dispose]: () => github[Symbol.dispose]() };
}

/** The problem that a call ends with, after it was seen to hold no secret wherever one may look. */
export async function problemOf(call: Promise<unknown>, ...secrets: string[]) {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProviderProblem)) throw new Error(`not a problem: ${Bun.inspect(error)}`);
  const everything = Bun.inspect(error, { depth: 20 }) + JSON.stringify(error) + String(error.stack);
  for (const secret of [SECRET, ...secrets]) expect(everything).not.toContain(secret);
  return { kind: error.kind, message: error.message, retryAt: error.retryAt, cause: error.cause };
}
