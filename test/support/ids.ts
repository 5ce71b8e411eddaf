import type { Ids } from '../../src/lib/text.ts';

/** `org_1`, `key_2`, …: ids that a test can foresee. */
export function countingIds(): Ids {
  let count = 0;
  return {
    newId: (prefix) => `${prefix}_${++count}`,
    newUuid: () => `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`,
  };
}
