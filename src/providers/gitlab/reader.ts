import { ProviderProblem } from '../api.ts';
import { isoTime, type Payload } from '../provider.ts';
import { commitIn } from '../read-payloads.ts';
import type {
  PageOf,
  PageRequest,
  RangeCommit,
  ReadDelivery,
  RemoteRepository,
  RepositoryReader,
} from '../reader.ts';
import type { ApiResponse, ClientOptions } from '../rest.ts';
import { nextPage, openClient } from './api/client.ts';
import {
  type Commit,
  commitsOf,
  filesOf,
  headOf,
  type MergeRequest,
  mergeRequestsOf,
  type Release,
  releasesOf,
  words,
} from './api/responses.ts';

/** A release may link to a hundred files, and its description to many more. */
const PER_PAGE = 50;

const COMMITS_PER_PAGE = 100;
const MAX_COMMIT_PAGES = 20;

/** Reads projects of GitLab. What it reads has the form of GitLab's webhooks, with the fields that Tidings uses. */
export function gitlabReader(
  baseUrl: string,
  token: string | null,
  options: ClientOptions = {},
): RepositoryReader {
  const client = openClient(baseUrl, token, options);
  const { askBelow, getProject, readPages, budget, web } = client;

  const about = (place: string) =>
    ({ ...client.about(place), token: token === null ? null : 'for reading' }) as const;

  /** By the project's number, which survives renames. Null for an unchanged page or for no such part. */
  const askOf = (
    { providerId: id, fullName }: RemoteRepository,
    below: string,
    call: Parameters<typeof askBelow>[2],
  ) => askBelow({ ...about(fullName), id }, below, call);

  async function listPage<Item>(
    repository: RemoteRepository,
    below: string,
    query: Record<string, string>,
    { cursor, etag }: PageRequest,
    read: (json: unknown) => { item: Item | null; time: string | null | undefined }[],
  ): Promise<PageOf<Item> | null> {
    const page = /^\d{1,9}$/.test(cursor ?? '') ? Number(cursor) : 1;
    const response = await askOf(repository, below, {
      query: { ...query, per_page: PER_PAGE, page },
      etag: etag ?? null,
    });
    if (response === null) throw missing(repository);
    if (response.status === 304) return null;
    const entries = read(response.json);
    const times = entries.map(({ time }) => isoTime(time)).filter((time) => time !== null);
    const next = nextPage(response);
    return {
      items: entries.map(({ item }) => item).filter((item) => item !== null),
      next: next === null ? null : String(next),
      oldest: times.sort()[0] ?? null,
      etag: etagOf(response),
    };
  }

  /** Newest first. */
  async function listRange(
    repository: RemoteRepository,
    range: string,
    { path, limit = COMMITS_PER_PAGE * MAX_COMMIT_PAGES }: { path?: string; limit?: number } = {},
  ): Promise<{ commits: Commit[]; isCut: boolean }> {
    const commits: Commit[] = [];
    const perPage = Math.min(limit, COMMITS_PER_PAGE);
    const query = { ref_name: range, per_page: perPage, ...(path !== undefined && { path }) };
    const listed = await readPages(
      (page) => askOf(repository, '/repository/commits', { query: { ...query, page } }),
      Math.ceil(limit / perPage),
      (json) => {
        const page = commitsOf(json);
        commits.push(...page);
        return page.length > 0;
      },
    );
    if (listed === null) throw new ProviderProblem('refused', words.noCommits(repository.fullName, range));
    return { commits: commits.slice(0, limit), isCut: listed.isCut };
  }

  const missing = ({ fullName }: RemoteRepository) =>
    new ProviderProblem('place-not-found', words.noPlace(about(fullName)));

  /** The project of every payload. */
  const projectOf = ({ providerId, fullName, defaultBranch }: RemoteRepository) => ({
    id: providerId,
    path_with_namespace: fullName,
    default_branch: defaultBranch,
    web_url: `${web}/${fullName}`,
  });

  return {
    type: 'gitlab',
    budget,

    async getRepository(name) {
      const project = await getProject(about(name.trim()));
      const { id: providerId, path_with_namespace: fullName, default_branch: defaultBranch } = project;
      if (!defaultBranch) throw new ProviderProblem('refused', words.isEmpty(fullName));
      return { providerId, fullName, defaultBranch, isPrivate: project.visibility !== 'public' };
    },

    /** Without upcoming releases: their time lies ahead. */
    listReleases: (repository, request = {}) =>
      listPage(repository, '/releases', { order_by: 'released_at', sort: 'desc' }, request, (json) =>
        releasesOf(json).map((release) => ({
          item: release.upcoming_release ? null : releaseOf(release, projectOf(repository)),
          time: release.released_at ?? release.created_at,
        })),
      ),

    listMerged: (repository, request = {}) =>
      listPage(
        repository,
        '/merge_requests',
        { state: 'merged', scope: 'all', order_by: 'updated_at', sort: 'desc' },
        request,
        (json) =>
          mergeRequestsOf(json).map((each) => ({
            item: mergeOf(each, projectOf(repository)),
            time: each.updated_at,
          })),
      ),

    async getHead(repository, branch, etag = null) {
      const response = await askOf(repository, `/repository/branches/${encodeURIComponent(branch)}`, {
        etag,
      });
      if (response === null)
        throw new ProviderProblem('refused', words.noBranch(repository.fullName, branch));
      return response.status === 304 ? null : { sha: headOf(response.json), etag: etagOf(response) };
    },

    /** By a range of the list of commits: a comparison would come with all changed lines. */
    async listCommits(repository, base, head) {
      const { commits, isCut } = await listRange(repository, base === null ? head : `${base}..${head}`);
      const missed = base === null ? null : await listRange(repository, `${head}..${base}`, { limit: 1 });
      const isAncestor = missed === null || missed.commits.length === 0;
      return { commits: commits.reverse().map(rangeCommitOf), isCut, isAncestor };
    },

    async listTouching(repository, head, path, limit) {
      const { commits } = await listRange(repository, head, { path, limit });
      return commits.map(({ id }) => id);
    },

    /** GitLab sends the changed lines with them, so this reads one page. */
    async listFiles(repository, sha) {
      const below = `/repository/commits/${encodeURIComponent(sha)}/diff`;
      const response = await askOf(repository, below, { query: { per_page: COMMITS_PER_PAGE } });
      if (response === null) throw new ProviderProblem('refused', words.noCommits(repository.fullName, sha));
      return nextPage(response) === null ? filesOf(response.json) : null;
    },

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

const etagOf = ({ headers }: ApiResponse) => headers.get('etag')?.slice(0, 200) ?? null;

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
