import { expect, test } from 'bun:test';
import { safeMarkdown } from '../../src/lib/markdown/render.ts';

test.each([
  ['comments', 'a <!-- b --> c', 'a  c'],
  ['a comment above the notes', '<!-- Generated -->\n\n## What', '## What'],
  ['a comment of several paragraphs', 'a\n\n<!-- b\n\nc -->\n\nd', 'a\n\n\nd'],
  ['a comment without an end is text', 'a <!-- b\n\nc', 'a \\<!-- b\n\nc'],
  ['instructions and declarations', 'a <?php x ?><!DOCTYPE html><![CDATA[x]]>b', 'a b'],
  ['elements that are no text', 'a<script>x</script><style>x</style><svg><path/></svg>b', 'ab'],
  ['over paragraphs', '<script>\n\nx()\n\n</script>\n\nb', 'b'],
  ['without an end they are text', 'The <title> element', 'The \\<title> element'],
  ['harmless tags lose their attributes', '<b class="x" onclick=y>a</b>', '<b>a</b>'],
  ['over lines of a quote', '> <b\n> onclick=x>a</b>', '> <b>a</b>'],
  ['other tags go, and their text stays', 'a <font color=red>b</font> <button>c</button>', 'a b c'],
  ['line breaks', 'a<br/>b<br />c<br clear=all>d</br>', 'a<br/>b<br />c<br>d<br>'],
  ['images', '<img width=9 src="https://x.test/a.png" alt="A [b]">', '![A \\[b\\]](https://x.test/a.png)'],
  ['images from elsewhere', '<img src="data:x" alt="A"> <img src=/a.png alt="B">', 'A B'],
  ['links', 'See <a href="https://x.test/?a=1&amp;b=2">*it*</a>.', 'See [*it*](https://x.test/?a=1&b=2).'],
  [
    'images in links',
    '<a href="https://x.test"><img src="https://x.test/a.png"></a>',
    '[![](https://x.test/a.png)](https://x.test)',
  ],
  ['links that are not simple', '<a href="https://x.test">[a](b)</a>', '[a](b)'],
  ['links to elsewhere', '<a href="javascript:x">a</a> <a name="b">b</a>', 'a b'],
  [
    'types',
    'Map<string> List<Button> Array<object> <T>',
    'Map\\<string> List\\<Button> Array\\<object> \\<T>',
  ],
  [
    'components',
    '* Fix <Button> focus, <Input>, <Select>, <Form>, <Link href="/x">, <Image/>, <Table> and <Dialog>x</Dialog>',
    '* Fix \\<Button> focus, \\<Input>, \\<Select>, \\<Form>, \\<Link href="/x">, \\<Image/>, \\<Table> and \\<Dialog>x\\</Dialog>',
  ],
  ['a component at the beginning', '- <Table> sorts\n- <Form> saves', '- \\<Table> sorts\n- \\<Form> saves'],
  [
    'elements that the words are about',
    'Fix <b>, <a>, <p>, <li>, <input> and <link>',
    'Fix \\<b>, \\<a>, \\<p>, \\<li>, \\<input> and \\<link>',
  ],
  ['one of them beside a pair', 'Fix <i>\n\n<i>a</i> <i>b</i>', 'Fix \\<i>\n\n<i>a</i> <i>b</i>'],
  ['elements in different items', '- Fix <span>\n- Drop </span>', '- Fix \\<span>\n- Drop \\</span>'],
  ['a pair around paragraphs', '<center>a\n\nb</center>\n\n<a name="x"></a>c', 'a\n\nb\n\nc'],
  ['what only looks like a tag', 'a < b, 3 > 2, <3', 'a < b, 3 > 2, <3'],
  ['a tag without an end', 'a <img src=x onerror=y', 'a \\<img src=x onerror=y'],
  ['autolinks', '<https://x.test> <a@x.test> <javascript:x>', '<https://x.test> <a@x.test> \\<javascript:x>'],
  ['addresses of links', '[a](javascript:x) [b](<data:x> "t") ![c](vbscript:x)', 'a b c'],
  ['hidden addresses', '[a](JAVA&Tab;SCRIPT:x) [b](&#106;avascript:x) [c](javascript&colon;x)', 'a b c'],
  [
    'addresses that stay',
    '[a](#b) [c](d/e.md) [f](mailto:g@x.test)',
    '[a](#b) [c](d/e.md) [f](mailto:g@x.test)',
  ],
  ['what a lenient reader could take for a link', "[a](javascript:x('y z'))", "[a]\\(javascript:x('y z'))"],
  ['definitions', '[a]\n\n[a]: javascript:x', '[a]\n\n[a]: #'],
  ['definitions in quotes', '> [a]:\n>   data:x "t"', '> [a]:\n>   # "t"'],
  ['tags in the description of an image', '![a <b title="x" onerror="y">](z.png)', '![a ](z.png)'],
  ['control characters', 'a\u0000b\u0007\tc\u009f\r\nd', 'ab\tc\nd'],
  [
    'controls of direction, not the text',
    'a\u202eb\u2066 \u0645\u0631\u062d\u0628\u0627\u200f',
    'ab \u0645\u0631\u062d\u0628\u0627\u200f',
  ],
  ['halves of characters', 'a\ud800b\udc00', 'a\ufffdb\ufffd'],
])('becomes harmless: %s', (_, markdown, expected) => {
  expect(safeMarkdown(markdown)).toBe(expected);
});

