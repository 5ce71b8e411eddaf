import { expect, test } from 'bun:test';
import { join } from 'node:path';

// The docs, the interface and the command line avoid phrases that read as translated.

const root = join(import.meta.dir, '..');

const phrases = [
  'told|anew|whoever|of ours|makes of it|made of it|(?:is|are) told of|tells? of|what came|became of|likewise|thereof',
  'present password|token of (?:github|linear|forgejo)|mend(?:s|ed|ing)?|the log has it (?:not|as)|has it not',
  'all the same|lies? ahead|go(?:es)? on (?:with|making|replicating)|makes? room|no ordinary|(?:is|are) there already',
  'there is no such|means nothing to|makes no (?:posts?|drafts?)',
];

/** One word for one thing: the word, and what nobody writes in place of it. */
const oneWord: readonly [word: string, variants: RegExp][] = [
  ['ID', /(?<![-.$\w{</"#'])\b[Ii]ds?\b(?![\w`}:(.[]|-[a-z])/],
  ['setup link', /\bset(?:-| )up links?\b/i],
  ['reject a delivery', /\brefus\w+ (?:\w+ )?deliver|\bdeliver\w* (?:is|are|was|were|be|may be) refused/i],
  ['API key', /\b(?:api|Api) keys?\b|\bAPI-keys?\b/],
  ['suggestion', /\b[Uu]se new version|\b[Tt]here is a new version of/],
  ['accept a suggestion', /\btak(?:e|es|ing) (?:\w+ )?suggestion/i],
];
const avoided = new RegExp(`\\b(${phrases.join('|')})\\b`, 'gi');

const documents = ['README.md', 'SECURITY.md', 'docs/**/*.md'];
const sources = [
  'src/{dashboard,cli,integrations,intake,drafting,posts,people,http}/**/*.{ts,tsx,js}',
  'db/**/*.ts',
];

/** Blanks comments, roughly: a `//` after a colon is part of an address. Keeps line breaks for line numbers. */
function withoutComments(code: string): string {
  return code
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(^|[^:'"`\\/])\/\/ .*$/gm, '$1');
}

/** Places of avoided phrases, such as `docs/api.md:12: told`. Joined lines find phrases that wrap. */
function findAvoided(path: string, text: string): string[] {
  const joined = text.replaceAll(/\s/g, ' ');
  return Array.from(joined.matchAll(avoided), ({ 0: phrase, index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${path}:${line}: ${phrase}`;
  });
}

/** The texts of a source file that people read, a line each: what has two words and is no code. */
function proseOf(code: string): string {
  const strings = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`\n]*)`|(?<=>)([^<>{}=;()'"`]+)(?=<)/g;
  const lines = withoutComments(code).split('\n');
  return lines
    .map((line) =>
      Array.from(line.matchAll(strings), ([, ...texts]) => texts.find((text) => text !== undefined) ?? '')
        .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…'))
        .filter((text) => /[A-Za-z]{2,} [A-Za-z]+/.test(text))
        .filter((text) => !/[;={]|\(id|\b(?:select|SELECT|join|where|mutation|query)\b/.test(text))
        .join(' | '),
    )
    .join('\n');
}

/** Places of variants in a text, line by line. */
function findVariants(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) =>
    oneWord.flatMap(([word, variants]) => {
      const [found] = variants.exec(line) ?? [];
      return found === undefined ? [] : [`${path}:${index + 1}: "${found}", not "${word}"`];
    }),
  );
}

async function filesOf(patterns: readonly string[]): Promise<string[]> {
  const found = patterns.map((each) => Array.fromAsync(new Bun.Glob(each).scan(root)));
  return (await Promise.all(found)).flat().sort();
}

test('an avoided phrase is found across lines, and ignored in a comment', () => {
  expect(findAvoided('a.ts', withoutComments("// told\nconst a = 'Set it\nanew';"))).toEqual([
    'a.ts:3: anew',
  ]);
  expect(findAvoided('a.md', 'Nobody saw what\ncame after.')).toEqual(['a.md:1: what came']);
});

test('the documents use plain words', async () => {
  const files = await filesOf(documents);
  expect(files.length).toBeGreaterThan(10);
  const texts = await Promise.all(
    files.map(async (path) => findAvoided(path, await Bun.file(join(root, path)).text())),
  );
  expect(texts.flat()).toEqual([]);
});

test('the interface and the command line use plain words', async () => {
  const files = await filesOf(sources);
  expect(files.length).toBeGreaterThan(100);
  const texts = await Promise.all(
    files.map(async (path) => findAvoided(path, withoutComments(await Bun.file(join(root, path)).text()))),
  );
  expect(texts.flat()).toEqual([]);
});

test('a variant of a word is found in texts, and ignored in code and in comments', () => {
  const code =
    "// the id of it\nconst id = ids['a b'];\nfail('Enter the id of a post');\nsql('select id from posts');";
  expect(findVariants('a.ts', proseOf(code))).toEqual(['a.ts:3: "id", not "ID"']);
  expect(findVariants('a.md', 'Open the set-up link.')).toEqual(['a.md:1: "set-up link", not "setup link"']);
});

test('documents, interface and command line have one word for one thing', async () => {
  const pages = (await filesOf(documents)).map(async (path) => {
    const text = await Bun.file(join(root, path)).text();
    const blank = (code: string) => code.replaceAll(/[^\n]/g, '');
    const prose = text.replaceAll(/^ *```.*?^ *```$/gms, blank).replaceAll(/`[^`]*`|\]\([^)]*\)/g, blank);
    return findVariants(path, prose);
  });
  const code = (await filesOf(['src/**/*.{ts,tsx}'])).map(async (path) =>
    findVariants(path, proseOf(await Bun.file(join(root, path)).text())),
  );
  expect((await Promise.all([...pages, ...code])).flat()).toEqual([]);
});
