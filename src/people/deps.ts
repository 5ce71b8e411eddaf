import type { Storage } from '../../db/engine.ts';
import type { FileStore } from '../lib/file-store.ts';
import type { Logger } from '../lib/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { Ids } from '../lib/text.ts';
import type { Clock } from '../lib/time.ts';
import type { OpenProviderApi } from '../providers/api.ts';
import type { OpenReader } from '../providers/reader.ts';
import type { Actor } from './audit.ts';
import type { KeyService } from './keys/store.ts';
import type { IdentityProvider } from './oidc/provider.ts';

export interface MediaPlace {
  readonly files: FileStore | null;
  readonly whyOff: string | null;
  readonly quotaBytes: number;
}

export const passwordsWork = ({ identityProvider }: Pick<Deps, 'identityProvider'>): boolean =>
  identityProvider?.hasPasswords !== false;

/** A server that words entries, which the operator names. */
export interface AssistantAccess {
  /** With `/chat/completions` below it, as OpenAI's. */
  readonly url: string;
  readonly model: string;
  readonly key?: string | undefined;
}

export interface Deps {
  readonly db: Storage;
  readonly clock: Clock;
  /** Milliseconds that grow only as time passes, and the wall clock without a jump. See `server/elapsed.ts`. */
  readonly elapsed: { nowMs(): number; dueAt(): Date };
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The author of changes, for the audit log. The dashboard replaces it for each request. */
  readonly actor: Actor;
  readonly keys: KeyService;
  readonly secrets: SecretBox;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** The configured APIs, by provider. Absent: the public ones. */
  readonly providerUrls?: Readonly<Record<string, string>>;
  /** Hosts that may be asked for images over plain http. */
  readonly plainHosts?: ReadonlySet<string>;
  /** Hosts that hooks may call in a private network and over plain http. */
  readonly hookPrivateHosts?: ReadonlySet<string>;
  /** Absent: people sign in without one. */
  readonly identityProvider?: IdentityProvider | undefined;
  readonly openProviderApi: OpenProviderApi;
  readonly openReader: OpenReader;
  /** The start of links, without a trailing slash. A function, because `PORT=0` gets its port only after listening. */
  readonly publicUrl: () => string;
  readonly media: MediaPlace;
  readonly assistant?: AssistantAccess | undefined;
}
