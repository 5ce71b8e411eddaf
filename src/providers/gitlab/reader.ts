import { ProviderProblem } from '../api.ts';
import type { ClientOptions, Context } from '../host.ts';
import {
  commitIn,
  hostRanges,
  hostReader,
  newBudget,
  type ReadableHost,
  readBudget,
} from '../host-reader.ts';
import { isoTime, type Payload } from '../provider.ts';
import type { RangeCommit, ReadDelivery, RemoteRepository, RepositoryReader } from '../reader.ts';
import { LARGEST_PAGE, nextNumber, openClient } from './api/index.ts';
import {
  type Commit,
  commitsOf,
  filesOf,
  headOf,
  type MergeRequest,
  mergeRequestOf,
  mergeRequestsOf,
  type Release,
  rangeOf,
  releasesOf,
  words,
} from './api/responses.ts';
import { webOf } from './provider.ts';

/** A release may link to a hundred files, and its description to many more. */
const PAGE = { per_page: 50 };

const MAX_COMMITS = 2_000;

/** The title of a merge request that is not ready. GitLab merges none with it. */
const DRAFT = /^\s*(?:(?:\[draft\]|\(draft\)|draft:)\s*)+/i;

/** Reads projects of GitLab. What it reads has the form of GitLab's webhooks, with the fields that Tidings uses. */
export function gitlabReader(
  baseUrl: string,
  token: string | null,
  options: ClientOptions = {},
): RepositoryReader {
  const budget = newBudget();
  const client = openClient(baseUrl, token, 'for reading', {
    ...options,
    onResponse: ({ headers }) => readBudget(budget, headers, 'ratelimit'),
  });
  const { about, askBelow, list, getRepository } = client;

  /** The project of every payload. */
  const projectOf = ({ providerId, fullName, defaultBranch }: RemoteRepository) => ({
    id: providerId,
    path_with_namespace: fullName,
    default_branch: defaultBranch,
    web_url: `${webOf(baseUrl)}/${fullName}`,
  });

  const host: ReadableHost = {
    // By the project's number, which survives renames.
    about: ({ providerId: id, fullName }) => ({ ...about(fullName), id }),
    askPart: askBelow,
    nextNumber,
    // Without upcoming releases: their time lies ahead.
    releases: {
      below: '/releases',
      query: { order_by: 'released_at', sort: 'desc', ...PAGE },
      read: (json, repository) =>
        releasesOf(json).map((release) => ({
          item: release.upcoming_release ? null : releaseOf(release, projectOf(repository)),
          time: release.released_at ?? release.created_at,
        })),
    },
    merged: {
      below: '/merge_requests',
      query: { state: 'merged', scope: 'all', order_by: 'updated_at', sort: 'desc', ...PAGE },
      read: (json, repository) =>
        mergeRequestsOf(json).map((each) => ({
          item: mergeOf(each, projectOf(repository)),
          time: each.updated_at,
        })),
    },
    headOf: { below: (branch) => `/repository/branches/${encodeURIComponent(branch)}`, read: headOf },
    // GitLab sends the changed lines with them, so this reads one page.
    filesOf: {
      below: (sha) => `/repository/commits/${sha}/diff`,
      query: LARGEST_PAGE,
      read: filesOf,
    },
    requestFiles: {
      below: (number) => `/merge_requests/${number}/diffs`,
      query: LARGEST_PAGE,
      read: filesOf,
    },
    words,
  };

  /** By a range of the list of commits: a comparison would come with all changed lines. */
  function readRange(
    context: Context,
    base: string | null,
    head: string,
    { path, limit = MAX_COMMITS }: { path?: string; limit?: number } = {},
  ) {
    const perPage = Math.min(limit, LARGEST_PAGE.per_page);
    const query = { ref_name: rangeOf(base, head), per_page: perPage, ...(path !== undefined && { path }) };
    return list(
      (route, call) => askBelow(context, route, call),
      { path: '/repository/commits', query },
      Math.ceil(limit / perPage),
      (json) => commitsOf(json).map(rangeCommitOf),
    );
  }

  return {
    type: 'gitlab',
    budget,

    async getRepository(name) {
      const project = await getRepository(about(name.trim()));
      const { id: providerId, path_with_namespace: fullName, default_branch: defaultBranch } = project;
      if (!defaultBranch) throw new ProviderProblem('refused', words.isEmpty(fullName));
      return { providerId, fullName, defaultBranch, isPrivate: project.visibility !== 'public' };
    },

    async getRequest(repository, number) {
      const response = await askBelow(host.about(repository), `/merge_requests/${number}`);
      if (response === null) return null;
      const request = mergeRequestOf(response.json);
      const title = request.title.replace(DRAFT, '') || request.title;
      const base = request.diff_refs?.base_sha ?? request.target_branch ?? repository.defaultBranch;
      const { event, payload } = mergeOf({ ...request, title }, projectOf(repository));
      return {
        // Lists leave the author out, as webhooks do: both must give the same events.
        delivery: { event, payload: { ...payload, author: request.author ?? null } },
        state: request.state === 'merged' || request.state === 'closed' ? request.state : 'open',
        base,
        head: request.sha ?? base,
      };
    },

    ...hostReader(host),
    ...hostRanges(host, readRange),

    pushOf(repository, before, commits) {
      const after = commits.at(-1)?.sha ?? before;
      const payload = {
        object_kind: 'push',
        event_name: 'push',
        before,
        after,
        ref: `refs/heads/${repository.defaultBranch}`,
        checkout_sha: after,
        project_id: repository.providerId,
        project: projectOf(repository),
        commits: commits.map(commitIn),
        total_commits_count: commits.length,
      };
      return { event: 'push', payload };
    },
  };
}

function rangeCommitOf(commit: Commit): RangeCommit {
  const { id, message, title, author_name, web_url, committed_date, parent_ids } = commit;
  return {
    sha: id,
    message: message ?? title ?? '',
    author: author_name ?? null,
    url: web_url ?? null,
    committedAt: isoTime(committed_date),
    ...(parent_ids && { parents: parent_ids }),
  };
}

/** Null for a release whose tag cannot be seen. */
function releaseOf(release: Release, project: Payload): ReadDelivery | null {
  const { tag_name: tag, name, description, created_at, released_at, _links: links } = release;
  if (!tag) return null;
  const payload = {
    object_kind: 'release',
    action: 'create',
    tag,
    name: name ?? null,
    description: description ?? null,
    created_at: created_at ?? null,
    released_at: released_at ?? null,
    url: links?.self ?? null,
    project,
  };
  return { event: 'release', payload };
}

function mergeOf(request: MergeRequest, project: Payload): ReadDelivery {
  const { author, labels, assignees, reviewers, merge_user, merged_by, sha, web_url, ...rest } = request;
  const payload = {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: merge_user ?? merged_by ?? null,
    project,
    object_attributes: {
      iid: rest.iid,
      title: rest.title,
      description: rest.description ?? null,
      author_id: author?.id ?? null,
      source_branch: rest.source_branch ?? null,
      target_branch: rest.target_branch ?? null,
      updated_at: rest.updated_at,
      merged_at: rest.merged_at ?? null,
      merge_commit_sha: rest.merge_commit_sha ?? null,
      last_commit: sha ? { id: sha } : null,
      url: web_url ?? null,
      action: 'merge',
      state: 'merged',
    },
    labels: (labels ?? []).map((title) => ({ title })),
    assignees: assignees ?? [],
    reviewers: reviewers ?? [],
  };
  return { event: 'merge_request', payload };
}
