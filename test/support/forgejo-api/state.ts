import type { Clock } from '../../../src/lib/time.ts';

export interface StoredRepository {
  readonly id: number;
  /** `owner/name`. */
  path: string;
  /** Lead here. */
  formerPaths: string[];
  defaultBranch: string;
  isPrivate: boolean;
  isArchived: boolean;
  /** By login. */
  rights: Record<string, 'read' | 'write' | 'admin'>;
  /** Null: its owner disabled them. */
  releases: StoredRelease[] | null;
  readonly hooks: StoredHook[];
  readonly pulls: StoredPull[];
  /** Of the default branch, newest first. */
  readonly commits: StoredCommit[];
  /** Commits by the names of tags. */
  readonly tags: Record<string, string>;
}

export interface StoredHook {
  readonly id: number;
  readonly type: 'forgejo' | 'gitea';
  /** No request but the first sets it. */
  secret: string;
  url: string;
  contentType: 'json' | 'form';
  events: string[];
  isActive: boolean;
  /** Newest first; no API lists them. */
  readonly deliveries: { event: string; status: number | null }[];
}

export interface StoredRelease {
  id: number;
  tag: string;
  target: string;
  title: string;
  notes: string;
  author: string;
  isDraft: boolean;
  isPrerelease: boolean;
  createdAt: string;
}

export interface StoredPull {
  number: number;
  title: string;
  body: string;
  author: string;
  labels: string[];
  milestone: string | null;
  base: string;
  head: string;
  /** Null: closed without a merge. */
  merged: { by: string; at: string; commit: string } | null;
  updatedAt: string;
  isOpen?: boolean;
  /** Commits where its branch began and ends; absent: the newest of the repository. */
  commits?: { base: string; head: string };
}

export interface StoredCommit {
  sha: string;
  message: string;
  /** Null: nobody has the author's address. */
  login: string | null;
  name: string;
  authoredAt: string;
  committedAt: string;
  /** The files that it changes. */
  files: string[];
}

export interface StoredToken {
  user: string;
  scopes: readonly ('read:user' | 'read:repository' | 'write:repository' | 'public-only')[];
}

/** The state of the stand-in. */
export interface World {
  /** The site: the API is below `/api/v1`. */
  readonly web: string;
  readonly clock: Clock;
  /** True for Gitea, which has other headers and other types of hooks. */
  readonly isGitea: boolean;
  /** False for a server whose administrator disabled webhooks. */
  hasWebhooks: boolean;
  /** True for a server that shows nothing without signing in. */
  requiresSignIn: boolean;
  readonly tokens: Map<string, StoredToken>;
  readonly repositories: StoredRepository[];
  /** Deliveries on their way. */
  readonly pending: Set<Promise<unknown>>;
}

/** A refusal as Forgejo answers it. */
export class ForgejoRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

export const refuse = (status: number, message: string): never => {
  throw new ForgejoRefusal(status, message);
};
