import type { GroupName } from './change.ts';

// The types that titles have before their colon: of Conventional Commits and Angular, and those that people write.
const typesOf: Record<GroupName, string> = {
  Added: 'feat feats feature features add adds added new enhancement enh',
  Changed:
    'perf performance change changes changed update updates updated improve improves improved improvement ' +
    'improvements optimize revert reapply',
  Deprecated: 'deprecate deprecates deprecated deprecation',
  Removed: 'remove removes removed removal',
  Fixed: 'fix fixes fixed bug bugfix bugfixes hotfix',
  Security: 'security sec',
  Other:
    'refactor refactoring chore chores ci cd build test tests doc docs documentation style styles dep deps ' +
    'dependencies release wip bump upgrade merge meta misc lint maint maintenance cleanup bench internal',
};

const groupByType = new Map(
  Object.entries(typesOf).flatMap(([group, types]) =>
    types.split(' ').map((type): [string, GroupName] => [type, group as GroupName]),
  ),
);

/**
 * Whether a word in lower case is a type of change rather than a part of the product. `breaking` is one that says
 * nothing of the group.
 */
export function isType(word: string): boolean {
  return word === 'breaking' || groupByType.has(word);
}

/** The group of a conventional title's type and scope; null without a known type. */
export function groupOfType(type: string | null, scope: string | null): GroupName | null {
  if (type === null) return null;
  return scope?.toLowerCase() === 'security' ? 'Security' : (groupByType.get(type) ?? null);
}
