import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { inlineMarkdown } from '../../src/lib/markdown/plain-text.ts';

/** The text of a list item that holds a line, and the elements that Markdown made of it. */
function render(line: string, options: Bun.markdown.Options = {}) {
  const elements: string[] = [];
  let text = '';
  new HTMLRewriter()
    .on('*', {
      element: ({ tagName }) => {
        elements.push(tagName);
      },
      text: (chunk) => {
        text += chunk.text;
      },
    })
    .transform(Bun.markdown.html(`- ${line}`, options));
  const plain = text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
  return { text: plain.trim(), elements: elements.filter((name) => !['ul', 'li', 'p'].includes(name)) };
}

test.each([
  ['feat: 40 % softer (quiet mode)'],
  ['fix(api)!: keep snake_case_names & more, closes #12'],
  ['Bump @types/node from 1.0.0 to 2.0.0 (#7)'],
  ['see https://x.test/a_b?c=d&e=f#g, or a@x.test'],
  ['use `Map<string>` and ``a ` b`` instead of `*`'],
  ['a < b, 2 * 3 = 6, x - y + z > 1'],
  ["it's C:\\temp, #1 and 1.2.3"],
  ['\u0645\u0631\u062d\u0628\u0627 👩‍🚀 :rocket:'],
])('stays as it is: %s', (line) => {
  expect(inlineMarkdown(line)).toBe(line);
});

test.each([
  ['emphasis', '*a* **b** _c_ __d__ ~~e~~', '\\*a\\* \\*\\*b\\*\\* \\_c\\_ \\_\\_d\\_\\_ \\~\\~e\\~\\~'],
  ['links and images', '[a](b) ![c](d)', '\\[a\\](b) !\\[c\\](d)'],
  [
    'tags and autolinks',
    'Map<string> </b> <!-- <a@b.c> <1@b.c>',
    'Map\\<string> \\</b> \\<!-- \\<a@b.c> \\<1@b.c>',
  ],
  ['entities', '&copy; &#60; AT&T', '\\&copy; \\&#60; AT&T'],
  ['backslashes', 'a\\*b \\\\n \\', 'a\\\\\\*b \\\\\\\\n \\\\'],
  ['cells', 'a | b', 'a \\| b'],
  ['backticks without an end', 'a ` b ``', 'a \\` b \\`\\`'],
  [
    'addresses with markup',
    'https://x.test/_a_ https://x.test/~b',
    '<https://x.test/_a>\\_ <https://x.test/~b>',
  ],
  ['headings', '# a', '\\# a'],
  ['quotes', '> a', '\\> a'],
  ['lists', '- a', '\\- a'],
  ['added lists', '+ a', '\\+ a'],
  ['numbered lists', '1. a', '1\\. a'],
  ['other numbered lists', '1) a', '1\\) a'],
  ['rules', '---', '\\---'],
  ['rules with gaps', '--- -', '\\--- -'],
  ['underlines', '===', '\\==='],
  ['task boxes', '[x] a', '\\[x\\] a'],
  ['line breaks and controls', ' a\r\n\tb\u0000c\u202ed\u0085 ', 'a b cd'],
  ['halves of characters', '\ud800', '\ufffd'],
  ['nothing', ' \n', ''],
])('escaped: %s', (_, line, expected) => {
  expect(inlineMarkdown(line)).toBe(expected);
});

const nasty = [
  '<script>alert(1)</script>',
  '[x](javascript:alert(1)) ![y](data:x)',
  '<javascript:x> <img src=x onerror=y',
  '***a***b__c__*d* ~e~ ~~~',
  '\\<b> \\\\<b> \\`<b>',
  '&lt;b&gt; &amp;amp; &colon;',
  '#hash ## two ####### seven',
  '- - - a',
  '* * *',
  '_ _ _',
  '1. 2. 3.',
  '999999999. a',
  '=== ---',
  '```js',
  '~~~',
  '    a',
  '[x]: https://x.test',
  '[^1]: a',
  '| a | b |',
  'https://x.test/*a* and https://x.test/[b] https://x.test/&copy;',
  'https://x.test/~~a~~ https://x.test/a__b__',
  '_https://x.test/a_ **https://x.test**',
  'a_b_ _c_d é_f_g',
  '!important ![',
  'a\\',
];

test.each(nasty)('a line renders to its words: %s', (line) => {
  const { text, elements } = render(inlineMarkdown(line));
  expect(text).toBe(line.trim());
  expect(elements.filter((name) => name !== 'a')).toEqual([]);
});

test('spans between backticks are code', () => {
  expect(render(inlineMarkdown('a `<b>*` _c_ ``d ` e``'))).toEqual({
    text: 'a <b>* _c_ d ` e',
    elements: ['code', 'code'],
  });
});

const characters = fc.constantFrom(...'ab 1.)-+#>=*_~[]()!<&;|\\/@:"\'é😀\u00a0\n\t\u0000');
const chunks = fc.constantFrom(
  'https://x.test/',
  'www.x.test',
  '&amp;',
  '</b>',
  'a@b.c',
  '![',
  '](',
  '---',
  '. ',
  '_a_',
  '**',
);
const lines = fc.oneof(
  fc.string({ unit: fc.oneof(characters, chunks), maxLength: 25 }),
  fc.string({ unit: 'binary' }),
);

test('any line without backticks renders to its words', () => {
  fc.assert(
    fc.property(lines, (line) => {
      fc.pre(!line.includes('`') && !/[\u202a-\u202e\u2066-\u2069]/.test(line));
      const { text, elements } = render(inlineMarkdown(line));
      expect(text).toBe(
        line
          .replaceAll(/[\s\p{Cc}]+/gu, ' ')
          .trim()
          .toWellFormed(),
      );
      expect(elements.filter((name) => name !== 'a')).toEqual([]);
    }),
    { numRuns: 5000 },
  );
});

test('with addresses linked, a line renders to text, links and code alone', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        lines,
        fc.array(fc.constantFrom('`', '``', ...nasty)).map((parts) => parts.join('')),
      ),
      (line) => {
        const { elements } = render(inlineMarkdown(line), { autolinks: true });
        expect(elements.filter((name) => name !== 'a' && name !== 'code')).toEqual([]);
      },
    ),
    { numRuns: 3000 },
  );
});
