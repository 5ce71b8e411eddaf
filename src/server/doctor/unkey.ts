import type { V2KeysVerifyKeyResponseData } from '@unkey/api/models/components';
import { tidings } from '../../lib/build.ts';
import { READ_PERMISSION, type UnkeyConfig } from '../../people/keys/store.ts';
import { findOrganization } from '../../people/organization-store.ts';
import { type Finding, failed, ok, type Patient, warning } from './check.ts';

/** A person waits, and a slow answer is an answer. */
const TIMEOUT_MS = 5_000;

/** No key that anybody has: Unkey must not know it. */
const NOBODYS_KEY = 'tdk_doctor';

/** No API that anybody has: a root key that may look for it may look at every API. */
const NOBODYS_API = 'api_tidings_doctor';

/** How many pages of 100 keys to search for the given key. */
const MAX_PAGES = 20;

/**
 * Checks that Unkey responds and that the root key has exactly the permissions that Tidings needs. Unkey answers
 * NOT_FOUND for each key that the root key may not verify, so that permission shows only with a good `key`.
 */
export async function examineUnkey(
  config: UnkeyConfig,
  { key, db, clock }: Pick<Patient, 'key' | 'db' | 'clock'>,
): Promise<Finding> {
  // The SDK loads slowly and most installations do not use it.
  const { openUnkey, rootKeyPermissions, verdictOf } = await import('../../people/keys/unkey.ts');
  const unkey = openUnkey({ ...config, timeoutMs: TIMEOUT_MS });
  const { apiId } = config;
  const permissions = rootKeyPermissions(apiId).join(', ');
  const grant = `Give the root key these permissions at Unkey: ${permissions}`;

  const verified = await attempt(
    unkey.keys.verifyKey({ key: key ?? NOBODYS_KEY, permissions: READ_PERMISSION }),
  );
  if (!verified.isDone) return refused('verify keys', verified);
  const unmanaged = apiId === undefined ? null : await examineManagement(apiId);
  if (unmanaged !== null) return unmanaged;
  const badKey = key === undefined ? null : await examineKey(key, verified.value.data);
  if (badKey !== null) return badKey;
  if (apiId === undefined) {
    return warning(
      'Unkey responds. UNKEY_API_ID is not set, so Tidings can verify keys but not create or list them',
      'Set UNKEY_API_ID to the ID of the Unkey API that the keys belong to',
    );
  }
  // Unkey looks for the API only once the root key may read it: 404 means that it may read all.
  const probe = await attempt(unkey.apis.getApi({ apiId: NOBODYS_API }));
  if (!probe.isDone && probe.status === 404) {
    return warning(
      `The root key has permissions on every API of the workspace. If they include verify_key, keys of other APIs pass as keys of ${apiId}`,
      `Limit the root key at Unkey to ${permissions}`,
    );
  }
  return key === undefined
    ? ok(
        `Unkey responds, and the root key can list the keys of ${apiId}. To check that it can verify them, pass a key`,
        `If valid keys are rejected, run ${tidings} doctor --key KEY with one of them`,
      )
    : ok('Unkey verifies the given key: VALID. The API accepts it');

  /** Null when the root key may list keys. Unkey masks a missing permission as 404. */
  async function examineManagement(id: string): Promise<Finding | null> {
    const listed = await attempt(unkey.apis.listKeys({ apiId: id, limit: 1 }));
    if (listed.isDone) return null;
    if (listed.status !== 404) return refused('list keys', listed);
    const found = await attempt(unkey.apis.getApi({ apiId: id }));
    if (found.isDone) return failed(`The root key may not list keys: it lacks api.${id}.read_key`, grant);
    if (found.status === 404) {
      return failed(
        `Unkey has no API ${id} in the root key's workspace`,
        'Set UNKEY_API_ID to the ID of an API there',
      );
    }
    if (found.status !== 403) return refused('look up the API', found);
    return failed(
      `The root key may not list keys: it lacks api.${id}.read_api, or UNKEY_API_ID is wrong`,
      `Check UNKEY_API_ID. ${grant}`,
    );
  }

  /** Null when the API would accept the key for its organization. */
  async function examineKey(value: string, data: V2KeysVerifyKeyResponseData): Promise<Finding | null> {
    if (data.code === 'NOT_FOUND') return examineUnknownKey(value);
    const { outcome } = verdictOf(data, clock.now());
    if (outcome !== 'valid') {
      return failed(
        `Unkey answers ${data.code} for the given key, so the API answers ${ANSWERS[outcome]}`,
        ADVICE[data.code] ?? 'Check the key at Unkey',
      );
    }
    const organizationId = data.identity?.externalId;
    const isBound =
      organizationId !== undefined &&
      (db === null || (await db.read((tx) => findOrganization(tx, organizationId))) !== null);
    if (!isBound) {
      return failed(
        `The given key has ${organizationId === undefined ? 'no external ID' : `the external ID ${organizationId}, which is no organization here`}, so the API answers 403`,
        `Create a key for an organization: ${tidings} key create`,
      );
    }
    if (apiId === undefined || data.keyId === undefined) return null;
    if ((await isListed(apiId, organizationId, data.keyId)) !== false) return null;
    return warning(
      `The given key is not a key of ${apiId}, and passes: the root key may verify keys of other APIs`,
      `Limit the root key at Unkey to ${permissions}`,
    );
  }

  async function examineUnknownKey(value: string): Promise<Finding> {
    const known = await attempt(unkey.keys.whoami({ key: value }));
    if (known.isDone) {
      return failed(
        'Unkey knows the given key and answers NOT_FOUND when it verifies it: the root key lacks verify_key, so the API rejects every key',
        grant,
      );
    }
    // Without UNKEY_API_ID nothing has shown yet that the root key may read keys.
    const doubt = apiId === undefined ? ', or the root key lacks read_key and verify_key' : '';
    return known.status === 404
      ? warning(
          `Unkey does not know the given key, so the API answers 401${doubt}`,
          `Use a key that "${tidings} key list" shows`,
        )
      : refused('look up a key', known);
  }

  /** Null when there are too many keys to say, or Unkey does not answer. */
  async function isListed(id: string, externalId: string, keyId: string): Promise<boolean | null> {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const from = cursor === undefined ? {} : { cursor };
      const listed = await attempt(unkey.apis.listKeys({ apiId: id, externalId, limit: 100, ...from }));
      if (!listed.isDone) return null;
      const { data, pagination } = listed.value.result;
      if (data.some((each) => each.keyId === keyId)) return true;
      if (!pagination.hasMore) return false;
      cursor = pagination.cursor;
    }
    return null;
  }

  function refused(what: string, { status, reason }: Failure): Finding {
    if (status === 401) {
      return failed('Unkey does not know the root key', 'Set UNKEY_ROOT_KEY to a root key of your workspace');
    }
    if (status === 403) return failed(`The root key may not ${what}`, grant);
    const seen = status === null ? reason : `it answered ${status}`;
    return failed(
      `Unkey failed to ${what} (${seen})`,
      'Until it responds, the API answers 503. Check the network, UNKEY_BASE_URL, and status.unkey.com',
    );
  }
}

