import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { safeMarkdown } from '../../../src/drafts/markdown.ts';
import { findActive } from '../../support/active-html.ts';

/** What could run in the page, however a site renders the text. */
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
])('the reader of active HTML sees it: %s', (html, expected) => {
  expect(findActive(html)).toEqual(expected);
});

const attacks = [
  '<SCRIPT SRC=https://x.test/a.js></SCRIPT>',
  '<script\n>alert(1)</script\n>',
  '<script>alert(1)//',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<<script>alert(1);//\\<</script>',
  '<scr\u0000ipt>alert(1)</scr\u0000ipt>',
  '<\u202escript>alert(1)</script>',
  '<SCRIPT/XSS SRC="https://x.test/a.js"></SCRIPT>',
  '<SCRIPT a=">" SRC="https://x.test/a.js"></SCRIPT>',
  '</TITLE><SCRIPT>alert("XSS");</SCRIPT>',
  '<img src=x onerror=alert(1)>',
  '<IMG """><SCRIPT>alert("XSS")</SCRIPT>"\\>',
  '<IMG SRC=JaVaScRiPt:alert(1)>',
  '<IMG SRC=`javascript:alert("x")`>',
  '<IMG SRC="jav&#x0A;ascript:alert(1);">',
  '<IMG SRC=&#0000106&#0000097&#0000118&#0000097&#0000115&#0000099&#0000114&#0000105&#0000112&#0000116:x>',
  '<img src="https://x.test/a.png" alt="](javascript:alert(1))">',
  '<img src="https://x.test/a.png)](javascript:alert(1)" alt="x">',
  '<img src="https://x.test/&quot;onerror=&quot;alert(1)" alt="&quot;><script>">',
  '<img src=x onerror=alert(1)',
  'a <img src=x onerror=alert(1)//',
  '<details>\n<img src=x onerror=alert(1)',
  '<details>\n<a href="x" onclick="alert(1)\n\n">',
  '<details open ontoggle=alert(1)>x</details>',
  '<details/open/ontoggle=alert(1)>x',
  '<p title="<img src=x onerror=alert(1)>">x</p>',
  '<p\ntitle="\n" onclick=alert(1)>x</p>',
  '<b onclick=alert(1)>x</b> <b\tonclick=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg/onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><p><style><img src=x onerror=alert(1)></style></p></svg>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<textarea><img title="</textarea><img src=x onerror=alert(1)>">',
  '<title><img title="</title><img src=x onerror=alert(1)>">',
  '<xmp><p title="</xmp><svg/onload=alert(1)>">',
  '<plaintext><b onclick=x>',
  '<template><script>x</script></template>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="data:text/html,x"></object><embed src=x>',
  '<base href="javascript:/"><link rel=stylesheet href=x><meta http-equiv=refresh content="0;url=javascript:x">',
  '<form action=javascript:x><button formaction=javascript:x>y</button><input autofocus onfocus=x></form>',
  '<isindex action=javascript:x type=image><keygen autofocus onfocus=x>',
  '<video><source onerror="alert(1)"></video><audio src=x onerror=alert(1)>',
  '<marquee onstart=alert(1)>x</marquee><body onload=alert(1)>',
  '<x-y onclick=alert(1)>z</x-y> <xss style="x:expression(alert(1))">',
  '<a href="javascript:alert(1)">x</a> <a href=" java\nscript:alert(1)">x</a>',
  '<a href="https://x.test" onclick="alert(1)">x</a>',
  '<a href="https://x.test/)](javascript:alert(1)">x</a>',
  '<a href="https://x.test">[y](javascript:alert(1))</a>',
  '<!--><img src=x onerror=alert(1)>-->',
  '<!--a--!><img src=x onerror=alert(1)>-->',
  '<!-- <!-- --> <img src=x onerror=alert(1)> -->',
  '<![CDATA[<img src=x onerror=alert(1)>]]>',
  '<![CDATA[><img src=x onerror=alert(1)>]]>',
  '<?x ><img src=x onerror=alert(1)> ?>',
  '<!x "><img src=x onerror=alert(1)>">',
  '</ <img src=x onerror=alert(1)>>',
  '[x](javascript:alert(1))',
  '[x](<javascript:alert(1)>)',
  '[x](\njavascript:alert(1)\n"t")',
  "[x](javascript:alert('a b'))",
  '[x](JAVASCRIPT&colon;alert(1)) [x](java&NewLine;script&#58;x) [x](java&Tab;script:x)',
  '[x](&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;x)',
  '[x](\u0001javascript:alert(1)) [x](java\u0000script:x) [x](\\javascript:x) [x](javascript\\:x)',
  '[x](data:text/html;base64,PHN2Zy9vbmxvYWQ9YWxlcnQoMik+) [x](vbscript:x) [x](file:///etc) [x](blob:x)',
  '![x](data:image/svg+xml;base64,PHN2Zy8+) ![x](javascript:x)',
  '![<img title="x" onerror="alert(1)">](y.png) ![<b title="" onerror=x>][r]\n\n[r]: y.png',
  '![&quot; onerror=&quot;alert(1)](y.png "&quot; onerror=&quot;x")',
  '[x](y "<img src=x onerror=alert(1)>") [x](y \'"onclick="x\')',
  '[x](y"onclick="alert(1)) <https://x.test/"onclick="alert(1)>',
  '[<img src=x onerror=alert(1)>](https://x.test)',
  '[[x](y)](<img src=x onerror=alert(1)>)',
  '[x](y "`") <img src=x onerror=alert(1)> `"',
  '[x](y`) <img src=x onerror=alert(1)> `',
  ']( <img src=x onerror=alert(1)>)',
  '[x]: javascript:alert(1)\n\n[x] [y][x] ![x]',
  '[x]:\njavascript:alert(1)\n"t"\n\n[x]',
  '> [x]: <javascript:alert(1)>\n\n- [x]',
  '[a]: b\n[x]: data:x\n[y]:\n  vbscript:x\n\n[x] [y]',
  '[x]: y "t" <img src=x onerror=alert(1)>\n\n[x]',
  '<javascript:alert(1)> <data:text/html,x> <JAVASCRIPT:x>',
  '`<img src=x onerror=alert(1)>`` x',
  '``<img src=x onerror=alert(1)>` x',
  '\\`<img src=x onerror=alert(1)>`',
  '`a\n\n<img src=x onerror=alert(1)>`',
  '- `a\n- <img src=x onerror=alert(1)>`',
  '| a | b |\n|---|---|\n| `a | <img src=x onerror=alert(1)>` |',
  'a | b\n-|-\n`x | <svg/onload=alert(1)>`\n`y | z` <b onclick=x>',
  '```` \n```\n````\n<img src=x onerror=alert(1)>\n```',
  '```\n  ~~~\n ```\n<img src=x onerror=alert(1)>',
  '``` a`b\n<img src=x onerror=alert(1)>\n```',
  '```\na\n    ```\n```\n<img src=x onerror=alert(1)>',
  '> ```\n<img src=x onerror=alert(1)>\n> ```',
  '- ```\n<img src=x onerror=alert(1)>\n  ```',
  'a\n    <img src=x onerror=alert(1)>',
  '- a\n\n    <img src=x onerror=alert(1)>',
  '-\t\t<img src=x onerror=alert(1)>\n\n  \t<svg onload=x>',
  '1.  a\n\n      <img src=x onerror=alert(1)>\n\n   <b onclick=x>',
  '-\n\n      <img src=x onerror=alert(1)>\n\n  <b onclick=x>',
  '>\t<img src=x onerror=alert(1)>\n>\t\t<b onclick=x>\n>     <i onclick=x>',
  '<details>\n    <img src=x onerror=alert(1)>\n\n    <b onclick=x>\n```\n<i onclick=x>\n```',
  '<details>\n```\n\n<img src=x onerror=alert(1)>\n```',
  '<pre>\n\n```\n<img src=x onerror=alert(1)>\n\n`<b onclick=x>`',
  '<pre></style>\n`\n<img src=x onerror=alert(1)>`',
  '<div>\n`<img src=x onerror=alert(1)>`\n\n</div>',
  '<b>\n`<img src=x onerror=alert(1)>`',
  '# `a\n<img src=x onerror=alert(1)>`',
  'a `b\n===\n<img src=x onerror=alert(1)>`',
  '```js"onclick=x><img/src=x/onerror=x>\na\n```',
  '<summary><details><table><tr><td onclick=x></details>',
];

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

test('nothing active is left of any mix of such pieces, and a second time changes nothing', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const safe = safeMarkdown(pieces.join(''));
      expect(activeIn(safe)).toEqual([]);
      expect(safeMarkdown(safe)).toBe(safe);
    }),
    { numRuns: 3000 },
  );
});

test('no text is lost, however it is written', () => {
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
    { numRuns: 500 },
  );
});
