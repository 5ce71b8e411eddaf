import { describe, expect, test } from 'bun:test';
import { parser } from '@lezer/markdown';
import fc from 'fast-check';
import { bounded, parseBlocks, toHtml } from '../../src/lib/markdown/parse.ts';
import { renderMarkdown } from '../../src/lib/markdown/render.ts';
import { rounds } from '../support/rounds.ts';

const table = (columns: number, rows: number) =>
  `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|b\n'.repeat(rows)}`;

describe('what people write stays', () => {
  test.each([
    ['nested lists', Array.from({ length: 20 }, (_, depth) => `${'    '.repeat(depth)}- a\n`).join('')],
    ['quotes in quotes', `${'> '.repeat(40)}a`],
    ['a long rule', '- '.repeat(100)],
    ['far to the right', `\`\`\`\n${' '.repeat(300)}a -> b\n\`\`\``],
    ['a number far to the right', `${' '.repeat(300)}12.5`],
    ['a table', `${'|a'.repeat(40)}|\n${'|-'.repeat(40)}|\n`.concat(`${'|b'.repeat(40)}|\n`.repeat(500))],
    ['a table with short rows', table(10, 15)],
    ['a wide table', `${'|a'.repeat(1_000)}|\n${'|-'.repeat(1_000)}|\n`],
    ['a long fence', `${'`'.repeat(50)}\na\n${'`'.repeat(50)}`],
  ])('%s', (_, markdown) => {
    expect(bounded(markdown)).toBe(markdown);
  });
});

describe('what is beyond a bound shows as text', () => {
  test.each([
    ['quotes', '>'.repeat(300), 220, '&gt;'],
    ['lists', `${'- '.repeat(100)}a`, 60, '- '],
    [
      'lists by indentation',
      Array.from({ length: 60 }, (_, depth) => `${'  '.repeat(depth)}- b\n`).join(''),
      20,
      '- b',
    ],
    ['numbers', `${'1. '.repeat(100)}a`, 73, '1.'],
    ['backticks', '`'.repeat(51), 51, '`'],
    ['a table whose rows lack cells', table(100, 1_000), 1_100, '|'],
    ['a table of more than 1,000 columns', `${'|a'.repeat(1_001)}|\n${'|-'.repeat(1_001)}|`, 2_004, '|'],
    ['a wide table with other spaces', `|a|\n${'|-\u00a0'.repeat(1_001)}`, 1_003, '|'],
  ])('%s', (_, markdown, least, shown) => {
    expect(bounded(markdown)).not.toBe(markdown);
    const html = toHtml(markdown);
    expect(html.split(shown).length - 1).toBeGreaterThanOrEqual(least);
    expect(html.length).toBeLessThan(markdown.length * 20);
    expect(renderMarkdown(markdown)).toContain(shown);
    expect(bounded(bounded(markdown))).toBe(bounded(markdown));
  });
});

test('addresses are linked in long lists, and not where thousands of marks stand in one paragraph', () => {
  const item = '* **scope:** what_is_new by @ann in https://x.test/a_b/pull/12\n';
  const links = (markdown: string) => toHtml(markdown, { autolinks: true }).split('<a ').length - 1;
  expect(links(item.repeat(3_000))).toBe(3_000);
  expect(links('*see https://x.test* '.repeat(600))).toBe(600);
  const hostile = '*see https://x.test* '.repeat(9_000);
  expect(links(hostile)).toBe(0);
  expect(toHtml(hostile, { autolinks: true }).split('https://x.test').length - 1).toBe(9_000);
});

test('definitions are read as the library reads them', () => {
  const pieces = [
    '[a]: /x',
    '[a]:',
    '[a',
    '[',
    ']',
    ']:',
    ' /x',
    '<x',
    '>',
    '<x>',
    ' "t"',
    ' "t',
    '"',
    "'t'",
    "'",
    ' (t)',
    '(',
    ')',
  ];
  const piece = fc.constantFrom(
    ...pieces,
    '\\',
    '\n',
    '\n',
    '\n',
    ' ',
    '\t',
    'a',
    '> ',
    '- ',
    '  ',
    '\r\n',
    '[b]: /y "z"\n',
    '#',
  );
  const definitionsOf = (tree: ReturnType<typeof parser.parse>) => {
    const found: string[] = [];
    let end = 0;
    tree.iterate({
      enter({ name, from, to }) {
        if (name === 'LinkReference') end = to;
        if (to <= end) found.push(`${name} ${from} ${to}`);
      },
    });
    return found;
  };
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (parts) => {
      const text = `[a]: ${parts.join('')}`;
      // The library takes the second of two backslashes for an escape of what follows: `<x\\\\>`.
      fc.pre(!text.includes('\\\\'));
      expect(definitionsOf(parseBlocks(text).tree)).toEqual(definitionsOf(parser.parse(text)));
    }),
    { numRuns: rounds(3_000, 50_000) },
  );
});

test('a label has at most 999 characters', () => {
  const definition = (length: number) => `[${'a'.repeat(length)}]: /x`;
  expect(parseBlocks(definition(997)).tree.toString()).toContain('LinkReference');
  expect(parseBlocks(definition(1_000)).tree.toString()).not.toContain('LinkReference');
});
