import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { changesOfNotes } from '../../../src/drafting/changes/notes.ts';

const brief = (markdown: string) =>
  changesOfNotes(markdown).map(
    ({ group, isBreaking, scope, text, references, authors }) =>
      `${group}${isBreaking ? '!' : ''} | ${scope === null ? '' : `${scope}: `}${text} | ${[
        ...references.map(({ label, url }) => (url === null ? `${label} without a page` : label)),
        ...authors.map((author) => `@${author}`),
      ].join(' ')}`,
  );
const texts = (markdown: string) => changesOfNotes(markdown).map(({ text }) => text);

test("GitHub's generated notes", () => {
  const notes = `<!-- Release notes generated using configuration in .github/release.yml at main

* not an item
-->

## What's Changed
* feat: quiet mode by @ann in https://github.com/acme/rocket/pull/12
* fix(engine)!: start softer by @bob-b in https://github.com/acme/rocket/pull/13
* Bump lodash from 4.17.20 to 4.17.21 by @dependabot[bot] in https://github.com/acme/rocket/pull/14
* Fix \`useState\` by @Copilot with @ann in https://github.com/acme/rocket/pull/15
### Exciting New Features 🎉
* Rename codec to \`hf\` by [@ann](https://github.com/ann)  in https://github.com/acme/rocket/pull/16
### Other Changes
* Drop Node 16 by @ann in https://github.com/acme/rocket/pull/17

## New Contributors
* @bob-b made their first contribution in https://github.com/acme/rocket/pull/13

**Full Changelog**: https://github.com/acme/rocket/compare/v1.0.0...v1.1.0
`;
  expect(brief(notes)).toEqual([
    'Added | Quiet mode | #12 @ann',
    'Fixed! | engine: Start softer | #13 @bob-b',
    'Other | Bump lodash from 4.17.20 to 4.17.21 | #14 @dependabot[bot]',
    'Fixed | Fix useState | #15 @Copilot @ann',
    'Added | Rename codec to hf | #16 @ann',
    'Removed | Drop Node 16 | #17 @ann',
  ]);
  expect(changesOfNotes(notes)[0]).toEqual({
    text: 'Quiet mode',
    scope: null,
    group: 'Added',
    isBreaking: false,
    breakingNote: null,
    references: [{ label: '#12', url: 'https://github.com/acme/rocket/pull/12' }],
    authors: ['ann'],
  });
});

test('release-please and conventional-changelog', () => {
  const notes = `## [1.2.0](https://github.com/a/b/compare/v1...v2) (2026-01-01)


### ⚠ BREAKING CHANGES

* **core:** no more Node 16

### Features

* **core:** add x ([#12](https://github.com/a/b/issues/12)) ([c02f9a6](https://github.com/a/b/commit/c02f9a61234567)), closes [#9](https://github.com/a/b/issues/9)
* add y, closes [#3](https://github.com/a/b/issues/3) [#4](https://github.com/a/b/issues/4)

### Performance Improvements

* fewer reads ([c02f9a6](https://github.com/a/b/commit/c02f9a61234567))
`;
  expect(brief(notes)).toEqual([
    'Changed! | core: No more Node 16 | ',
    'Added | core: Add x | #12 c02f9a6 #9',
    'Added | Add y | #3 #4',
    'Changed | Fewer reads | c02f9a6',
  ]);
});

test('Changesets', () => {
  const notes = `### Major Changes

- [#1234](https://github.com/a/b/pull/1234) [\`abc1234\`](https://github.com/a/b/commit/abc1234567) Thanks [@ann](https://github.com/ann)! - Fixes the thing

### Patch Changes

- abc1234: Improved the other thing

  With a second paragraph.

- abc1234: ### A new API

  With words about it.

- Updated dependencies [[\`abc1234\`](https://github.com/a/b/commit/abc1234567)]:
  - x@1
`;
  expect(brief(notes)).toEqual([
    'Fixed! | Fixes the thing | #1234 abc1234 @ann',
    'Changed | Improved the other thing | abc1234 without a page',
    'Other | A new API | abc1234 without a page',
    'Other | Updated dependencies | abc1234',
  ]);
});

