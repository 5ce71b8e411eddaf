import { describe, expect, test } from 'bun:test';
import { parseJsonInTurns } from '../../src/lib/json.ts';
import { letOthersIn } from '../../src/lib/time.ts';
import { expectLinear } from '../support/growth.ts';
import { rounds } from '../support/rounds.ts';

/** Much longer than what is parsed at once. */
const LENGTH = 100_000;
const fill = (part: string, length = LENGTH) => part.repeat(Math.ceil(length / part.length));
const numbered = (length: number, part: (index: number) => string) =>
  Array.from({ length: length / (part(10_000).length + 1) }, (_, index) => part(index)).join(',');

const random = (most: number) => Math.floor(Math.random() * most);
const space = () => ['', '', ' ', '\n\t', '\r\n  '][random(5)] ?? '';

/** JSON of objects and lists, some of them long, with odd names, repeated names, and white space. */
function randomJson(depth = 0): string {
  const scalars = [
    '1',
    '-0.5e3',
    'true',
    'null',
    '""',
    '"]},:[{"',
    String.raw`"\\\"\u0041"`,
    `"${fill('x', random(40_000))}"`,
  ];
  const kind = depth < 4 ? random(4) : 3;
  if (kind > 1) return scalars[random(scalars.length)] ?? '1';
  const names = ['"a"', '"__proto__"', '""', '"constructor"', '"\\u0061"', '"1"', String.raw`"\""`];
  const members = Array.from({ length: [0, 1, 3, 40][random(4)] ?? 0 }, () => {
    const name = kind === 0 ? '' : `${names[random(names.length)]}${space()}:`;
    return `${space()}${name}${space()}${randomJson(depth + 1)}${space()}`;
  }).join(',');
  const inside = members || space();
  return kind === 0 ? `[${inside}]` : `{${inside}}`;
}

test('a text is read as JSON.parse reads it', async () => {
  for (let round = 0; round < rounds(10, 3_000); round++) {
    const text = `${space()}{"first":${randomJson()},"second":[${randomJson()}],"last":${randomJson(1)}}${space()}`;
    const [read, parsed] = [await parseJsonInTurns(text), JSON.parse(text)];
    expect(JSON.stringify(read)).toBe(JSON.stringify(parsed));
  }
});

test.each(['a', 'é', ...['\\\\', '\\u00e9', '\\ud83d\\ude80', '\\"', '\\n\\u0041']])(
  'a long string of %s is read as JSON.parse reads it, and refused where it is',
  async (piece) => {
    for (const start of ['', 'x', 'xx', 'xxx', 'xxxxx']) {
      const text = `[1,{ "a" : "${start}${fill(piece)}" },"${fill(piece)}" ]`;
      expect(await parseJsonInTurns(text)).toEqual(JSON.parse(text));
      for (const bad of ['\\x', '\n', '\\u00g0', '\\u"', '" 1']) {
        const damaged = text.replace(start + piece, start + bad + piece);
        expect(() => JSON.parse(damaged)).toThrow();
        await expect(parseJsonInTurns(damaged)).rejects.toThrow();
      }
    }
  },
);

test.each([`[1,{${fill(' ')}}]`, `{"a":[${fill(' ')}],"b"${fill(' ')}:${fill(' ')}1 , "c":${fill('1')}}`])(
  'long white space and long numbers',
  async (text) => {
    expect(await parseJsonInTurns(text)).toEqual(JSON.parse(text));
  },
);

test('a damaged text is refused where JSON.parse refuses it', async () => {
  const parse = (text: string) => JSON.stringify(JSON.parse(text));
  for (let round = 0; round < rounds(15, 5_000); round++) {
    const text = `[${fill('{"a":[1,"b"],"c":{}},')}{"long":[${fill('"x",', 60_000)}1]},${randomJson()}]`;
    const at = Math.random() < 0.5 ? random(text.length) : text.length - random(60);
    const damage = ['', ',', ']', '}', '[', '{', '"', ':', ',,', '1'][random(10)] ?? '';
    const damaged = `${text.slice(0, at)}${damage}${text.slice(at + random(2))}`;
    const expected = await Promise.resolve(damaged)
      .then(parse)
      .catch(() => 'refused');
    const read = await parseJsonInTurns(damaged)
      .then(JSON.stringify)
      .catch(() => 'refused');
    if (read !== expected) throw new Error(`${at} of ${text.length}, ${damage}: ${read.slice(0, 100)}`);
  }
});

