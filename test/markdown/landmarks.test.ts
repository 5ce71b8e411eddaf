import { expect, test } from 'bun:test';
import { parser } from '@lezer/markdown';
import fc from 'fast-check';
import { readLandmarks } from '../../src/markdown/landmarks.ts';
import { rounds } from '../support/rounds.ts';

// The library's parser tells what is right. It is not used for files: it can hold up others for seconds.

const lines = [
  ...[
    '# a',
    '## b #',
    '###### c',
    '####### d',
    '#e',
    '   # f',
    '    # g',
    'a',
    'b',
    'a b `c`',
    '===',
    '=',
    '---',
    '___',
    '***',
    '- - -',
  ],
  ...[
    '',
    '',
    '- a',
    '- a\n\n  # b\n',
    '1. a',
    '2) x',
    '> a',
    '- a\n\n  ```\n  # b\n  ```\n',
    '    code\n',
    '\tcode\n',
  ],
  ...[
    '```',
    '``` js',
    '````',
    '~~~',
    '<!-- a',
    '-->',
    '<div>',
    '<b>',
    '<pre>',
    '</pre>',
    '<?x',
    '?>',
    '[a]: /x',
    '[b]: <y> "t"',
  ],
];

test('the headings and definitions are those of CommonMark', async () => {
  const texts = fc.array(fc.constantFrom(...lines), { maxLength: 10 }).map((parts) => parts.join('\n'));
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      const expected = [];
      for (let node = parser.parse(text).topNode.firstChild; node !== null; node = node.nextSibling) {
        const { name, from, to } = node;
        if (/Heading|LinkReference/.test(name)) expected.push({ name, from, to });
      }
      expect(await readLandmarks(text)).toEqual(expected);
    }),
    { numRuns: rounds(2_000, 50_000) },
  );
});

test('lets others in while it reads', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  try {
    const landmarks = await readLandmarks('# a\nb\n\n'.repeat(100_000));
    expect(landmarks).toHaveLength(100_000);
  } finally {
    clearInterval(timer);
  }
  expect(turns).toBeGreaterThan(1);
});
