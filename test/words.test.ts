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
const avoided = new RegExp(`\\b(${phrases.join('|')})\\b`, 'gi');

const documents = ['README.md', 'SECURITY.md', 'docs/**/*.md'];
const sources = [
  'src/{dashboard,cli,reference,operate,integrations,receiver,triggers,drafts,posts,media,users,keys,audit}/**/*.{ts,tsx,js}',
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
