import type { Shipped } from '../../drafts/model.ts';
import type { Commit } from '../../events/model.ts';
import { fitsOne } from './patterns.ts';

// The filter by path: the packages of a repository that a trigger is about.

/** The text of a pattern before what varies. */
const startOf = (pattern: string) => pattern.split('*')[0] ?? '';

/**
 * The folders, with a slash at the end, and files in which patterns can match, to ask a provider for. Null when one of
 * them can match anywhere.
 */
export function prefixesOf(patterns: readonly string[]): string[] | null {
  const prefixes = patterns.map((pattern) => {
    const start = startOf(pattern);
    return start === pattern ? pattern : start.slice(0, start.lastIndexOf('/') + 1);
  });
  return prefixes.includes('') ? null : [...new Set(prefixes)];
}

/** A pattern without `*` is a file, or a folder with all that is in it. */
function fitsPath(patterns: readonly string[], path: string): boolean {
  const isFolder = path === '' || path.endsWith('/');
  return patterns.some((pattern) => {
    if (fitsOne([pattern], path) || path.startsWith(`${pattern.replace(/\/$/, '')}/`)) return true;
    // Of a folder nobody told which file it is.
    return isFolder && (startOf(pattern).startsWith(path) || path.startsWith(startOf(pattern)));
  });
}

/** True without a filter, and for a commit whose files nobody told: a change too many is seen, a missing one is not. */
export function touches(patterns: readonly string[] | undefined, { paths }: Pick<Commit, 'paths'>): boolean {
  if (patterns === undefined || paths === undefined) return true;
  return paths.some((path) => fitsPath(patterns, path));
}

interface Changes {
  pushes: Shipped<'push'>[];
  pullRequests: Shipped<'pull_request'>[];
}

/** The changes in the filtered files. A pull request changes what its commits change. */
export function inPaths(patterns: readonly string[] | undefined, { pushes, pullRequests }: Changes): Changes {
  if (patterns === undefined) return { pushes, pullRequests };
  const bySha = new Map(pushes.flatMap((push) => push.data.commits.map((each) => [each.sha, push] as const)));
  return {
    pullRequests: pullRequests.filter(({ data: { mergeCommitSha } }) => {
      const push = bySha.get(mergeCommitSha ?? '');
      const commits = push?.data.commits ?? [];
      const own = commits.filter(({ sha }) => sha === mergeCommitSha || push?.data.after === mergeCommitSha);
      const withPaths = own.filter(({ paths }) => paths !== undefined);
      return withPaths.length === 0 || withPaths.some((commit) => touches(patterns, commit));
    }),
    pushes: withCommits(pushes, (commit) => touches(patterns, commit)),
  };
}

/** The pushes with some of their commits, without those that keep none. */
export function withCommits(
  pushes: readonly Shipped<'push'>[],
  isKept: (commit: Commit, push: Shipped<'push'>) => boolean,
): Shipped<'push'>[] {
  return pushes.flatMap((push) => {
    const commits = push.data.commits.filter((commit) => isKept(commit, push));
    if (commits.length === push.data.commits.length) return push;
    return commits.length === 0 ? [] : { ...push, data: { ...push.data, commits } };
  });
}
