import type { StoredInstallation } from './apps.ts';
import type { StoredCode } from './code.ts';

/** A person's right in a repository. */
type Right = 'admin' | 'write' | 'read';

export interface StoredRepository {
  readonly id: number;
  /** `owner/name`. Set by `rename`, so that the former name leads here. */
  name: string;
  formerNames: string[];
  isPrivate: boolean;
  isArchived: boolean;
  /** True when its organization requires single sign-on for classic tokens. */
  wantsSso: boolean;
  rights: Record<string, Right>;
  defaultBranch: string;
  readonly code: StoredCode;
  readonly hooks: StoredHook[];
}

export interface StoredHook {
  readonly id: number;
  config: HookConfig;
  events: string[];
  isActive: boolean;
  createdAt: string;
  updatedAt: string;
  lastResponse: { code: number | null; status: string; message: string | null };
  /** Newest first. */
  readonly attempts: StoredAttempt[];
}

/** With the secret in the clear; GitHub masks it in responses. */
export interface HookConfig {
  url: string;
  content_type: string;
  insecure_ssl: string;
  secret?: string;
}

export interface StoredAttempt {
  /** Larger than what JavaScript's numbers hold, as GitHub's are. */
  readonly id: bigint;
  readonly guid: string;
  readonly deliveredAt: string;
  readonly isRedelivery: boolean;
  readonly durationSeconds: number;
  readonly status: string;
  readonly statusCode: number;
  readonly event: string;
  readonly payload: Record<string, unknown>;
}

export interface StoredToken {
  user: string;
  /** Of a classic token. */
  scopes?: readonly string[];
  /** Of a fine-grained token. */
  permissions?: {
    repository_hooks?: 'read' | 'write';
    contents?: 'read' | 'write';
    pull_requests?: 'read' | 'write';
  };
  /** The repositories that a fine-grained token was given; absent for all. */
  repositories?: readonly string[];
  /** True for a classic token that is authorized for single sign-on. */
  hasSso?: boolean;
  /** Of an App's token. */
  installation?: StoredInstallation;
  /** When it ends, in milliseconds since 1970. */
  expiresAt?: number;
}
