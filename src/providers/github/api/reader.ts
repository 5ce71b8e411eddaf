import { ProviderProblem } from '../../api.ts';
import { mergeIn, pageNumber, releasesIn } from '../../read-payloads.ts';
import type { PageOf, PageRequest, ReadDelivery, RepositoryReader, RequestBudget } from '../../reader.ts';
import { type ApiResponse, type Call, nextLink, numberIn } from '../../rest.ts';
import { type Context, type GithubOptions, openClient, repositoryPath, type Token } from './client.ts';
import { commitReader } from './commits.ts';
import { headOf, pullsOf, releasesOf, words } from './responses.ts';

const PER_PAGE = 100;

/** A page of a hundred long texts takes GitHub some seconds. */
const READ_MS = 30_000;

/** A longer tag is none of GitHub's. */
const MAX_ETAG_LENGTH = 200;

/**
 * Reads repositories through GitHub's REST API on behalf of a token, or of nobody. `baseUrl` as for `githubApi`. Never
 * retries, and no error holds the token.
 */
export function githubReader(baseUrl: string, token: Token, options: GithubOptions = {}): RepositoryReader {
  let budget: RequestBudget = { limit: null, remaining: null, resetAt: null, pollMs: null };
  const client = openClient(baseUrl, token, typeof token === 'function' ? 'of an App' : 'for reading', {
    requestMs: READ_MS,
    ...options,
    onHeaders(headers) {
      budget = budgetIn(headers);
    },
  });
  const { request, about, ask } = client;

  /** Null when nothing has changed since the answer with `etag`. */
  async function get(context: Context, below: string, { etag, ...call }: Call) {
    const response = await request(repositoryPath(context) + below, { ...call, etag: etag || null });
    return response.status === 304 ? null : response;
  }

  /** `read` makes the deliveries of a page, and the times that the list is sorted by. */
  async function getPage(
    context: Context,
    below: string,
    sorting: Call['query'],
    { cursor, etag = null }: PageRequest,
    read: (data: unknown) => { items: ReadDelivery[]; times: string[] },
  ): Promise<PageOf<ReadDelivery> | null> {
    const page = pageNumber(cursor);
    const query = { ...sorting, per_page: PER_PAGE, page };
    const response = await ask(context, () => get(context, below, { query, etag }));
    if (response === null) return null;
    const { items, times } = read(response.json);
    const oldest = times.toSorted()[0] ?? null;
    const next = nextLink(response) === null ? null : String(page + 1);
    return { items, next, oldest, etag: etagOf(response) };
  }

  return {
    type: 'github',
    get budget() {
      return budget;
    },

    async getRepository(name) {
      const context = about(name.trim());
      const { id, full_name, default_branch, private: isPrivate } = await client.getRepository(context);
      if (default_branch === undefined)
        throw new ProviderProblem('provider-failed', words.otherShape('a repository'));
      // A server that says nothing about it may keep it from others.
      return {
        providerId: id,
        fullName: full_name,
        defaultBranch: default_branch,
        isPrivate: isPrivate ?? true,
      };
    },

    /** GitHub lists them by the dates of their commits, and drafts only for a token that may write. */
    listReleases: (repository, request = {}) =>
      getPage(about(repository.fullName), '/releases', {}, request, (data) =>
        releasesIn(repository, releasesOf(data)),
      ),

    listMerged: (repository, request = {}) =>
      getPage(
        about(repository.fullName),
        '/pulls',
        { state: 'closed', sort: 'updated', direction: 'desc' },
        request,
        (data) => {
          const pulls = pullsOf(data);
          const merged = pulls.filter(({ merged_at }) => merged_at !== null);
          return {
            // The list lacks this field.
            items: merged.map((pull) => mergeIn(repository, { ...pull, merged: true })),
            times: pulls.map(({ updated_at }) => updated_at),
          };
        },
      ),

    async getHead(repository, branch, etag) {
      const context = about(repository.fullName);
      const below = `/git/ref/${encodeURIComponent(`heads/${branch}`)}`;
      const found = await client.askPart(context, () => get(context, below, { etag: etag ?? null }));
      if (found === undefined) throw new ProviderProblem('refused', words.noBranch(context, branch));
      return found && { sha: headOf(found.json), etag: etagOf(found) };
    },

    ...commitReader(client),
  };
}

function etagOf({ headers }: ApiResponse): string | null {
  const etag = headers.get('etag');
  return etag !== null && etag.length <= MAX_ETAG_LENGTH ? etag : null;
}

function budgetIn(headers: Headers): RequestBudget {
  const reset = numberIn(headers, 'x-ratelimit-reset');
  const pollSeconds = numberIn(headers, 'x-poll-interval');
  return {
    limit: numberIn(headers, 'x-ratelimit-limit'),
    remaining: numberIn(headers, 'x-ratelimit-remaining'),
    resetAt: reset === null ? null : new Date(reset * 1000),
    pollMs: pollSeconds === null ? null : pollSeconds * 1000,
  };
}
