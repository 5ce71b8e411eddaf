import { expect, test } from 'bun:test';
import { fitsOne, isOneOf, isReleaseMeant } from '../../src/triggers/match.ts';

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

test('one pattern of several is enough, and none at all lets everything through', () => {
  expect(fitsOne(['v*', 'web-*'], 'web-1')).toBe(true);
  expect(fitsOne([], 'v1')).toBe(false);
  expect(fitsOne(undefined, 'v1')).toBe(true);
});

test('names match in any case, and a thing without a name matches none', () => {
  expect(isOneOf(['Bug'], 'feature', 'bug')).toBe(true);
  expect(isOneOf(['Bug'], null, undefined, '')).toBe(false);
  expect(isOneOf(undefined)).toBe(true);
});

test('a pre-release counts unless it is left out', () => {
  const rc = { tag: 'v2.0.0-rc.1', isPrerelease: true };
  expect(isReleaseMeant({}, rc)).toBe(true);
  expect(isReleaseMeant({ prereleases: true }, rc)).toBe(true);
  expect(isReleaseMeant({ prereleases: false }, rc)).toBe(false);
  expect(isReleaseMeant({ prereleases: false }, { ...rc, isPrerelease: false })).toBe(true);
});
