import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Unkey } from '@unkey/api';
import { HTTPClient } from '@unkey/api/lib/http.js';
import type { KeyResponseData } from '@unkey/api/models/components';
import { UnkeyError } from '@unkey/api/models/errors';
import type { UnkeyConfig } from '../config.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { fetchWithoutRedirects } from '../lib/outgoing.ts';
import { requireFuture } from '../lib/time.ts';
import { requireValid } from '../lib/validation.ts';
import { getOrganization } from '../organizations/store.ts';
import { type ApiKey, KEY_BYTES, KEY_PREFIX, NewKey, type Verdict } from './model.ts';
import { type KeyService, KeyServiceUnavailable, keyNotFound } from './service.ts';

/** A person waits for these, not a request of the content API. */
const MANAGEMENT_TIMEOUT_MS = 10_000;

/** Unkey's own bound on a page of keys. */
const PAGE_SIZE = 100;

/**
 * Unkey's SDK. Its defaults wait forever, retry for ten seconds, and follow redirects with the API key in the body.
 * A client of ours that gets a 503 retries by itself.
 */
export function openUnkey({ rootKey, timeoutMs, baseUrl }: Omit<UnkeyConfig, 'apiId'>): Unkey {
  return new Unkey({
    rootKey,
    timeoutMs,
    retryConfig: { strategy: 'none' },
    httpClient: new HTTPClient({ fetcher: fetchWithoutRedirects }),
    ...(baseUrl === undefined ? {} : { serverURL: baseUrl }),
  });
}

/** Keys at Unkey (API v2). Unkey records when each was last used. */
export function unkeyKeys(deps: Pick<Deps, 'db' | 'clock'>, config: UnkeyConfig): KeyService {
  const unkey = openUnkey(config);
  const management = { timeoutMs: MANAGEMENT_TIMEOUT_MS };

  function requireApiId(): string {
    if (config.apiId !== undefined) return config.apiId;
    throw new AppError(
      400,
      'UNKEY_API_ID must be set to make or list keys: the id of the Unkey API they belong to',
    );
  }

  return {
    async verifyKey(key, permission) {
      const { data } = await unkey.keys
        .verifyKey({ key, permissions: permission })
        .catch((error: unknown) => {
          throw new KeyServiceUnavailable(error);
        });
      return verdictOf(data);
    },

    async createKey(input) {
      const { organizationId, name, permissions } = requireValid(NewKey, input);
      await getOrganization(deps.db, organizationId);
      const expiresAt = requireFuture(input.expiresAt, deps.clock.now());
      const { data } = await managed(
        unkey.keys.createKey(
          {
            apiId: requireApiId(),
            prefix: KEY_PREFIX,
            byteLength: KEY_BYTES,
            name,
            externalId: organizationId,
            permissions,
            recoverable: false,
            ...(expiresAt === null ? {} : { expires: Date.parse(expiresAt) }),
          },
          management,
        ),
      );
      return { id: data.keyId, key: data.key, name, organizationId, permissions, expiresAt };
    },

    async listKeys(organizationId) {
      const apiId = requireApiId();
      const keys: KeyResponseData[] = [];
      let cursor: string | undefined;
      do {
        const page = await managed(
          unkey.apis.listKeys(
            {
              apiId,
              externalId: organizationId,
              limit: PAGE_SIZE,
              ...(cursor === undefined ? {} : { cursor }),
            },
            management,
          ),
        );
        keys.push(...page.result.data);
        cursor = page.result.pagination.hasMore ? page.result.pagination.cursor : undefined;
      } while (cursor !== undefined);
      const now = deps.clock.now();
      return keys.map((key) => shown(key, now)).sort((a, b) => b.createdAt.localeCompare(a.createdAt));
    },

    async revokeKey(keyId) {
      await managed(unkey.keys.updateKey({ keyId, enabled: false }, management), keyId);
      const { data } = await managed(unkey.keys.getKey({ keyId }, management), keyId);
      return shown(data, deps.clock.now());
    },

    async deleteKey(keyId) {
      await managed(unkey.keys.deleteKey({ keyId }, management), keyId);
    },

    async flush() {
      // Unkey writes down itself what it verifies.
    },
  };
}

/** Unkey's codes, by the answer that each gets. A code that is not known refuses the key. */
function verdictOf(data: {
  valid: boolean;
  code: string;
  keyId?: string | undefined;
  identity?: { externalId: string } | undefined;
}): Verdict {
  switch (data.code) {
    case 'VALID':
      if (!data.valid || data.keyId === undefined) {
        throw new KeyServiceUnavailable(
          new Error('Unkey answered VALID for a key that it does not name as valid'),
        );
      }
      return { outcome: 'valid', keyId: data.keyId, organizationId: data.identity?.externalId ?? null };
    case 'INSUFFICIENT_PERMISSIONS':
    case 'FORBIDDEN':
      return { outcome: 'forbidden' };
    case 'RATE_LIMITED':
    case 'USAGE_EXCEEDED':
      return { outcome: 'limited', code: data.code };
    default:
      return { outcome: 'invalid' };
  }
}

/** Tells what a person can mend (a refused root key, an unknown id) from an outage. */
async function managed<Result>(call: Promise<Result>, keyId?: string): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    // The SDK also throws an `UnkeyError` for a 200 that makes no sense.
    if (!(error instanceof UnkeyError) || error.statusCode < 400 || error.statusCode >= 500) {
      throw new KeyServiceUnavailable(error);
    }
    // An id that no key could have is a 400 at Unkey.
    if (keyId !== undefined && [400, 404].includes(error.statusCode)) throw keyNotFound(keyId);
    throw new AppError(502, `Unkey refused the request (${error.statusCode})${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Unkey's form of an error; `errors` names the fields that a 400 is about. */
const Failure = Type.Object({
  error: Type.Object({
    detail: Type.String(),
    errors: Type.Optional(Type.Array(Type.Object({ location: Type.String(), message: Type.String() }))),
  }),
});

/** What Unkey says for itself. The page of a proxy is not repeated: it says nothing, at length. */
function reasonOf({ body }: UnkeyError): string {
  const failure = parsed(body);
  if (!Value.Check(Failure, failure)) return ' without saying why';
  const { detail, errors = [] } = failure.error;
  return [`: ${detail}`, ...errors.map(({ location, message }) => `${location} ${message}`)].join('; ');
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function shown(key: KeyResponseData, now: Date): ApiKey {
  const expiresAt = key.expires === undefined ? null : new Date(key.expires).toISOString();
  const expired = key.expires !== undefined && key.expires <= now.getTime();
  return {
    id: key.keyId,
    name: key.name ?? '',
    organizationId: key.identity?.externalId ?? '',
    prefix: key.start,
    permissions: key.permissions ?? [],
    createdAt: new Date(key.createdAt).toISOString(),
    lastUsedAt: key.lastUsedAt === undefined ? null : new Date(key.lastUsedAt).toISOString(),
    expiresAt,
    status: key.enabled ? (expired ? 'expired' : 'active') : 'revoked',
  };
}
