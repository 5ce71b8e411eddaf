import { describe, test } from 'bun:test';
import { type ImportFormat, readRecords } from '../../src/posts/import/records.ts';
import { expectLinear } from '../support/growth.ts';

// Files that cost more than their length, whoever wrote them.

/** Limits of the dashboard. */
const MAX_CHARACTERS = 2_000_000;
const MAX_POSTS = 1_000;

const options = { organizationId: 'org_a', maxPosts: MAX_POSTS };
const read = (format: ImportFormat, text: string) =>
  readRecords({ name: 'posts', text }, { ...options, format });

const fill = (part: string, length: number) => part.repeat(Math.ceil(length / part.length));
const numbered = (length: number, part: (index: number) => string, between = ',') =>
  Array.from({ length: length / (part(10_000).length + between.length) }, (_, index) => part(index)).join(
    between,
  );
const bad = (value: string) => fill(`{"title":"x","markdown":1,"unknown":${value}},\n`, 400);

/** JSON of about so many characters. */
const json: Record<string, (length: number) => string> = {
  'a million values in a post': (length) => `[{"title":"x","sourceMetadata":{"a":[${fill('1,', length)}1]}}]`,
  'a million values outside of posts': (length) => `[${fill('1,', length)}1]`,
  'empty posts': (length) => `[${fill('{},', length)}{}]`,
  'empty lists': (length) => `[${fill('[],', length)}[]]`,
  'nothing between commas': (length) => `[${fill(',', length)}]`,
  'ten bad posts before a long one': (length) => `[${bad('1')}{"title":"${fill('x', length)}"}]`,
  'ten long bad posts': (length) => `[${bad(`"${fill('x', length / 10)}"`)}{}]`,
  'ten bad posts of many values': (length) => `[${bad(`[${fill('[],', length / 10)}[]]`)}{}]`,
  'many names in a post': (length) => `[{${numbered(length, (at) => `"a${at}":1`)}}]`,
  'many names in each post': (length) => `[${bad(`{${numbered(length / 10, (at) => `"a${at}":1`)}}`)}{}]`,
  'one name again and again': (length) => `[{${fill('"a":1,', length)}"a":1}]`,
  'a long name': (length) => `[{"${fill('a', length)}":1}]`,
  'a missing end': (length) => `[{"title":"x","markdown":"${fill('a b\\n', length)}"`,
  'a missing quote': (length) => `[{"title":"x","markdown":"${fill('{"a":1},', length)}`,
  'a missing brace': (length) => `[{"title":"x",${fill('{"title":"x"},\n', length)}{}]`,
  'braces that nobody opened': (length) => `[${fill('}', length)}]`,
  'brackets that nobody opened': (length) => `[${fill(']', length)}]`,
  'unclosed brackets': (length) => fill('[', length),
  'unclosed braces': (length) => `[${fill('{"a":', length)}`,
  'brackets in brackets': (length) => `[${fill('[', length / 2)}${fill(']', length / 2)}]`,
  escapes: (length) => `[{"title":"${fill('\\u0041', length)}"}]`,
  'wrong escapes': (length) => `[{"title":"${fill('\\x', length)}"}]`,
  backslashes: (length) => `[{"title":"${fill('\\', length)}"}]`,
  quotes: (length) => `[${fill('"', length)}]`,
  comments: (length) => `[${fill('/*', length)}]`,
  lines: (length) => `[${fill('\n', length)}`,
  digits: (length) => `[{"title":${fill('9', length)}}]`,
  'no array': (length) => `{"posts":[${fill('{},', length)}{}]}`,
  words: (length) => `[${fill('null ', length)}]`,
};

const lines: Record<string, (length: number) => string> = {
  'empty lines': (length) => fill('\n', length),
  'white space': (length) => fill(' \t\r\n', length),
  numbers: (length) => fill('1\n', length),
  posts: (length) => fill('{"title":"x","markdown":"y"}\n', length),
  'a post of a million values': (length) => `{"title":"x","sourceMetadata":{"a":[${fill('1,', length)}1]}}`,
  'an unclosed post': (length) => fill('{"a":', length),
};

/** After the opening line of front matter in YAML. */
const yaml: Record<string, (length: number) => string> = {
  names: (length) => numbered(length, (at) => `a${at}: 1`, '\n'),
  'one name': (length) => fill('a: 1\n', length),
  texts: (length) => fill('a: "x"\n', length),
  'a long text': (length) => `markdown: "${fill('- \\n', length)}"`,
  'a text that goes on': (length) => `markdown: "" : ${fill('[', length)}""`,
  dashes: (length) => fill('- ', length),
  brackets: (length) => `a: ${fill('[', length)}`,
  'empty lists': (length) => `a: [${fill('[],', length)}]`,
  braces: (length) => `a: ${fill('{a: ', length)}`,
  questions: (length) => fill('? ', length),
  'copies of a map': (length) =>
    `a: &a {${numbered(length / 2, (at) => `a${at}: 1`)}}\n${numbered(length / 2, (at) => `m${at}:\n  <<: *a`, '\n')}`,
  'a list of copies': (length) =>
    `a: &a {${numbered(length / 2, (at) => `a${at}: 1`)}}\nb:\n  <<: [${fill('*a,', length / 2)}*a]`,
  'copies of a text': (length) =>
    `a: &a ${fill('x', length / 2)}\n${numbered(length / 2, (at) => `m${at}: *a`, '\n')}`,
  anchors: (length) => numbered(length, (at) => `a${at}: &a${at} 1`, '\n'),
  'a block': (length) => `a: |\n${fill(' x\n', length)}`,
  words: (length) => `a: ${fill('x ', length)}`,
  indents: (length) =>
    fill(
      numbered(10_000, (at) => `${' '.repeat(at % 100)}a:`, '\n'),
      length,
    ),
  'marks of a comment': (length) => `a: ${fill('#', length)}`,
};

const toml: Record<string, (length: number) => string> = {
  names: (length) => numbered(length, (at) => `a${at} = 1`, '\n'),
  'long names': (length) => numbered(length, (at) => `${fill('a', 900)}${at} = 1`, '\n'),
  tables: (length) => numbered(length, (at) => `[a${at}]`, '\n'),
  'lists of tables': (length) => numbered(length, (at) => `[[a${at}]]`, '\n'),
  'a table in a line': (length) => `a = {${numbered(length, (at) => `a${at} = 1`)}}`,
  'dotted names': (length) => numbered(length, (at) => `a.a${at} = 1`, '\n'),
  dots: (length) => `${fill('a.', length)}a = 1`,
  brackets: (length) => `a = ${fill('[', length)}`,
  'a long text': (length) => `a = """${fill('x\n', length)}"""`,
};

const files = Object.entries({
  json: Object.entries(json).map(([name, make]) => ({ name, make })),
  jsonl: Object.entries(lines).map(([name, make]) => ({ name, make })),
}).flatMap(([format, cases]) => cases.map((each) => ({ format: format as ImportFormat, ...each })));

const fences = Object.entries({ YAML: { fence: '---', texts: yaml }, TOML: { fence: '+++', texts: toml } });
const matters = fences.flatMap(([language, { fence, texts }]) =>
  Object.entries(texts).map(([name, text]) => ({
    format: 'markdown' as const,
    name: `${language}: ${name}`,
    make: (length: number) => `${fence}\n${text(length)}\n${fence}\nText\n`,
  })),
);

describe.each([...files, ...matters])('$format, $name', ({ format, name, make }) => {
  test('costs no more than its length', async () => {
    await expectLinear(name, make, (text) => read(format, text), { most: MAX_CHARACTERS });
  });
});
