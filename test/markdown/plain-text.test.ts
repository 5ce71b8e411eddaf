import { expect, test } from 'bun:test';
import { toPlainText } from '../../src/markdown/plain-text.ts';

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
  ['inline HTML', 'a <b onclick="x()">b</b><br/> c <!-- no -->d', 'a b c d'],
  ['blocks of HTML', '<div>\n<script>alert(1)</script>\ntext\n</div>\n\nafter', 'alert(1)\ntext\n\nafter'],
  ['what only looks like a tag', 'if a < b and \\<c> then `<d>`', 'if a < b and <c> then <d>'],
  ['entities', 'a &amp; b &lt;c&gt; &#128640;', 'a & b <c> 🚀'],
  ['right-to-left text and emoji', '**مرحبا** 👩‍🚀', 'مرحبا 👩‍🚀'],
  ['HTML without an end', '<div>\n<b>a</b> <!-- b <i>c\n<d', 'a c\n<d'],
  ['quotes in quotes beyond measure, which stay text', `${'> '.repeat(500)}a`, `${'> '.repeat(460)}a`],
])('%s', (_, markdown, text) => {
  expect(toPlainText(markdown)).toBe(text);
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
