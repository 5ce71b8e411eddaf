import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { cutGraphemes } from '../../src/lib/markdown/plain-text.ts';

const family = '👩‍👩‍👧‍👦';

test.each([
  ['what fits', 'abc', 3, 'abc'],
  ['a word', 'abcdef', 4, 'abc…'],
  ['between words', 'one two three', 10, 'one two…'],
  ['at the end of a word', 'one two three', 8, 'one two…'],
  ['a long word', `a ${'b'.repeat(60)}`, 50, `a ${'b'.repeat(47)}…`],
  ['a family', `ab${family}`, 8, 'ab…'],
  ['flags', '🇩🇪🇫🇷🇮🇹', 8, '🇩🇪…'],
  ['flags behind letters', 'x🇩🇪🇫🇷🇮🇹', 8, 'x🇩🇪…'],
  ['accents', 'abe\u0301\u0302cd', 5, 'ab…'],
  ['nothing that fits', family, 5, '…'],
  ['no room', 'abc', 1, '…'],
  ['no room at all', 'abc', 0, ''],
  ['right-to-left text', '\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd', 7, '\u05e9\u05dc\u05d5\u05dd…'],
])('%s: cut to its length', (_, text, maxLength, expected) => {
  expect(cutGraphemes(text, maxLength)).toBe(expected);
});

test('a grapheme is never cut in two', () => {
  const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
  const unit = fc.constantFrom(
    'a',
    'b',
    ' ',
    '\r\n',
    'e\u0301',
    family,
    '🇩🇪',
    '🇫',
    '👍🏽',
    '\u0915\u094d\u0937',
    '\u200d',
    '\u0600',
    '\ud83d',
    '한',
    '\u1100\u1161',
  );
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 120 }), fc.integer({ min: 1, max: 150 }), (text, maxLength) => {
      const cut = cutGraphemes(text, maxLength);
      expect(cut.length).toBeLessThanOrEqual(maxLength);
      if (text.length <= maxLength) expect(cut).toBe(text);
      else {
        const kept = cut.slice(0, -1);
        const boundaries = Array.from(segmenter.segment(text), ({ index }) => index);
        expect(cut).toEndWith('…');
        expect(text).toStartWith(kept);
        expect(boundaries).toContain(kept.length);
      }
    }),
    { numRuns: 3000 },
  );
});
