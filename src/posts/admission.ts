import { BoundedMap } from '../lib/bounded-map.ts';
import { foreignOrganization, requireApiKey } from '../people/keys/check.ts';
import { READ_PERMISSION, type RepeatVerdict } from '../people/keys/store.ts';

// Decides who reads the posts of an organization: the holder of one of its keys, or a request that the server itself made.

/** Requests that need no key, each with the one organization whose posts it may read. */
const keyless = new WeakMap<Request, string>();

/**
 * Lets this request read the posts of one organization without a key. The caller must have checked that the person may
 * see them. The permission belongs to the object, not to its content, so no client can send or repeat it.
 */
export function allowReading(request: Request, organizationId: string): Request {
  keyless.set(request, organizationId);
  return request;
}

/** Keys that are remembered as admitted. */
const MAX_ADMITTED = 1_000;

/** Rejects with the refusal of the key. Without a verdict, the next request needs a check of its own. */
export type Admission = Promise<RepeatVerdict | undefined>;

/**
 * Returns a function that checks the key of a request. It waits for the check, unless the key was admitted before: then
 * the check runs while the caller validates and reads, so that both cost one round trip to the database, and the caller
 * must await `admission` before it responds in any way. A stranger causes no read, and learns nothing from the time that
 * a refusal takes.
 */
export function createAdmission(deps: Parameters<typeof requireApiKey>[0]) {
  /** By the hashes of keys and their organizations. */
  const admitted = new BoundedMap<number | bigint, true>(MAX_ADMITTED);

  return async (request: Request, organizationId: string): Promise<{ admission: Admission }> => {
    const ownOrganization = keyless.get(request);
    if (ownOrganization === organizationId) return { admission: Promise.resolve(undefined) };
    if (ownOrganization !== undefined) throw foreignOrganization();
    const { headers } = request;
    const reader = Bun.hash(`${organizationId} ${headers.get('authorization')}`);
    const admission = requireApiKey(deps, headers, organizationId, READ_PERMISSION).then(
      ({ repeat }) => {
        admitted.set(reader, true);
        return repeat;
      },
      (error: unknown) => {
        admitted.delete(reader);
        throw error;
      },
    );
    if (!admitted.get(reader)) await admission;
    // The refusal is for the code that awaits it later.
    admission.catch(() => undefined);
    return { admission };
  };
}
