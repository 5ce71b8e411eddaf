import { type Static, Type } from '@sinclair/typebox';
import { maybe } from './provider.ts';

// The files that a commit changes, for filters by path.

export const MaybeFiles = maybe(Type.Array(Type.String()), 'a list of files');

type Files = Static<typeof MaybeFiles>;

/** Of one commit. Of more files, the folders that hold them. */
const MAX_PATHS = 100;

/** Of all commits of a push. */
const MAX_PATHS_OF_PUSH = 5_000;

const MAX_PATH_LENGTH = 500;

/** How many paths each commit of a push may have. */
export function pathCountFor(commitCount: number): number {
  return Math.max(1, Math.min(MAX_PATHS, Math.floor(MAX_PATHS_OF_PUSH / Math.max(1, commitCount))));
}

/**
 * Sorted, each once, at most `limit`: files, or with a slash at the end the folders that hold them, as deep as fits. The
 * root is an empty text.
 */
export function boundedPaths(paths: readonly string[], limit = MAX_PATHS): string[] {
  const all = new Set(paths.map((path) => path.slice(0, MAX_PATH_LENGTH)));
  for (let depth = 8; all.size > limit && depth >= 0; depth--) {
    const folders = [...all].map((path) => folderOf(path, depth));
    all.clear();
    for (const folder of folders) all.add(folder);
  }
  return [...all].sort();
}

/** The paths of a commit in a push. None for one that was read through an API, where commits come without their files. */
export function pathsOf(
  { added, modified, removed }: { added?: Files; modified?: Files; removed?: Files },
  limit: number,
): { paths?: string[] } {
  if (!added && !modified && !removed) return {};
  return { paths: boundedPaths([...(added ?? []), ...(modified ?? []), ...(removed ?? [])], limit) };
}

/** The folder of a file, at most `depth` levels below the root. */
function folderOf(path: string, depth: number): string {
  const folders = path.split('/').slice(0, -1).slice(0, depth);
  return folders.length === 0 ? '' : `${folders.join('/')}/`;
}
