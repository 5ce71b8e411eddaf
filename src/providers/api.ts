import { AppError } from '../lib/app-error.ts';
import type { Credential } from './app.ts';
import type { IntegrationType } from './index.ts';
import type { Phrase } from './provider.ts';
import type { ReadDelivery } from './reader.ts';

// The APIs of providers, which manage hooks, the webhooks of integrations, with a person's token.

export interface ApiSupport {
  /** Loads the client on first use: it takes longer to load than all the rest. */
  open(baseUrl: string, token: string, options: { signal: AbortSignal | undefined }): Promise<ProviderApi>;
  /** How it lists past deliveries and sends them again on request; null: it does neither. */
  redelivery: {
    /** How long it keeps them, in milliseconds. */
    keptMs: number;
    /** It takes this many requests at once, and the next ones after `everyMs`, in milliseconds. */
    burst: number;
    everyMs: number;
  } | null;
  /** It lists what changed, where the changes are of no repository. Absent: the provider's reader reads them. */
  changes?: boolean;
  /** The id of the place that stands for all places; null where a person names each. */
  allPlaces: string | null;
  /**
   * The place of an image at the provider: a repository's name in lower case, or `ATTACHMENTS`. Null at any other host,
   * which must not get the token.
   */
  imagePlace(url: URL, baseUrl: string | undefined): string | null;
  /** The value of `Authorization`. */
  authorization(token: string): string;
  words: {
    label: string;
    /** The description of `--token`: the kind of token. */
    option: string;
    /** The description of `--list`. */
    list: string;
    /** More help for the command that connects. */
    help: string;
    /** A hint below the field. `baseUrl`: the configured API; null is the public one. */
    hint(baseUrl: string | null): Phrase[];
    /** The token's owner lacks the role to manage webhooks of `place`. */
    noPermission(place: string): string;
  };
}

/** The place of uploads that belong to no repository. Nobody can guess their addresses. */
export const ATTACHMENTS = 'attachments';

/** The scope of a hook: a repository on GitHub; a team, or all public teams, on Linear. */
export interface Place {
  /** `owner/name` at GitHub; a team's id at Linear, or `ALL_PUBLIC_TEAMS`. */
  id: string;
  /** As people know it: `owner/name`, or `Engineering (ENG)`. */
  name: string;
  /** GitHub's own id of the repository, which survives renames; absent at Linear. */
  providerId?: number;
  /** True when the token may create hooks there. */
  canAdminister: boolean;
}

/** The id of the place at Linear that is every public team, present and future. */
export const ALL_PUBLIC_TEAMS = 'all-public-teams';

/** The desired state of a hook. `events` are the provider's names (`push`, `Issue`), sorted, never empty. */
export type HookSettings = { url: string; secret: string; events: readonly string[] };

/** `hasSecret`: the hook has this secret already, and nobody can have changed it. */
export type HookChange = HookSettings & { hasSecret?: boolean };

export interface RemoteHook {
  id: string;
  placeId: string;
  url: string;
  /** Sorted. `*` means all events. */
  events: string[];
  /** False after a person or the provider disabled it. */
  isActive: boolean;
  /** False for forms; null where the provider sends nothing but JSON. */
  isJson: boolean | null;
  /** Null where the provider does not say. */
  hasSecret: boolean | null;
  /** The response to the last delivery, in the provider's words; null when the provider does not say. */
  lastResponse: { statusCode: number | null; message: string } | null;
}

export interface RemoteAttempt {
  id: string;
  /** The delivery's id, the same for each attempt. The log calls it the reference. */
  deliveryId: string;
  /** ISO 8601. */
  deliveredAt: string;
  event: string;
  action: string | null;
  /** Null when nobody answered. */
  statusCode: number | null;
  /** In the provider's words, such as `OK` or `failed to connect to host`. */
  status: string;
}

