import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { compactJson, indentJson } from '../../src/receiver/json-layout.ts';

const MAX_BYTES = 1_000_000;
const compactOf = (text: string) => Buffer.from(compactJson(Buffer.from(text)).compact).toString();
const indentedOf = (text: string) => {
  const indented = indentJson(Buffer.from(text), MAX_BYTES);
  return indented === null ? null : Buffer.from(indented).toString();
};

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

test('how deep it nests, strings left out', () => {
  expect(compactJson(Buffer.from('{"a":[[1],"[[[["]}')).depth).toBe(3);
});

test.each(['[', '{"a":', '"', '"\\', '\\', ']', '}{', ',', ':[', ' ', '\n'])(
  'however much there is of %j, it comes out bounded',
  (each) => {
    const text = each.repeat(50_000);
    expect(compactJson(Buffer.from(text)).compact.length).toBeLessThanOrEqual(text.length);
    const indented = indentJson(Buffer.from(text), MAX_BYTES);
    if (indented !== null) expect(indented.length).toBeLessThanOrEqual(MAX_BYTES);
    expect(indentJson(Buffer.from(text), 10)).toBeNull();
  },
);
