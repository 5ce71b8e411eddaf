import { expect, test } from 'bun:test';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { renderMarkdown, safeMarkdown } from '../../src/lib/markdown/render.ts';

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll(/\n+/g, '\n')
    .trim();

test.each([
  ['nothing', '', ''],
  ['headings and paragraphs', '# One\n\nTwo *three* **four** ~~five~~\n', 'One\n\nTwo three four five'],
  ['line breaks', 'a\nb  \nc', 'a\nb\nc'],
  ['lists', '- a\n- b\n  - c\n    - d\n- e', '- a\n- b\n  - c\n    - d\n- e'],
  ['loose lists', '- a\n\n  more\n\n- b', '- a\n  more\n- b'],
  ['numbered lists', '3. a\n4. b', '3. a\n4. b'],
  ['task lists', '- [x] done\n- [ ] open', '- [x] done\n- [ ] open'],
  ['code', 'Run `a && b`:\n\n```sh\na < b\n  c\n```', 'Run a && b:\n\na < b\n  c'],
  ['code that holds tags', '```html\n<b>x</b>\n```', '<b>x</b>'],
  ['tables', '| a | b |\n|---|---|\n| 1 | 2 |', 'a | b\n1 | 2'],
  ['quotes', '> said\n\nanswered', 'said\n\nanswered'],
  ['links keep their address', '[Guide](https://x.test/g)', 'Guide (https://x.test/g)'],
  ['addresses stand once', '<https://x.test> https://y.test/z', 'https://x.test https://y.test/z'],
  [
    'references need no address',
    '[#12](https://x.test/12) [@ann](https://x.test/ann) [ab12cd3](https://x.test/c)',
    '#12 @ann ab12cd3',
  ],
  ['places on the page have none', '[Above](#above) [file](docs/a.md)', 'Above file'],
  ['links by reference', '[Guide][g]\n\n[g]: https://x.test/g', 'Guide (https://x.test/g)'],
  ['images', '![A chart](c.png) ![](d.png)', 'A chart'],
  ['rules', 'a\n\n---\n\nb', 'a\n\nb'],
  ['inline HTML', 'a <b onclick="x()">b</b><br/> c <!-- no -->d', 'a b\nc d'],
  ['blocks of HTML', '<div>\n<script>alert(1)</script>\ntext\n</div>\n\nafter', 'text\n\nafter'],
  ['what only looks like a tag', 'if a < b and \\<c> then `<d>`', 'if a < b and <c> then <d>'],
  ['entities', 'a &amp; b &lt;c&gt; &#128640;', 'a & b <c> 🚀'],
  ['lines in HTML', 'One<br>two\n\n- a<br/>b\n\n|a<br>b|\n|-|', 'One\ntwo\n\n- a\n  b\n\na b'],
  [
    'items in HTML',
    '<ul><li>One</li><li>Two</li></ul>\n\n<ol>\n  <li>a\n  <li>b\n</ol>\nc',
    '- One\n- Two\n\n- a\n- b\n\nc',
  ],
  ['loose items', 'a<li>b</li><li>c</li>d', 'a\nb\nc d'],
  ['loose cells', 'a<td>b</td>c', 'a b c'],
  ['other blocks', 'a<div>b</div>c<section>d</section>', 'a b c d'],
  [
    'tables in HTML',
    '<table><tr><th>a</th><th>b</th></tr>\n<tr>\n  <td>1</td>\n  <td>2</td>\n</tr></table>\n\nafter',
    'a | b\n1 | 2\n\nafter',
  ],
  [
    'folded sections',
    '<details>\n<summary>More</summary>\n\n<p>a &lt; b</p><p>c</p>\n</details>',
    'More\n\na < b\n\nc',
  ],
  ['types and components', 'List<string>, <Button> and Map<b>', 'List<string>, <Button> and Map<b>'],
  ['elements that the words are about', 'Fix <b> in <li>, **not** <i>this</i>', 'Fix <b> in <li>, not this'],
  [
    'code byte for byte',
    '```\n  a\n\n\n\n- b  \n\n1. c\n```\n\n`- d   e`',
    '  a\n\n\n\n- b  \n\n1. c\n\n- d   e',
  ],
  ['code in a list', '- a\n  ```\n  b\n\n\n    c\n  ```\n- d', '- a\n  b\n\n\n    c\n- d'],
  ['references in code', '[`ab12cd3`](https://x.test/c)', 'ab12cd3'],
  [
    'alerts',
    '> [!NOTE]\n> Restart **it**.\n>\n> Twice.\n\n> [!tip]\n>\n> - a\n\nafter',
    'Note: Restart it.\n\nTwice.\n\nTip:\n\n- a\n\nafter',
  ],
  ['quotes that are none', '> [!OTHER]\n> a\n\n> [!NOTE] b', '[!OTHER]\na\n\n[!NOTE] b'],
  [
    'shortcodes of emoji',
    ':tada: Ship :+1::rocket: `:tada:` :nothing: 10:100:30 https://x.test/:tada:',
    '🎉 Ship 👍🚀 :tada: :nothing: 10:100:30 https://x.test/:tada:',
  ],
  ['right-to-left text and emoji', '**مرحبا** 👩‍🚀', 'مرحبا 👩‍🚀'],
  ['HTML without an end', '<div>\n<b>a</b> <!-- b <i>c\n<d', '<div>\na <!-- b <i>c\n<d'],
  ['quotes in quotes beyond measure, which stay text', `${'> '.repeat(500)}a`, `${'> '.repeat(460)}a`],
])('%s', (_, markdown, text) => {
  expect(toPlainText(markdown)).toBe(text);
});

