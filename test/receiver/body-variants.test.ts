import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bodyVariants, compact, depthOf } from '../../src/intake/receiver/signature-doctor.ts';
import { rounds } from '../support/rounds.ts';

const variantsOf = (text: string) => [...bodyVariants(Buffer.from(text))].map(([, variant]) => variant);

test('any JSON is compacted and indented as JSON.stringify does it', () => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: 'binary', maxDepth: 10 }),
      fc.constantFrom(0, 1, 2, '\t', ' \n\r\t'),
      (json, space) => {
        const value = JSON.parse(json);
        const text = JSON.stringify(value, null, space);
        expect(compact(text)).toBe(JSON.stringify(value));
        if (!text.isWellFormed()) return;
        const indented = JSON.stringify(value, null, 2);
        expect(text === indented || variantsOf(text).includes(indented)).toBe(true);
      },
    ),
    { numRuns: rounds(30, 1_000) },
  );
});

test.each([
  ['{"a": "x \\" , {y} \\\\", "b" : [ ] }', '{"a":"x \\" , {y} \\\\","b":[]}'],
  ['[ 1.0, 12345678901234567890, 1E5 ]', '[1.0,12345678901234567890,1E5]'],
  ['{ "2": 1, "1": 2, "2": 3 }', '{"2":1,"1":2,"2":3}'],
  ['  ', ''],
])('%j keeps what JSON.parse would lose', (json, text) => {
  expect(compact(json)).toBe(text);
});

test('brackets inside strings do not count as depth', () => {
  expect(depthOf('{"a":[[1],"[[[["]}')).toBe(3);
});

test.each(['[', '{"a":', '"', '"\\', '\\', ']', '}{', ',', ':[', ' ', '\n'])(
  'the variants of any number of %j are bounded',
  (each) => {
    const text = each.repeat(50_000);
    expect(compact(text).length).toBeLessThanOrEqual(text.length);
    for (const variant of variantsOf(text)) expect(variant.length).toBeLessThanOrEqual(text.length * 3 + 10);
  },
);

test('the indented form of nested JSON is bounded', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${'1,'.repeat(60_000)}1${']'.repeat(depth)}`;
  const longest = (depth: number) => Math.max(...variantsOf(nested(depth)).map(({ length }) => length));
  expect(longest(16)).toBeLessThan(18 * nested(16).length);
  expect(longest(17)).toBeLessThan(3.5 * nested(17).length);
});
