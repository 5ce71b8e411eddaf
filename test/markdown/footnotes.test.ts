import { expect, test } from 'bun:test';
import { changesOfNotes } from '../../src/drafting/changes/notes.ts';
import { HtmlFootnotes } from '../../src/lib/markdown/extensions.ts';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { renderMarkdown, safeMarkdown } from '../../src/lib/markdown/render.ts';

/** Rendered, with `fn` for the part of ids that differs with each text. */
const htmlOf = (markdown: string) => renderMarkdown(markdown).replaceAll(/\bfn[a-z\d]{5}(?=-)/g, 'fn');
const mention = (number: number, nth = '') =>
  `<sup><a href="#fn-${number}" id="fn-ref-${number}${nth}" role="doc-noteref" aria-label="Footnote ${number}">${number}</a></sup>`;
const back = (number: number, nth = '') =>
  ` <a href="#fn-ref-${number}${nth}" role="doc-backlink" aria-label="Back to reference ${number}${nth}">↩${nth === '' ? '' : `<sup>${nth.slice(1)}</sup>`}</a>`;
const notes = (...items: string[]) =>
  `<section class="footnotes">\n<ol>\n${items.map((item, index) => `<li id="fn-${index + 1}">${item}</li>\n`).join('')}</ol>\n</section>\n`;

test.each<[name: string, markdown: string, plain: string, html: string]>([
  [
    'one word, which is no address',
    'Faster[^1].\n\n[^1]: Twice',
    'Faster[1].\n\n[1] Twice',
    `<p>Faster${mention(1)}.</p>\n${notes(`Twice${back(1)}`)}`,
  ],
  [
    'names in any case, numbered by their mentions',
    'A[^B] and[^a].\n[^a]: First *note*.\n[^b]: Second.',
    'A[1] and[2].\n\n[1] Second.\n[2] First note.',
    `<p>A${mention(1)} and${mention(2)}.</p>\n${notes(`\n<p>Second.${back(1)}</p>\n`, `\n<p>First <em>note</em>.${back(2)}</p>\n`)}`,
  ],
  [
    'lines and paragraphs of a note, which stands at the end',
    'A[^1].\n\n[^1]: One\n    two.\n\n    Three.\n\nAfter.',
    'A[1].\n\nAfter.\n\n[1] One\n    two.\n    Three.',
    `<p>A${mention(1)}.</p>\n<p>After.</p>\n${notes(`\n<p>One\ntwo.</p>\n<p>Three.${back(1)}</p>\n`)}`,
  ],
  [
    'a note that nothing mentions, whose words stay',
    'A.\n\n[^1]: Word',
    'A.\n\n[1] Word',
    `<p>A.</p>\n${notes('Word')}`,
  ],
  [
    'a mention without a note',
    'A[^2].\n\n[^1]: Word',
    'A[^2].\n\n[1] Word',
    `<p>A[^2].</p>\n${notes('Word')}`,
  ],
  [
    'two notes of one name: the first is meant',
    'A[^1].\n\n[^1]: One\n\n[^1]: Two',
    'A[1].\n\n[1] One\n[2] Two',
    `<p>A${mention(1)}.</p>\n${notes(`\n<p>One${back(1)}</p>\n`, '\n<p>Two</p>\n')}`,
  ],
  [
    'two mentions of one note, and one in a link',
    '[A[^1]](https://x.test)[^1] b[^1]\n\n[^1]: Word',
    'A[1] (https://x.test)[1] b[1]\n\n[1] Word',
    `<p><a href="https://x.test" rel="noopener nofollow">A<sup>1</sup></a>${mention(1)} b${mention(1, '-2')}</p>\n${notes(`Word${back(1)}${back(1, '-2')}`)}`,
  ],
  [
    'in a quote',
    '> A[^1].\n>\n> [^1]: One\n> two\n>\n>     Three.\n\nAfter.',
    'A[1].\n\nAfter.\n\n[1] One\n    two\n    Three.',
    `<blockquote>\n<p>A${mention(1)}.</p>\n</blockquote>\n<p>After.</p>\n${notes(`\n<p>One\ntwo</p>\n<p>Three.${back(1)}</p>\n`)}`,
  ],
  [
    'in a list',
    '- A[^1]\n\n  [^1]: One\n- B\n\nAfter.',
    '- A[1]\n- B\n\nAfter.\n\n[1] One',
    `<ul>\n<li>\n<p>A${mention(1)}</p>\n</li>\n<li>\n<p>B</p>\n</li>\n</ul>\n<p>After.</p>\n${notes(`One${back(1)}`)}`,
  ],
  [
    'before a fence that stays open',
    'A[^1]\n\n[^1]: One [two]\n\n[two]: https://x.test\n\n```\ncode',
    'A[1]\n\ncode\n\n[1] One two (https://x.test)',
    `<p>A${mention(1)}</p>\n<pre><code>code\n</code></pre>\n${notes(`One <a href="https://x.test" rel="noopener nofollow">two</a>${back(1)}`)}`,
  ],
  [
    'code, an escape, and a link',
    'A `[^1]` \\[^1][^1] [^1](https://x.test)\n\n```\n[^1]: code\n```\n\n[^1]: Word',
    'A [^1] [^1][1] ^1 (https://x.test)\n\n[^1]: code\n\n[1] Word',
    `<p>A <code>[^1]</code> [^1]${mention(1)} <a href="https://x.test" rel="noopener nofollow">^1</a></p>\n<pre><code>[^1]: code\n</code></pre>\n${notes(`Word${back(1)}`)}`,
  ],
  [
    'an address that would run',
    'A[^1]\n\n[^1]: javascript:alert(1)',
    'A[1]\n\n[1] javascript:alert(1)',
    `<p>A${mention(1)}</p>\n${notes(`javascript:alert(1)${back(1)}`)}`,
  ],
])('footnotes: %s', (_, markdown, plain, html) => {
  expect(toPlainText(markdown)).toBe(plain);
  expect(htmlOf(markdown)).toBe(html);
  // Sites that know footnotes get them as they were written.
  if (!markdown.includes('javascript') && !markdown.endsWith('code'))
    expect(safeMarkdown(markdown)).toBe(markdown);
});

