import { ProviderProblem } from '../../api.ts';
import { commitIn, repositoryIn } from '../../read-payloads.ts';
import type { RangeCommit, ReadDelivery, RemoteRepository, RepositoryReader } from '../../reader.ts';
import { type Call, nextLink } from '../../rest.ts';
import { type Context, type openClient, repositoryPath } from './client.ts';
import {
  type Activity,
  activityOf,
  type Commit,
  commitsOf,
  comparisonOf,
  filesOf,
  words,
} from './responses.ts';

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
      compare: compareUrl(before, after, commits),
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

/** A commit's own address names the site, which an API's address does not always tell. */
function compareUrl(before: string, after: string, commits: readonly RangeCommit[]): string | null {
  if (/^0+$/.test(before)) return null;
  const [, repositoryUrl] = /^(.+)\/commit\/[0-9a-f]+$/.exec(commits.at(-1)?.url ?? '') ?? [];
  return repositoryUrl === undefined
    ? null
    : `${repositoryUrl}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`;
}

const PER_PAGE = 100;

/** The most commits of a range, about as many as a push has in a webhook. */
const MAX_COMMITS = 2000;

/** Git forbids all but these in the name of a branch or a tag; `..` would be another range, and `:` a fork. */
const REF = /^(?!.*\.\.)[^\s~^:?*[\\\p{Cc}]{1,255}$/u;

/** The commits of a repository: ranges, and pushes. */
export function commitReader({
  request,
  about,
  askPart,
}: ReturnType<typeof openClient>): Required<
  Pick<RepositoryReader, 'listCommits' | 'listTouching' | 'listFiles' | 'listPushes' | 'pushOf'>
> {
  const get = async (context: Context, below: string, query: Call['query'] = {}) =>
    request(repositoryPath(context) + below, { query });

  /** Without paging, GitHub sends the newest 250 in one response; with it, the oldest come first. */
  async function compare(context: Context, base: string, head: string) {
    const below = `/compare/${encodeURIComponent(`${base}...${head}`)}`;
    const getPart = async (paging: Call['query']) => comparisonOf((await get(context, below, paging)).json);
    const { commits: newest, total, isAncestor } = await getPart({});
    const older: Commit[] = [];
    const end = total - newest.length;
    const start = Math.max(0, total - MAX_COMMITS);
    const firstPage = Math.floor(start / PER_PAGE) + 1;
    for (let page = firstPage; (page - 1) * PER_PAGE < end; page++) {
      older.push(...(await getPart({ per_page: PER_PAGE, page })).commits);
    }
    // The last of these pages repeats some of the newest.
    const commits = [...new Map([...older, ...newest].map((each) => [each.sha, each])).values()];
    return { commits: commits.slice(-MAX_COMMITS), isCut: start > 0, isAncestor };
  }

  async function wholeHistory(context: Context, head: string) {
    const newestFirst: Commit[] = [];
    let isCut = true;
    for (let page = 1; isCut && newestFirst.length < MAX_COMMITS; page++) {
      const response = await get(context, '/commits', { sha: head, per_page: PER_PAGE, page });
      newestFirst.push(...commitsOf(response.json));
      isCut = nextLink(response) !== null;
    }
    return { commits: newestFirst.reverse(), isCut, isAncestor: true };
  }

  async function readRange(context: Context, base: string | null, head: string) {
    for (const ref of [base ?? head, head]) {
      if (!REF.test(ref)) throw new ProviderProblem('refused', words.badRef(ref));
    }
    const range = await askPart(context, () =>
      base === null ? wholeHistory(context, head) : compare(context, base, head),
    );
    if (range === undefined) throw new ProviderProblem('refused', words.noRange(context, base, head));
    return range;
  }

  /** The newest changes of a branch, newest first; none where the server does not list them. */
  async function listActivity(context: Context, branch: string): Promise<Activity[]> {
    const parameters = { ref: `refs/heads/${branch}`, per_page: PER_PAGE };
    const response = await askPart(context, () => get(context, '/activity', parameters));
    return response === undefined ? [] : activityOf(response.json);
  }

  return {
    pushOf,

    async listCommits(repository, base, head) {
      const range = await readRange(about(repository.fullName), base, head);
      return { ...range, commits: range.commits.map(toRangeCommit) };
    },

    async listTouching(repository, head, path, limit) {
      const context = about(repository.fullName);
      if (!REF.test(head)) throw new ProviderProblem('refused', words.badRef(head));
      const shas: string[] = [];
      let hasMore = true;
      for (let page = 1; hasMore && shas.length < limit; page++) {
        const query = { sha: head, path, per_page: PER_PAGE, page };
        const response = await askPart(context, () => get(context, '/commits', query));
        if (response === undefined) throw new ProviderProblem('refused', words.noRange(context, null, head));
        shas.push(...commitsOf(response.json).map(({ sha }) => sha));
        hasMore = nextLink(response) !== null;
      }
      return shas.slice(0, limit);
    },

    async listFiles(repository, sha) {
      const context = about(repository.fullName);
      const response = await askPart(context, () => get(context, `/commits/${encodeURIComponent(sha)}`));
      if (response === undefined) throw new ProviderProblem('refused', words.noRange(context, null, sha));
      return nextLink(response) === null ? filesOf(response.json) : null;
    },

    async listPushes(repository, before, after) {
      const context = about(repository.fullName);
      const activity = await listActivity(context, repository.defaultBranch);
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
