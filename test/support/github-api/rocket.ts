import type { HookSettings } from '../../../src/providers/api.ts';
import { githubApi } from '../../../src/providers/github/api/index.ts';
import type { ClientOptions } from '../../../src/providers/host.ts';
import { fixedClock } from '../clock.ts';
import { problemOf as providerProblemOf } from '../problem-of.ts';
import { type GithubApiOptions, startGithubApi } from './server.ts';
import type { StoredToken } from './state.ts';

export const SECRET = 'whsec_the-secret-of-the-webhook';
export const SETTINGS: HookSettings = {
  url: 'http://127.0.0.1:1/hook',
  secret: SECRET,
  events: ['push', 'release'],
};
export const FINE: StoredToken = { user: 'mona', permissions: { repository_hooks: 'write' } };

/** GitHub with acme/rocket, which mona administers, and Tidings' client with her token. */
export function startRocket(
  options: GithubApiOptions & Partial<ClientOptions> & { token?: StoredToken } = {},
) {
  const clock = fixedClock('2026-11-21T03:49:17.500Z');
  const github = startGithubApi({ clock, ...options });
  const repository = github.addRepository('acme/rocket', { rights: { mona: 'admin' } });
  const token = github.addToken(options.token ?? FINE);
  const api = githubApi(github.url, token, { clock, ...options });
  return { clock, github, repository, token, api, [Symbol.dispose]: () => github[Symbol.dispose]() };
}

/** The failure of a call, after a check that it holds no secret. */
export async function problemOf(call: Promise<unknown>, ...secrets: string[]) {
  const { kind, message, retryAt, cause } = await providerProblemOf(call, [SECRET, ...secrets]);
  return { kind, message, retryAt, cause };
}
