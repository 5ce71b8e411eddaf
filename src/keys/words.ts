import { tidings } from '../lib/build.ts';
import type { KeyWarning } from './model.ts';

/** A sentence or two for the person who created the key. */
export function describeKeyWarning(warning: KeyWarning): string {
  const check = `${tidings} doctor --key KEY`;
  if (warning.reason === 'not_verified') return `Unkey did not verify the new key. Check it: ${check}`;
  const { code, permission } = warning;
  const grant = permission === null ? '' : `. Give the root key ${permission}`;
  return `Unkey answers ${code} for the new key, so the API refuses it${grant}. Then check it: ${check}`;
}
