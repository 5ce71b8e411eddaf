import type { TriggerFilters } from './model.ts';

/** In words: `branch main, release/*; no pre-releases`. */
export function describeFilters({ prereleases, ...lists }: TriggerFilters): string {
  const parts = Object.entries(lists).map(([name, values]) => `${name} ${values.join(', ')}`);
  if (prereleases === false) parts.push('no pre-releases');
  return parts.join('; ') || '–';
}
