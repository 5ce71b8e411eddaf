import type { GroupName } from './change.ts';

// What the first word of a plain English title says. A mild guess: few verbs, in the forms that people begin with.
const groupByWord = new Map<string, GroupName>();
for (const [group, words] of [
  ['Added', 'add adds added adding introduce introduces introduced implement implements implemented'],
  ['Added', 'support supports supported allow allows allowed enable enables enabled let lets'],
  [
    'Fixed',
    'fix fixes fixed fixing resolve resolves resolved correct corrects corrected prevent prevents prevented',
  ],
  ['Removed', 'remove removes removed removing drop drops dropped dropping delete deletes deleted'],
  ['Deprecated', 'deprecate deprecates deprecated deprecating'],
  ['Changed', 'update updates updated updating improve improves improved improving change changes changed'],
  [
    'Changed',
    'rename renames renamed speed speeds sped refine refines refined reapply revert reverts reverted ' +
      'make makes made reduce reduces reduced increase increases increased replace replaces replaced',
  ],
] satisfies [GroupName, string][]) {
  for (const word of words.split(' ')) groupByWord.set(word, group);
}

/** `[Mobile] `, `ENG-412: `, `net/http: `: what people put before a sentence. */
const PLACE = /^(?:\[[^\]]{1,50}\]:?|[A-Z]{1,10}-\d{1,9}:?|[^\s:]{1,50}:) /;

/** `Update dependency x to v2`, `Update x from 1 to 2`: what bots write when only a version changes. */
const NEW_VERSION =
  /^(?:update|bump|upgrade)[sd]? .*(?:\bdependenc(?:y|ies)\b|\bfrom v?\d\S* to v?\d| to v\d\S*$)/i;

/** `Update README.md`, `Delete old.txt`: the default message of an edit in the browser. */
const FILE_ALONE =
  /^(?:create|update|delete)[sd]? `?[\w./-]{0,200}\.[a-z\d]{1,10}`?$|^add files via upload$/i;

/** Whether a title says that a dependency has a new version, and nothing else. */
export function isNewVersion(title: string): boolean {
  return NEW_VERSION.test(title.slice(0, 300));
}

/** The group that the first word of a plain title hints at, or null. */
export function groupOfWords(title: string): GroupName | null {
  const line = title.slice(0, 300).replace(PLACE, '');
  const [word = ''] = line.toLowerCase().match(/^[a-z]+(?![\w-])/) ?? [];
  if (NEW_VERSION.test(line) || FILE_ALONE.test(line)) return 'Other';
  return groupByWord.get(word) ?? null;
}
