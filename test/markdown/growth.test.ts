import { afterAll, beforeAll, describe, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { AppError } from '../../src/lib/app-error.ts';
import { imagesIn } from '../../src/lib/markdown/media.ts';
import { excerptOf, outlineOf } from '../../src/lib/markdown/outline.ts';
import { toPlainText } from '../../src/lib/markdown/plain-text.ts';
import { renderMarkdown } from '../../src/lib/markdown/render.ts';
import { rewrite } from '../../src/lib/markdown/rewrite.ts';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import { parseMarkdown } from '../../src/posts/import/files.ts';
import { expectLinear } from '../support/growth.ts';
import { rounds } from '../support/rounds.ts';

// No text costs more than in proportion to its length, whatever it opens and does not close.

const readers: Record<string, (text: string) => unknown> = {
  rewrite: (text) => rewrite(text, true),
  render: renderMarkdown,
  'plain text': (text) => toPlainText(text),
  excerpt: (text) => excerptOf(text, text.length / 2),
  outline: (text) => outlineOf(text, 500),
  images: (text) => imagesIn(text, 50),
  changelog: (text) => parseChangelog({ name: 'CHANGELOG.md', text }),
  'own changelog': (text) => parseChangelog({ name: 'CHANGELOG.md', text: `${OWN}\n${text}` }),
  'front matter': (text) => refusing(() => parseMarkdown({ name: 'a.md', text })),
};
/** A refusal is an answer too. */
const refusing = (read: () => unknown) => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
};
const OWN = '<!-- Exported by Tidings: each heading of level 2 has the title and the date of a post. -->';

/** Beginnings and ends of Markdown's parts. */
const tokens = [
  ...[
    '[a]: /x "',
    "[a]: /x '",
    '[a]: /x (',
    '[a]:',
    '[a]: <',
    '[',
    ']',
    '](',
    '](<',
    '](/x "',
    '![',
    '[a](',
    '[a][',
    '[^a]',
    '[^a]: b',
  ],
  ...[
    '[a]',
    '[]()',
    '1. ',
    '2) ',
    '+ ',
    '- ',
    '* ',
    '>',
    '> ',
    '>- ',
    '- [ ] ',
    '\t- ',
    '    ',
    '\t',
    '  ',
    '\\',
    '  \n',
    '\\\n',
    '\r\n',
  ],
  ...[
    '*',
    '**',
    '_',
    '*a_',
    '**a',
    '~~',
    '~~a ',
    '`',
    '``',
    '```',
    '~~~',
    '```\n',
    '~~~ a\n',
    '<',
    '</',
    '<a',
    '<a b="',
    "<a b='",
    '<b>',
    '</b>',
  ],
  ...[
    '<!--',
    '-->',
    '<![CDATA[',
    '<?',
    '<!A ',
    '<div>\n',
    '</div>\n',
    '<pre>',
    '<script>',
    '<style>\n',
    '<details>\n',
    '<Button>',
    ':tada:',
    ':a',
    '> [!NOTE]\n',
    '<span>',
    '</span>',
    '<li>',
    '<td>',
    '<br>',
    '<img src="',
    '<a href="https://x.test">',
  ],
  ...[
    '<https://x',
    '<a:',
    '<a@b',
    'https://x.test/',
    'http://a_.',
    'www.',
    'a@',
    'a@b.',
    '&',
    '&#',
    '&amp;',
    '&#x',
    '|',
    '|a',
    '|-',
    '|-|\n',
    '-|\n',
  ],
  ...[
    '|a|b|\n|-|-|\n',
    ':',
    '# ',
    '#',
    '## ',
    ' #',
    '=\n',
    '-\n',
    '---\n',
    '***\n',
    'a\n===\n',
    '\n',
    '\n\n',
    'a',
    'a\n',
    ' ',
    '"',
    "'",
    '(',
    ')',
    '$',
  ],
  ...[
    '## 1.0.0 - 2026-01-01\n',
    '## [1.0.0]\n',
    '[1.0.0]: https://x.test\n',
    '---\na: b\n',
    'a: [',
    'a: {',
    '- &a\n',
    '*a',
    '• ',
  ],
];

