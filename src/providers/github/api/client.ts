import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import type { Clock } from '../../../lib/clock.ts';
import { repositoryOf } from './answers.ts';
import { apiFetch } from './fetch.ts';
import { type Asked, missing, problemOf } from './problems.ts';
import { lacksScope, refusalOf } from './refusal.ts';

export interface GithubOptions {
  clock: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs: number;
  /** After so long, in milliseconds, a list of many pages goes no further. */
  listingMs: number;
  /** Ends what is asked, as if GitHub did not answer. */
  signal?: AbortSignal | undefined;
}

export type GithubClient = ReturnType<typeof openClient>;

/** A repository in a route: both parts as GitHub allows them, so that none can lead to another route. */
const NAME = /^([\w-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

const Client = Octokit.plugin(paginateRest);

/** Octokit for one token, with every failure turned into a `ProviderProblem`. Never tries again by itself. */
export function openClient(
  baseUrl: string,
  token: string,
  { clock, requestMs, listingMs, signal }: GithubOptions,
) {
  // Octokit would warn of deprecated routes through the console.
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const octokit = new Client({
    baseUrl,
    auth: token,
    userAgent: 'tidings',
    log,
    request: { fetch: apiFetch({ baseUrl, requestMs, signal }), log },
  });
  octokit.hook.before('request', ({ headers }) => {
    headers['x-github-api-version'] = '2022-11-28';
  });

  /** Throws `ProviderProblem` in place of what Octokit throws. */
  async function ask<T>(asked: Asked, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw problemOf(error, asked);
    }
  }

  /** As `ask`, for what is below a repository; null when the repository has none of that. */
  async function askBelow<T>(asked: Asked, request: () => Promise<T>): Promise<T | null> {
    try {
      return await request();
    } catch (error) {
      const refusal = refusalOf(error, asked.secrets);
      if (refusal?.status !== 404) throw problemOf(error, asked);
      // GitHub says 404 both for what is not there and for what it does not show. The repository tells which.
      const { permissions } = await getRepository(asked);
      if (lacksScope(refusal)) throw missing.scope(asked);
      if (permissions?.admin !== true) throw missing.right(asked);
      return null;
    }
  }

  async function getRepository(asked: Asked) {
    const path = pathOf(asked);
    return ask(asked, async () => {
      const { data } = await octokit.request('GET /repos/{owner}/{repo}', path);
      return repositoryOf(data);
    });
  }

  return {
    octokit,
    listingMs,
    ask,
    askBelow,
    getRepository,
    /** What is asked about; `secret` is that of the webhook that is sent along. */
    about: (place: string | null, secret = ''): Asked => ({
      place,
      shown: baseUrl,
      web: webOf(baseUrl),
      secrets: [token, secret],
      clock,
    }),
  };
}

/** The repository for a route. Throws `ProviderProblem` `place-not-found` for what cannot be a repository's name. */
export function pathOf(asked: Asked): { owner: string; repo: string } {
  const [, owner, repo] = NAME.exec(asked.place ?? '') ?? [];
  if (owner === undefined || repo === undefined) throw missing.name(asked);
  return { owner, repo };
}

/** The hook for a route. Throws `ProviderProblem` `hook-not-found` for what cannot be a hook's id. */
export function hookPathOf(asked: Asked, hookId: string) {
  if (!/^\d{1,15}$/.test(hookId)) throw missing.hook(asked, hookId);
  return { ...pathOf(asked), hook_id: Number(hookId) };
}

/** Where people find the GitHub of this API: `https://api.github.com`, `https://HOST/api/v3`, `https://api.SUB.ghe.com`. */
export function webOf(baseUrl: string): string {
  const { origin, protocol, host } = new URL(baseUrl);
  return /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? `${protocol}//${host.slice(4)}` : origin;
}

function nothing(): void {
  // Octokit's log goes nowhere: every failure is thrown.
}
