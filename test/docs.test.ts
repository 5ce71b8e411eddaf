import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { COMMANDS_PAGE, commandsPage } from './support/commands-page.ts';

// Every link between the documents leads somewhere.

const root = join(import.meta.dir, '..');
const patterns = ['*.md', 'bench/*.md', 'deploy/**/*.md', 'docs/**/*.md'];
const found = await Promise.all(patterns.map((each) => Array.fromAsync(new Bun.Glob(each).scan(root))));
const documents = found.flat().sort();

/** Without code, where brackets are no links. */
async function proseOf(path: string): Promise<string> {
  const text = await Bun.file(join(root, path)).text();
  return text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');
}

/** The anchors of a document's headings, as GitHub makes them. */
async function anchorsOf(path: string): Promise<Set<string>> {
  const text = (await Bun.file(join(root, path)).text()).replaceAll(/^ *```.*?^ *```$/gms, '');
  const anchors = new Set<string>();
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let number = 1; anchors.has(anchor); number++) anchor = `${slug}-${number}`;
    anchors.add(anchor);
  }
  return anchors;
}

test('there are documents to check', () => {
  expect(documents).toContain('README.md');
  expect(documents.length).toBeGreaterThan(10);
});

test.each(documents)('the links of %s lead somewhere', async (path) => {
  const broken: string[] = [];
  const text = await proseOf(path);
  const targets = [
    ...Array.from(text.matchAll(/\]\(\s*([^)\s]+)\s*\)/g), ([, target = '']) => target),
    ...Array.from(text.matchAll(/^\[[^\]]+\]:\s*(\S+)/gm), ([, target = '']) => target),
  ];
  for (const target of targets) {
    if (/^[a-z]+:/.test(target)) continue;
    const [file = '', anchor] = target.split('#');
    const linked = file === '' ? path : relative(root, join(root, dirname(path), decodeURIComponent(file)));
    const isFile = await Bun.file(join(root, linked)).exists();
    const isFolder =
      !isFile &&
      (await Array.fromAsync(new Bun.Glob('*').scan(join(root, linked))).catch(() => [])).length > 0;
    if (!isFile && !isFolder) broken.push(`${target}: no such file`);
    else if (anchor !== undefined && linked.endsWith('.md') && !(await anchorsOf(linked)).has(anchor))
      broken.push(`${target}: no such heading`);
  }
  expect(broken).toEqual([]);
});

test('every document is reached from the README or the index of the documents', async () => {
  const index = `${await proseOf('README.md')}\n${(await proseOf('docs/README.md')).replaceAll('](', '](docs/')}`;
  const unreached = documents.filter(
    (path) => path.startsWith('docs/') && path !== 'docs/README.md' && !index.includes(`](${path}`),
  );
  expect(unreached).toEqual([]);
});

test('the page of commands is what the program has: bun run docs:commands', async () => {
  expect(await Bun.file(join(root, COMMANDS_PAGE)).text()).toBe(await commandsPage());
});

test('every test that the table of the ASVS names is there', async () => {
  const rows = (await Bun.file(join(root, 'docs/asvs.md')).text()).split('## Met')[1]?.split('## Threat')[0];
  const cells = rows
    ?.split('\n')
    .flatMap((row) => row.match(/\| ([a-z][^|]*?) +\|$/)?.[1]?.split(', ') ?? []);
  const named = cells?.filter((each) => each !== 'tests') ?? [];
  expect(named.length).toBeGreaterThan(80);
  const missing = named.filter((each) => !existsSync(join(root, `test/${each}.test.ts`)));
  expect(missing).toEqual([]);
});
