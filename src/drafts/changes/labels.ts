import type { GroupName } from './change.ts';

// Of several labels the first group here wins, whatever order they come in. Most telling first.
const labelsOf: [GroupName, string[]][] = [
  ['Security', ['security', 'security fix', 'vulnerability', 'vulnerabilities']],
  ['Deprecated', ['deprecation', 'deprecations', 'deprecated']],
  ['Removed', ['removal', 'removals', 'removed']],
  ['Fixed', ['bug', 'bugs', 'fix', 'fixes', 'fixed', 'bugfix', 'bug fix', 'hotfix', 'regression']],
  ['Added', ['feature', 'features', 'new feature', 'feat', 'added', 'enhancement', 'enhancements']],
  ['Changed', ['improvement', 'improvements', 'performance', 'perf', 'change', 'changed']],
  [
    'Other',
    ['documentation', 'docs', 'dependencies', 'chore', 'ci', 'internal', 'refactor', 'refactoring', 'tests'],
  ],
];

const breakingLabels = new Set(['breaking', 'breaking change', 'breaking changes', 'semver major']);

/** What people write before a label's own name: `type: bug`, `kind/bug`, `[Type] Bug`, `C-bug`. */
const KIND = /^(?:type|kind|category|changelog|label|pr|cl|c|t) (?=\S)/;

/** Text in lower case with nothing but words in it, one space between them: for looking it up. */
export function wordsOf(text: string): string {
  const line = text.slice(0, 200).toLowerCase();
  const words = line.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim();
  // A shortcode says what its emoji says, unless it is all there is.
  const rest = line.replace(/^\s*:[a-z][a-z0-9_+-]{1,40}:(?=\s)/, '');
  return rest.replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim() || words;
}

/** The group that labels give, or null. Knows the default labels of the providers, and common others. */
export function groupOfLabels(labels: string[]): GroupName | null {
  const names = new Set(labels.map(nameOf));
  return labelsOf.find(([, known]) => known.some((name) => names.has(name)))?.[0] ?? null;
}

/** Whether a label says that the change breaks something. */
export function hasBreakingLabel(labels: string[]): boolean {
  return labels.some((label) => breakingLabels.has(nameOf(label)));
}

function nameOf(label: string): string {
  return wordsOf(label).replace(KIND, '');
}
