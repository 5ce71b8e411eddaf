import { ProviderProblem } from '../api.ts';
import type { ClientOptions, Context } from '../host.ts';
import {
  commitIn,
  compareUrl,
  hostRanges,
  hostReader,
  mergeIn,
  mergesIn,
  newBudget,
  type ReadableHost,
  releasesIn,
  repositoryIn,
  requireRefs,
} from '../host-reader.ts';
import { isoTime } from '../provider.ts';
import type { RangeCommit, ReadDelivery, RemoteRepository, RepositoryReader } from '../reader.ts';
import { nextLink } from '../rest.ts';
import { LARGEST_PAGE, openClient } from './api/index.ts';
import {
  type Commit,
  commitsOf,
  filesOf,
  headOf,
  pullOf,
  pullsOf,
  releasesOf,
  words,
} from './api/responses.ts';

/** A page of pull requests takes Forgejo some seconds: it opens both repositories of each. */
const READ_MS = 30_000;

const MAX_COMMITS = 2_000;

/** The title of a pull request that is not ready, on a server whose administrator chose no other. */
const DRAFT = /^\s*(?:wip:|\[wip\])\s*/i;

/** Leaves out what takes Forgejo long to find for each commit. */
const PLAIN = { stat: false, verification: false, files: false };

/** Reads repositories of Forgejo or Gitea, which both tell nothing about their limits. `baseUrl` as for `forgejoApi`. */
export function forgejoReader(
  baseUrl: string,
  token: string | null,
  options: ClientOptions = {},
): RepositoryReader {
  const client = openClient(baseUrl, token, 'for reading', { requestMs: READ_MS, ...options });
  const { askBelow, list } = client;
  const host: ReadableHost = {
    about: ({ fullName }) => client.about(fullName),
    askPart: askBelow,
    nextNumber: (response, page) => (nextLink(response) === null ? null : page + 1),
    releases: {
      below: '/releases',
      query: { draft: false, ...LARGEST_PAGE },
      read: (json, repository) => releasesIn(repository, releasesOf(json)),
    },
    merged: {
      below: '/pulls',
      query: { state: 'closed', sort: 'recentupdate', ...LARGEST_PAGE },
      read: (json, repository) => mergesIn(repository, pullsOf(json)),
    },
    hasOptionalLists: true,
    headOf: {
      below: (branch) => `/branches/${branch.split('/').map(encodeURIComponent).join('/')}`,
      read: headOf,
    },
    filesOf: {
      below: (sha) => `/git/commits/${sha}`,
      query: { ...PLAIN, files: true },
      read: filesOf,
    },
    requestFiles: {
      below: (number) => `/pulls/${number}/files`,
      query: LARGEST_PAGE,
      read: (json) => filesOf({ files: json }) ?? [],
    },
    words,
  };

  /** By the list of commits: a comparison comes in one piece, with the statistics of each commit. */
  async function readRange(
    context: Context,
    base: string | null,
    head: string,
    { path, limit = MAX_COMMITS }: { path?: string; limit?: number } = {},
  ) {
    requireRefs(words, [head, base]);
    const range = { sha: head, ...(base !== null && { not: base }), ...(path !== undefined && { path }) };
    try {
      const found = await list(
        (route, call) => askBelow(context, route, call),
        { path: '/commits', query: { ...range, ...PLAIN, ...LARGEST_PAGE } },
        Math.ceil(limit / LARGEST_PAGE.limit),
        (json) => commitsOf(json).map(toRangeCommit),
      );
      // Forgejo answers with 404 when no commit changes the path.
      return found ?? (path === undefined ? null : { items: [], isCut: false });
    } catch (error) {
      await requireKnown(context, [head, base], error);
      throw error;
    }
  }

  /** Forgejo fails with 500 for an unknown name: looks for each. Throws `ProviderProblem` `refused`. */
  async function requireKnown(context: Context, refs: readonly (string | null)[], failure: unknown) {
    const mayBeUnknown =
      failure instanceof ProviderProblem && ['provider-failed', 'refused'].includes(failure.kind);
    if (!mayBeUnknown) return;
    for (const ref of refs) {
      if (ref === null) continue;
      const found = await askBelow(context, `/git/commits/${encodeURIComponent(ref)}`, { query: PLAIN });
      if (found === null) throw new ProviderProblem('refused', words.noRange(context, null, ref));
    }
  }

  return {
    type: 'forgejo',
    budget: newBudget(),

    async getRepository(name) {
      const repository = await client.getRepository(client.about(name.trim()));
      const { id, full_name, default_branch, private: isPrivate } = repository;
      return { providerId: id, fullName: full_name, defaultBranch: default_branch, isPrivate };
    },

    async getRequest(repository, number) {
      const response = await askBelow(host.about(repository), `/pulls/${number}`);
      if (response === null) return null;
      const pull = pullOf(response.json);
      const title = pull.title.replace(DRAFT, '') || pull.title;
      return mergeIn(repository, { ...pull, title }, pull.merge_base);
    },

    ...hostReader(host),
    ...hostRanges(host, readRange),
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
