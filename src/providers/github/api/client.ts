import { systemClock } from '../../../lib/time.ts';
import { ProviderProblem } from '../../api.ts';
import { type ApiResponse, notTheApi, serviceAt } from '../../api-fetch.ts';
import { type Call, type ClientOptions, nextLink, readPages, restClient } from '../../rest.ts';
import { webOf } from '../site.ts';
import { type Context, lacksScope, problemOf, Refused, refusalOf } from './problems.ts';
import { repositoryOf } from './responses.ts';
import { words } from './words.ts';

export interface GithubOptions extends ClientOptions {
  /** Gets the headers of each response, also of refusals. */
  onHeaders?: (headers: Headers) => void;
  /** Called when GitHub rejects the token. */
  onBadToken?: () => void;
}

const PER_PAGE = 100;

/** Both parts of a repository's name as GitHub allows them, so that none can lead to another route. */
const NAME = /^([\w-]{1,100})\/(?!\.{1,2}$)([\w.-]{1,100})$/;

/** A token, or a function that makes one for each request; null: requests have none. */
export type Token = string | (() => Promise<string>) | null;

/** GitHub's REST API for one token, or for nobody. Never retries. */
export function openClient(
  baseUrl: string,
  token: Token,
  purpose: NonNullable<Context['token']>,
  { clock = systemClock, onHeaders, onBadToken, ...options }: GithubOptions,
) {
  const service = serviceAt(
    baseUrl,
    'GitHub',
    'GITHUB_API_URL; for Enterprise Server it is https://HOST/api/v3',
  );
  const send = restClient(
    service,
    async () => ({
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
      ...(token !== null && {
        authorization: `Bearer ${typeof token === 'string' ? token : await token()}`,
      }),
    }),
    options,
  );

  /** Throws `Refused` for a refusal, which `ask` and its like turn into a `ProviderProblem`. */
  async function request(path: string, call?: Call): Promise<ApiResponse> {
    const response = await send(path, call);
    const { status, headers, text, json } = response;
    onHeaders?.(headers);
    // A failing GitHub sends a page.
    if (text !== '' && status < 500 && json === undefined) {
      const type = headers.get('content-type')?.split(';')[0]?.slice(0, 100) ?? 'something';
      throw notTheApi(service, `it sent ${type} with status ${status}, not JSON`);
    }
    if (status === 401) onBadToken?.();
    if (status >= 400) throw new Refused(response);
    return response;
  }

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web: webOf(baseUrl),
    token: token === null ? null : purpose,
    secrets: [typeof token === 'string' ? token : '', secret],
    clock,
  });

  /** Throws `ProviderProblem` in place of `Refused`. */
  async function ask<T>(context: Context, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw problemOf(error, context);
    }
  }

  /** As `ask`, for a part of a repository; null when the repository has no such part. */
  async function askBelow<T>(context: Context, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
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
  async function askPart<T>(context: Context, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      // An empty repository refuses with 409, and 422 is for the number of an unknown commit.
      const status = refusalOf(error, context.secrets)?.status ?? 0;
      if (![404, 409, 422].includes(status)) throw problemOf(error, context);
      await getRepository(context);
      return undefined;
    }
  }

  async function getRepository(context: Context) {
    const path = repositoryPath(context);
    return ask(context, async () => repositoryOf((await request(path)).json));
  }

  return {
    request,
    about,
    ask,
    askBelow,
    askPart,
    getRepository,

    /** A request about a hook; null when the hook, or the part of it that `below` names, does not exist. */
    async askHook(context: Context, hookId: string, below = '', call: Call = {}) {
      const path = hookPath(context, hookId) + below;
      return askBelow(context, () => request(path, call));
    },

    /** Reads pages as `readPages` does. Some lists continue at a cursor, so the next page is where a link leads. */
    async readPages(
      path: string,
      query: Call['query'],
      maxPages: number,
      take: (json: unknown, response: ApiResponse) => boolean,
    ): Promise<{ isCut: boolean }> {
      const first = { path, call: { query: { ...query, per_page: PER_PAGE } } };
      const read = (page: { path: string; call?: Call }) => request(page.path, page.call);
      const next = (response: ApiResponse) => {
        const link = nextLink(response);
        return link === null ? null : { path: link };
      };
      const bounds = { maxPages, listingMs: options.listingMs };
      return (
        (await readPages<{ path: string; call?: Call }>(first, read, next, bounds, take)) ?? { isCut: false }
      );
    },
  };
}

/** The route of a repository. Throws `ProviderProblem` `place-not-found` for text that cannot be a repository's name. */
export function repositoryPath(context: Context): string {
  const { place } = context;
  if (place !== null && NAME.test(place)) return `/repos/${place}`;
  throw new ProviderProblem('place-not-found', words.badName(context));
}

/** The route of a hook. Throws `ProviderProblem` `hook-not-found` for text that cannot be a hook's id. */
export function hookPath(context: Context, hookId: string): string {
  if (/^\d{1,15}$/.test(hookId)) return `${repositoryPath(context)}/hooks/${hookId}`;
  throw new ProviderProblem('hook-not-found', words.noHook(context, hookId));
}
