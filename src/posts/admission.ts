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

/** Requires a key of the organization, or the server's permission. A request without a key has no verdict to repeat. */
export async function admit(
  deps: Parameters<typeof requireApiKey>[0],
  request: Request,
  organizationId: string,
): Promise<{ repeatVerdict?: RepeatVerdict | undefined }> {
  const ownOrganization = keyless.get(request);
  if (ownOrganization === organizationId) return {};
  if (ownOrganization !== undefined) throw foreignOrganization();
  const { repeat } = await requireApiKey(deps, request.headers, organizationId, READ_PERMISSION);
  return { repeatVerdict: repeat };
}
