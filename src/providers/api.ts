import { AppError } from '../lib/app-error.ts';
import type { IntegrationType } from './index.ts';

// A hook: the webhook of an integration as it stands at its provider, made there with a token that a person gave.

/** Where a hook can stand: a repository on GitHub; a team, or all public teams, on Linear. */
export interface Place {
  /** `owner/name` at GitHub; a team's id at Linear, or `ALL_PUBLIC_TEAMS`. */
  id: string;
  /** As people know it: `owner/name`, or `Engineering (ENG)`. */
  name: string;
  /** GitHub's own id of the repository, which survives renames; absent at Linear. */
  providerId?: number;
  /** Whether the token may make hooks there. */
  canAdminister: boolean;
}

/** The place at Linear that stands for every team that is public, now and later. */
export const ALL_PUBLIC_TEAMS = 'all-public-teams';

/** What a hook is to be like. */
export interface HookWish {
  url: string;
  secret: string;
  /** As the provider calls them: `push`, `Issue`. Sorted, never empty. */
  events: readonly string[];
}

/** A hook as the provider tells of it. */
export interface RemoteHook {
  id: string;
  placeId: string;
  url: string;
  /** Sorted. `*` stands for all of them. */
  events: string[];
  /** False when it was switched off, by a person or by the provider. */
  isActive: boolean;
  /** Whether deliveries come as JSON; null where the provider knows nothing else. */
  isJson: boolean | null;
  /** Whether it has a secret at all; null where the provider does not say. */
  hasSecret: boolean | null;
  /** What came of its last delivery, in the provider's words; null when the provider does not say. */
  lastResponse: { statusCode: number | null; message: string } | null;
}

/** One attempt of a provider to deliver. */
export interface RemoteAttempt {
  /** The attempt's own id, by which it can be sent again. */
  id: string;
  /** The delivery's id, the same for each attempt: what the log calls its reference. */
  deliveryId: string;
  /** ISO 8601. */
  deliveredAt: string;
  event: string;
  action: string | null;
  /** What was answered; null when nobody did. */
  statusCode: number | null;
  /** In the provider's words, such as `OK` or `failed to connect to host`. */
  status: string;
}

/** What Tidings asks of a provider's own API, on behalf of one token. Every method throws `ProviderProblem`. */
export interface ProviderApi {
  readonly type: IntegrationType;
  /** The places that the token can see, those that it can administer first; `isCut` when there are more than are listed. */
  listPlaces(): Promise<{ places: Place[]; isCut: boolean }>;
  /** One place, by its id or by the name or key that a person typed. `place-not-found` when the token cannot see it. */
  getPlace(idOrName: string): Promise<Place>;
  listHooks(placeId: string): Promise<RemoteHook[]>;
  /** The hook with this URL, wherever it stands. Absent where hooks are listed by their place alone. */
  findHookAnywhere?(url: string): Promise<RemoteHook | null>;
  /** Null when it is not there any more. */
  findHook(placeId: string, hookId: string): Promise<RemoteHook | null>;
  /** `hook-exists` when the provider has one with this URL already. */
  createHook(placeId: string, wish: HookWish): Promise<RemoteHook>;
  /** Sets all of the wish, and switches it on. `hook-not-found` when it is not there any more. */
  changeHook(placeId: string, hookId: string, wish: HookWish): Promise<void>;
  /** Also succeeds when it is not there any more. */
  deleteHook(placeId: string, hookId: string): Promise<void>;
  /** Asks for a ping. Absent where the provider has none. */
  pingHook?(placeId: string, hookId: string): Promise<void>;
  /** What was delivered since then, newest first; `isCut` when there is more. Absent where the provider does not tell. */
  listAttempts?(
    placeId: string,
    hookId: string,
    since: Date,
  ): Promise<{ attempts: RemoteAttempt[]; isCut: boolean }>;
  /** Asks the provider to send it again. */
  redeliver?(placeId: string, hookId: string, attemptId: string): Promise<void>;
}

/** Opens a provider's API for a token. Asks nothing yet. `signal` ends what is asked, as if nobody answered. */
export type OpenProviderApi = (
  type: IntegrationType,
  token: string,
  signal?: AbortSignal,
) => Promise<ProviderApi>;

export type ProblemKind =
  /** The token is unknown, revoked or expired. */
  | 'bad-token'
  /** The token lacks a permission, which the message names. */
  | 'missing-permission'
  | 'place-not-found'
  | 'hook-not-found'
  | 'hook-exists'
  /** The provider takes no more hooks there. */
  | 'too-many-hooks'
  /** The provider cannot reach the URL, or says so of its host. */
  | 'unreachable-url'
  /** Too many requests: `retryAt` says when to try again. */
  | 'rate-limited'
  /** The provider did not answer, or with a failure of its own. */
  | 'provider-failed'
  /** Anything else that the provider refuses, in its own words. */
  | 'refused';

/** A provider did not do what it was asked. The message says what is wrong and what to do, and holds no secret. */
export class ProviderProblem extends AppError {
  constructor(
    readonly kind: ProblemKind,
    message: string,
    options: { cause?: unknown; retryAt?: Date | undefined } = {},
  ) {
    super(statusOf(kind), message, { cause: options.cause });
    this.retryAt = options.retryAt ?? null;
  }

  /** When the provider takes requests again; null unless it said so. */
  readonly retryAt: Date | null;
}

function statusOf(kind: ProblemKind): number {
  if (kind === 'provider-failed') return 502;
  return kind === 'rate-limited' ? 503 : 400;
}

/** A token: printable, without spaces. GitHub's and Linear's are shorter than 300 characters. */
export const MAX_TOKEN_LENGTH = 512;

/** A hook as Tidings keeps it. */
export interface Hook {
  integrationId: string;
  placeId: string;
  placeName: string;
  /** The repository that its URL names; null for a provider without repositories. */
  repositoryId: string | null;
  /** The provider's id; null until it was made there. */
  remoteId: string | null;
  /** The events that were set at the provider. */
  events: readonly string[];
  /** Whether the integration's present secret was set at the provider. */
  hasPresentSecret: boolean;
  /** Why the provider does not have what it should, in words; null when it has. */
  problem: string | null;
  /** When to try again by itself, in milliseconds since 1970. */
  retryAt: number | null;
  attempts: number;
}

/** What became of a delivery, as the provider's list and the log tell it together. */
export type Fate =
  /** The log has it as taken. */
  | 'arrived'
  /** Somebody answered, and the log does not have it as taken. */
  | 'failed'
  /** Nobody answered. */
  | 'never-arrived';

export interface ComparedDelivery {
  deliveryId: string;
  place: string;
  event: string;
  action: string | null;
  /** When the provider tried first. ISO 8601. */
  deliveredAt: string;
  fate: Fate;
  /** How often the provider tried. */
  attempts: number;
  /** Why it is not there, in words; null when it arrived. */
  reason: string | null;
}

/** One thing that deliveries depend on, and how it is. */
export interface Check {
  name: 'enabled' | 'reachability' | 'hook' | 'last-delivery' | 'ping' | 'secret' | 'repository' | 'missed';
  /** The repository or team, where it is about one. */
  place?: string;
  status: 'ok' | 'warning' | 'failed';
  message: string;
  /** What to do about it. */
  advice?: string;
  /** The deliveries that are missing, for `missed`. */
  missed?: readonly ComparedDelivery[];
}