test.each([
  ['spans', '`<script>` and ``a ` <b onclick=x>``'],
  ['fences', '```html\n<script>x</script>\n```\n\n- ~~~~\n  <b onclick=x>\n  ~~~\n  ~~~~'],
  ['indented', 'a\n\n    <script>x</script>\n\n\t<b onclick=x>'],
  ['in a list', '- a\n\n      <script>x</script>\n1. ```\n   <i x>\n   ```'],
  ['in a quote', '> ```\n> <script>\n> ```\n>\n>     [x](javascript:x)'],
])('code stays as it is: %s', (_, markdown) => {
  expect(safeMarkdown(markdown)).toBe(markdown);
});

test.each([
  ['a fence', '```js\na', '```js\na\n```'],
  ['a longer fence', '~~~~\na\n~~~\n', '~~~~\na\n~~~\n~~~~'],
  ['a fence in a list', '- a\n  ```\n  b', '- a\n  ```\n  b\n  ```'],
  ['a fence in a quote', '> ```\n> b', '> ```\n> b\n> ```'],
  [
    'an element of blocks',
    '<details>\n<summary>S</summary>\n\na',
    '<details>\n<summary>S</summary>\n\na\n\n</details>',
  ],
  ['elements that may stay open in HTML', '<ul><li>a<li>b</ul>', '<ul><li>a</li><li>b</li></ul>'],
  ['elements of words', 'a <b>b\n\nc', 'a \\<b>b\n\nc'],
  ['an element in a list item', '- <details>\n\n  a\n\nb', '- &lt;details>\n\n  a\n\nb'],
  ['ends without a beginning', 'a</details></b>\n\n</li></ul>\n\nb', 'a\\</details>\\</b>\n\n&lt;/ul>\n\nb'],
  ['items without a list', '<li>a</li>', 'a'],
])('nothing stays open: %s', (_, markdown, expected) => {
  expect(safeMarkdown(markdown)).toBe(expected);
});

test.each([
  [
    'keeps blocks of HTML',
    '<p align="center">\n  <a href="https://x.test" class=y><img src="https://x.test/a.png"></a>\n</p>',
    '<p>\n  <a href="https://x.test"><img src="https://x.test/a.png" alt=""></a>\n</p>',
  ],
  [
    'makes Markdown of those that only shaped',
    '<div align=center>\n    <img src="https://x.test/a.png">\n\n# T\n\n</div>',
    '![](https://x.test/a.png)\n\n# T',
  ],
  [
    'reads no Markdown in them',
    '<details>\n`<script>x</script>` a < b <img src=x onerror=y\n</details>',
    '<details>\n`` a &lt; b &lt;img src=x onerror=y\n</details>',
  ],
  [
    'breaks links in them to elsewhere',
    '<details>\n[a](javascript:x) [b](https://x.test)\n</details>',
    '<details>\n[a]&#40;javascript:x) [b](https://x.test)\n</details>',
  ],
  [
    'keeps them together where a tag went',
    '<p>\n  <picture>\n    <b>a</b>\n  </picture>\n</p>',
    '<p>\n    <b>a</b>\n</p>',
  ],
])('%s', (_, markdown, expected) => {
  expect(safeMarkdown(markdown)).toBe(expected);
});

test.each([
  ['quotes in quotes without end', `${'>'.repeat(500)} a <b onclick=x>`],
  ['emphasis in emphasis', `${'*a **b '.repeat(300)}<img src=x onerror=y>${' c** d*'.repeat(300)}`],
])('text nested too deeply becomes plain words: %s', (_, markdown) => {
  const safe = safeMarkdown(markdown);
  expect(safe).toContain('a');
  expect(safe).not.toMatch(/(?<!\\)[<*]/);
  expect(safeMarkdown(safe)).toBe(safe);
});

test('a paragraph that would take long to parse stays when it is harmless, and the rest is cleaned', () => {
  const costly = '[](a '.repeat(2000);
  expect(safeMarkdown(`${costly}\n\na <!-- b --> c`)).toBe(`${costly}\n\na  c`);
  expect(safeMarkdown(`${costly}<img src=x onerror=y>`)).not.toContain('<');
});

test('a long text is cut, and the fence and the tags that were open are closed', () => {
  const safe = safeMarkdown(`<details>\n\n\`\`\`\n${'a\n'.repeat(400_000)}\`\`\`\n\n</details>`);
  expect(safe.length).toBeLessThanOrEqual(200_000);
  expect(safe.slice(-80)).toEndWith('(Cut here: the whole text has 800,030 characters.)\n```\n\n</details>');
  expect(safeMarkdown(safe)).toBe(safe);
});

test.each([
  '[',
  '](',
  '[](a',
  '1. ',
  '[a]:',
  '[](<',
  '<!--',
  '<',
  '<a b="',
  '<script>',
  '</scriptx',
  '<details>\n',
  '<b></i>',
  '> ',
  '- a\n',
  '|a',
  '`a``b',
  '*a ',
  '&',
  '\\',
  ' ',
  '\t',
  '\n',
  '\ud83d',
])('a megabyte of %j becomes a text within its bounds', (piece) => {
  const safe = safeMarkdown(
    `<details>\n${piece.repeat(500_000 / piece.length)}\n\n${piece.repeat(500_000 / piece.length)}`,
  );
  expect(safe.length).toBeLessThanOrEqual(200_000);
});
