import { expect, test } from 'bun:test';
import { isHarmless } from '../../src/lib/markdown/render.ts';

// The check must see anything that rewriting misses, so these texts are not rewritten.

test.each([
  ['an element', 'a <button>b</button>'],
  ['an element whose content is raw text', '<title><b></title>'],
  ['an attribute', '<b class="x">a</b>'],
  ['a handler', '<p onclick="x">a</p>'],
  ['an attribute elsewhere', '<p href="https://x.test">a</p>'],
  ['a form', '<input type="text">'],
  ['an address', '[a](javascript:x)'],
  ['an encoded address', '[a](javascript&colon;x)'],
  ['an address in capitals', '<JAVASCRIPT:x>'],
  ['an address by reference', '![a][b]\n\n[b]: data:x'],
  ['an address that only a site without raw HTML reads', '<details>\n[a](javascript:x)\n</details>'],
  ['a comment', 'a <!-- b -->'],
  ['an instruction', '<?a b ?>'],
  ['a document type', '<!DOCTYPE html>'],
  ['a section', '<![CDATA[a]]>'],
  ['a tag without an end', '<details>\n<img src=x onerror=y'],
  ['an end tag without an end', '<details>\na\n</details'],
  ['an element that is not closed', '<details>\n\na'],
  ['a word that is not closed', 'a <b>b'],
  ['an end without a beginning', 'a</details>'],
  ['elements that cross', '<table><ul></table></ul>'],
  ['elements beyond reason', '>'.repeat(200)],
  ['quotes in the description of an image', '![<b title="x" onerror="y">](z.png)'],
])('%s is refused', (_, markdown) => {
  expect(isHarmless(markdown)).toBe(false);
});

test.each([
  ['nothing', ''],
  [
    'what Markdown makes',
    '# a\n\n1. b\n2. c\n\n- [x] d\n\n|e|\n|:-:|\n|f|\n\n```js\n<g>\n```\n\n> ![h](i "j") **k** ~~l~~\n***',
  ],
  ['tags', '<details>\n<summary>a</summary>\n\nb<br/><kbd>c</kbd><hr>\n\n</details>'],
  ['addresses', '[a](https://x.test) [b](#c) [d](e/f:g) <h@x.test> http://x.test/_i_'],
  ['escaped tags', '\\<script> &lt;b onclick> `<!--`'],
])('%s: accepted', (_, markdown) => {
  expect(isHarmless(markdown)).toBe(true);
});
