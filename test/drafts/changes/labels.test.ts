import { expect, test } from 'bun:test';
import { groupOfLabels, hasBreakingLabel } from '../../../src/drafting/changes/groups.ts';

test.each([
  // GitHub's own.
  ['bug', 'Fixed'],
  ['enhancement', 'Added'],
  ['documentation', 'Other'],
  ['good first issue', null],
  ['wontfix', null],
  ['dependencies', 'Other'],
  // Linear's own.
  ['Bug', 'Fixed'],
  ['Feature', 'Added'],
  ['Improvement', 'Changed'],
  // Decorations.
  ['type: bug', 'Fixed'],
  ['Type/Feature', 'Added'],
  ['kind/bug', 'Fixed'],
  ['type::regression', 'Fixed'],
  ['[Type] Bug', 'Fixed'],
  ['type-security', 'Security'],
  ['C-bug', 'Fixed'],
  ['bug \u{1f41b}', 'Fixed'],
  [':bug: bug', 'Fixed'],
  [':bug:', 'Fixed'],
  ['\u2728 New  Feature', 'Added'],
  ['PERFORMANCE', 'Changed'],
  ['deprecation', 'Deprecated'],
  ['removal', 'Removed'],
  ['vulnerability', 'Security'],
  // Not what they hold.
  ['not a bug', null],
  ['needs security review', null],
  ['debugging', null],
  ['constructor', null],
  ['', null],
  ['\u{1f680}', null],
  ['type: ', null],
])('%j says %s', (label, group) => {
  expect<string | null>(groupOfLabels([label])).toBe(group);
});

test.each([
  [['bug', 'security'], 'Security'],
  [['documentation', 'bug'], 'Fixed'],
  [['enhancement', 'bug'], 'Fixed'],
  [['chore', 'x', 'feature'], 'Added'],
])('the order of %j does not matter', (labels, group) => {
  expect<string | null>(groupOfLabels(labels)).toBe(group);
  expect<string | null>(groupOfLabels(labels.toReversed())).toBe(group);
});

test.each([
  ['breaking', true],
  ['Breaking Change', true],
  ['breaking-change', true],
  ['semver:major', true],
  ['type: breaking', true],
  ['\u{1f4a5} breaking', true],
  ['semver:minor', false],
  ['non-breaking', false],
  ['', false],
])('%j breaks: %j', (label, isBreaking) => {
  expect(hasBreakingLabel(['x', label])).toBe(isBreaking);
});
