import { type Change, type GroupName, groupNames, joinChanges } from './change.ts';

const TAKEN_BACK = /^(?:Revert|Reapply): /;

/** What matters to readers, first to last. */
const ranks: Record<GroupName, number> = {
  Added: 1,
  Security: 2,
  Changed: 3,
  Fixed: 4,
  Deprecated: 5,
  Removed: 5,
  Other: 6,
};

/**
 * The changes in the groups of a changelog, of which none is empty. In a group those that break something come
 * first, otherwise the order stays.
 */
export function groupChanges<Grouped extends Change>(
  changes: readonly Grouped[],
): { name: GroupName; changes: Grouped[] }[] {
  return groupNames
    .map((name) => {
      const own = changes.filter(({ group }) => group === name);
      return { name, changes: own.toSorted((a, b) => Number(b.isBreaking) - Number(a.isBreaking)) };
    })
    .filter((group) => group.changes.length > 0);
}

/** At most `limit` changes that matter most to readers; of the group Other only when there is nothing else. */
export function highlights(changes: readonly Change[], limit: number): Change[] {
  const telling = changes.filter((change) => rankOf(change) < ranks.Other);
  return (telling.length > 0 ? telling : changes)
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .slice(0, Math.max(0, limit));
}

function rankOf({ isBreaking, group, text }: Change): number {
  if (isBreaking) return 0;
  // What was taken back is no news, but the reader of a changelog wants to know.
  return group === 'Changed' && TAKEN_BACK.test(text) ? ranks.Removed : ranks[group];
}

/** The changes, of which those that say the same are one. */
export function withoutRepetitions(changes: readonly Change[]): Change[] {
  const bySense = Map.groupBy(changes, ({ text, scope, group }) => JSON.stringify([text, scope, group]));
  return [...bySense.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : joinChanges(first, others),
  );
}
