import { expect, test } from 'bun:test';
import { outlineOf } from '../../src/lib/markdown/outline.ts';

const brief = (markdown: string, maxItems = 100) =>
  outlineOf(markdown, maxItems).map((part) =>
    part.kind === 'heading' ? `${part.level} ${part.text}` : `- ${part.text}`,
  );

test.each([
  ['headings have their level', '# a\n\nb\n===\n\n### c\n\n```\n# d\n```', ['1 a', '1 b', '3 c']],
  ['bold lines and lines with a colon serve as headings', '**a**\n\nb:\n- c', ['7 **a**', '8 b:', '- c']],
  ['an item is its first paragraph in one line', '- a\n  b\nc\n\n  d\n- e', ['- a b c', '- e']],
  ['nested lists and quotes are left out', '- a\n  - b\n  > - c\n\n> - d', ['- a']],
  ['bullets that Markdown does not have count', '• a\n• b', ['- a', '- b']],
  [
    'an item takes its link definitions along, the first of each name',
    '- [a][X]\n- b\n\n[x]: https://x.test\n[X]: https://y.test\n[z]: https://z.test',
    ['- [a][X]\n\n[x]: https://x.test', '- b'],
  ],
])('%s', (_, markdown, expected) => {
  expect(brief(markdown)).toEqual(expected);
});

test('items beyond the limit are left out, headings are not', () => {
  expect(brief('- a\n- b\n- c\n\n# d\n\n- e', 2)).toEqual(['- a', '- b', '1 d']);
});

test.each(['1. ', '> ', '- a\n', '[a]: b\n', '    '])('200,000 characters of %j have an outline', (piece) => {
  expect(outlineOf(piece.repeat(200_000 / piece.length), 500).length).toBeLessThanOrEqual(500);
});
