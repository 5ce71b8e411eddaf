import { systemClock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import {
  type ApiResponse,
  type Asked,
  type Call,
  type ClientOptions,
  isFine,
  nextLink,
  notTheApi,
  numberIn,
  problemWith,
  readPages,
  reasonIn,
  restClient,
  serviceAt,
} from '../../rest.ts';
import { authorization, isRepositoryName, webOf } from '../provider.ts';
import { type Repository, repositoryOf, type Subject, words } from './responses.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject, Asked {}

/** The problem behind a refusal. */
const problemOf = (response: ApiResponse, context: Context): ProviderProblem =>
  problemWith<Context>(
    { places: 'repositories', reasonOf, retrySecond, meaningOf, rateLimited: words.rateLimited },
    response,
    context,
  );

function meaningOf(status: number, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['bad-token', words.tokenRequired(context)];
    if (status === 401) return ['bad-token', words.badToken(context)];
    return meaningOfDenial(reason, context);
  }
  if (status === 409 && /empty/i.test(reason)) return ['refused', words.isEmpty(context)];
  if (status === 422 && /\burl\b/i.test(reason)) return ['unreachable-url', words.badUrl(reason)];
  return ['refused', words.refused(status, reason)];
}

function meaningOfDenial(reason: string, context: Context): [ProblemKind, string] {
  if (/webhooks disabled/i.test(reason)) return ['refused', words.noWebhooks(context)];
  if (/required scope/i.test(reason)) return ['missing-permission', words.noScope(context)];
  if (/limited to public/i.test(reason)) return ['missing-permission', words.publicOnly(context)];
  if (/collaborator with admin/i.test(reason)) return ['missing-permission', words.noAdmin(context)];
  return ['missing-permission', words.noAccess(context, reason)];
}

/** Limits are those of a proxy in front of Forgejo. */
function retrySecond(headers: Headers, nowSecond: number): number | null {
  const after = numberIn(headers, 'retry-after');
  return after === null ? null : nowSecond + after;
}

/** Forgejo's reason, without secrets. */
function reasonOf(json: unknown, secrets: readonly string[]): string {
  const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
  const texts = [message, ...(Array.isArray(errors) ? errors : [])];
  return reasonIn(
    texts.filter((each) => typeof each === 'string'),
    secrets,
  );
}

/** The most that Forgejo lists on a page, unless its administrator allows more. */
export const PER_PAGE = 50;

/** The API of Forgejo or Gitea for a token, or for nobody. Every failure is a `ProviderProblem`. Never retries. */
export function openClient(
  baseUrl: string,
  token: string | null,
  purpose: 'for webhooks' | 'for reading',
  { clock = systemClock, ...options }: ClientOptions,
) {
  const service = serviceAt(baseUrl, 'Forgejo', 'FORGEJO_API_URL; it is https://HOST/api/v1');
  const send = restClient(
    service,
    () => (token === null ? {} : { authorization: authorization(token) }),
    options,
  );

  /** `secret` is that of the webhook in the request. */
  const about = (place: string | null, secret = ''): Context => ({
    place,
    service,
    web: webOf(baseUrl),
    token: token === null ? null : purpose,
    secrets: [token ?? '', secret],
    clock,
  });

  /** A response with what was asked for. */
  async function ask(context: Context, path: string, call: Call = {}): Promise<ApiResponse> {
    const response = await send(path, call);
    if (!isFine(response)) throw problemOf(response, context);
    if (response.text === '' || response.json !== undefined) return response;
    throw notTheApi(service, `it sent no JSON with status ${response.status}`);
  }

  async function getRepository(context: Context): Promise<Repository> {
    return repositoryOf((await ask(context, repositoryPath(context))).json);
  }

  /** A request below a repository; null where the repository has no such part. */
  async function askBelow(context: Context, below: string, call: Call = {}): Promise<ApiResponse | null> {
    const response = await send(repositoryPath(context) + below, call);
    if (response.status !== 404) {
      if (isFine(response)) return response;
      throw problemOf(response, context);
    }
    // A 404 also stands for a repository that is gone, or that the token may not see.
    await getRepository(context);
    return null;
  }

  return {
    about,
    ask,
    askBelow,
    getRepository,

    /** Reads pages until `maxPages` are read or time is up; `isCut` when Forgejo has more. Null: there is no such list. */
    async readPages<Item>(
      read: (page: number) => Promise<ApiResponse | null>,
      maxPages: number,
      itemsOf: (json: unknown) => Item[],
    ): Promise<{ items: Item[]; isCut: boolean } | null> {
      const items: Item[] = [];
      let found: Item[] = [];
      // Some lists come with a count, but without links.
      const hasMore = (response: ApiResponse) =>
        nextLink(response) !== null ||
        (found.length > 0 && items.length < Number(response.headers.get('x-total-count') ?? 0));
      const listed = await readPages<number>(
        1,
        read,
        (response, page) => (hasMore(response) ? page + 1 : null),
        { maxPages, listingMs: options.listingMs },
        (json) => {
          found = itemsOf(json);
          items.push(...found);
          return true;
        },
      );
      return listed && { items, ...listed };
    },
  };
}

/** The route of a repository. Throws `ProviderProblem` `place-not-found` for text that cannot be a repository's name. */
function repositoryPath(context: Context): string {
  const { place } = context;
  if (place !== null && isRepositoryName(place)) return `/repos/${place}`;
  throw new ProviderProblem('place-not-found', words.badName(context));
}
