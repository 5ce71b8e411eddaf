/** In the order in which a changelog has them (keepachangelog.com), then what fits none. */
export const groupNames = [
  'Added',
  'Changed',
  'Deprecated',
  'Removed',
  'Fixed',
  'Security',
  'Other',
] as const;
export type GroupName = (typeof groupNames)[number];

/** Where to read on. */
export interface Reference {
  /** `#12`, `ENG-412`, `c02f9a6`. */
  label: string;
  url: string | null;
}

/** A thing that was shipped, as a line of a changelog. */
export interface Change {
  /** Plain text of one line: capitalised, without type, scope, number and final full stop. Never empty. */
  text: string;
  scope: string | null;
  group: GroupName;
  isBreaking: boolean;
  /** What a `BREAKING CHANGE:` footer says, one line. */
  breakingNote: string | null;
  /** One for each thing that the change stands for. */
  references: Reference[];
  /** Logins or names, each once. */
  authors: string[];
}

/** Tellings of one change: what the first says, with the references and the authors of all. */
export function joinChanges(first: Change, others: Change[]): Change {
  if (others.length === 0) return first;
  const all = [first, ...others];
  const isBreaking = all.some((change) => change.isBreaking);
  return {
    ...first,
    isBreaking,
    group: groupWhenBreaking(first.group, isBreaking),
    breakingNote: all.find(({ breakingNote }) => breakingNote !== null)?.breakingNote ?? null,
    references: eachOnce(all.flatMap(({ references }) => references)),
    authors: [...new Set(all.flatMap(({ authors }) => authors))],
  };
}

/** What breaks something is never among the chores: it would not be read there. */
export function groupWhenBreaking(group: GroupName, isBreaking: boolean): GroupName {
  return isBreaking && group === 'Other' ? 'Changed' : group;
}

/** The references without those that say the same as an earlier one. */
export function eachOnce(references: Reference[]): Reference[] {
  return [...new Map(references.map((each) => [JSON.stringify([each.label, each.url]), each])).values()];
}
