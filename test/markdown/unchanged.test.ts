import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { safeMarkdown } from '../../src/lib/markdown/render.ts';
import { isRecord } from '../../src/lib/validation.ts';

// Ordinary notes must come out unchanged.

const root = join(import.meta.dir, '../..');

test.each([
  'node_modules/helmet/CHANGELOG.md',
  'CHANGELOG.md',
  'README.md',
  'docs/api.md',
  'docs/webhooks.md',
  'docs/importing.md',
])('%s stays byte for byte', async (path) => {
  const text = await Bun.file(join(root, path)).text();
  expect(text.length).toBeGreaterThan(500);
  expect(safeMarkdown(text)).toBe(text);
});

/** Every text named `body` in GitHub's examples of payloads: notes of releases, descriptions, comments. */
async function bodies(): Promise<string[]> {
  const folder = join(root, 'node_modules/@octokit/webhooks-examples/api.github.com');
  const paths = await Array.fromAsync(new Bun.Glob('**/*.json').scan(folder));
  const files: unknown[] = await Promise.all(paths.map((path) => Bun.file(join(folder, path)).json()));
  const found = new Set<string>();
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect);
    if (!isRecord(value)) return;
    if (typeof value.body === 'string') found.add(value.body);
    Object.values(value).forEach(collect);
  };
  files.forEach(collect);
  return Array.from(found);
}

test("the texts in GitHub's example payloads stay as they are", async () => {
  const texts = await bodies();
  expect(texts.length).toBeGreaterThan(10);
  for (const text of texts) expect(safeMarkdown(text)).toBe(text.replaceAll('\r\n', '\n'));
});

test.each([
  [
    "GitHub's generated notes",
    "## What's Changed\n* feat: more `<b>` by @ann-b in https://github.com/o/r/pull/12\n* Bump a_b_c from 1.0.0 to 1.0.1 by @dependabot[bot] in https://github.com/o/r/pull/13\n\n## New Contributors\n* @bob made their first contribution in https://github.com/o/r/pull/12\n\n**Full Changelog**: https://github.com/o/r/compare/v1.0.0...v1.1.0\n",
  ],
  [
    'Keep a Changelog',
    '## [1.1.0] - 2026-01-02\n\n### Added\n\n- A (#12)\n\n[1.1.0]: https://x.test/compare/v1...v2 "All"\n[2]: <https://x.test>',
  ],
  ['tables', '| Option | Type |\n| :-- | --: |\n| `a \\| b` | `Map<string>` |\n| c | [d](e#f) |'],
  [
    'task lists',
    '- [x] done\n- [ ] open\n  1. nested\n\n     more\n     ```ts\n     const a: Set<string> = b;\n     ```\n  2. again',
  ],
  [
    'emoji, mentions, footnotes',
    ':rocket: 🚀 @ann #12 GH-3 o/r#4 ab12cd3 [^1]\n\n[^1]: A note, with words.\n',
  ],
  ['images and badges', '[![CI](https://x.test/b.svg?a=1&b=2)](https://x.test/ci) ![a](./b.png "c")'],
  [
    'folded sections',
    '<details>\n<summary>More <code>x</code></summary>\n\n- a<br/>b\n\n</details>\n\nafter',
  ],
  ['HTML that shapes words', 'H<sub>2</sub>O, <kbd>Ctrl</kbd>+<kbd>C</kbd>, x<sup>2</sup><br>'],
  [
    'alerts and quotes',
    '> [!WARNING]\n> Breaking: `a` &rarr; `b` \u2014 see [here][x].\nlazy\n\n[x]: ../MIGRATING.md',
  ],
  ['rules and underlined headings', 'Title\n=====\n\na\n***\nb\n---\n\n~~c~~ __d__ \\*e\\*'],
  ['emphasis around an address', '**see https://x.test/y** and _https://x.test/a_b_'],
  ['right-to-left text', '- \u0645\u0631\u062d\u0628\u0627 **\u05e9\u05dc\u05d5\u05dd** \u200fx'],
  ['nothing', ''],
  ['blank lines around', '\n\na\n\n\n'],
])('%s stays byte for byte', (_, markdown) => {
  expect(safeMarkdown(markdown)).toBe(markdown);
});