/** A text of some length: a piece over and over, between a beginning and an end. */
interface Shape {
  start: string;
  piece: string;
  end: string;
}
const textOf =
  ({ start, piece, end }: Shape) =>
  (size: number) =>
    start + piece.repeat(Math.ceil(size / Math.max(1, piece.length))) + end;

const token = fc.constantFrom(...tokens);
const some = (minLength: number, maxLength: number) =>
  fc.array(token, { minLength, maxLength }).map((parts) => parts.join(''));
const shape = fc.record({ start: some(0, 3), piece: some(1, 4), end: some(0, 2) });

/** Texts of which many pieces once took the square of their length, or more. */
const known: Shape[] = [
  { start: '[a]: /x "', piece: 'a\n', end: '' },
  { start: '> [a]: /x "', piece: 'a\n> ', end: '' },
  { start: '- [a]: /x (', piece: 'a\n  ', end: '' },
  { start: '[', piece: 'a\n', end: '' },
  ...['1. ', '+ ', '>- ', '- a\n\t'].map((piece) => ({ start: '', piece, end: '' })),
  { start: '- '.repeat(40), piece: '\n', end: '' },
  { start: 'a\n|b\n', piece: ' ', end: 'c' },
  { start: '', piece: '> \\*\n', end: '' },
  { start: '`', piece: '<pre></div>\n', end: '<pre>~~a ' },
  { start: '*a', piece: '</b>  \n<a href="https://x.test">', end: '' },
  { start: '', piece: '---\n</div>\n', end: '' },
  { start: '|<?-|\n', piece: '|-', end: '' },
  { start: '', piece: '<li>', end: 'a' },
  { start: 'aa\n<li>', piece: '```• <pre>', end: '[+ ' },
  ...['https://x.test/* ', 'www.x.test* ', 'a@b.cd_ '].map((piece) => ({ start: '*', piece, end: '' })),
  ...['- ', '*', '_ '].map((piece) => ({ start: '', piece, end: 'a' })),
];
const deep = (size: number) => {
  const depth = Math.sqrt(size / 2);
  return `${Array.from({ length: depth }, (_, at) => `${'\t'.repeat(at)}- a\n`).join('')}${'\n'.repeat(size / 2)}`;
};
const wide = (size: number) => `${'|a'.repeat(100)}\n${'|-'.repeat(100)}\n${'|\n'.repeat(size / 2)}`;
const runs = (size: number) => {
  let text = '';
  for (let length = 1; text.length < size; length++) text += `${'`'.repeat(length)} `;
  return text;
};

const seed = Number(Bun.env.SEED ?? 1);
const sample = fc.sample(shape, { numRuns: rounds(5, 1_500), seed });
const single = tokens
  .slice(0, rounds(0, tokens.length))
  .flatMap((piece) => ['', 'a'].map((end) => ({ start: '', piece, end })));
const cases: [name: string, make: (size: number) => string][] = [
  ...[...known, ...single, ...sample].map((each): [string, (size: number) => string] => [
    JSON.stringify(each),
    textOf(each),
  ]),
  ['lists that nest at each line', deep],
  ['rows that lack cells', wide],
  ['runs of backticks of all lengths', runs],
];

// No time passes, so that nobody else gets a turn: how many turns they get depends on the load of the machine.
let now: ReturnType<typeof spyOn<Performance, 'now'>>;
beforeAll(() => {
  now = spyOn(performance, 'now').mockReturnValue(0);
});
afterAll(() => now.mockRestore());

describe.each(Object.entries(readers))('%s', (name, read) => {
  test.each(cases)('%s', async (text, make) => {
    await expectLinear(`${name} of ${text}`, make, read);
  });
});
