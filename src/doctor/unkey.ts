import type { Unkey } from '@unkey/api';
import type { UnkeyConfig } from '../config.ts';
import { tidings } from '../lib/how-to-run.ts';
import { type Finding, failed, ok, warning } from './check.ts';

/** A person waits, and a slow answer is an answer. */
const TIMEOUT_MS = 5_000;

/** No key that anybody has: Unkey must not know it. */
const NOBODYS_KEY = 'tdk_doctor';

const PERMISSIONS = 'api.*.verify_key, api.*.read_api, and create_key, read_key, update_key, delete_key';

/**
 * Whether Unkey can be reached, takes the root key, and lets it verify and manage keys. A root key that may not verify
 * makes Unkey answer NOT_FOUND for every key, as if none were good. That shows only with a key that is: Unkey tells
 * what it knows of `key` under another permission.
 */
export async function examineUnkey(config: UnkeyConfig, key: string | undefined): Promise<Finding> {
  // The SDK loads slowly and most installations do not use it.
  const { openUnkey } = await import('../keys/unkey.ts');
  const unkey = openUnkey({ ...config, timeoutMs: TIMEOUT_MS });
  const verified = await attempt(unkey.keys.verifyKey({ key: key ?? NOBODYS_KEY }));
  if (!verified.isDone) return refusedBy('verify keys', verified);
  const managed = await examineManagement(unkey, config.apiId);
  if (managed !== null) return managed;
  if (key === undefined) {
    return ok(
      'Unkey answers, and lets the root key list keys. Whether it may verify them shows only with a key',
      `When good keys are refused: ${tidings} doctor --key KEY, with one that should work`,
    );
  }
  const { code } = verified.value.data;
  if (code !== 'NOT_FOUND') return ok(`Unkey verifies the given key: ${code}`);
  const known = await attempt(unkey.keys.whoami({ key }));
  if (known.isDone) {
    return failed(
      'Unkey knows the given key, and says NOT_FOUND when it is verified: the root key may not verify, so every key is refused',
      `Give the root key at Unkey these permissions: ${PERMISSIONS}`,
    );
  }
  return known.status === 404
    ? warning('Unkey does not know the given key', `Give one that "${tidings} key list" shows`)
    : refusedBy('look up a key', known);
}

/** Null when the root key may list keys, as far as there is an API to list them of. */
async function examineManagement(unkey: Unkey, apiId: string | undefined): Promise<Finding | null> {
  if (apiId === undefined) {
    return warning(
      'Unkey answers. UNKEY_API_ID is not set, so keys can be verified and neither made nor listed',
      'Set UNKEY_API_ID to the id of the Unkey API that the keys belong to',
    );
  }
  const listed = await attempt(unkey.apis.listKeys({ apiId, limit: 1 }));
  if (listed.isDone) return null;
  if (listed.status === 404) {
    return failed(
      `Unkey has no API ${apiId} in the root key's workspace`,
      'Set UNKEY_API_ID to the id of one',
    );
  }
  return refusedBy('list keys', listed);
}

type Attempt<Value> =
  | { isDone: true; value: Value }
  | { isDone: false; status: number | null; reason: string };

async function attempt<Value>(call: Promise<Value>): Promise<Attempt<Value>> {
  try {
    return { isDone: true, value: await call };
  } catch (error) {
    // The SDK's messages hold whole bodies: the kind of error says enough.
    const isAnswer = error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number';
    const reason = error instanceof Error ? error.constructor.name : typeof error;
    return { isDone: false, status: isAnswer ? Number(error.statusCode) : null, reason };
  }
}

function refusedBy(what: string, { status, reason }: { status: number | null; reason: string }): Finding {
  if (status === 401) {
    return failed('Unkey does not know the root key', 'Set UNKEY_ROOT_KEY to a root key of your workspace');
  }
  if (status === 403) {
    return failed(`The root key may not ${what}`, `Give it at Unkey these permissions: ${PERMISSIONS}`);
  }
  const seen = status === null ? reason : `it answered ${status}`;
  return failed(
    `Unkey could not be asked to ${what} (${seen})`,
    'While that is so, the API answers 503. Look at the network, UNKEY_BASE_URL, and status.unkey.com',
  );
}