/** The API's response to a key that is not valid. */
const ANSWERS = { invalid: '401 INVALID_KEY', forbidden: '403 Forbidden', limited: '429' } as const;

const ADVICE: Readonly<Record<string, string>> = {
  DISABLED: 'Enable the key at Unkey, or create another one',
  EXPIRED: 'Create another key',
  USAGE_EXCEEDED: 'Add credits to the key at Unkey, or create another one',
  RATE_LIMITED: "Wait, or raise the key's rate limit at Unkey",
  INSUFFICIENT_PERMISSIONS: `Give the key the permission ${READ_PERMISSION} at Unkey`,
  FORBIDDEN: "Check the key's IP allowlist and the workspace at Unkey",
};

type Failure = Extract<Awaited<ReturnType<typeof attempt>>, { isDone: false }>;

/** `status` is null when Unkey gave no answer. */
async function attempt<Value>(call: Promise<Value>) {
  try {
    return { isDone: true as const, value: await call };
  } catch (error) {
    // The SDK's messages hold whole bodies: the kind of error says enough.
    const { statusCode } = error as { statusCode?: unknown };
    const status = typeof statusCode === 'number' ? statusCode : null;
    const reason = error instanceof Error ? error.constructor.name : typeof error;
    return { isDone: false as const, status, reason };
  }
}
