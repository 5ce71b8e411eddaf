import type { Answer, Context } from './operations.ts';
import { refuse, type StoredRepository } from './state.ts';
import { branchView, commitView, pullView, releaseView } from './views.ts';

/** The part of Forgejo's API that reads what a repository shipped. */
export function readRepository(
  { world, token, query }: Context,
  repository: StoredRepository,
  below: string,
): Answer {
  const { releases, pulls, commits, tags, defaultBranch } = repository;
  const [head] = commits;
  const newest = <T>(items: readonly T[], timeOf: (item: T) => string) =>
    items.toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  const find = (ref: string) =>
    commits.find(({ sha }) => sha === (ref === defaultBranch ? head?.sha : (tags[ref] ?? ref)));

  if (below === '/releases') {
    if (releases === null) return refuse(404, 'Not Found');
    const right = token === null ? undefined : repository.rights[token.user];
    const mayWrite = right === 'write' || right === 'admin';
    const isShown = (isDraft: boolean) =>
      (mayWrite || !isDraft) && (query.get('draft') ?? String(isDraft)) === String(isDraft);
    const shown = newest(releases, ({ createdAt }) => createdAt).filter(({ isDraft }) => isShown(isDraft));
    return { status: 200, list: shown.map((each) => releaseView(world, repository, each)) };
  }
  if (below === '/pulls') {
    const isAsked = query.get('state') === 'closed' && query.get('sort') === 'recentupdate';
    if (!isAsked) return refuse(422, 'the stand-in lists closed ones by their last change only');
    const shown = newest(
      pulls.filter(({ isOpen }) => !isOpen),
      ({ updatedAt }) => updatedAt,
    );
    return { status: 200, list: shown.map((each) => pullView(world, repository, each)) };
  }
  const number = /^\/pulls\/(\d+)$/.exec(below)?.[1];
  if (number !== undefined) {
    const pull = pulls.find((each) => String(each.number) === number);
    return pull === undefined
      ? refuse(404, 'Not Found')
      : { status: 200, body: pullView(world, repository, pull) };
  }
  const listed = /^\/pulls\/(\d+)\/files$/.exec(below)?.[1];
  if (listed !== undefined) {
    const range = pulls.find((each) => String(each.number) === listed)?.commits;
    const [from, to] = [find(range?.base ?? ''), find(range?.head ?? '')];
    if (from === undefined || to === undefined) return refuse(404, 'Not Found');
    const own = commits.slice(commits.indexOf(to), commits.indexOf(from)).flatMap(({ files }) => files);
    return { status: 200, list: own.map((filename) => ({ filename, status: 'changed' })) };
  }
  if (below.startsWith('/branches/')) {
    const isKnown = decodeURIComponent(below) === `/branches/${defaultBranch}` && head !== undefined;
    return isKnown
      ? { status: 200, body: branchView(world, repository, head) }
      : refuse(404, "The target couldn't be found.");
  }
  if (head === undefined) return refuse(409, 'Git Repository is empty.');
  const ref = /^\/git\/commits\/(.+)$/.exec(below)?.[1];
  if (ref !== undefined) {
    const found = find(decodeURIComponent(ref));
    return found === undefined
      ? refuse(404, 'Not Found')
      : {
          status: 200,
          body: {
            ...commitView(world, repository, found),
            ...(query.get('files') !== 'false' && {
              files: found.files.map((filename) => ({ filename, status: 'modified' })),
            }),
          },
        };
  }
  if (below !== '/commits') return refuse(404, 'Not Found');
  const [not, path] = [query.get('not'), query.get('path')];
  const [to, from] = [find(query.get('sha') ?? defaultBranch), not === null ? null : find(not)];
  // Forgejo tells of an unknown name only in its log.
  if (to === undefined || from === undefined) return refuse(500, '');
  const end = from === null ? commits.length : commits.indexOf(from);
  const isTouching = (file: string) => path === null || file === path || file.startsWith(`${path}/`);
  const range = commits.slice(commits.indexOf(to), end).filter(({ files }) => files.some(isTouching));
  if (path !== null && range.length === 0) return refuse(404, 'FileCommitsCount');
  return { status: 200, list: range.map((each) => commitView(world, repository, each)) };
}
