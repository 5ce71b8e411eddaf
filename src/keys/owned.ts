import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import type { ApiKey } from './model.ts';

/** After how many days without a call a key counts as one that nobody uses. */
const QUIET_DAYS = 30;

/** The organization's key of this id. Throws `AppError` 404: another's is not there. */
export async function getOwnKey(
  { keys }: Pick<Deps, 'keys'>,
  organizationId: string,
  keyId: string,
): Promise<ApiKey> {
  const found = (await keys.listKeys(organizationId)).find(({ id }) => id === keyId);
  if (found?.organizationId !== organizationId) {
    throw new AppError(404, 'There is no such key. It may have been deleted.');
  }
  return found;
}

/** For how many days nobody has called with the key, from when it was made; null while it is in use, or has ended. */
export function quietDays(
  { status, lastUsedAt, createdAt }: Pick<ApiKey, 'status' | 'lastUsedAt' | 'createdAt'>,
  now: Date,
): number | null {
  const days = Math.floor((now.getTime() - Date.parse(lastUsedAt ?? createdAt)) / DAY_MS);
  return status === 'active' && days >= QUIET_DAYS ? days : null;
}
