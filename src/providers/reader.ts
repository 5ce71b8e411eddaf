import type { Credential } from './app.ts';
import type { IntegrationType } from './index.ts';
import type { Payload } from './provider.ts';

// Reading what a repository shipped through a provider's API, for history, for polling, and for the commits of a
// release. What is read has the form of the provider's own webhook payloads, so that one path turns both into events.

export interface ReaderSupport {
  /** Loads the client on first use. `token` null reads public repositories. */
  open(
    baseUrl: string,
    token: string | null,
    options: { signal: AbortSignal | undefined },
  ): Promise<RepositoryReader>;
  /** How many requests an hour the provider's public server answers without a token; null: it does not say. */
  anonymousPerHour: number | null;
  /** The rights of a token for reading, such as `the scope read_api`. */
  access?: string;
}

/** A delivery that was read instead of sent. */
export interface ReadDelivery {
  event: string;
  /** As its webhook would send it. */
  payload: Payload;
}

export interface RemoteRepository {
  /** The provider's own id, which survives renames. */
  providerId: number;
  /** `owner/name`, as the provider writes it now. */
  fullName: string;
  defaultBranch: string;
  isPrivate: boolean;
}

export interface PageOf<Item> {
  items: Item[];
  /** Pass it to read the next page; null at the end. */
  next: string | null;
  /** The smallest of the times that the list is sorted by, as ISO 8601; null for an empty page. */
  oldest: string | null;
  /** Pass it to learn whether the page has changed; null where the provider sends none. */
  etag: string | null;
}

/** `cursor`: `next` of the page before. `etag`: of an earlier answer; the result is null when nothing has changed. */
export interface PageRequest {
  cursor?: string | null;
  etag?: string | null;
}

export interface RangeCommit {
  sha: string;
  /** The whole message. */
  message: string;
  /** A login, or else a name. */
  author: string | null;
  url: string | null;
  /** The time of the commit. ISO 8601. */
  committedAt: string | null;
  /** The commits before it, that of its own branch first. Absent where the provider does not say. */
  parents?: readonly string[];
}

/** The commits between two points of the graph. */
export interface CommitRange {
  /** Oldest first. Of too many the newest; `isCut` then. */
  commits: RangeCommit[];
  isCut: boolean;
  /** `head` contains `base`; true without a base. */
  isAncestor: boolean;
}

export interface ReadRequest {
  delivery: ReadDelivery;
  state: 'open' | 'closed' | 'merged';
  /** Its commits are those that `head` has and `base` lacks. */
  base: string;
  head: string;
}

/** The provider's limits by its last response. Null: it did not say. */
export interface RequestBudget {
  limit: number | null;
  remaining: number | null;
  resetAt: Date | null;
  /** Poll no more often than this, in milliseconds. */
  pollMs: number | null;
}

/**
 * Reads one provider on behalf of a token, or of nobody. Every method throws `ProviderProblem`: `rate-limited` says when
 * to go on, `place-not-found` also stands for a private repository that the token cannot see.
 */
export interface RepositoryReader {
  readonly type: IntegrationType;
  readonly budget: RequestBudget;
  /** By `owner/name`. */
  getRepository(name: string): Promise<RemoteRepository>;
  /** The published releases, newest first, each as its first delivery (`published`). */
  listReleases(repository: RemoteRepository, request?: PageRequest): Promise<PageOf<ReadDelivery> | null>;
  /** The merged pull requests of every branch, by their last change, newest first, each as the delivery of its merge. */
  listMerged(repository: RemoteRepository, request?: PageRequest): Promise<PageOf<ReadDelivery> | null>;
  /** The commit of a branch. Null when it has not changed. */
  getHead(
    repository: RemoteRepository,
    branch: string,
    etag?: string | null,
  ): Promise<{ sha: string; etag: string | null } | null>;
  /**
   * The commits that `head` has and `base` lacks; without `base` the whole history of `head`. Both are tags, branches or
   * commits. Throws `refused` when one of them does not exist.
   */
  listCommits(repository: RemoteRepository, base: string | null, head: string): Promise<CommitRange>;
  /**
   * The commits of `head`'s history that change a file or a folder, the newest `limit` at most, newest first. Absent where
   * the provider cannot tell.
   */
  listTouching?(repository: RemoteRepository, head: string, path: string, limit: number): Promise<string[]>;
  /**
   * The files that a commit changes, of a merge those against its first parent. Null when the provider does not list all
   * of them. A push of the provider takes them as `modified` of its `commits`. Absent where it cannot tell.
   */
  listFiles?(repository: RemoteRepository, sha: string): Promise<string[] | null>;
  /**
   * A pull request as the delivery of its merge, also before it is merged. Null when there is none with this number.
   */
  getRequest(repository: RemoteRepository, number: number): Promise<ReadRequest | null>;
  /** The files that a pull request changes. Null where the provider cannot tell, and for too many of them. */
  listRequestFiles(repository: RemoteRepository, number: number): Promise<string[] | null>;
  /** A push of these commits to the default branch, as the provider would deliver it. */
  pushOf(repository: RemoteRepository, before: string, commits: readonly RangeCommit[]): ReadDelivery;
  /**
   * The pushes that brought the default branch from one commit to another, oldest first. Drafts can differ by how commits
   * were pushed, so use this instead of `pushOf` where it exists. One push when the provider lists them no longer.
   */
  listPushes?(
    repository: RemoteRepository,
    before: string,
    after: string,
  ): Promise<{ pushes: ReadDelivery[]; isCut: boolean }>;
}

/** Opens a reader without a request. Throws `AppError` 400 for a provider that has none. */
export type OpenReader = (
  type: IntegrationType,
  credential: Credential | null,
  signal?: AbortSignal,
) => Promise<RepositoryReader>;