/** A provider's API on behalf of one token. Every method throws `ProviderProblem`. */
export interface ProviderApi {
  readonly type: IntegrationType;
  /** The places that the token can see, those that it can administer first; `isCut` when the list is incomplete. */
  listPlaces(): Promise<{ places: Place[]; isCut: boolean }>;
  /** By its id, or by the name or key that a person typed. `place-not-found` when the token cannot see it. */
  getPlace(idOrName: string): Promise<Place>;
  /** When the token expires, as ISO 8601; null where it does not, or the provider does not say. Absent where it never does. */
  getExpiry?(): Promise<string | null>;
  listHooks(placeId: string): Promise<RemoteHook[]>;
  /** The hook with this URL, in any place. Absent where the provider lists hooks only by place. */
  findHookAnywhere?(url: string): Promise<RemoteHook | null>;
  findHook(placeId: string, hookId: string): Promise<RemoteHook | null>;
  /** `hook-exists` when the provider has one with this URL already. */
  createHook(placeId: string, settings: HookSettings): Promise<RemoteHook>;
  /**
   * Sets everything and enables it. `hook-not-found` when it no longer exists. Resolves to the id of a new hook that has
   * replaced it, where the provider cannot change a secret.
   */
  changeHook(placeId: string, hookId: string, settings: HookChange): Promise<string | undefined>;
  /** Also succeeds when it no longer exists. */
  deleteHook(placeId: string, hookId: string): Promise<void>;
  /** Requests a ping. Absent where the provider has none. */
  pingHook?(placeId: string, hookId: string): Promise<void>;
  /**
   * Newest first; `isCut` when there are more. `isUnchanged`, without attempts, when nothing has changed since the response
   * with `etag`. Absent where the provider does not list them.
   */
  listAttempts?(
    placeId: string,
    hookId: string,
    since: Date,
    etag?: string | null,
  ): Promise<{ attempts: RemoteAttempt[]; isCut: boolean; etag: string | null; isUnchanged: boolean }>;
  /**
   * The changes since then, as deliveries of this event to a webhook of the place. `next` is the cursor of the next page, or
   * null. Present where `ApiSupport` has `changes`.
   */
  listChanges?(
    placeId: string,
    event: string,
    since: Date,
    cursor: string | null,
  ): Promise<{ items: ReadDelivery[]; next: string | null }>;
  /** Requests a redelivery. */
  redeliver?(placeId: string, hookId: string, attemptId: string): Promise<void>;
}

/** Opens a provider's API for a token or an App, without a request. `signal` aborts requests, as if nobody answered. */
export type OpenProviderApi = (
  type: IntegrationType,
  credential: Credential,
  signal?: AbortSignal,
) => Promise<ProviderApi>;

export type ProblemKind =
  /** The token is unknown, revoked or expired. */
  | 'bad-token'
  /** The token lacks a permission; the message names it. */
  | 'missing-permission'
  | 'place-not-found'
  | 'hook-not-found'
  | 'hook-exists'
  | 'too-many-hooks'
  /** The provider cannot reach the URL, or refuses its host. */
  | 'unreachable-url'
  /** Too many requests; retry at `retryAt`. */
  | 'rate-limited'
  /** The provider did not answer, or failed itself. */
  | 'provider-failed'
  /** Any other refusal, in the provider's words. */
  | 'refused';

/** A provider's API failed or refused. The message says why and what to do, and holds no secret. */
export class ProviderProblem extends AppError {
  /** The time from which the provider accepts requests again; null unless it says so. */
  readonly retryAt: Date | null;

  constructor(
    readonly kind: ProblemKind,
    message: string,
    { cause, retryAt = null }: { cause?: unknown; retryAt?: Date | null | undefined } = {},
  ) {
    super({ 'provider-failed': 502, 'rate-limited': 503 }[kind as string] ?? 400, message, { cause });
    this.retryAt = retryAt;
  }
}

/** GitHub's and Linear's tokens are shorter than 300 characters. */
export const MAX_TOKEN_LENGTH = 512;
