import { tidings } from '../lib/build.ts';
import type { KeyWarning } from './model.ts';
import type { KeyService } from './service.ts';

export function describeKeyWarning(warning: KeyWarning): string {
  const check = `${tidings} doctor --key KEY`;
  if (warning.reason === 'not_verified') return `Unkey did not verify the new key. Check it: ${check}`;
  const { code, permission } = warning;
  const grant = permission === null ? '' : `. Give the root key ${permission}`;
  return `Unkey answers ${code} for the new key, so the API refuses it${grant}. Then check it: ${check}`;
}

/** How soon a revoked or deleted key stops working. */
export function describeRevocation({ revocationDelayS }: Pick<KeyService, 'revocationDelayS'>): string {
  return revocationDelayS === 0
    ? 'A revoked or deleted key stops working at once.'
    : `Unkey caches keys: a revoked or deleted key can work for ${revocationDelayS} more seconds, in rare cases for 10 minutes.`;
}
