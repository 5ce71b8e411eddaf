import { ProviderProblem } from '../../api.ts';
import type { RangeCommit, RemoteRepository, RepositoryReader } from '../../reader.ts';
import { type openClient, repositoryPath } from './client.ts';
import type { Context } from './problems.ts';
import { type Commit, commitsOf, comparisonOf } from './responses.ts';
import { words } from './words.ts';

const PER_PAGE = 100;

/** The most commits of a range, about as many as a push has in a webhook. */
const MAX_COMMITS = 2000;

/** Git forbids all but these in the name of a branch or a tag; `..` would be another range, and `:` a fork. */
const REF = /^(?!.*\.\.)[^\s~^:?*[\\\p{Cc}]{1,255}$/u;

/** The commits of a repository: ranges, and pushes. */
export function commitReader({
  octokit,
  about,
  askPart,
}: ReturnType<typeof openClient>): Pick<RepositoryReader, 'listCommits' | 'pushOf'> {
  /** Without paging, GitHub sends the newest 250 in one response; with it, the oldest come first. */
  async function compare(context: Context, base: string, head: string) {
    const parameters = { ...repositoryPath(context), basehead: `${base}...${head}` };
    const get = async (paging: object) =>
      comparisonOf(
        (
          await octokit.request('GET /repos/{owner}/{repo}/compare/{basehead}', {
            ...parameters,
            ...paging,
          })
        ).data,
      );
    const { commits: newest, total } = await get({});
    const older: Commit[] = [];
    const end = total - newest.length;
    const start = Math.max(0, total - MAX_COMMITS);
    const firstPage = Math.floor(start / PER_PAGE) + 1;
    for (let page = firstPage; (page - 1) * PER_PAGE < end; page++) {
      older.push(...(await get({ per_page: PER_PAGE, page })).commits);
    }
    // A branch that moves between two requests can put a commit on both.
    const commits = [...new Map([...older, ...newest].map((each) => [each.sha, each])).values()];
    return { commits: commits.slice(-MAX_COMMITS), isCut: start > 0 };
  }

  async function wholeHistory(context: Context, head: string) {
    const newestFirst: Commit[] = [];
    let isCut = true;
    for (let page = 1; isCut && newestFirst.length < MAX_COMMITS; page++) {
      const parameters = { ...repositoryPath(context), sha: head, per_page: PER_PAGE, page };
      const { data, headers } = await octokit.request('GET /repos/{owner}/{repo}/commits', parameters);
      newestFirst.push(...commitsOf(data));
      isCut = headers.link?.includes('rel="next"') ?? false;
    }
    return { commits: newestFirst.reverse(), isCut };
  }

  return {
    async listCommits(repository, base, head) {
      const context = about(repository.fullName);
      for (const ref of [base ?? head, head]) {
        if (!REF.test(ref)) throw new ProviderProblem('refused', words.badRef(ref));
      }
      const range = await askPart(context, () =>
        base === null ? wholeHistory(context, head) : compare(context, base, head),
      );
      if (range === undefined) throw new ProviderProblem('refused', words.noRange(context, base, head));
      return { commits: range.commits.map(toRangeCommit), isCut: range.isCut };
    },

    pushOf(repository, before, commits) {
      const after = commits.at(-1)?.sha ?? before;
      return {
        event: 'push',
        payload: {
          ref: `refs/heads/${repository.defaultBranch}`,
          before,
          after,
          compare: compareUrl(before, after, commits),
          created: false,
          deleted: false,
          forced: false,
          commits: commits.map(({ sha, message, author, url, committedAt }) => ({
            id: sha,
            message,
            author: { name: author },
            url,
            timestamp: committedAt,
          })),
          repository: repositoryIn(repository),
        },
      };
    },
  };
}

/** The repository as every payload names it. */
export const repositoryIn = ({ providerId, fullName, defaultBranch }: RemoteRepository) => ({
  id: providerId,
  full_name: fullName,
  default_branch: defaultBranch,
});

/** As a push has it. A commit's own address names the site, which an API's address does not always tell. */
function compareUrl(before: string, after: string, commits: readonly RangeCommit[]): string | null {
  const [, repositoryUrl] = /^(.+)\/commit\/[0-9a-f]+$/.exec(commits.at(-1)?.url ?? '') ?? [];
  return repositoryUrl === undefined
    ? null
    : `${repositoryUrl}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`;
}

function toRangeCommit({ sha, html_url, commit, author }: Commit): RangeCommit {
  return {
    sha,
    message: commit.message,
    author: author?.login ?? commit.author?.name ?? null,
    url: html_url,
    committedAt: commit.committer?.date ?? null,
  };
}
