import { canWrite } from './access.ts';
import { mergeBaseOf, rangeOf, resolveRef, type StoredCode, type StoredCommit } from './code.ts';
import {
  activityView,
  commitView,
  fileView,
  onePullView,
  pageUrlOf,
  pullView,
  refView,
  releaseView,
} from './code-views.ts';
import type { Context, Operation } from './operations.ts';
import { refusals } from './refusal.ts';
import { nextLink, pageOf, repositoryView, sizeOf } from './views.ts';

// Reading releases, pull requests and commits.

/** Without paging, a comparison has this many commits, the newest. */
const MAX_COMPARED = 250;

/** Throws GitHub's 409 for a repository without commits. */
function codeOf({ repository }: Context): StoredCode {
  const { code } = repository();
  if (code.commits.size === 0) throw refusals.emptyRepository();
  return code;
}

function commitAt(code: StoredCode, ref: string): StoredCommit {
  const found = resolveRef(code, ref);
  if (found === undefined) throw refusals.notFound();
  return found;
}

const newestFirst = <Item>(list: readonly Item[], timeOf: (item: Item) => string): Item[] =>
  list.toReversed().sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : timeOf(a) > timeOf(b) ? -1 : 0));

export const codeOperations: Record<string, Operation> = {
  'GET /repos/{owner}/{repo}/releases': {
    access: null,
    reads: 'contents',
    run(context) {
      const repository = context.repository();
      const seen = repository.code.releases.filter(
        ({ isDraft }) => !isDraft || canWrite(context.token, repository),
      );
      const { items, headers } = pageOf(
        newestFirst(seen, ({ createdAt }) => createdAt),
        context.url,
      );
      return { status: 200, body: items.map((each) => releaseView(repository, each)), headers };
    },
  },
  'GET /repos/{owner}/{repo}/pulls': {
    access: null,
    reads: 'pull_requests',
    run(context) {
      const repository = context.repository();
      const { searchParams } = context.url;
      const sort = searchParams.get('sort') === 'updated' ? 'updatedAt' : 'createdAt';
      // Every stored one is closed.
      const seen = (searchParams.get('state') ?? 'open') === 'open' ? [] : repository.code.pulls;
      const sorted = newestFirst(seen, (pull) => pull[sort]);
      const isDescending =
        (searchParams.get('direction') ?? (sort === 'createdAt' ? 'desc' : 'asc')) === 'desc';
      const { items, headers } = pageOf(isDescending ? sorted : sorted.reverse(), context.url);
      const view = repositoryView(repository, context.token.user);
      return { status: 200, body: items.map((pull) => pullView(repository, pull, view)), headers };
    },
  },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}': {
    access: null,
    reads: 'pull_requests',
    run(context) {
      const repository = context.repository();
      const pull = repository.code.pulls.find(({ number }) => String(number) === context.params.pull_number);
      if (pull === undefined) throw refusals.notFound();
      const view = repositoryView(repository, context.token.user);
      return { status: 200, body: onePullView(repository, pull, view) };
    },
  },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/files': {
    access: null,
    reads: 'pull_requests',
    run(context) {
      const { code } = context.repository();
      const pull = code.pulls.find(({ number }) => String(number) === context.params.pull_number);
      if (pull === undefined) throw refusals.notFound();
      const own = rangeOf(code, pull.baseSha, pull.headSha).flatMap(({ paths }) => paths);
      const { items, headers } = pageOf([...new Set(own)].map(fileView), context.url);
      return { status: 200, body: items, headers };
    },
  },
  'GET /repos/{owner}/{repo}/git/ref/{ref}': {
    access: null,
    reads: 'contents',
    run(context) {
      const repository = context.repository();
      const { branches, tags } = codeOf(context);
      const ref = context.params.ref ?? '';
      const [, kind, name = ''] = /^(heads|tags)\/(.+)$/.exec(ref) ?? [];
      const sha = (kind === 'heads' ? branches : tags).get(name);
      if (sha === undefined) throw refusals.notFound();
      return { status: 200, body: refView(repository, ref, sha) };
    },
  },
  'GET /repos/{owner}/{repo}/commits': {
    access: null,
    reads: 'contents',
    run(context) {
      const repository = context.repository();
      const code = codeOf(context);
      const { searchParams } = context.url;
      const head = commitAt(code, searchParams.get('sha') ?? repository.defaultBranch);
      const path = searchParams.get('path');
      const history = rangeOf(code, null, head.sha)
        .reverse()
        .filter(({ paths }) => path === null || paths.some((each) => `${each}/`.startsWith(`${path}/`)));
      const { items, headers } = pageOf(history, context.url);
      return { status: 200, body: items.map((each) => commitView(repository, each)), headers };
    },
  },
  'GET /repos/{owner}/{repo}/commits/{ref}': {
    access: null,
    reads: 'contents',
    run(context) {
      const repository = context.repository();
      const commit = commitAt(codeOf(context), context.params.ref ?? '');
      return { status: 200, body: { ...commitView(repository, commit), files: commit.paths.map(fileView) } };
    },
  },
  'GET /repos/{owner}/{repo}/compare/{basehead}': {
    access: null,
    reads: 'contents',
    run(context) {
      const repository = context.repository();
      const code = codeOf(context);
      const basehead = context.params.basehead ?? '';
      const path = encodeURI(basehead);
      const [base, head] = basehead.split('...').map((ref) => commitAt(code, ref));
      if (base === undefined || head === undefined) throw refusals.notFound();
      const mergeBase = mergeBaseOf(code, base.sha, head.sha);
      if (mergeBase === undefined) throw refusals.noCommonAncestor(basehead);
      const ahead = rangeOf(code, base.sha, head.sha);
      const behind = rangeOf(code, head.sha, base.sha).length;
      const { searchParams } = context.url;
      const isPaged = searchParams.has('page') || searchParams.has('per_page');
      const { items, headers } = isPaged
        ? pageOf(ahead, context.url)
        : { items: ahead.slice(-MAX_COMPARED), headers: {} };
      const [page, api] = [`${pageUrlOf(repository)}/compare/${path}`, context.world.url];
      const status =
        ahead.length > 0 ? (behind > 0 ? 'diverged' : 'ahead') : behind > 0 ? 'behind' : 'identical';
      const body = {
        url: `${api}/repos/${repository.name}/compare/${path}`,
        html_url: page,
        permalink_url: `${pageUrlOf(repository)}/compare/${base.sha.slice(0, 7)}...${head.sha.slice(0, 7)}`,
        diff_url: `${page}.diff`,
        patch_url: `${page}.patch`,
        base_commit: commitView(repository, base),
        merge_base_commit: commitView(repository, mergeBase),
        status,
        ahead_by: ahead.length,
        behind_by: behind,
        total_commits: ahead.length,
        commits: items.map((each) => commitView(repository, each)),
        files: [],
      };
      return { status: 200, body, headers };
    },
  },
  'GET /repos/{owner}/{repo}/activity': {
    access: null,
    reads: 'contents',
    run(context) {
      const { activity } = context.repository().code;
      const { searchParams } = context.url;
      const ref = searchParams.get('ref')?.replace(/^(refs\/heads\/)?/, 'refs/heads/');
      const seen = activity.filter((each) => ref === undefined || each.ref === ref).reverse();
      const start = seen.findIndex(({ id }) => String(id) === searchParams.get('after')) + 1;
      const items = seen.slice(start, start + sizeOf(context.url));
      const last = items.at(-1);
      const headers =
        last !== undefined && last !== seen.at(-1) ? nextLink(context.url, 'after', String(last.id)) : {};
      return { status: 200, body: items.map(activityView), headers };
    },
  },
};