test.each([
  ['a fence', '```\n    b\n    ```', '[1] b', '<pre><code>b\n</code></pre>\n'],
  [
    'a fence that stays open',
    'x\n\n    ~~~\n    b',
    '[1] x\n    b\n',
    '<p>x</p>\n<pre><code>b\n\n</code></pre>\n',
  ],
  ['a list', '- b\n    - c', '[1] - b\n    - c', '<ul>\n<li>b</li>\n<li>c</li>\n</ul>\n'],
  ['a quote', '> b', '[1] b', '<blockquote>\n<p>b</p>\n</blockquote>\n'],
  ['a heading', '# b', '[1] b', '<h1>b</h1>\n'],
])('a note of %s ends before the text after it', (_, note, plain, html) => {
  const markdown = `A[^1]\n\n[^1]: ${note}\n\nAfter **it**`;
  expect(toPlainText(markdown)).toBe(`A[1]\n\nAfter it\n\n${plain}`);
  expect(htmlOf(markdown)).toBe(
    `<p>A${mention(1)}</p>\n<p>After <strong>it</strong></p>\n${notes(`\n${html}${back(1)}`)}`,
  );
});

test('a note with a tag that stays open ends before the text after it', () => {
  const markdown = 'A[^1]\n\n[^1]: <pre>\n    b\n\nAfter';
  expect(toPlainText(markdown)).toBe('A[1]\n\nAfter\n\n[1] <pre>\n    b');
  expect(htmlOf(markdown)).toBe(`<p>A${mention(1)}</p>\n<p>After</p>\n${notes(`&lt;pre&gt;\nb${back(1)}`)}`);
});

test('words that look like the marks of this program stay in their places', () => {
  const { start, end } = new HtmlFootnotes('A[^1]');
  for (const [from, to] of [
    ['footnotes-start', 'footnotes-end'],
    [start, end],
  ])
    expect(toPlainText(`A[^1] ${from}\n\n${to} b\n\n[^1]: c`)).toBe(`A[1] ${from}\n\n${to} b\n\n[1] c`);
  expect(toPlainText('A\n\nfootnotes-start\n\nb\n\nfootnotes-end\n\nc')).toBe(
    'A\n\nfootnotes-start\n\nb\n\nfootnotes-end\n\nc',
  );
  expect(toPlainText('A \u0007 b \u0008 c')).toBe('A  b  c');
});

test('a note goes with the item of release notes that mentions it', () => {
  const changes = changesOfNotes('## Fixed\n\n- Faster[^n] lists\n- More\n\n[^n]: Twice as *fast*\n');
  expect(changes.map(({ text }) => text)).toEqual(['Faster (Twice as fast) lists', 'More']);
});

test('every word of every note is in the plain text, however many there are', () => {
  const notes = Array.from({ length: 2_000 }, (_, n) => `word${n}`);
  const markdown = `${notes.map((_, n) => `a[^${n}]`).join(' ')}\n\n${notes.map((word, n) => `[^${n}]: ${word}`).join('\n')}`;
  const plain = toPlainText(markdown);
  for (const word of notes) expect(plain).toContain(word);
});
