import { ProviderProblem } from './api.ts';
import type { Call, Context, commonWords } from './host.ts';
import { isoTime } from './provider.ts';
import type {
  CommitRange,
  PageOf,
  PageRequest,
  RangeCommit,
  ReadDelivery,
  ReadRequest,
  RemoteRepository,
  RepositoryReader,
  RequestBudget,
} from './reader.ts';
import { type ApiResponse, etagOf, numberIn } from './rest.ts';

// Reads the repositories of a code host. What it finds has the form of the host's webhooks.

/** Git forbids all but these in the name of a branch or a tag; `..` would be another range, and `:` a fork. */
const REF = /^(?!-)(?!.*\.\.)[^\s~^:?*[\\\p{Cc}]{1,255}$/u;

/** Of the files of a pull request. */
const MAX_FILE_PAGES = 10;

type Query = NonNullable<Call['query']>;

/** A list of deliveries: its route below a repository, how it is sorted, and its entries. */
interface ReadList {
  below: string;
  query: Query;
  /** `item` null: no delivery. `time`: by which the list is sorted. */
  read(
    json: unknown,
    repository: RemoteRepository,
  ): readonly { item: ReadDelivery | null; time: string | null | undefined }[];
}

export interface ReadableHost {
  about(repository: RemoteRepository): Context;
  /** A request below a repository; null where the repository has no such part. */
  askPart(context: Context, below: string, call?: Call): Promise<ApiResponse | null>;
  /** The number of the page after one; null after the last. */
  nextNumber(response: ApiResponse, page: number): number | null;
  releases: ReadList;
  merged: ReadList;
  /** A repository may have no releases or no pull requests. */
  hasOptionalLists?: boolean;
  headOf: { below(branch: string): string; read(json: unknown): string };
  filesOf: { below(sha: string): string; query?: Query; read(json: unknown): string[] | null };
  requestFiles: { below(number: number): string; query: Query; read(json: unknown): string[] };
  words: Pick<ReturnType<typeof commonWords>, 'noBranch' | 'badRef'> & {
    noPlace(context: Context): string;
    noRange(context: Context, base: string | null, head: string): string;
  };
}

/** The methods that all hosts share. */
export function hostReader(host: ReadableHost) {
  const { about, askPart, words, headOf, filesOf, requestFiles } = host;

  /** Null for an unchanged page. */
  async function readPage(
    { below, query, read }: ReadList,
    repository: RemoteRepository,
    { cursor, etag }: PageRequest = {},
  ): Promise<PageOf<ReadDelivery> | null> {
    const context = about(repository);
    const page = pageNumber(cursor);
    const response = await askPart(context, below, { query: { ...query, page }, etag: etag ?? null });
    if (response === null) {
      if (host.hasOptionalLists) return { items: [], next: null, oldest: null, etag: null };
      throw new ProviderProblem('place-not-found', words.noPlace(context));
    }
    if (response.status === 304) return null;
    const entries = read(response.json, repository);
    const times = entries.map(({ time }) => isoTime(time)).filter((time) => time !== null);
    const next = host.nextNumber(response, page);
    return {
      items: entries.flatMap(({ item }) => item ?? []),
      next: next === null ? null : String(next),
      oldest: times.sort()[0] ?? null,
      etag: etagOf(response),
    };
  }

  return {
    listReleases: (repository, request) => readPage(host.releases, repository, request),
    listMerged: (repository, request) => readPage(host.merged, repository, request),

    async getHead(repository, branch, etag = null) {
      const context = about(repository);
      const response = await askPart(context, headOf.below(branch), { etag });
      if (response === null) throw new ProviderProblem('refused', words.noBranch(context, branch));
      return response.status === 304 ? null : { sha: headOf.read(response.json), etag: etagOf(response) };
    },

    async listFiles(repository, sha) {
      const context = about(repository);
      const call = filesOf.query && { query: filesOf.query };
      const response = await askPart(context, filesOf.below(encodeURIComponent(sha)), call);
      if (response === null) throw new ProviderProblem('refused', words.noRange(context, null, sha));
      return host.nextNumber(response, 1) === null ? filesOf.read(response.json) : null;
    },

    async listRequestFiles(repository, number) {
      const files: string[] = [];
      let page: number | null = 1;
      for (let pages = 0; page !== null; pages++) {
        if (pages === MAX_FILE_PAGES) return null;
        const query: Query = { ...requestFiles.query, page };
        const response = await askPart(about(repository), requestFiles.below(number), { query });
        if (response === null) return null;
        files.push(...requestFiles.read(response.json));
        page = host.nextNumber(response, page);
      }
      return files;
    },
  } satisfies Partial<RepositoryReader>;
}

/** Throws `ProviderProblem` `refused` for text that cannot be a tag, a branch or a commit. */
export function requireRefs(words: ReadableHost['words'], refs: readonly (string | null)[]): void {
  const bad = refs.find((ref) => ref !== null && !REF.test(ref));
  if (bad != null) throw new ProviderProblem('refused', words.badRef(bad));
}

/**
 * Ranges of a host that lists the commits of one reference without those of another. `readRange`: at most `limit` of
 * them, newest first; null without the reference.
 */
export function hostRanges(
  { about, words }: Pick<ReadableHost, 'about' | 'words'>,
  readRange: (
    context: Context,
    base: string | null,
    head: string,
    options?: { path?: string; limit?: number },
  ) => Promise<{ items: RangeCommit[]; isCut: boolean } | null>,
) {
  async function requireRange(...[context, base, head, options]: Parameters<typeof readRange>) {
    const range = await readRange(context, base, head, options);
    if (range !== null) return range;
    throw new ProviderProblem('refused', words.noRange(context, base, head));
  }
  return {
    async listCommits(repository: RemoteRepository, base: string | null, head: string): Promise<CommitRange> {
      const context = about(repository);
      const { items, isCut } = await requireRange(context, base, head);
      const missed = base === null ? null : await readRange(context, head, base, { limit: 1 });
      return { commits: items.reverse(), isCut, isAncestor: missed === null || missed.items.length === 0 };
    },

    async listTouching(repository: RemoteRepository, head: string, path: string, limit: number) {
      const found = await requireRange(about(repository), null, head, { path, limit });
      return found.items.slice(0, limit).map(({ sha }) => sha);
    },
  };
}

/** The page that `next` of the page before names. */
function pageNumber(cursor: string | null | undefined): number {
  if (cursor == null) return 1;
  if (!/^[1-9]\d{0,5}$/.test(cursor)) throw new Error(`${cursor.slice(0, 100)} is not the number of a page`);
  return Number(cursor);
}

export const newBudget = (): RequestBudget => ({ limit: null, remaining: null, resetAt: null, pollMs: null });

/** Reads the headers about the limit of requests, which begin with `prefix`. A response without them changes nothing. */
export function readBudget(budget: RequestBudget, headers: Headers, prefix: string): void {
  if (!headers.has(`${prefix}-limit`) && !headers.has(`${prefix}-remaining`)) return;
  const reset = numberIn(headers, `${prefix}-reset`);
  const pollSeconds = numberIn(headers, 'x-poll-interval');
  budget.limit = numberIn(headers, `${prefix}-limit`);
  budget.remaining = numberIn(headers, `${prefix}-remaining`);
  budget.resetAt = reset === null ? null : new Date(reset * 1000);
  budget.pollMs = pollSeconds === null ? null : pollSeconds * 1000;
}

// The payloads of GitHub, and of the hosts that follow it.

export const repositoryIn = ({ providerId, fullName, defaultBranch }: RemoteRepository) => ({
  id: providerId,
  full_name: fullName,
  default_branch: defaultBranch,
});

/** A page of releases without drafts, which are sorted by the dates of their commits. */
export const releasesIn = (
  repository: RemoteRepository,
  releases: readonly { draft: boolean; created_at: string }[],
) =>
  releases.map((release) => {
    const payload = { action: 'published', release, repository: repositoryIn(repository) };
    return { item: release.draft ? null : { event: 'release', payload }, time: release.created_at };
  });

/** A page of closed pull requests, as the deliveries of the merges among them. */
export const mergesIn = (
  repository: RemoteRepository,
  pulls: readonly { number: number; merged: boolean; updated_at: string }[],
) =>
  pulls.map((pull) => {
    const about = { action: 'closed', number: pull.number, repository: repositoryIn(repository) };
    const item = { event: 'pull_request', payload: { ...about, pull_request: pull } };
    return { item: pull.merged ? item : null, time: pull.updated_at };
  });

/** A pull request as the delivery of its merge; until then with its last change and its own commit. */
export function mergeIn(
  repository: RemoteRepository,
  pull: {
    number: number;
    state: string;
    merged_at?: string | null | undefined;
    updated_at: string;
    head: { sha: string };
    title?: string;
  },
  base: string,
): ReadRequest | null {
  const { state, merged_at: mergedAt = null, updated_at, head } = pull;
  const merge = mergedAt === null && { merged_at: updated_at, merge_commit_sha: head.sha };
  const [merged] = mergesIn(repository, [{ ...pull, ...merge, merged: true }]);
  if (!merged?.item) return null;
  const now = mergedAt !== null ? 'merged' : state === 'open' ? 'open' : 'closed';
  return { delivery: merged.item, state: now, base, head: head.sha };
}

/** A commit of a push. */
export const commitIn = ({ sha, message, author, url, committedAt }: RangeCommit) => ({
  id: sha,
  message,
  author: { name: author },
  url,
  timestamp: committedAt,
});

/** The comparison of a push. A commit's own address names the site, which an API's address does not always tell. */
export function compareUrl(
  before: string,
  after: string,
  commits: readonly RangeCommit[],
  length?: number,
): string | null {
  const [, repositoryUrl] = /^(.+)\/commit\/[0-9a-f]+$/.exec(commits.at(-1)?.url ?? '') ?? [];
  if (repositoryUrl === undefined || /^0+$/.test(before)) return null;
  return `${repositoryUrl}/compare/${before.slice(0, length)}...${after.slice(0, length)}`;
}
