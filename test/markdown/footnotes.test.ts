import { expect, test } from 'bun:test';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { renderMarkdown, safeMarkdown } from '../../src/lib/markdown/render.ts';

test.each<[name: string, markdown: string, plain: string, html: string]>([
  [
    'one word, which is no address',
    'Faster[^1].\n\n[^1]: Twice',
    'Faster[1].\n\n[1] Twice',
    '<p>Faster<sup>1</sup>.</p>\n<p><sup>1</sup> Twice</p>\n',
  ],
  [
    'names, numbered by their mentions',
    'A[^b] and[^a].\n[^a]: First *note*.\n[^b]: Second.',
    'A[1] and[2].\n\n[2] First note.\n\n[1] Second.',
    '<p>A<sup>1</sup> and<sup>2</sup>.</p>\n<p><sup>2</sup> First <em>note</em>.</p>\n<p><sup>1</sup> Second.</p>\n',
  ],
  [
    'lines and paragraphs of a note',
    'A[^1].\n\n[^1]: One\n    two.\n\n    Three.\n\nAfter.',
    'A[1].\n\n[1] One\ntwo.\n\nThree.\n\nAfter.',
    '<p>A<sup>1</sup>.</p>\n<p><sup>1</sup> One\ntwo.</p>\n<p>Three.</p>\n<p>After.</p>\n',
  ],
  [
    'a note that nothing mentions',
    'A.\n\n[^1]: Word',
    'A.\n\n[1] Word',
    '<p>A.</p>\n<p><sup>1</sup> Word</p>\n',
  ],
  [
    'a mention without a note',
    'A[^2].\n\n[^1]: Word',
    'A[^2].\n\n[1] Word',
    '<p>A[^2].</p>\n<p><sup>1</sup> Word</p>\n',
  ],
  [
    'code and an escape',
    'A `[^1]` \\[^1][^1]\n\n```\n[^1]: code\n```\n\n[^1]: Word',
    'A [^1] [^1][1]\n\n[^1]: code\n\n[1] Word',
    '<p>A <code>[^1]</code> [^1]<sup>1</sup></p>\n<pre><code>[^1]: code\n</code></pre>\n<p><sup>1</sup> Word</p>\n',
  ],
  [
    'an address that would run',
    'A[^1]\n\n[^1]: javascript:alert(1)',
    'A[1]\n\n[1] javascript:alert(1)',
    '<p>A<sup>1</sup></p>\n<p><sup>1</sup> javascript:alert(1)</p>\n',
  ],
])('footnotes: %s', (_, markdown, plain, html) => {
  expect(toPlainText(markdown)).toBe(plain);
  expect(renderMarkdown(markdown)).toBe(html);
  // Sites that know footnotes get them as they were written.
  if (!markdown.includes('javascript')) expect(safeMarkdown(markdown)).toBe(markdown);
});

test('every word of every note is in the plain text, however many there are', () => {
  const notes = Array.from({ length: 2_000 }, (_, n) => `word${n}`);
  const markdown = `${notes.map((_, n) => `a[^${n}]`).join(' ')}\n\n${notes.map((word, n) => `[^${n}]: ${word}`).join('\n')}`;
  const plain = toPlainText(markdown);
  for (const word of notes) expect(plain).toContain(word);
});
