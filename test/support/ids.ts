import type { Ids } from '../../src/lib/ids.ts';

/** `org_1`, `key_2`, …: ids that a test can foresee. */
export function countingIds(): Ids {
  let count = 0;
  return { newId: (prefix) => `${prefix}_${++count}` };
}
