import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import type { Clock } from '../../../lib/clock.ts';
import { ProviderProblem } from '../../api.ts';
import { apiFetch, NoResponse } from '../../api-fetch.ts';
import { lacksScope, problemOf, refusalOf } from './problems.ts';
import { repositoryOf } from './responses.ts';
import { type Subject, words } from './words.ts';

export interface GithubOptions {
  clock: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs: number;
  /** Aborts requests, as if GitHub did not answer. */
  signal?: AbortSignal | undefined;
}

export type GithubClient = ReturnType<typeof openClient>;

interface Context extends Subject {
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

interface Page {
  data: unknown;
  headers: object & { link?: string | undefined };
}

/** GitHub answers a renamed or moved repository with redirects. */
const MAX_REDIRECTS = 3;

/** Both parts of a repository's name as GitHub allows them, so that none can lead to another route. */
const NAME = /^([\w-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

const Client = Octokit.plugin(paginateRest);

/** Octokit for one token, with every failure turned into a `ProviderProblem`. Never retries. */
export function openClient(
  baseUrl: string,
  token: string,
  { clock, requestMs, listingMs, signal }: GithubOptions,
) {
  const web = webOf(baseUrl);
  // Octokit would warn of deprecated routes through the console.
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const octokit = new Client({
    baseUrl,
    auth: token,
    userAgent: 'tidings',
    log,
    request: { fetch: githubFetch(baseUrl, requestMs, signal), log },
  });
  octokit.hook.before('request', ({ headers }) => {
    headers['x-github-api-version'] = '2022-11-28';
  });

  /** Throws `ProviderProblem` in place of Octokit's errors. */
  async function ask<T>(context: Context, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw problemOf(error, context);
    }
  }

  /** As `ask`, for a part of a repository; null when the repository has no such part. */
  async function askBelow<T>(context: Context, request: () => Promise<T>): Promise<T | null> {
    try {
      return await request();
    } catch (error) {
      const refusal = refusalOf(error, context.secrets);
      if (refusal?.status !== 404) throw problemOf(error, context);
      // A 404 also hides parts that the token may not see. The repository itself tells the two apart.
      const { permissions } = await getRepository(context);
      if (lacksScope(refusal)) throw new ProviderProblem('missing-permission', words.noScope(context));
      if (permissions?.admin !== true)
        throw new ProviderProblem('missing-permission', words.noAdmin(context));
      return null;
    }
  }

  function getRepository(context: Context) {
    const path = repositoryPath(context);
    return ask(context, async () =>
      repositoryOf((await octokit.request('GET /repos/{owner}/{repo}', path)).data),
    );
  }

  /** Reads pages until `take` returns false, `maxPages` are read, or time is up; `isCut` when GitHub has more. */
  async function readPages(
    pages: AsyncIterable<Page>,
    maxPages: number,
    take: (page: Page) => boolean,
  ): Promise<{ isCut: boolean }> {
    const startedAt = performance.now();
    let count = 0;
    for await (const page of pages) {
      count++;
      if (!take(page)) break;
      const hasMore = page.headers.link?.includes('rel="next"') ?? false;
      if (count >= maxPages || performance.now() - startedAt > listingMs) return { isCut: hasMore };
    }
    return { isCut: false };
  }

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    api: baseUrl,
    web,
    secrets: [token, secret],
    clock,
  });

  return { octokit, about, ask, askBelow, getRepository, readPages };
}

/** The repository for a route. Throws `ProviderProblem` `place-not-found` for text that cannot be a repository's name. */
export function repositoryPath(subject: Subject): { owner: string; repo: string } {
  const [, owner, repo] = NAME.exec(subject.place ?? '') ?? [];
  if (owner === undefined || repo === undefined)
    throw new ProviderProblem('place-not-found', words.badName(subject));
  return { owner, repo };
}

/** The hook for a route. Throws `ProviderProblem` `hook-not-found` for text that cannot be a hook's id. */
export function hookPath(subject: Subject, hookId: string) {
  if (!/^\d{1,15}$/.test(hookId)) throw new ProviderProblem('hook-not-found', words.noHook(subject, hookId));
  return { ...repositoryPath(subject), hook_id: Number(hookId) };
}

/** The site of this API: `https://api.github.com`, `https://HOST/api/v3` and `https://api.SUB.ghe.com` have one each. */
export function webOf(baseUrl: string): string {
  const { origin, protocol, host } = new URL(baseUrl);
  return /^api\.(github\.com|[^.]+\.ghe\.com)$/.test(host) ? `${protocol}//${host.slice(4)}` : origin;
}

/** Resolves with a JSON body, an empty one, or a status of 500 and more. Throws `ProviderProblem`. */
function githubFetch(baseUrl: string, requestMs: number, signal: AbortSignal | undefined) {
  const request = apiFetch(baseUrl, { timeoutMs: requestMs, signal, maxRedirects: MAX_REDIRECTS });
  const { origin, pathname } = new URL(baseUrl);
  const api = origin + pathname.replace(/\/$/, '');

  return async (url: string, init: RequestInit): Promise<Response> => {
    const { status, headers, text } = await request(url, init).catch((error: unknown) => {
      if (!(error instanceof NoResponse)) throw error;
      throw new ProviderProblem('provider-failed', words[error.code](api, error.detail));
    });
    // A failing GitHub sends a page.
    if (text !== '' && status < 500 && !isJson(text)) {
      const type = headers.get('content-type')?.split(';')[0]?.slice(0, 100) ?? 'something';
      throw new ProviderProblem('provider-failed', words.notJson(api, type, status));
    }
    const isNull = status === 204 || status === 205 || status === 304;
    return new Response(isNull ? null : text, { status, headers });
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function ignore(): void {
  // Every failure is thrown.
}
