import { ProviderProblem } from '../../api.ts';
import type { Call, ClientOptions, Context, Token } from '../../host.ts';
import {
  commitIn,
  compareUrl,
  hostReader,
  mergeIn,
  mergesIn,
  newBudget,
  type ReadableHost,
  readBudget,
  releasesIn,
  repositoryIn,
  requireRefs,
} from '../../host-reader.ts';
import type { RangeCommit, ReadDelivery, RemoteRepository, RepositoryReader } from '../../reader.ts';
import { nextLink } from '../../rest.ts';
import { openClient } from './client.ts';
import { LARGEST_PAGE } from './index.ts';
import {
  type Activity,
  activityOf,
  type Commit,
  commitsOf,
  comparisonOf,
  filesOf,
  headOf,
  pullOf,
  pullsOf,
  releasesOf,
  words,
} from './responses.ts';

/** A page of a hundred long texts takes GitHub some seconds. */
const READ_MS = 30_000;

/** Twenty pages of commits. */
const LISTING_MS = 20 * READ_MS;

/**
 * Reads repositories through GitHub's REST API on behalf of a token, or of nobody. `baseUrl` as for `githubApi`. Never
 * retries, and no error holds the token.
 */
export function githubReader(baseUrl: string, token: Token, options: ClientOptions = {}): RepositoryReader {
  const budget = newBudget();
  const client = openClient(baseUrl, token, typeof token === 'function' ? 'of an App' : 'for reading', {
    requestMs: READ_MS,
    listingMs: LISTING_MS,
    ...options,
    onResponse(response) {
      readBudget(budget, response.headers, 'x-ratelimit');
      options.onResponse?.(response);
    },
  });
  const host: ReadableHost = {
    about: ({ fullName }) => client.about(fullName),
    askPart: client.askPart,
    nextNumber: (response, page) => (nextLink(response) === null ? null : page + 1),
    // Drafts are there only for a token that may write.
    releases: {
      below: '/releases',
      query: LARGEST_PAGE,
      read: (json, repository) => releasesIn(repository, releasesOf(json)),
    },
    merged: {
      below: '/pulls',
      query: { state: 'closed', sort: 'updated', direction: 'desc', ...LARGEST_PAGE },
      // The list lacks the field `merged`.
      read: (json, repository) =>
        mergesIn(
          repository,
          pullsOf(json).map((pull) => ({ ...pull, merged: pull.merged_at !== null })),
        ),
    },
    headOf: { below: (branch) => `/git/ref/${encodeURIComponent(`heads/${branch}`)}`, read: headOf },
    filesOf: { below: (sha) => `/commits/${sha}`, read: filesOf },
    requestFiles: {
      below: (number) => `/pulls/${number}/files`,
      query: LARGEST_PAGE,
      read: (json) => filesOf({ files: json }) ?? [],
    },
    words,
  };

  return {
    type: 'github',
    budget,

    async getRepository(name) {
      const repository = await client.getRepository(client.about(name.trim()));
      const { id: providerId, full_name: fullName, default_branch: defaultBranch } = repository;
      if (defaultBranch === undefined)
        throw new ProviderProblem('provider-failed', words.otherShape('a repository'));
      // A server that says nothing about it may keep it from others.
      return { providerId, fullName, defaultBranch, isPrivate: repository.private ?? true };
    },

    async getRequest(repository, number) {
      const response = await client.askPart(client.about(repository.fullName), `/pulls/${number}`);
      if (response === null) return null;
      const pull = pullOf(response.json);
      return mergeIn(repository, pull, pull.base.sha);
    },

    ...hostReader(host),
    ...commitReader(client, host),
  };
}

// Pushes to the default branch, as GitHub's webhooks send them.

/** `step`: what GitHub's list of activity has of it, if anything. */
function pushOf(
  repository: RemoteRepository,
  before: string,
  commits: readonly RangeCommit[],
  step: Partial<Activity> = {},
): ReadDelivery {
  const { after = commits.at(-1)?.sha ?? before, timestamp, actor, activity_type: type } = step;
  return {
    event: 'push',
    payload: {
      ref: `refs/heads/${repository.defaultBranch}`,
      before,
      after,
      compare: compareUrl(before, after, commits, 12),
      created: false,
      deleted: false,
      forced: type === 'force_push',
      ...(actor?.login && { pusher: { name: actor.login } }),
      commits: commits.map(commitIn),
      // Other payloads have it as text.
      repository: { ...repositoryIn(repository), ...(timestamp && { pushed_at: secondsOf(timestamp) }) },
    },
  };
}

