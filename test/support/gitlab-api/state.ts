import type { Clock } from '../../../src/lib/time.ts';

/** A person of GitLab; ids stand in webhooks where the API has names. */
export interface StoredUser {
  id: number;
  username: string;
}

export interface StoredProject {
  readonly id: number;
  /** `group/subgroup/name`. */
  path: string;
  /** Lead here. */
  formerPaths: string[];
  /** Null for an empty project. */
  defaultBranch: string | null;
  visibility: 'public' | 'internal' | 'private';
  isArchived: boolean;
  /** Levels by username: 30 is Developer, 40 Maintainer. */
  roles: Record<string, number>;
  readonly hooks: StoredHook[];
  readonly releases: StoredRelease[];
  readonly mergeRequests: StoredMergeRequest[];
  /** Of the default branch, newest first. */
  readonly commits: StoredCommit[];
  /** Commits by the names of tags. */
  readonly tags: Record<string, string>;
}

export interface StoredHook {
  readonly id: number;
  url: string;
  /** By names such as `push_events`. */
  flags: Record<string, boolean>;
  token: string | null;
  signingToken: string | null;
  alertStatus: 'executable' | 'temporarily_disabled' | 'disabled';
  createdAt: string;
  /** Newest first. */
  readonly attempts: StoredAttempt[];
}

export interface StoredAttempt {
  readonly id: number;
  readonly header: string;
  readonly trigger: string;
  readonly payload: Record<string, unknown>;
  readonly requestHeaders: Record<string, string>;
  readonly responseHeaders: Record<string, string>;
  /** `200`, or `internal error`. */
  readonly status: string;
}

export interface StoredRelease {
  id: number;
  tag: string;
  name: string | null;
  description: string | null;
  createdAt: string;
  releasedAt: string;
  isUpcoming: boolean;
}

export interface StoredMergeRequest {
  iid: number;
  title: string;
  description: string | null;
  author: StoredUser;
  mergedBy: StoredUser;
  assignees: StoredUser[];
  reviewers: StoredUser[];
  labels: string[];
  sourceBranch: string;
  targetBranch: string;
  mergedAt: string;
  updatedAt: string;
  mergeCommitSha: string | null;
  sha: string;
  /** Absent: merged. */
  state?: 'opened' | 'closed';
  /** The commit at which its branch began. Absent: GitLab has not compared the branches. */
  base?: string;
}

export interface StoredCommit {
  id: string;
  message: string;
  author: string;
  committedAt: string;
  /** The files that it changes. */
  files: string[];
}

export interface StoredToken {
  user: string;
  scopes: readonly ('api' | 'read_api')[];
  /** The day on which it ends, such as `2026-12-24`. */
  expiresAt?: string;
}

/** The state of the stand-in. */
export interface World {
  /** The site: the API is below `/api/v4`. */
  readonly web: string;
  readonly clock: Clock;
  /** False for GitLab before 19.0, which ignores signing tokens. */
  readonly canSign: boolean;
  /** False for an installation that sends nothing to its own network. */
  readonly allowLocal: boolean;
  readonly tokens: Map<string, StoredToken>;
  readonly projects: StoredProject[];
}

/** A refusal as GitLab answers it. */
export class GitlabRefusal extends Error {
  constructor(
    readonly status: number,
    readonly body: object,
    readonly headers: Record<string, string> = {},
  ) {
    super(JSON.stringify(body));
  }
}

export const refuse = (status: number, message: unknown): never => {
  throw new GitlabRefusal(status, { message });
};
