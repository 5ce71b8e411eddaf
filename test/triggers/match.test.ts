import { expect, test } from 'bun:test';
import { matchesRelease } from '../../src/drafting/triggers/kinds/branch.ts';
import { isOneOf } from '../../src/drafting/triggers/kinds/kind.ts';
import { fitsOne } from '../../src/lib/text.ts';

test.each([
  ['main', 'main', true],
  ['main', 'maintenance', false],
  ['release/*', 'release/2.4', true],
  ['release/*', 'release/', true],
  ['release/*', 'release', false],
  ['*', '', true],
  ['v*.0', 'v2.0', true],
  ['v*.0', 'v2.0.1', false],
  ['@acme/*@1.*', '@acme/rocket@1.2.0', true],
  ['a*a', 'a', false],
  ['a*b*c', 'a-c-b', false],
  ['v?', 'v1', false],
  ['v.', 'v1', false],
])('the pattern %p against %p: %p', (pattern, text, fits) => {
  expect(fitsOne([pattern], text)).toBe(fits);
});

test('one matching pattern is enough, and without patterns everything matches', () => {
  expect(fitsOne(['v*', 'web-*'], 'web-1')).toBe(true);
  expect(fitsOne([], 'v1')).toBe(false);
  expect(fitsOne(undefined, 'v1')).toBe(true);
});

test('names match in any case, and a missing name matches none', () => {
  expect(isOneOf(['Bug'], 'feature', 'bug')).toBe(true);
  expect(isOneOf(['Bug'], null, undefined, '')).toBe(false);
  expect(isOneOf(undefined)).toBe(true);
});

test('a pre-release matches unless the filter excludes it', () => {
  const rc = { tag: 'v2.0.0-rc.1', isPrerelease: true };
  expect(matchesRelease({}, rc)).toBe(true);
  expect(matchesRelease({ prereleases: true }, rc)).toBe(true);
  expect(matchesRelease({ prereleases: false }, rc)).toBe(false);
  expect(matchesRelease({ prereleases: false }, { ...rc, isPrerelease: false })).toBe(true);
});
