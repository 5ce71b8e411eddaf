import { type Clock, systemClock } from '../lib/time.ts';
import {
  type Place,
  type ProblemKind,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
  type RemoteHook,
} from './api.ts';
import { type ApiResponse, type ApiService, apiFetch, etagOf, isFine, notTheApi } from './rest.ts';

// The REST API of a code host: JSON in, JSON out, lists in pages, hooks below a repository. Each host adds its routes, its
// shapes, and the meanings of its refusals. Not Octokit: its errors hold the whole request with its secrets, and its plugins
// repeat writes and sleep within a request.

export interface ClientOptions {
  clock?: Clock;
  /** How long one request may take, in milliseconds. */
  requestMs?: number;
  /** The time, in milliseconds, after which a list reads no further page. */
  listingMs?: number;
  /** Aborts requests, as if the provider did not answer. */
  signal?: AbortSignal | undefined;
  /** Gets each response, also refusals. */
  onResponse?: (response: ApiResponse) => void;
}

type Query = Record<string, string | number | boolean>;

export interface Call {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Query;
  body?: object;
  /** Of an earlier response; the status is 304 when nothing has changed. */
  etag?: string | null;
}

/** A token, or a function that makes one for each request; null: requests have none. */
export type Token = string | (() => Promise<string>) | null;

