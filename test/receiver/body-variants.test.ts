import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { layOut } from '../../src/receiver/body-variants.ts';

const MAX_BYTES = 1_000_000;
const compactOf = (text: string) => layOut(Buffer.from(text), 0)?.text.toString();
const indentedOf = (text: string, maxBytes = MAX_BYTES) =>
  layOut(Buffer.from(text), 2, maxBytes)?.text.toString() ?? null;

test('any JSON is compacted and indented as JSON.stringify does it', () => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: 'binary' }),
      fc.constantFrom(0, 1, 2, '\t', ' \n\r\t'),
      (json, space) => {
        const value = JSON.parse(json);
        expect(compactOf(JSON.stringify(value, null, space))).toBe(JSON.stringify(value));
        expect(indentedOf(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
      },
    ),
  );
});

test.each([
  ['{"a": "x \\" , {y} \\\\", "b" : [ ] }', '{"a":"x \\" , {y} \\\\","b":[]}'],
  ['[ 1.0, 12345678901234567890, 1E5 ]', '[1.0,12345678901234567890,1E5]'],
  ['{ "2": 1, "1": 2, "2": 3 }', '{"2":1,"1":2,"2":3}'],
  ['  ', ''],
])('%j keeps what JSON.parse would lose', (json, compact) => {
  expect(compactOf(json)).toBe(compact);
});

test('brackets inside strings do not count as depth', () => {
  expect(layOut(Buffer.from('{"a":[[1],"[[[["]}'), 0)?.depth).toBe(3);
});

test.each(['[', '{"a":', '"', '"\\', '\\', ']', '}{', ',', ':['])(
  'the layouts of any number of %j are bounded',
  (each) => {
    const text = each.repeat(50_000);
    expect(compactOf(text)?.length).toBeLessThanOrEqual(text.length);
    expect(indentedOf(text)?.length ?? 0).toBeLessThanOrEqual(MAX_BYTES);
    expect(indentedOf(text, 10)).toBeNull();
  },
);

test.each([' ', '\n'])('white space alone, as %j, has an empty layout', (each) => {
  const text = each.repeat(50_000);
  expect(compactOf(text)).toBe('');
  expect(indentedOf(text, 10)).toBe('');
});
