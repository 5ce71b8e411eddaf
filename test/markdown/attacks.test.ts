import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { safeMarkdown } from '../../src/lib/markdown/render.ts';
import { findActive } from '../support/active-html.ts';
import { attacks } from '../support/attacks.ts';
import { rounds } from '../support/rounds.ts';

/** Things that could run in the page, however a site renders the text. */
function activeIn(markdown: string): string[] {
  return [
    Bun.markdown.html(markdown),
    Bun.markdown.html(markdown, { autolinks: true }),
    // A site that lets no raw HTML through reads Markdown where others read HTML.
    Bun.markdown.html(markdown, { noHtmlBlocks: true, noHtmlSpans: true }),
  ].flatMap(findActive);
}

test.each([
  ['<script>x</script>', ['<script>', '<script>']],
  ['<p onclick="x">', ['onclick of <p>']],
  ['<img src=x onerror=y', ['onerror of <img>', '<img without an end']],
  ['<a href="java&#9;script:x">', ['href="java&#9;script:x"']],
  ['<!-- x -->', ['markup at 0']],
  ['<p>a &lt;b&gt; < c</p><a href="https://x.test">', []],
])('findActive finds %s', (html, expected) => {
  expect(findActive(html)).toEqual(expected);
});

test.each(attacks)('nothing active is left of %j', (attack) => {
  for (const markdown of [
    attack,
    `- a\n\n  ${attack}`,
    `> ${attack}`,
    `a ${attack} b`,
    `<details>\n${attack}`,
  ]) {
    const safe = safeMarkdown(markdown);
    expect(activeIn(safe)).toEqual([]);
    expect(activeIn(`${safe}" '>-->\n\n> b`)).toEqual([]);
    expect(safeMarkdown(safe)).toBe(safe);
  }
});

const fragments =
  '<script>|</script>|<img src=x onerror=alert(1)>|<img src=x onerror=alert(1)|<svg/onload=x>|<b onclick=x>|</b>|' +
  '<details ontoggle=x>|</details>|<summary>|<p>|</p>|<ul>|<li>|</ul>|<table>|<td onclick=x>|</table>|<pre>|</pre>|<div>|</div>|' +
  '<a href="javascript:x">|<a href="https://x.test">|</a>|<!--|-->|<?|?>|<![CDATA[|]]>|<!X|>|<|</|[|](javascript:x)|' +
  '](https://x.test)|](<b onclick=x>)|](x "t")|![|[x]:|[x]: javascript:x|<javascript:x>|<https://x.test>|`|``|```|~~~|' +
  '```js|*|**|_|~~|\\|&lt;|&#60;|&colon;|"|\'|=|a|é|\u0000|\u202e|\ud800| onclick=x|<textarea>|</textarea>|<title>|' +
  '<style>|</style>|<plaintext>|<br>|<kbd|https://x.test/_a_|Map<string>|- |1. |> |# |---|    |\t|  ';
const piece = fc.constantFrom(
  ...fragments.split('|'),
  '|',
  '\n',
  '\n',
  '\n\n',
  '\n\n',
  '\n| a | b |\n|---|---|\n',
);

test('nothing active is left of any mix of such pieces, and cleaning twice changes nothing more', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const safe = safeMarkdown(pieces.join(''));
      expect(activeIn(safe)).toEqual([]);
      expect(safeMarkdown(safe)).toBe(safe);
    }),
    { numRuns: rounds(600, 30_000) },
  );
});

test('no word is lost', () => {
  const word = fc.constantFrom(
    'word',
    '*',
    '**',
    '_',
    '`',
    '```',
    '\n',
    '\n\n',
    '- ',
    '> ',
    '# ',
    '| ',
    '    ',
    '[',
    ']',
    '< ',
    '&amp;',
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const markdown = words.join('');
      const safe = safeMarkdown(markdown);
      expect(safe.match(/word/g)?.length).toBe(markdown.match(/word/g)?.length);
    }),
    { numRuns: rounds(150, 5_000) },
  );
});