test.each('a b details div h1 iframe img li p pre script source table td ul'.split(' '))(
  'a line may begin with <%s>, which a sentence is about',
  (name) => {
    for (const [markdown, plain] of [
      [`<${name}> is kept`],
      [`- <${name}> is kept\n- more`],
      [`> <${name}> is kept`],
      [`When a line ends,\n<${name}> is **kept**`, `When a line ends,\n<${name}> is kept`],
      [`Drop </${name}> from lists`],
      [`<${name}>, <ol> and <dl>\nare kept`],
      [`<${name}> is kept\n\n\`\`\`\n<b>\n\`\`\``, `<${name}> is kept\n\n<b>`],
    ] as [string, string?][]) {
      const expected = plain ?? markdown.replace('> <', '<');
      expect(toPlainText(markdown)).toBe(expected);
      expect(toPlainText(safeMarkdown(markdown))).toBe(expected);
      expect(renderMarkdown(markdown)).toContain(`${name}&gt;`);
    }
  },
);

test.each([
  ['<details>\n<summary>A</summary>\n\nb', 'A\n\nb'],
  ['<details><summary>A</summary>b', 'A\n\nb'],
  ['<p>One\n<p>Two', 'One\n\nTwo'],
  ['<ul>\n<li> one\n<li> two', '- one\n- two'],
  ['<ul>\n\n<li> one\n\n<li> two\n\n</ul>', '- one\n\n- two'],
  ['<blockquote>\nOne\n\nTwo', 'One\n\nTwo'],
  ['<p align="center"> one', 'one'],
  ['<picture>\n<source>\n<img src="https://x.test/a.png" alt="A">\n</picture>', 'A'],
])('a block that nobody closed is a block: %j', (markdown, plain) => {
  expect(toPlainText(markdown)).toBe(plain);
});

test.each<[markdown: string, plain: string, isAlert: boolean]>([
  ['> [!NOTE]\n> Word', 'Note: Word', true],
  ['>[!caution]  \r\n>\r\n> Word', 'Caution:\n\nWord', true],
  ['> [!WARNING]\\\n> Word', 'Warning: Word', true],
  ['> [!NOTE]\n> # Word', 'Note:\n\nWord', true],
  ['> \\[!NOTE]\n> Word', '[!NOTE]\nWord', false],
  ['> [\\!NOTE\\]\n> Word', '[!NOTE]\nWord', false],
  ['> &#91;!NOTE]\n> Word', '[!NOTE]\nWord', false],
  ['> `[!NOTE]`\n> Word', '[!NOTE]\nWord', false],
  ['> **[!NOTE]**\n> Word', '[!NOTE]\nWord', false],
  ['> Word\n> [!NOTE]\n> b', 'Word\n[!NOTE]\nb', false],
  ['> [!TIP]', '[!TIP]', false],
  ['> [!TIP]\n>', '[!TIP]', false],
  ['> [!TIP]\n> <!-- Word -->', '[!TIP]', false],
  ['> [!NOTE]\n> ===', '[!NOTE]', false],
  ['> > [!NOTE]\n> > Word', '[!NOTE]\nWord', false],
  ['> - [!NOTE]\n>   Word', '- [!NOTE]\n  Word', false],
  ['- a\n\n  > [!NOTE]\n  > Word', '- a\n  [!NOTE]\n  Word', false],
  ['```\n> [!NOTE]\n> Word\n```', '> [!NOTE]\n> Word', false],
])('an alert is one in plain text and in HTML, or in neither: %j', (markdown, plain, isAlert) => {
  expect(toPlainText(markdown)).toBe(plain);
  const html = renderMarkdown(markdown);
  expect(html.includes('class="alert-title"')).toBe(isAlert);
  expect(html.includes('[!')).toBe(!isAlert);
});

test.each([
  'A[^no te].\n\n[^no te]: word',
  '[^no te]: "word"',
  '[^]: word',
  '[Note]: important!',
  '[Fix]: leak\n\n[Fix]: typo',
  '- [WIP]: done',
  '[Release]: 2.0.1',
  '[注意]: 重要。',
])('no word of %j is taken for an address', (markdown) => {
  expect(toPlainText(markdown)).toBe(markdown);
  expect(textOf(renderMarkdown(markdown))).toBe(markdown.replaceAll('\n\n', '\n').replace('- ', ''));
});

test.each([
  ['[Guide][g]\n\n[g]: guide', 'Guide'],
  ['[g]\n\n[G]: guide', 'g'],
  ['A[^g h]\n\n[^g h]: https://x.test', 'A^g h (https://x.test)'],
  ['A\n\n[//]: # (hidden)\n\n[comment]: <> (hidden)\n\n[1.0]: https://x.test/1.0\n[1.1]: ../v1.1', 'A'],
])('%j defines an address', (markdown, plain) => {
  expect(toPlainText(markdown)).toBe(plain);
  expect(safeMarkdown(markdown)).toBe(markdown);
});

test('in a text for LinkedIn, code keeps its dashes', () => {
  const text = toPlainText('- a\n- b<br>c\n\n```\n- d\n\n\n- e\n```\n\n`- f`', '•');
  expect(text).toBe('• a\n• b\n  c\n\n- d\n\n\n- e\n\n- f');
});

// Each of these took seconds while it was read in the square of its length.
test.each([
  ['comments without an end', '<!--'.repeat(50_000), 200_000],
  ['white space inside a line', `\`\`\`\nx${' '.repeat(200_000)}y\n\`\`\``, 200_002],
  ['quotes', '>'.repeat(200_000), 199_920],
  ['lists', '1. '.repeat(66_000), 197_999],
])('200,000 characters of %s', (_, markdown, length) => {
  expect(toPlainText(markdown).length).toBe(length);
});
