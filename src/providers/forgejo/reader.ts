import { ProviderProblem } from '../api.ts';
import { isoTime } from '../provider.ts';
import { commitIn, mergeIn, pageNumber, releasesIn, repositoryIn } from '../read-payloads.ts';
import type {
  PageOf,
  PageRequest,
  RangeCommit,
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
} from '../reader.ts';
import { type ApiResponse, type Call, type ClientOptions, nextLink } from '../rest.ts';
import { type Context, openClient, PER_PAGE } from './api/client.ts';
import { type Commit, commitsOf, filesOf, headOf, pullsOf, releasesOf, words } from './api/responses.ts';

/** A page of pull requests takes Forgejo some seconds: it opens both repositories of each. */
const READ_MS = 30_000;

/** 2,000 commits. */
const MAX_COMMIT_PAGES = 40;

const MAX_ETAG_LENGTH = 200;

/** Leaves out what takes Forgejo long to find for each commit. */
const PLAIN = { stat: false, verification: false, files: false };

/** Git forbids all but these in the name of a branch or a tag; `..` would be a range. */
const REF = /^(?!-)(?!.*\.\.)[^\s~^:?*[\\\p{Cc}]{1,255}$/u;

/** Reads repositories of Forgejo or Gitea, which both tell nothing about their limits. `baseUrl` as for `forgejoApi`. */
export function forgejoReader(
  baseUrl: string,
  token: string | null,
  options: ClientOptions = {},
): RepositoryReader {
  const { about, askBelow, getRepository, readPages } = openClient(baseUrl, token, 'for reading', {
    requestMs: READ_MS,
    ...options,
  });

  /** `read` makes the deliveries of a page, and the times that the list is sorted by. Null for an unchanged page. */
  async function getPage(
    { fullName }: RemoteRepository,
    below: string,
    query: NonNullable<Call['query']>,
    { cursor, etag = null }: PageRequest,
    read: (data: unknown) => { items: ReadDelivery[]; times: string[] },
  ): Promise<PageOf<ReadDelivery> | null> {
    const context = about(fullName);
    const page = pageNumber(cursor);
    const call = { query: { ...query, limit: PER_PAGE, page }, etag };
    const response = await askBelow(context, below, call);
    // The repository has no releases or no pull requests: its owner disabled them.
    if (response === null) return { items: [], next: null, oldest: null, etag: null };
    if (response.status === 304) return null;
    const { items, times } = read(response.json);
    const oldest =
      times
        .map(isoTime)
        .filter((time) => time !== null)
        .sort()[0] ?? null;
    return {
      items,
      next: nextLink(response) === null ? null : String(page + 1),
      oldest,
      etag: etagOf(response),
    };
  }

  /** Commits newest first: those of `head` that `base` lacks. */
  async function readRange(context: Context, base: string | null, head: string, maxPages = MAX_COMMIT_PAGES) {
    const range = { sha: head, ...(base !== null && { not: base }) };
    return readCommits(context, range, maxPages, [head, ...(base === null ? [] : [base])]);
  }

  /** Null when there is none. `refs`: the names in the query. */
  async function readCommits(
    context: Context,
    query: NonNullable<Call['query']>,
    maxPages: number,
    refs: readonly string[],
  ) {
    for (const ref of refs) {
      if (!REF.test(ref)) throw new ProviderProblem('refused', words.badRef(ref));
    }
    try {
      return await readPages(
        (page) => askBelow(context, '/commits', { query: { ...query, ...PLAIN, limit: PER_PAGE, page } }),
        maxPages,
        commitsOf,
      );
    } catch (error) {
      await requireRefs(context, refs, error);
      throw error;
    }
  }

  /** Forgejo fails with 500 for an unknown name: looks for each. Throws `ProviderProblem` `refused`. */
  async function requireRefs(context: Context, refs: readonly string[], failure: unknown): Promise<void> {
    const mayBeUnknown =
      failure instanceof ProviderProblem && ['provider-failed', 'refused'].includes(failure.kind);
    if (!mayBeUnknown) return;
    for (const ref of refs) {
      const found = await askBelow(context, `/git/commits/${encodeURIComponent(ref)}`, { query: PLAIN });
      if (found === null) throw new ProviderProblem('refused', words.noRef(context, ref));
    }
  }

  return {
    type: 'forgejo',
    budget: { limit: null, remaining: null, resetAt: null, pollMs: null },

    async getRepository(name) {
      const { id, full_name, default_branch, private: isPrivate } = await getRepository(about(name.trim()));
      return { providerId: id, fullName: full_name, defaultBranch: default_branch, isPrivate };
    },

    listReleases: (repository, request = {}) =>
      getPage(repository, '/releases', { draft: false }, request, (data) =>
        releasesIn(repository, releasesOf(data)),
      ),

    listMerged: (repository, request = {}) =>
      getPage(repository, '/pulls', { state: 'closed', sort: 'recentupdate' }, request, (data) => {
        const pulls = pullsOf(data);
        return {
          items: pulls.filter(({ merged }) => merged).map((pull) => mergeIn(repository, pull)),
          times: pulls.map(({ updated_at }) => updated_at),
        };
      }),

    async getHead({ fullName }, branch, etag = null) {
      const context = about(fullName);
      const path = branch.split('/').map(encodeURIComponent).join('/');
      const response = await askBelow(context, `/branches/${path}`, { etag });
      if (response === null) throw new ProviderProblem('refused', words.noBranch(context, branch));
      return response.status === 304 ? null : { sha: headOf(response.json), etag: etagOf(response) };
    },

    /** By the list of commits: a comparison comes in one piece, with the statistics of each commit. */
    async listCommits({ fullName }, base, head) {
      const context = about(fullName);
      const range = await readRange(context, base, head);
      if (range === null) throw new ProviderProblem('refused', words.noRef(context, head));
      const beside = base === null ? null : await readRange(context, head, base, 1);
      return {
        commits: range.items.reverse().map(toRangeCommit),
        isCut: range.isCut,
        isAncestor: beside === null || beside.items.length === 0,
      };
    },

    async listTouching({ fullName }, head, path, limit) {
      const maxPages = Math.ceil(limit / PER_PAGE);
      const found = await readCommits(about(fullName), { sha: head, path }, maxPages, [head]);
      // Forgejo answers with 404 when no commit changes the path.
      return (found?.items ?? []).slice(0, limit).map(({ sha }) => sha);
    },

    async listFiles({ fullName }, sha) {
      const context = about(fullName);
      const query = { ...PLAIN, files: true };
      const response = await askBelow(context, `/git/commits/${encodeURIComponent(sha)}`, { query });
      if (response === null) throw new ProviderProblem('refused', words.noRef(context, sha));
      return filesOf(response.json);
    },

    pushOf,
  };
}

function pushOf(repository: RemoteRepository, before: string, commits: readonly RangeCommit[]): ReadDelivery {
  const after = commits.at(-1)?.sha ?? before;
  const payload = {
    ref: `refs/heads/${repository.defaultBranch}`,
    before,
    after,
    compare_url: compareUrl(before, after, commits),
    // Newest first, as Forgejo lists them.
    commits: commits.toReversed().map(commitIn),
    total_commits: commits.length,
    repository: repositoryIn(repository),
  };
  return { event: 'push', payload };
}

/** A commit's own address names the site, which an API's address does not always tell. */
function compareUrl(before: string, after: string, commits: readonly RangeCommit[]): string | null {
  if (/^0+$/.test(before)) return null;
  const [, repositoryUrl] = /^(.+)\/commit\/[0-9a-f]+$/.exec(commits.at(-1)?.url ?? '') ?? [];
  return repositoryUrl === undefined ? null : `${repositoryUrl}/compare/${before}...${after}`;
}

/** Forgejo's webhooks have the time of the author, not of the committer. */
function toRangeCommit({ sha, html_url, commit, author, parents }: Commit): RangeCommit {
  return {
    sha,
    message: commit.message,
    author: author?.login || commit.author?.name || null,
    url: html_url,
    committedAt: isoTime(commit.author?.date),
    parents: (parents ?? []).map((parent) => parent.sha),
  };
}

/** Forgejo itself sends none, but a proxy in front of it may. */
function etagOf({ headers }: ApiResponse): string | null {
  const etag = headers.get('etag');
  return etag !== null && etag.length <= MAX_ETAG_LENGTH ? etag : null;
}
