import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { type Clock, systemClock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import { type ApiService, apiFetch, notTheApi, serviceAt } from '../../api-fetch.ts';
import { webOf } from '../site.ts';
import { type Context, lacksScope, problemOf, refusalOf } from './problems.ts';
import { repositoryOf } from './responses.ts';
import { words } from './words.ts';

export interface GithubOptions {
  clock?: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs?: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs?: number;
  /** Aborts requests, as if GitHub did not answer. */
  signal?: AbortSignal | undefined;
  /** Gets the headers of each response, also of refusals. */
  onHeaders?: (headers: Headers) => void;
  /** Called when GitHub rejects the token. */
  onBadToken?: () => void;
}

interface Page {
  data: unknown;
  headers: object & { link?: string | undefined };
}

const PER_PAGE = 100;

/** Both parts of a repository's name as GitHub allows them, so that none can lead to another route. */
const NAME = /^([\w-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

const HOOK = '/repos/{owner}/{repo}/hooks/{hook_id}';

const Client = Octokit.plugin(paginateRest);

/** A token, or a function that makes one for each request; null: requests have none. */
export type Token = string | (() => Promise<string>) | null;

/** Octokit for one token, or for nobody, with every failure turned into a `ProviderProblem`. Never retries. */
export function openClient(
  baseUrl: string,
  token: Token,
  purpose: NonNullable<Context['token']>,
  {
    clock = systemClock,
    requestMs = 10_000,
    listingMs = 30_000,
    signal,
    onHeaders,
    onBadToken,
  }: GithubOptions,
) {
  const service = serviceAt(
    baseUrl,
    'GitHub',
    'GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3',
  );
  // Octokit would warn of deprecated routes through the console.
  const ignore = () => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  // GitHub redirects requests for a renamed or moved repository.
  const request = apiFetch(service, { timeoutMs: requestMs, signal, maxRedirects: 3 });
  const octokit = new Client({
    baseUrl,
    ...(typeof token === 'string' && { auth: token }),
    userAgent: 'tidings',
    log,
    request: { fetch: jsonFetch(service, request, onHeaders), log },
  });
  octokit.hook.before('request', async ({ headers }) => {
    headers['x-github-api-version'] = '2022-11-28';
    if (typeof token === 'function') headers.authorization = `Bearer ${await token()}`;
  });

  octokit.hook.error('request', (error) => {
    if ('status' in error && error.status === 401) onBadToken?.();
    throw error;
  });

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web: webOf(baseUrl),
    token: token === null ? null : purpose,
    secrets: [typeof token === 'string' ? token : '', secret],
    clock,
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

  /** As `ask`, for a branch, a tag or a commit; undefined when the repository has no such one. */
  async function askPart<T>(context: Context, request: () => Promise<T>): Promise<T | undefined> {
    try {
      return await request();
    } catch (error) {
      // An empty repository refuses with 409, and 422 is for the number of an unknown commit.
      const status = refusalOf(error, context.secrets)?.status ?? 0;
      if (![404, 409, 422].includes(status)) throw problemOf(error, context);
      await getRepository(context);
      return undefined;
    }
  }

  function getRepository(context: Context) {
    const path = repositoryPath(context);
    return ask(context, async () =>
      repositoryOf((await octokit.request('GET /repos/{owner}/{repo}', path)).data),
    );
  }

  return {
    octokit,
    about,
    ask,
    askBelow,
    askPart,
    getRepository,

    /** A request about a hook; null when the hook, or the part of it that `below` names, does not exist. */
    async askHook(method: string, context: Context, hookId: string, below = '', body: object = {}) {
      const path = hookPath(context, hookId);
      return askBelow(context, () => octokit.request(`${method} ${HOOK}${below}`, { ...path, ...body }));
    },

    /** Reads pages until `take` returns false, `maxPages` are read, or time is up; `isCut` when GitHub has more. */
    async readPages(
      route: string,
      parameters: object,
      maxPages: number,
      take: (page: Page) => boolean,
    ): Promise<{ isCut: boolean }> {
      const startedAt = performance.now();
      const pages: AsyncIterable<Page> = octokit.paginate.iterator(route, {
        ...parameters,
        per_page: PER_PAGE,
      });
      let count = 0;
      for await (const page of pages) {
        count++;
        if (!take(page)) break;
        const isLate = performance.now() - startedAt > listingMs;
        if (count >= maxPages || isLate) return { isCut: page.headers.link?.includes('rel="next"') ?? false };
      }
      return { isCut: false };
    },
  };
}

/** The repository for a route. Throws `ProviderProblem` `place-not-found` for text that cannot be a repository's name. */
export function repositoryPath(context: Context): { owner: string; repo: string } {
  const [, owner, repo] = NAME.exec(context.place ?? '') ?? [];
  if (owner !== undefined && repo !== undefined) return { owner, repo };
  throw new ProviderProblem('place-not-found', words.badName(context));
}

/** The hook for a route. Throws `ProviderProblem` `hook-not-found` for text that cannot be a hook's id. */
export function hookPath(context: Context, hookId: string) {
  if (/^\d{1,15}$/.test(hookId)) return { ...repositoryPath(context), hook_id: Number(hookId) };
  throw new ProviderProblem('hook-not-found', words.noHook(context, hookId));
}

/** Resolves with a JSON body, an empty one, or a status of 500 and more: a failing GitHub sends a page. */
function jsonFetch(
  service: ApiService,
  request: ReturnType<typeof apiFetch>,
  onHeaders?: (headers: Headers) => void,
) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const { status, headers, text, json } = await request(url, init);
    onHeaders?.(headers);
    if (text !== '' && status < 500 && json === undefined) {
      const type = headers.get('content-type')?.split(';')[0]?.slice(0, 100) ?? 'something';
      throw notTheApi(service, `it sent ${type} with status ${status}, not JSON`);
    }
    const isNull = status === 204 || status === 205 || status === 304;
    const response = new Response(isNull ? null : text, { status, headers });
    // The plugin for pages parses it.
    return Object.defineProperty(response, 'url', { value: url });
  };
}
