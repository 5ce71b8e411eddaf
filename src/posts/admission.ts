import { foreignOrganization, requireApiKey } from '../http/request.ts';
import { READ_PERMISSION, type RepeatVerdict } from '../keys/model.ts';
import { BoundedMap } from '../lib/bounded-map.ts';

// Who may read the posts of an organization: the holder of one of its keys, or a request that the server itself made.

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

/**
 * Returns a function that reads for the holder of a key, and rejects with the refusal of the key before any error of
 * `read`. Without `repeatVerdict` the next request needs a check of its own. It reads while it checks a key that was
 * admitted before, so that both cost one round trip to the database. A stranger causes no read, and learns nothing from the
 * time that a refusal takes.
 */
export function createAdmission(deps: Parameters<typeof requireApiKey>[0]) {
  /** By the hashes of keys and their organizations. */
  const admitted = new BoundedMap<number | bigint, true>(MAX_ADMITTED);

  return async function readAs<Result>(
    request: Request,
    organizationId: string,
    read: () => Promise<Result>,
  ): Promise<{ result: Result; repeatVerdict?: RepeatVerdict | undefined }> {
    const ownOrganization = keyless.get(request);
    if (ownOrganization === organizationId) return { result: await read() };
    if (ownOrganization !== undefined) throw foreignOrganization();
    const { headers } = request;
    const reader = Bun.hash(`${organizationId} ${headers.get('authorization')}`);
    const checked = requireApiKey(deps, headers, organizationId, READ_PERMISSION);
    const early = admitted.get(reader) ? Promise.try(read) : null;
    early?.catch(() => undefined);
    let repeatVerdict: RepeatVerdict | undefined;
    try {
      repeatVerdict = (await checked).repeat;
    } catch (error) {
      admitted.delete(reader);
      throw error;
    }
    if (early !== null) return { result: await early, repeatVerdict };
    admitted.set(reader, true);
    return { result: await read(), repeatVerdict };
  };
}