test('changelogen and release-drafter', () => {
  const notes = `### 🩹 Fixes

- **cli:** Do not crash ([#7](https://github.com/a/b/pull/7))
- **core:** ⚠️  Ask first ([4a1b2c3](https://github.com/a/b/commit/4a1b2c3))

### ❤️ Contributors

- Ann ([@ann](https://github.com/ann))

## 🚀 Features

- Quiet mode @ann (#8)
- Loud mode (#9) @bob
`;
  expect(brief(notes)).toEqual([
    'Fixed | cli: Do not crash | #7',
    'Fixed! | core: Ask first | 4a1b2c3',
    'Other | Ann | @ann',
    'Added | Quiet mode | #8 without a page @ann',
    'Added | Loud mode | #9 without a page @bob',
  ]);
});

describe("Helmet's changelog", () => {
  const path = join(import.meta.dir, '../../../node_modules/helmet/CHANGELOG.md');

  test.each([
    [
      '8.2.0',
      [
        'Added | Cross-Origin-Opener-Policy: support noopener-allow-popups | #522',
        'Changed | Improve error message when passing duplicate options | ',
      ],
    ],
    ['7.1.0', ['Added | helmet.crossOriginEmbedderPolicy now supports the unsafe-none directive | #447']],
    [
      '7.0.0',
      [
        'Changed! | Cross-Origin-Embedder-Policy middleware is now disabled by default | #411',
        'Removed! | Drop support for Node 14 and 15. Node 16+ is now required | ',
        'Removed! | Expect-CT is no longer part of Helmet. If you still need it, you can use the expect-ct package | #378',
      ],
    ],
    ['6.1.2', ['Fixed | Restored main to package to help with some build tools | ']],
    ['5.1.1', ['Changed | Fix TypeScript bug with some TypeScript configurations | #375 #359']],
  ])('%s', async (version, lines) => {
    const text = await Bun.file(path).text();
    const section = text.slice(text.indexOf(`## ${version}`)).split(/^## /m)[1] ?? '';
    expect(brief(section)).toEqual(lines);
  });
});

describe('headings', () => {
  test.each([
    ['## Added', 'Added'],
    ['### New', 'Added'],
    ['# 🚀 New Features', 'Added'],
    ['## ✨ Highlights', 'Added'],
    ['## Fixed', 'Fixed'],
    ['## Bug fixes 🐛 ##', 'Fixed'],
    ['## :bug: Bugs', 'Fixed'],
    ['## 🐛', 'Fixed'],
    ['Bugs fixed\n---', 'Fixed'],
    ['**Bug Fixes:**', 'Fixed'],
    ['Bug fixes:', 'Fixed'],
    ['## [Fixed](https://x.test/new-features)', 'Fixed'],
    ['## Changed', 'Changed'],
    ['## Improvements', 'Changed'],
    ['## ⚡️ Performance', 'Changed'],
    ['## Security fixes', 'Security'],
    ['## Deprecated', 'Deprecated'],
    ['## Removed features', 'Removed'],
    ['## Dependencies', 'Other'],
    ['## 🏡 Chore', 'Other'],
    ['## Docs', 'Other'],
    ['## Documentation improvements', 'Other'],
    ['## Internal', 'Other'],
    ['## Contributors', 'Other'],
    ['## Fixed\n\n### engine', 'Fixed'],
    // A heading without a meaning leaves the group to the item, which drops something.
    ["## What's Changed", 'Removed'],
    ['## What’s new', 'Removed'],
    ['## New in 2.0', 'Removed'],
    ['## Changes', 'Removed'],
    ['## Fixes & improvements', 'Removed'],
    ['## Fixed\n\n## engine', 'Removed'],
    ['#Fixed', 'Removed'],
    ['```\n## Fixed\n```', 'Removed'],
    ['', 'Removed'],
  ])('%j', (heading, group) => {
    expect(changesOfNotes(`${heading}\n\n- drop x`)).toMatchObject([
      { text: 'Drop x', group, isBreaking: false },
    ]);
  });

  test.each([
    '## Breaking changes',
    '## ⚠ BREAKING CHANGES',
    '## 💥 Take care',
    '## Breaking\n\n### engine',
    '## Major Changes',
  ])('%j', (heading) => {
    expect(brief(`${heading}\n\n- chore: x\n- drop y`)).toEqual(['Changed! | X | ', 'Removed! | Drop y | ']);
  });

  test('a heading of its own type wins over that of the item', () => {
    expect(brief('## Added\n- fix: x')).toEqual(['Added | X | ']);
  });
});

describe('items', () => {
  test.each([
    ['- a\n+ b\n* c\n• d\n1. e\n2) f', ['A', 'B', 'C', 'D', 'E', 'F']],
    ['- a\n  - b\n    - c\n- d', ['A', 'D']],
    ['1. a\n   - b\n2. c', ['A', 'C']],
    [' * a\n\t* b\n * c', ['A', 'C']],
    ['- a\n  goes on\nand on\n\n  not here\n- b', ['A goes on and on', 'B']],
    ['- a\r\n- b\r\n', ['A', 'B']],
    ['- a\n\ntext\n\n    - code\n', ['A']],
    ['- a\n  ```\n  - b\n  ```\n- c', ['A', 'C']],
    ['```\n- a\n```\n- b', ['B']],
    ['~~~\n- a\n```\n- b', []],
    ['```x``` is code\n- b', ['B']],
    ['- Fix: `x` is kept\n- feat(core): `useX`\n- engine: words', ['x is kept', 'useX', 'Engine: words']],
    ['<!--\n- a\n-->\n- b', ['B']],
    ['- a\n---\n- b\n* * *\n- c\n- - -', ['A', 'B', 'C']],
    ['> - quoted', []],
    ['-a\n*b*\n1.c', []],
    ['- \n-\n- a', ['A']],
    ['- [x] done\n- [ ] open', ['Done', 'Open']],
    ['- a **b** `c` ~~d~~ <b>e</b> &amp; \\*f\\*', ['A b c d e & *f*']],
    [
      '- see [the guide](https://x.test/g_(a)), then [that][t]\n\n[t]: https://x.test/t',
      ['See the guide, then that'],
    ],
    ['- ![A chart](c.png)', ['A chart']],
    ['- ends.', ['Ends']],
    ['- `main` is back', ['main is back']],
    ['- **New dashboard:** all at a glance', ['New dashboard: all at a glance']],
    ['- \u202eabc\u202c', ['Abc']],
    ['- صفحة جديدة\n- 新しいページ。', ['صفحة جديدة', '新しいページ']],
  ])('%j', (markdown, expected) => {
    expect(texts(markdown)).toEqual(expected);
  });

  test.each([
    ['- **Breaking:** x', 'Changed! | X | '],
    ['- **BREAKING CHANGE**: x', 'Changed! | X | '],
    ['- [BREAKING] drop x', 'Removed! | Drop x | '],
    ['- BREAKING: x', 'Changed! | X | '],
    ['- **core**: x', 'Other | core: X | '],
    ['- **security:** fix: x', 'Security | security: X | '],
  ])('%s', (markdown, line) => {
    expect(brief(markdown)).toEqual([line]);
  });
});

describe('authors and links', () => {
  test.each([
    ['x (#12)', 'X', '#12'],
    ['Ship it :tada:', 'Ship it :tada:', ''],
    ['Ship it :tada: by @ann', 'Ship it :tada:', '@ann'],
    ['Ship it :tada: (#12)', 'Ship it :tada:', '#12'],
    ['Add the scope `app:`', 'Add the scope app:', ''],
    ['Add the scope `app:` (#12)', 'Add the scope app:', '#12'],
    ['Support ranges such as 1-', 'Support ranges such as 1-', ''],
    ['### Faster\n\n  More words.', 'Faster', ''],
    ['x (#12) by @ann (#12, @ann)', 'X', '#12 @ann'],
    ['x (#12, #13)', 'X', '#12 #13'],
    ['x. See pull request #12.', 'X', '#12'],
    ['x. Issues #12 and #13', 'X', '#12 #13'],
    ['x. #12', 'X', '#12'],
    ['x (thanks to @ann and @bob, closes #4)', 'X', '#4 @ann @bob'],
    ['x by @ann', 'X', '@ann'],
    ['x y [#12](https://github.com/a/b/pull/12)', 'X y', '#12 https://github.com/a/b/pull/12'],
    ['x in https://github.com/a/b/pull/12', 'X', '#12 https://github.com/a/b/pull/12'],
    [
      'x ([ENG-412](https://linear.app/a/issue/ENG-412/x))',
      'X',
      'ENG-412 https://linear.app/a/issue/ENG-412/x',
    ],
    // The object of the sentence stays in it.
    ['revert #12', 'Revert #12', ''],
    ['fix issue #12', 'Fix issue #12', ''],
    ['greet @ann', 'Greet @ann', ''],
    ['undo #12 in the app', 'Undo #12 in the app', ''],
    ['raise the limit by 1000000', 'Raise the limit by 1000000', ''],
    ['raise the limit (1000000)', 'Raise the limit (1000000)', ''],
    ['a new (facade)', 'A new (facade)', ''],
    ['see https://x.test/guide', 'See https://x.test/guide', ''],
    ['#12', '#12', ''],
    ['(#12)', '(#12)', '#12'],
  ])('%s', (item, text, marks) => {
    const [change] = changesOfNotes(`- ${item}`);
    expect(change?.text).toBe(text);
    const references = change?.references.map(({ label, url }) => (url === null ? label : `${label} ${url}`));
    expect([...(references ?? []), ...(change?.authors.map((name) => `@${name}`) ?? [])].join(' ')).toBe(
      marks,
    );
  });
});

describe('bounds', () => {
  test('the first 500 items are read', () => {
    const all = texts(Array.from({ length: 600 }, (_, index) => `- item ${index}`).join('\n'));
    expect(all).toHaveLength(500);
    expect(all.at(-1)).toBe('Item 499');
  });

  test('the first 200,000 characters are read', () => {
    expect(texts(`- a\n${' '.repeat(200_000)}\n- b`)).toEqual(['A']);
  });

  test.each([
    'a',
    '[',
    '**',
    '`',
    '<!-- ',
    '<a ',
    '[a](',
    '#1 ',
    '(#1) see ',
    '@a ',
    ' ',
    '\u{1f600}',
    '\u202e',
    '\ud800',
    'https://x/pull/1 ',
  ])('an item of many %j is a line of at most 300 characters', (part) => {
    const all = texts(`- x ${part.repeat(200_000 / part.length)}`);
    expect(all).toHaveLength(1);
    expect(all[0]?.length).toBeLessThanOrEqual(300);
  });

  test('any Markdown at all gives bounded lines', () => {
    const unit = fc.constantFrom(
      '- ',
      '\n',
      '  ',
      '#',
      '## Fixed\n',
      '`',
      '*',
      '[',
      ']',
      '(',
      ')',
      '#1',
      '@a',
      'feat: ',
      'x',
      '<',
      '>',
      '!',
      '\u202e',
      '\ud83d',
      '\0',
      '.',
      '-',
      'https://x/pull/1',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 80 }), (parts) => {
        for (const { text, scope } of changesOfNotes(parts.join(''))) {
          expect(text).not.toBe('');
          expect(text.length).toBeLessThanOrEqual(300);
          expect(`${text}${scope}`).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