test.each([
  ['a comma before the end', `[${fill('1,')}]`],
  ['a comma at the beginning', `[,${fill('1,')}1]`],
  ['two commas', `[${fill('1,')},1]`],
  ['no end', `[${fill('1,')}1`],
  ['another end', `[${fill('1,')}1}`],
  ['text after the end', `[${fill('1,')}1]]`],
  ['a long member without a name', `{[${fill('1,')}1]}`],
  ['a long member with a number for a name', `{1:[${fill('1,')}1]}`],
  ['a word before a long member', `[true[${fill('1,')}1]]`],
  ['a name in a list', `["a":[${fill('1,')}1]]`],
  ['no comma after a long member', `[[${fill('1,')}1]1]`],
  ['brackets alone', fill('[')],
  ['brackets in brackets', `${fill('[')}${fill(']')}`],
  ['a long string', `"${fill('x')}"`],
  ['white space', fill(' ')],
])('%s is refused', async (_, text) => {
  await expect(parseJsonInTurns(text)).rejects.toThrow();
});

test('others get their turns while many strings are read', async () => {
  let turns = 0;
  let isDone = false;
  const text = `[${numbered(2_000_000, (at) => `"n${at}"`)}]`;
  const reading = parseJsonInTurns(text);
  void reading.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await letOthersIn();
    turns++;
  }
  expect(turns).toBeGreaterThan(20);
  expect(await reading).toHaveLength(text.split(',').length);
});

test('numbers of each piece are revived from their digits', async () => {
  const digits = (_: string, value: unknown, { source = '' }: { source?: string } = {}) =>
    typeof value === 'number' ? source : value;
  const text = `{"ids":[${fill('{"id":12345678901234567890},')}7],"count":12345678901234567891}`;
  expect(await parseJsonInTurns(text, digits)).toEqual(JSON.parse(text, digits));
});

test('a large object may have 20,000 names', async () => {
  const withNames = (count: number) =>
    `{${Array.from({ length: count }, (_, at) => `"name${at}":1`).join(',')}}`;
  expect(Object.keys((await parseJsonInTurns(withNames(20_000))) as object)).toHaveLength(20_000);
  await expect(parseJsonInTurns(withNames(20_001))).rejects.toThrow('too many names');
});

test('a text may have two million strings, wherever they are', async () => {
  const withStrings = (count: number) =>
    `[[${'"a",'.repeat(count / 2)}1],{"b":[${'["c"],'.repeat(count / 2 - 1)}1]}]`;
  expect(await parseJsonInTurns(withStrings(2_000_000))).toHaveLength(2);
  await expect(parseJsonInTurns(withStrings(2_000_200))).rejects.toThrow('too many strings');
});

const texts: Record<string, (length: number) => string> = {
  names: (length) => `{${numbered(length, (at) => `"n${at}":1`)}}`,
  strings: (length) => `[${numbered(length, (at) => `"s${at}"`)}]`,
  'objects of other names': (length) => `[${numbered(length, (at) => `{"n${at}":1}`)}]`,
  lists: (length) => `[${fill('[],', length)}1]`,
  'long lists in long lists': (length) =>
    Array.from({ length: 90 }).reduce<string>((inner) => `[${fill('1,', length / 90)}${inner}]`, '1'),
  'unclosed brackets': (length) => `[${fill('[', length)}`,
  'unclosed names': (length) => `{${fill('"a":{', length)}`,
  'a string': (length) => `["${fill('\\n', length)}"]`,
  'an unclosed string': (length) => `["${fill('[', length)}`,
  'white space': (length) => `[${fill(' ', length)}`,
  digits: (length) => `[${fill('9', length)}]`,
  commas: (length) => `[${fill(',', length)}]`,
};

describe.each(Object.entries(texts))('%s', (name, make) => {
  test('cost no more than their length', async () => {
    await expectLinear(name, make, (text) => parseJsonInTurns(text).catch(() => null), { most: 4_000_000 });
  });
});
