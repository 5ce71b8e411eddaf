import type { History } from '../../../history/store.ts';

/** Such as "20 newest releases". */
export function describeRequest({ releases, since }: Pick<History, 'releases' | 'since'>): string {
  if (releases !== null) return releases === 1 ? 'Newest release' : `${releases} newest releases`;
  return since === null ? 'All releases' : `Releases since ${since.slice(0, 10)}`;
}
