import { type GroupName, groupOfType, wordsOf } from './groups.ts';
import { takeEmojis } from './titles.ts';

/** The meaning of a list's heading for its items. */
export interface Section {
  /** Null when each item decides. */
  group: GroupName | null;
  isBreaking: boolean;
  /** False when its items are people rather than changes. */
  isOfChanges: boolean;
}

const wordsByGroup: Record<GroupName, string> = {
  Added: 'added addition additions feature features enhancement enhancements feat',
  Changed: 'improvement improvements improved performance perf',
  Deprecated: 'deprecated deprecation deprecations',
  Removed: 'removed removal removals',
  Fixed: 'fix fixes fixed bug bugs bugfix bugfixes hotfix hotfixes',
  Security: 'security vulnerability vulnerabilities',
  Other:
    'dependency dependencies deps chore chores doc docs documentation internal internals contributors thanks ' +
    'credits refactor refactors refactoring tests ci build maintenance housekeeping style styles misc',
};

const groupByWord = new Map(
  Object.entries(wordsByGroup).flatMap(([group, words]) =>
    words.split(' ').map((word): [string, GroupName] => [word, group as GroupName]),
  ),
);

// Only alone: `What's Changed` and `New in 2.0` stand over everything.
const groupOfWhole = new Map<string, GroupName>([
  ['new', 'Added'],
  ['changed', 'Changed'],
  ['updated', 'Changed'],
]);

/** Reads a heading, in Markdown; null when it says nothing about the items under it. */
export function sectionOf(heading: string): Section | null {
  const line = heading
    .slice(0, 200)
    .replaceAll(/\]\([^()\s]*\)/g, ']')
    .trim();
  const words = wordsOf(line);
  const isOfChanges = !/\bnew contributors\b/.test(words);
  // A letter after it lets an emoji alone be read too.
  const { type } = takeEmojis(`${line}x`);
  const isBreaking =
    type === 'breaking' ||
    /^breaking\b|\bbreaking changes?$|^(?:semver )?major changes$|^backwards? incompatible\b/.test(words);
  const group = groupOfWhole.get(words) ?? groupOfParts(line) ?? groupOfType(type, null);
  return group === null && !isBreaking && isOfChanges ? null : { group, isBreaking, isOfChanges };
}

/** Null for headings of several groups, such as `Fixes & improvements`. */
function groupOfParts(line: string): GroupName | null {
  const groups = new Set(
    line.split(/[&,/+]|\band\b/i).flatMap((part) =>
      wordsOf(part)
        .split(' ')
        .flatMap((word) => groupByWord.get(word) ?? [])
        .slice(0, 1),
    ),
  );
  const [group = null] = groups;
  return groups.size === 1 ? group : null;
}
