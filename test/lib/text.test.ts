import { expect, test } from 'bun:test';
import { cutLine } from '../../src/lib/text.ts';

const family = '👩‍👩‍👧‍👦';

test.each([
  ['a family', family],
  ['a flag', '🇩🇪'],
  ['a letter with accents', 'e\u0301\u0323'],
  ['a hand with a skin tone', '👍🏽'],
  ['Devanagari', 'क्षि'],
])('a title is never cut inside of %s', (_, character) => {
  const title = `${'x'.repeat(20)}${character.repeat(10)}`;
  for (let length = 20; length < title.length; length++) {
    const cut = cutLine(title, length);
    expect(cut.length).toBeLessThanOrEqual(length);
    expect(cut.slice(0, -1).replace(/^x*/, '').replaceAll(character, '')).toBe('');
  }
});

test('a long row of flags is cut between two of them', () => {
  const flags = '🇩🇪🇫🇷🇪🇸🇮🇹'.repeat(30);
  for (const before of ['', 'x', 'xx']) {
    for (let length = 8; length < 160; length++) {
      const rest = cutLine(before + flags, length).slice(before.length, -1);
      expect([length, flags.startsWith(rest), rest.length % 4]).toEqual([length, true, 0]);
    }
  }
});

test('a pile of accents is cut all the same, and never inside of a code point', () => {
  expect(cutLine(`a${'\u0301'.repeat(5_000)}`, 100)).toHaveLength(100);
  expect(cutLine('👍'.repeat(500), 100).isWellFormed()).toBe(true);
});