function secondsOf(time: string): number | null {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

const { per_page: PER_PAGE } = LARGEST_PAGE;

/** The most commits of a range, about as many as a push has in a webhook. */
const MAX_COMMITS = 2000;

/** A thousand pushes. */
const MAX_ACTIVITY_PAGES = 10;

export function commitReader(
  { askPart, list }: Pick<ReturnType<typeof openClient>, 'askPart' | 'list'>,
  { about }: Pick<ReadableHost, 'about'>,
): Required<Pick<RepositoryReader, 'listCommits' | 'listTouching' | 'listPushes' | 'pushOf'>> {
  /** Without paging, GitHub sends the newest 250 in one response; with it, the oldest come first. */
  async function compare(context: Context, base: string, head: string) {
    const below = `/compare/${encodeURIComponent(`${base}...${head}`)}`;
    const getPart = async (query: Call['query'] = {}) => {
      const response = await askPart(context, below, { query });
      return response && comparisonOf(response.json);
    };
    const whole = await getPart();
    if (whole === null) return null;
    const { commits: newest, total, isAncestor } = whole;
    const older: Commit[] = [];
    const end = total - newest.length;
    const start = Math.max(0, total - MAX_COMMITS);
    const firstPage = Math.floor(start / PER_PAGE) + 1;
    for (let page = firstPage; (page - 1) * PER_PAGE < end; page++) {
      older.push(...((await getPart({ ...LARGEST_PAGE, page }))?.commits ?? []));
    }
    // The last of these pages repeats some of the newest.
    const commits = [...new Map([...older, ...newest].map((each) => [each.sha, each])).values()];
    return { commits: commits.slice(-MAX_COMMITS), isCut: start > 0, isAncestor };
  }

  /** Newest first. */
  async function readHistory(context: Context, head: string, limit: number, path?: string) {
    requireRefs(words, [head]);
    const query = { sha: head, ...(path !== undefined && { path }), ...LARGEST_PAGE };
    const listed = await list(
      (route, call) => askPart(context, route, call),
      { path: '/commits', query },
      Math.ceil(limit / PER_PAGE),
      commitsOf,
    );
    if (listed === null) throw new ProviderProblem('refused', words.noRange(context, null, head));
    return listed;
  }

  async function readRange(context: Context, base: string | null, head: string) {
    if (base === null) {
      const { items, isCut } = await readHistory(context, head, MAX_COMMITS);
      return { commits: items.reverse(), isCut, isAncestor: true };
    }
    requireRefs(words, [base, head]);
    const range = await compare(context, base, head);
    if (range === null) throw new ProviderProblem('refused', words.noRange(context, base, head));
    return range;
  }

  /** The changes of a branch after a commit, newest first; none where the server does not list them. */
  async function listActivity(context: Context, branch: string, before: string): Promise<Activity[]> {
    const query = { ref: `refs/heads/${branch}`, ...LARGEST_PAGE };
    const listed = await list(
      (route, call) => askPart(context, route, call),
      { path: '/activity', query },
      MAX_ACTIVITY_PAGES,
      activityOf,
      ({ after }) => after === before,
    );
    return listed?.items ?? [];
  }

  return {
    pushOf,

    async listCommits(repository, base, head) {
      const range = await readRange(about(repository), base, head);
      return { ...range, commits: range.commits.map(toRangeCommit) };
    },

    async listTouching(repository, head, path, limit) {
      const { items } = await readHistory(about(repository), head, limit, path);
      return items.slice(0, limit).map(({ sha }) => sha);
    },

    async listPushes(repository, before, after) {
      const context = about(repository);
      const activity = await listActivity(context, repository.defaultBranch, before);
      const steps = stepsBetween(activity, before, after);
      // The commits that a forced push dropped are in no range but their own.
      const isForced = steps.some(({ activity_type: type }) => type === 'force_push');
      if (!isForced) {
        const { commits, isCut } = await readRange(context, baseOf(before), after);
        const left = new Map(commits.map((commit) => [commit.sha, commit]));
        const pushes = steps.flatMap((step) => pushIn(repository, step, takeReachable(left, step.after)));
        // Some of the steps may be missing, or all.
        return { pushes: [...pushes, ...pushIn(repository, { before, after }, [...left.values()])], isCut };
      }
      const pushes: ReadDelivery[] = [];
      let isCut = false;
      for (const step of steps) {
        const range = await readRange(context, baseOf(step.before), step.after);
        pushes.push(...pushIn(repository, step, range.commits));
        isCut ||= range.isCut;
      }
      return { pushes, isCut };
    },
  };
}

/** The commit that a range starts after; null for the start of a branch. */
const baseOf = (before: string) => (/^0+$/.test(before) ? null : before);

/** The push of a step; none when it brought no commits. */
function pushIn(
  repository: RemoteRepository,
  { before, ...step }: Pick<Activity, 'before' | 'after'> & Partial<Activity>,
  commits: readonly Commit[],
): ReadDelivery[] {
  return commits.length === 0 ? [] : [pushOf(repository, before, commits.map(toRangeCommit), step)];
}

/** Takes a commit and its ancestors out of `left`. Returns them in its order. */
function takeReachable(left: Map<string, Commit>, head: string): Commit[] {
  const reachable = new Set<string>();
  const waiting = [head];
  for (let sha = waiting.pop(); sha !== undefined; sha = waiting.pop()) {
    const commit = left.get(sha);
    if (commit === undefined || reachable.has(sha)) continue;
    reachable.add(sha);
    waiting.push(...commit.parents.map((parent) => parent.sha));
  }
  const taken = [...left.values()].filter(({ sha }) => reachable.has(sha));
  for (const { sha } of taken) left.delete(sha);
  return taken;
}

/** The changes that lead from one commit to another, oldest first; empty when some are missing. */
function stepsBetween(newestFirst: readonly Activity[], before: string, after: string): Activity[] {
  const steps: Activity[] = [];
  let wanted = after;
  for (const step of newestFirst) {
    if (step.after !== wanted) {
      if (steps.length > 0) return [];
      continue;
    }
    steps.unshift(step);
    if (step.before === before) return steps;
    wanted = step.before;
  }
  return [];
}

function toRangeCommit({ sha, html_url, commit, author, parents }: Commit): RangeCommit {
  return {
    sha,
    message: commit.message,
    author: author?.login ?? commit.author?.name ?? null,
    url: html_url,
    committedAt: commit.committer?.date ?? null,
    parents: parents.map((parent) => parent.sha),
  };
}
