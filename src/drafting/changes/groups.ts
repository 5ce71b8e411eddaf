/** In the order in which a changelog has them (keepachangelog.com), then what fits none. */
export const groupNames = [
  'Added',
  'Changed',
  'Deprecated',
  'Removed',
  'Fixed',
  'Security',
  // Only by name: a title such as `perf: …` is a change.
  'Performance',
  'Other',
] as const;
export type GroupName = (typeof groupNames)[number];

/** The source of a change. */
export interface Reference {
  /** `#12`, `ENG-412`, `c02f9a6`. */
  label: string;
  url: string | null;
}

/** A thing that was shipped, as a line of a changelog. */
export interface Change {
  /** Plain text of one line: capitalised, without type, scope, number and final full stop. Never empty. */
  text: string;
  /** The same as its author wrote it, in Markdown of one line; absent for a title. */
  markdown?: string;
  scope: string | null;
  group: GroupName;
  isBreaking: boolean;
  /** The text of a `BREAKING CHANGE:` footer, one line. */
  breakingNote: string | null;
  /** One for each thing that the change stands for. */
  references: Reference[];
  /** Logins or names, each once. */
  authors: string[];
}

/** The first change with the references and the authors of all. */
export function joinChanges(first: Change, others: Change[]): Change {
  if (others.length === 0) return first;
  const all = [first, ...others];
  const isBreaking = all.some((change) => change.isBreaking);
  const notes = new Set(all.flatMap(({ breakingNote }) => breakingNote ?? []));
  return {
    ...first,
    isBreaking,
    group: groupWhenBreaking(first.group, isBreaking),
    breakingNote: notes.size === 0 ? null : [...notes].join('; '),
    references: eachOnce(all.flatMap(({ references }) => references)),
    authors: [...new Set(all.flatMap(({ authors }) => authors))],
  };
}

/** Breaking changes are never in Other, where nobody would read them. */
export function groupWhenBreaking(group: GroupName, isBreaking: boolean): GroupName {
  return isBreaking && group === 'Other' ? 'Changed' : group;
}

export function eachOnce(references: Reference[]): Reference[] {
  return [...new Map(references.map((each) => [JSON.stringify([each.label, each.url]), each])).values()];
}

/** Groups by importance to readers. */
const ranks: Record<GroupName, number> = {
  Added: 1,
  Security: 2,
  Changed: 3,
  Performance: 3,
  Fixed: 4,
  Deprecated: 5,
  Removed: 5,
  Other: 6,
};

/** In the order of a changelog, without empty groups. Breaking changes come first, otherwise the order stays. */
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
  return (telling.length > 0 ? telling : changes).toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, limit);
}

function rankOf({ isBreaking, group, text }: Change): number {
  if (isBreaking) return 0;
  // A revert is no highlight, but belongs in a changelog.
  return group === 'Changed' && /^(?:Revert|Reapply): /.test(text) ? ranks.Removed : ranks[group];
}

/** Joins changes that say the same. */
export function withoutRepetitions(changes: readonly Change[]): Change[] {
  const bySense = Map.groupBy(changes, ({ text, scope, group }) => JSON.stringify([text, scope, group]));
  return [...bySense.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : joinChanges(first, others),
  );
}

/** Reads a table of words, or of names with hyphens, the other way round. */
export function groupsByWord(table: Partial<Record<GroupName, string>>): ReadonlyMap<string, GroupName> {
  const entries = Object.entries(table) as [GroupName, string][];
  return new Map(entries.flatMap(([group, words]) => words.split(' ').map((word) => [word, group] as const)));
}

// The types before the colon of a title: those of Conventional Commits and Angular, and those that people write.
const groupByType = groupsByWord({
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
});

/** True if a word in lower case is a type of change, not a part of the product. `breaking` is a type without a group. */
export function isType(word: string): boolean {
  return word === 'breaking' || groupByType.has(word);
}

/** The group of a conventional title's type and scope; null without a known type. */
export function groupOfType(type: string | null, scope: string | null): GroupName | null {
  if (type === null) return null;
  return scope?.toLowerCase() === 'security' ? 'Security' : (groupByType.get(type) ?? null);
}