/** A request, for the problem that it may end with. */
export interface Context {
  /** A repository or a project; null for all that the token can see. */
  place: string | null;
  /** The place's number, which survives renames; absent to ask by its name. */
  id?: number;
  service: ApiService;
  /** The site that belongs to the API, such as `https://github.com`. */
  web: string;
  /** The use of the token; null without one. */
  token: 'for webhooks' | 'for reading' | 'of an App' | null;
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** A page of a list, and where the next one is. */
interface PageAt {
  path: string;
  query: Query;
}

/** One host's part of the client. */
export interface Host<Repository> extends Meanings {
  service: ApiService;
  web: string;
  token: Token;
  use: NonNullable<Context['token']>;
  headersOf(token: string | null): Record<string, string>;
  /** The forms of a webhook's secret to hide. Absent: the secret itself. */
  secretsOf?(secret: string): string[];
  /** The route of a repository. Throws `ProviderProblem` `place-not-found` for text that cannot be its name. */
  routeOf(context: Context): string;
  repositoryOf(json: unknown): Repository;
  /** The page after one; null after the last. `count`: how many entries are read. */
  nextPage(response: ApiResponse, page: PageAt, count: number): PageAt | null;
}

/** The API of a code host for a token, or for nobody. Every failure is a `ProviderProblem`. Never retries. */
export function hostClient<Repository>(
  host: Host<Repository>,
  { clock = systemClock, requestMs = 10_000, listingMs = 30_000, signal, onResponse }: ClientOptions,
) {
  const { service, web, token, use } = host;
  // Providers redirect requests for a renamed or moved repository.
  const request = apiFetch(service, { timeoutMs: requestMs, signal, maxRedirects: 3 });

  /** `path` is below the API's address, or a link of the API. */
  async function send(path: string, { method = 'GET', query = {}, body, etag }: Call = {}) {
    const url = URL.parse(path.startsWith('/') ? service.address + path : path);
    if (url === null) throw notTheApi(service, 'it links to no address');
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    const response = await request(url.href, {
      method,
      headers: {
        'user-agent': 'tidings',
        accept: 'application/json',
        ...host.headersOf(typeof token === 'function' ? await token() : token),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(etag && { 'if-none-match': etag }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    onResponse?.(response);
    return response;
  }

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web,
    token: token === null ? null : use,
    secrets: [typeof token === 'string' ? token : '', ...(host.secretsOf?.(secret) ?? [secret])],
    clock,
  });

  /** The response with what was asked for. */
  function accept(response: ApiResponse, context: Context): ApiResponse {
    if (!isFine(response)) throw problemWith(host, response, context);
    const problem = (host.notJson ?? notJson)(response);
    if (problem === null) return response;
    throw notTheApi(service, problem);
  }

  const ask = async (context: Context, path: string, call?: Call) => accept(await send(path, call), context);

  return {
    send,
    about,
    accept,
    ask,

    getRepository: async (context: Context): Promise<Repository> =>
      host.repositoryOf((await ask(context, host.routeOf(context))).json),

    /**
     * Reads pages until there is no next one, an entry `isEnd`, `maxPages` are read, or time is up; `isCut` when the host
     * has more. Null: there is no such list. `itemsOf` gets the items of the pages before too. `known`: the ETag of an
     * earlier first page.
     */
    async list<Item>(
      read: (path: string, call: Call) => Promise<ApiResponse | null>,
      first: PageAt,
      maxPages: number,
      itemsOf: (json: unknown, before: readonly Item[], response: ApiResponse) => readonly Item[],
      isEnd: (item: Item) => boolean = () => false,
      known: string | null = null,
    ): Promise<{ items: Item[]; isCut: boolean; etag: string | null; isUnchanged: boolean } | null> {
      const startedAt = performance.now();
      const items: Item[] = [];
      let page = first;
      let etag: string | null = null;
      for (let pages = 1; ; pages++) {
        const response = await read(page.path, { query: page.query, etag: pages === 1 ? known : null });
        if (response === null) return null;
        if (response.status === 304) return { items, isCut: false, etag: known, isUnchanged: true };
        if (pages === 1) etag = etagOf(response);
        const found = itemsOf(response.json, items, response);
        const kept = found.filter((item) => !isEnd(item));
        items.push(...kept);
        const isLast = kept.length < found.length;
        const next = isLast ? null : host.nextPage(response, page, found.length === 0 ? 0 : items.length);
        if (next === null) return { items, isCut: false, etag, isUnchanged: false };
        if (pages >= maxPages || performance.now() - startedAt > listingMs)
          return { items, isCut: true, etag, isUnchanged: false };
        page = next;
      }
    },
  };
}

export const attemptList = <Listed extends object>({
  items: attempts,
  ...listed
}: Listed & { items: RemoteAttempt[] }) => ({ attempts, ...listed });

type HostClient = ReturnType<typeof hostClient<unknown>>;

/** The hooks of a repository, at `/hooks` below its route. */
export function hostHooks(
  { about, list }: Pick<HostClient, 'about' | 'list'>,
  host: {
    /** A request below a repository; null where the repository has no such part. */
    askBelow(context: Context, below: string, call?: Call): Promise<ApiResponse | null>;
    /** The query for the largest page. */
    paging: Query;
    maxPages: number;
    hookOf(placeId: string, json: unknown): RemoteHook;
    hooksOf(placeId: string, json: unknown): RemoteHook[];
    words: Pick<ReturnType<typeof commonWords>, 'noHook' | 'listTooSlow' | 'noAttempt'>;
    /** The sentence for a repository without hooks, which hides them from a token. */
    hidden(context: Context): string;
  },
) {
  const { askBelow, words, hookOf } = host;
  const hidden = (context: Context) => new ProviderProblem('missing-permission', host.hidden(context));

  /** Null when the hook, or the part of it that `below` names, does not exist. */
  async function askHook(context: Context, hookId: string, below = '', call?: Call) {
    if (!/^\d{1,15}$/.test(hookId)) throw noHook(context, hookId);
    return askBelow(context, `/hooks/${hookId}${below}`, call);
  }

  const noHook = (context: Context, hookId: string) =>
    new ProviderProblem('hook-not-found', words.noHook(context, hookId));

  return {
    askHook,
    noHook,

    /** As `askHook`, but a hook that does not exist is a problem. */
    async requireHook(context: Context, hookId: string, below = '', call?: Call): Promise<ApiResponse> {
      const response = await askHook(context, hookId, below, call);
      if (response === null) throw noHook(context, hookId);
      return response;
    },

    async addHook(context: Context, placeId: string, body: object): Promise<RemoteHook> {
      const response = await askBelow(context, '/hooks', { method: 'POST', body });
      if (response === null) throw hidden(context);
      return hookOf(placeId, response.json);
    },

    /** Requests another attempt of a delivery. `below`: its route below the hook. */
    async resend(placeId: string, hookId: string, attemptId: string, below: string): Promise<void> {
      const sent = await askHook(about(placeId), hookId, below, { method: 'POST' });
      if (sent === null) throw new ProviderProblem('refused', words.noAttempt(placeId, attemptId));
    },

    methods: {
      async listHooks(placeId) {
        const context = about(placeId);
        const read = (path: string, call: Call) => askBelow(context, path, call);
        const first = { path: '/hooks', query: host.paging };
        const listed = await list(read, first, host.maxPages, (json) => host.hooksOf(placeId, json));
        if (listed === null) throw hidden(context);
        // Half a list could lack the hook that the caller looks for.
        if (listed.isCut) throw new ProviderProblem('provider-failed', words.listTooSlow(context));
        return listed.items;
      },

      async findHook(placeId, hookId) {
        const response = await askHook(about(placeId), hookId);
        return response && hookOf(placeId, response.json);
      },

      async deleteHook(placeId, hookId) {
        await askHook(about(placeId), hookId, '', { method: 'DELETE' });
      },
    } satisfies Partial<ProviderApi>,
  };
}

/** Each once, those that the token can administer first, then by name. Activity between two pages can put one on both. */
export function sortPlaces(places: readonly Place[]): Place[] {
  return [...new Map(places.map((place) => [place.id, place])).values()].sort(
    (a, b) => Number(b.canAdminister) - Number(a.canAdminister) || (a.name < b.name ? -1 : 1),
  );
}

interface Meanings {
  places: string;
  /** The header with the id of a request, for the log. */
  requestId?: string;
  /** The reason why a response is none of the API; null for one that may be. Absent: it is no JSON. */
  notJson?(response: ApiResponse): string | null;
  /** The host's reason for a refusal. */
  textsOf(json: unknown): readonly unknown[];
  /** True for a limit of requests. Absent: any response 429. */
  isLimit?(response: ApiResponse, reason: string): boolean;
  /** The second, since 1970, from which it accepts requests again; null where it does not say. */
  retrySecond(headers: Headers, nowSecond: number): number | null;
  rateLimited(context: Context, retryAt: Date): string;
  meaningOf(response: ApiResponse, reason: string, context: Context): [ProblemKind, string];
}

const notJson = ({ status, text, json }: ApiResponse) =>
  json === undefined && status < 500 && (text !== '' || status >= 400)
    ? `it sent no JSON with status ${status}`
    : null;

/** Hosts count by the minute or the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** The wait where no time is named. */
const DEFAULT_WAIT_SECONDS = 60;

const MAX_REASON_LENGTH = 300;

/** The problem behind a refusal. */
export function problemWith(meanings: Meanings, response: ApiResponse, context: Context): ProviderProblem {
  const { service, secrets, place, clock } = context;
  const { status, headers } = response;
  const reason = reasonIn(meanings.textsOf(response.json), secrets);
  const id = meanings.requestId && (headers.get(meanings.requestId) ?? 'unknown').slice(0, 100);
  const cause = new Error(`${service.name} answered ${status}: ${reason}${id ? ` (request ${id})` : ''}`);
  if (meanings.isLimit?.(response, reason) ?? status === 429) {
    const now = Math.ceil(clock.now().getTime() / 1000);
    const second = meanings.retrySecond(headers, now) ?? now + DEFAULT_WAIT_SECONDS;
    const retryAt = new Date(Math.min(second, now + MAX_WAIT_SECONDS) * 1000);
    return new ProviderProblem('rate-limited', meanings.rateLimited(context, retryAt), { cause, retryAt });
  }
  const other = (meanings.notJson ?? notJson)(response);
  if (other !== null) return notTheApi(service, other);
  if (status === 404 && place === null) return notTheApi(service, `it lists no ${meanings.places}`);
  const [kind, message] = meanings.meaningOf(response, reason, context);
  return new ProviderProblem(kind, message, { cause });
}

/** The reason in these texts on one line, without secrets. */
function reasonIn(texts: readonly unknown[], secrets: readonly string[]): string {
  const text =
    texts.filter((each) => typeof each === 'string' && each !== '').join('; ') || 'no reason given';
  const hide = (rest: string, secret: string) => (secret ? rest.replaceAll(secret, '********') : rest);
  return secrets
    .reduce(hide, text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, MAX_REASON_LENGTH);
}

export const untilTime = (time: Date) => time.toISOString().replace('.000Z', 'Z');

/** The sentences of every code host's problems: what happened, then what to do. */
export const commonWords = (name: string, setting: string) => ({
  otherShape: (expected: string) =>
    `${name} sent an unexpected response instead of ${expected}. Check ${setting}.`,
  listTooSlow: ({ place }: Context) =>
    `${name} took too long to list the webhooks of ${place}. Try again later.`,
  refused: (status: number, reason: string) =>
    `${name} rejected the request with status ${status}: ${reason}`,
  tokenRequired: ({ service }: Context) =>
    `The server at ${service.address} answers no requests without a token. Use a token.`,
  badName: ({ place }: Context) =>
    `A repository has the form OWNER/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  badRef: (ref: string) => `${ref.slice(0, 200)} cannot be a tag, a branch or a commit`,
  noBranch: ({ place }: Context, branch: string) => `${place} has no branch ${branch}`,
  noHook: ({ place }: Context, hookId: string) => `The webhook ${hookId} of ${place} no longer exists`,
  noAttempt: (place: string, attemptId: string) =>
    `${name} no longer has the delivery ${attemptId} of ${place}, or its webhook`,
});
