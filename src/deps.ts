import type { Database } from '../db/client.ts';
import type { Actor } from './audit/model.ts';
import type { KeyService } from './keys/service.ts';
import type { Clock } from './lib/clock.ts';
import type { Ids } from './lib/ids.ts';
import type { Logger } from './lib/log.ts';
import type { Metrics } from './lib/metrics.ts';
import type { SecretBox } from './lib/secret-box.ts';
import type { OpenProviderApi } from './providers/api.ts';

/** What features are given. Whatever differs between a test and the real thing comes in here. */
export interface Deps {
  readonly db: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Who acts, for the audit log. The dashboard replaces it for each request. */
  readonly actor: Actor;
  readonly keys: KeyService;
  /** Encrypts what must not lie in the database in the clear. */
  readonly secrets: SecretBox;
  /** Sends a request to another server. Follows no redirect: the response may have a 3xx status. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** How a provider's own API is asked, on behalf of a token. */
  readonly openProviderApi: OpenProviderApi;
  /** What links begin with, without a trailing slash. A function: with `PORT=0` it is known only after listening. */
  readonly publicUrl: () => string;
}
