import { type Clock, systemClock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import {
  type ApiResponse,
  type Call,
  type ClientOptions,
  nextLink,
  notTheApi,
  readPages,
  reasonIn,
  restClient,
  serviceAt,
} from '../../rest.ts';
import { webOf } from '../site.ts';
import { repositoryOf, type Subject, words } from './responses.ts';

/** GitHub refused a request. Never leaves the client: the response may repeat a secret. */
export class Refused extends Error {
  constructor(readonly response: ApiResponse) {
    super(`GitHub answered ${response.status}`);
  }
}

/** `reason` is GitHub's own, without secrets, at most 300 characters. */
interface Refusal extends Pick<ApiResponse, 'status' | 'headers'> {
  reason: string;
}

/** A request, for the problem that it may end with. */
export interface Context extends Subject {
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** GitHub counts by the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** GitHub asks for this wait where it names no time. */
const DEFAULT_WAIT_SECONDS = 60;

/** The refusal behind an error; null for any other error. */
export function refusalOf(error: unknown, secrets: readonly string[]): Refusal | null {
  if (!(error instanceof Refused)) return null;
  const { status, headers, json } = error.response;
  return { status, headers, reason: reasonIn(textsIn(json), secrets) };
}

/** The problem behind a refusal. Any other error comes back as it is. */
export function problemOf(error: unknown, { secrets, clock, ...subject }: Context): unknown {
  const refusal = refusalOf(error, secrets);
  if (refusal === null) return error;
  const requestId = (refusal.headers.get('x-github-request-id') ?? 'unknown').slice(0, 100);
  const cause = new Error(`GitHub answered ${refusal.status}: ${refusal.reason} (request ${requestId})`);
  const retryAt = retryAtOf(refusal, clock);
  if (retryAt !== null) {
    return new ProviderProblem('rate-limited', words.rateLimited(subject, retryAt), { cause, retryAt });
  }
  if (refusal.status === 404 && subject.place === null) {
    return notTheApi(subject.service, 'it lists no repositories');
  }
  const [kind, message] = meaningOf(refusal, subject);
  return new ProviderProblem(kind, message, { cause });
}

function meaningOf({ status, headers, reason }: Refusal, subject: Subject): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(subject, status)];
  if (status === 401) {
    const sentence = subject.token === null ? words.tokenRequired : words.badToken;
    return ['bad-token', sentence(subject)];
  }
  if (status === 404) return ['place-not-found', words.noPlace(subject)];
  if (status === 403) {
    const sso = headers.get('x-github-sso') ?? '';
    if (sso.startsWith('required') || /SAML enforcement/i.test(reason)) {
      return ['missing-permission', words.ssoRequired(subject)];
    }
    if (/not accessible by/i.test(reason)) return ['missing-permission', words.noPermission(subject)];
    if (/admin rights/i.test(reason)) return ['missing-permission', words.noAdmin(subject)];
  }
  if (status === 422) {
    if (/hook already exists/i.test(reason)) return ['hook-exists', words.hookExists(subject)];
    if (/cannot have more than \d+ hooks/i.test(reason)) {
      return ['too-many-hooks', words.tooManyHooks(subject, reason)];
    }
    if (/reachable over the public internet/i.test(reason)) {
      return ['unreachable-url', words.unreachableUrl(reason)];
    }
  }
  return ['refused', words.refused(status, reason)];
}

/** When GitHub accepts requests again, to the second and at most a day ahead; null unless a rate limit is the reason. */
function retryAtOf({ status, headers, reason }: Refusal, clock: Clock): Date | null {
  if (status !== 403 && status !== 429) return null;
  const nowSeconds = Math.ceil(clock.now().getTime() / 1000);
  const at = (seconds: number) => new Date(Math.min(seconds, nowSeconds + MAX_WAIT_SECONDS) * 1000);

  const after = Number(headers.get('retry-after') ?? Number.NaN);
  if (after >= 0) return at(nowSeconds + Math.ceil(after));
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  if (Number(headers.get('x-ratelimit-remaining') ?? Number.NaN) === 0 && reset > 0) return at(reset);
  const isLimit = status === 429 || /rate limit|abuse detection/i.test(reason);
  return isLimit ? at(nowSeconds + DEFAULT_WAIT_SECONDS) : null;
}

/** True for a classic token that has none of the scopes that GitHub accepts for the refused request. */
function lacksScope({ headers }: Refusal): boolean {
  const scopes = headers.get('x-oauth-scopes');
  if (scopes === null) return false;
  const accepted = scopesIn(
    headers.get('x-accepted-oauth-scopes') ?? 'admin:repo_hook, write:repo_hook, repo',
  );
  return !scopesIn(scopes).some((scope) => accepted.includes(scope));
}

const scopesIn = (header: string) =>
  header
    .split(',')
    .map((scope) => scope.trim())
    .filter((scope) => scope !== '');

function textsIn(json: unknown): string[] {
  const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
  const details = (Array.isArray(errors) ? errors : []).map(detailOf).filter((detail) => detail !== '');
  if (details.length > 0) return details;
  return typeof message === 'string' ? [message] : [];
}

/** One of a refusal's errors. Leaves out its `value`, which repeats the request. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message, field, code } = { ...(error as Record<string, unknown> | null) };
  if (typeof message === 'string' && message !== '') return message;
  return [field, code].filter((part) => typeof part === 'string').join(' ');
}

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