/** The group that somebody names: `fixed`, `Bug fixes`, `perf`. Null for other words. */
export function groupOfKind(kind: string | undefined): GroupName | null {
  const words = wordsOf(kind ?? '');
  if (words === 'perf') return 'Performance';
  const named = groupNames.find((name) => name.toLowerCase() === words);
  return (
    named ??
    groupOfType(words, null) ??
    groupOfLabels([words]) ??
    groupOfType(words.split(' ')[0] ?? '', null)
  );
}

// The first word of a plain English title. A mild guess: few verbs, in their usual forms.
const groupByFirstWord = groupsByWord({
  Added:
    'add adds added adding introduce introduces introduced implement implements implemented support supports ' +
    'supported allow allows allowed enable enables enabled let lets',
  Fixed:
    'fix fixes fixed fixing resolve resolves resolved correct corrects corrected prevent prevents prevented',
  Removed: 'remove removes removed removing drop drops dropped dropping delete deletes deleted',
  Deprecated: 'deprecate deprecates deprecated deprecating',
  Changed:
    'update updates updated updating improve improves improved improving change changes changed rename renames ' +
    'renamed speed speeds sped refine refines refined reapply revert reverts reverted make makes made reduce ' +
    'reduces reduced increase increases increased replace replaces replaced',
});

/** `[Mobile] `, `ENG-412: `, `net/http: `: what people put before a sentence. */
const PLACE = /^(?:\[[^\]]{1,50}\]:?|[A-Z]{1,10}-\d{1,9}:?|[^\s:]{1,50}:) /;

/** `Update dependency x to v2`, `Update x from 1 to 2`: what bots write when only a version changes. */
const NEW_VERSION =
  /^(?:update|bump|upgrade)[sd]? .*(?:\bdependenc(?:y|ies)\b|\bfrom v?\d\S* to v?\d| to v\d\S*$)/i;

/** `Update README.md`, `Delete old.txt`: the default message of an edit in the browser. */
const FILE_ALONE =
  /^(?:create|update|delete)[sd]? `?[\w./-]{0,200}\.[a-z\d]{1,10}`?$|^add files via upload$/i;

/** True if a title only announces a new version of a dependency. */
export function isNewVersion(title: string): boolean {
  return NEW_VERSION.test(title.slice(0, 300));
}

/** The group that the first word of a plain title hints at, or null. */
export function groupOfWords(title: string): GroupName | null {
  const line = title.slice(0, 300).replace(PLACE, '');
  if (NEW_VERSION.test(line) || FILE_ALONE.test(line)) return 'Other';
  const [word = ''] = line.toLowerCase().match(/^[a-z]+(?![\w-])/) ?? [];
  return groupByFirstWord.get(word) ?? null;
}

// The default labels of the providers, and common others. Of several labels the first one here wins.
const groupByLabel = groupsByWord({
  Security: 'security security-fix vulnerability vulnerabilities',
  Deprecated: 'deprecation deprecations deprecated',
  Removed: 'removal removals removed',
  Fixed: 'bug bugs fix fixes fixed bugfix bug-fix hotfix regression',
  Added: 'feature features new-feature feat added enhancement enhancements',
  Changed: 'improvement improvements performance perf change changed',
  Other: 'documentation docs dependencies chore ci internal refactor refactoring tests',
});

/** Prefixes of labels: `type: bug`, `kind/bug`, `[Type] Bug`, `C-bug`. */
const KIND = /^(?:type|kind|category|changelog|label|pr|cl|c|t) (?=\S)/;

/** Text in lower case with nothing but words in it, one space between them. */
export function wordsOf(text: string): string {
  const line = text.slice(0, 200).toLowerCase();
  const words = line.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim();
  // A shortcode says what its emoji says, unless it is all there is.
  const rest = line.replace(/^\s*:[a-z][a-z0-9_+-]{1,40}:(?=\s)/, '');
  return rest.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim() || words;
}

export function groupOfLabels(labels: string[]): GroupName | null {
  const names = new Set(labels.map(nameOf));
  return [...groupByLabel].find(([name]) => names.has(name))?.[1] ?? null;
}

export function hasBreakingLabel(labels: string[]): boolean {
  return labels.some((label) => /^(?:breaking(?:-changes?)?|semver-major)$/.test(nameOf(label)));
}

function nameOf(label: string): string {
  return wordsOf(label).replace(KIND, '').replaceAll(' ', '-');
}
