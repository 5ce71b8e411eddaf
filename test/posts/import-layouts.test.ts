import { expect, test } from 'bun:test';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import { formatOf } from '../../src/posts/import/records.ts';
import { lostLines } from '../support/changelog-lines.ts';

// Changelogs in the forms that known projects and tools give them.

interface Layout {
  name: string;
  file?: string;
  text: string;
  /** Title, day and first line of each post. */
  posts: [title: string, day: string | null, text: string][];
  skipped?: string[];
}

const INTRO = '"Changelog" (line 1: above the first version)';

const layouts: Layout[] = [
  {
    name: 'Keep a Changelog',
    text: `# Changelog

All notable changes are here.

## [Unreleased]

### Added

- Soon

## [1.1.0] - 2024-02-01 [YANKED]

### Fixed

- Doors close

## 1.0.0 - 2024-01-01

- First

[unreleased]: https://x.test/compare/1.1.0...HEAD
[1.1.0]: https://x.test/compare/1.0.0...1.1.0
`,
    posts: [
      ['1.1.0 (yanked)', '2024-02-01', '### Fixed'],
      ['1.0.0', '2024-01-01', '- First'],
    ],
    skipped: [INTRO, '"[Unreleased]" (line 5: not released)'],
  },
  {
    name: 'conventional-changelog',
    text: `<a name="2.0.0"></a>
# [2.0.0](https://x.test/compare/v1.1.1...v2.0.0) (2024-03-01)


### Features

* **core:** faster


### BREAKING CHANGES

* slower elsewhere



<a name="1.1.1"></a>
## [1.1.1](https://x.test/compare/v1.1.0...v1.1.1) (2024-02-01)


### Bug Fixes

* a leak



# [1.1.0](https://x.test/compare/v1.0.0...v1.1.0) (2024-01-01)

**Note:** Version bump only
`,
    posts: [
      ['2.0.0', '2024-03-01', '### Features'],
      ['1.1.1', '2024-02-01', '### Bug Fixes'],
      ['1.1.0', '2024-01-01', '**Note:** Version bump only'],
    ],
    skipped: ['text (line 1: above the first version)'],
  },
  {
    name: 'standard-version: patches stand where sections do',
    text: `## [1.1.0](https://x.test/compare/v1.0.1...v1.1.0) (2024-03-01)

### Features

* one

### [1.0.1](https://x.test/compare/v1.0.0...v1.0.1) (2024-02-01)

### Bug Fixes

* two
`,
    posts: [
      ['1.1.0', '2024-03-01', '### Features'],
      ['1.0.1', '2024-02-01', '### Bug Fixes'],
    ],
  },
  {
    name: 'Changesets',
    text: `# @acme/core

## 2.0.0

### Major Changes

- [#12](https://x.test/12) Thanks! - Removed the old door

  ## 1.9.9

  A quote of the past.

## 2.0.0-next.1

### Patch Changes

- Updated dependencies
  - @acme/doors@1.0.1
`,
    posts: [
      ['2.0.0', null, '### Major Changes'],
      ['2.0.0-next.1', null, '### Patch Changes'],
    ],
    skipped: ['"@acme/core" (line 1: above the first version)'],
  },
  {
    name: 'lerna',
    text: `# Change Log

See [Conventional Commits](https://x.test) for guidelines.

# [4.0.0](https://x.test/compare/v3.22.1...v4.0.0) (2024-02-10)

### Features

- drop an engine

## [3.22.1](https://x.test/compare/v3.22.0...v3.22.1) (2024-01-09)

## v3.0.0-beta.1 (2023-12-01)

#### :rocket: Enhancement
- begun
`,
    posts: [
      ['4.0.0', '2024-02-10', '### Features'],
      ['3.22.1', '2024-01-09', ''],
      ['v3.0.0-beta.1', '2023-12-01', '#### :rocket: Enhancement'],
    ],
    skipped: ['"Change Log" (line 1: above the first version)'],
  },
  {
    name: 'Django REST framework',
    file: 'release-notes.md',
    text: `# Release Notes

## Deprecation policy

Version 1.1 would remain compatible with 1.0.

---

## 3.2.x series

### 3.2.1

**Date**: 28th March 2024

#### Bug fixes

* Fix. [[#1](https://x.test/1)]

### 3.2.0

**Date**: [1st March 2024][3.2.0-milestone].

* Feature.

## 3.1.x series

### 3.1.0

**Date**: 5 January 2023

* First.

[3.2.0-milestone]: https://x.test/milestone/1
`,
    posts: [
      ['3.2.1', '2024-03-28', '**Date**: 28th March 2024'],
      ['3.2.0', '2024-03-01', '**Date**: [1st March 2024][3.2.0-milestone].'],
      ['3.1.0', '2023-01-05', '**Date**: 5 January 2023'],
    ],
    skipped: [
      '"Release Notes" (line 1: above the first version)',
      '"3.1.x series" (line 25: no text of its own)',
    ],
  },
  {
    name: 'moment',
    text: `Changelog
=========

### 2.2.0 [Full changelog](https://x.test/gist)

* Release Jan 31, 2024
  * [#1](https://x.test/1) [bugfix] clocks

### 2.1.0

_Released Sep 14, 2023_

- Days

### 2.0.0 (Fix an attack)

- Release 2023-08-01

## Bugfixes
- A section above its version
`,
    posts: [
      ['2.2.0', '2024-01-31', '[Full changelog](https://x.test/gist)'],
      ['2.1.0', '2023-09-14', '_Released Sep 14, 2023_'],
      ['2.0.0 (Fix an attack)', '2023-08-01', '- Release 2023-08-01'],
    ],
    skipped: [INTRO],
  },
  {
    name: 'express',
    file: 'History.md',
    text: `unreleased
==========

  * Later

4.1.0 / 2024-02-01
==================

  * deps: one@1.0
    - two

4.0.0-beta.1 / 2024-01-01
=========================

  * first

1.0.0rc2/ 2010-08-17
====================

  * old
`,
    posts: [
      ['4.1.0', '2024-02-01', '  * deps: one@1.0'],
      ['4.0.0-beta.1', '2024-01-01', '  * first'],
      ['1.0.0rc2', '2010-08-17', '  * old'],
    ],
    skipped: ['"unreleased" (line 1: not released)'],
  },
  {
    name: 'knex',
    text: `# Master (Unreleased)

# 3.1.0 - 8 December, 2023

### Bug fixes

- one

# 3.0.1 - October 6th, 2023

- two
`,
    posts: [
      ['3.1.0', '2023-12-08', '### Bug fixes'],
      ['3.0.1', '2023-10-06', '- two'],
    ],
    skipped: ['"Master (Unreleased)" (line 1: not released)'],
  },
  {
    name: 'vite',
    text: `## <small>[8.2.2](https://x.test/compare/v8.2.1...v8.2.2) (2024-08-20)</small>
### Bug Fixes

* one

## [8.2.0](https://x.test/compare/v8.2.0-beta.0...v8.2.0) (2024-07-30)
#### [8.2.0-beta.0](https://x.test/compare/v8.1.5...v8.2.0-beta.0) (2024-07-22)

* beta

## Previous Changelogs

### 5.4.x (2023-08-07 - 2023-11-11)
See [5.4.x changelog](https://x.test/5.4)
`,
    posts: [
      ['8.2.2', '2024-08-20', '### Bug Fixes'],
      ['8.2.0', '2024-07-30', ''],
      ['8.2.0-beta.0', '2024-07-22', '* beta'],
    ],
  },
  {
    name: 'black',
    file: 'CHANGES.md',
    text: `# Change Log

## Unreleased

<!-- PR authors: add a line -->

### Highlights

## Version 24.1.0

### Python 3.12 support

- text

## Version 18.5b0

- old
`,
    posts: [
      ['24.1.0', null, '### Python 3.12 support'],
      ['18.5b0', null, '- old'],
    ],
    skipped: ['"Change Log" (line 1: above the first version)', '"Unreleased" (line 3: not released)'],
  },
  {
    name: 'requests',
    file: 'HISTORY.md',
    text: `Release History
===============

dev
---

- [Short description of a change.]

2.32.3 (2024-05-29)
-------------------

**Bugfixes**
- one

0.2.0 (2011-02-14)
------------------

* Birth!
`,
    posts: [
      ['2.32.3', '2024-05-29', '**Bugfixes**'],
      ['0.2.0', '2011-02-14', '* Birth!'],
    ],
    skipped: ['"Release History" (line 1: above the first version)', '"dev" (line 4: not released)'],
  },
  {
    name: 'puma',
    file: 'History.md',
    text: `## 4.3.4/4.3.5 and 3.12.5/3.12.6 / 2020-05-22

Each patchlevel release contains a separate fix.

* Security
  * one

## 2.0.0.b7 / 2013-03-18

* 5 minor features:
  * two
`,
    posts: [
      ['4.3.4/4.3.5 and 3.12.5/3.12.6', '2020-05-22', 'Each patchlevel release contains a separate fix.'],
      ['2.0.0.b7', '2013-03-18', '* 5 minor features:'],
    ],
  },
  {
    name: 'sidekiq',
    file: 'Changes.md',
    text: `# Sidekiq Changes

HEAD
----------

- Later

7.0.5,7.0.6
----------

- One

6.5.0
----------

- Two
`,
    posts: [
      ['7.0.5,7.0.6', null, '- One'],
      ['6.5.0', null, '- Two'],
    ],
    skipped: ['"Sidekiq Changes" (line 1: above the first version)', '"HEAD" (line 3: not released)'],
  },
  {
    name: 'GNU NEWS, whose older entries have another form',
    file: 'NEWS',
    text: `GNU doors NEWS                                    -*- outline -*-

* Noteworthy changes in release 9.1 (2022-04-15) [stable]

** Bug fixes

  doors -R no longer exits with error status
  when it finds windows.
  [bug introduced in doors-8.5]

* Major changes in release 8.5 (2021-01-01)

** New programs

  windows: opens windows

User-visible changes in version 8.4:

* The first release with 2.0 doors.

Changes in 8.3:

  begun
`,
    posts: [
      ['9.1 [stable]', '2022-04-15', '** Bug fixes'],
      ['8.5', '2021-01-01', '** New programs'],
      ['8.4', null, '* The first release with 2.0 doors.'],
      ['8.3', null, '  begun'],
    ],
    skipped: ['text (line 1: above the first version)'],
  },
  {
    name: 'GNU NEWS, underlined',
    file: 'NEWS',
    text: `Noteworthy changes in version 2.2.40 (2022-10-10)
-------------------------------------------------

  * gpg: one

doors 1.14.10 (2021-09-01)
==========================

Bug fixes:

• two
`,
    posts: [
      ['2.2.40', '2022-10-10', '  * gpg: one'],
      ['doors 1.14.10', '2021-09-01', 'Bug fixes:'],
    ],
  },
  {
    name: 'a plain line per version (eslint)',
    text: `v10.9.0 - August 21, 2024

* [\`899dbf1\`](https://x.test/899) chore: update

v10.8.1 - August 7, 2024

* 0.24.1 (Ann)
* 0.24.0 (Ann)
`,
    posts: [
      ['v10.9.0', '2024-08-21', '* [`899dbf1`](https://x.test/899) chore: update'],
      ['v10.8.1', '2024-08-07', '* 0.24.1 (Ann)'],
    ],
  },
  {
    name: 'a bold line per version',
    text: `# Changelog

**1.1.0** (2024-02-01)

- two

**1.0.0 - The first one** (2024-01-01)

- one
`,
    posts: [
      ['1.1.0', '2024-02-01', '- two'],
      ['1.0.0 The first one', '2024-01-01', '- one'],
    ],
    skipped: [INTRO],
  },
  {
    name: 'a list item per version',
    text: `# Changelog

- 1.1.0 (2024-02-01)
  - two
  - more
- 1.0.0 (2024-01-01)
  - one
`,
    posts: [
      ['1.1.0', '2024-02-01', '- two'],
      ['1.0.0', '2024-01-01', '- one'],
    ],
    skipped: [INTRO],
  },
  {
    name: 'release-it',
    text: `# Changelog

This is a summary.

## v19 (2024-05-18)

- Plugins moved

## v18

- Node moved
`,
    posts: [
      ['v19', '2024-05-18', '- Plugins moved'],
      ['v18', null, '- Node moved'],
    ],
    skipped: [INTRO],
  },
  {
    name: 'Node.js',
    text: `# Node.js 20 Changelog

<a id="20.1.0"></a>

## 2024-05-03, Version 20.1.0 (Current), @ann

### Notable Changes

## 2024-04-18, Version 20.0.0 (Current), @bob

### Commits
`,
    posts: [
      ['20.1.0 (Current), @ann', '2024-05-03', '### Notable Changes'],
      ['20.0.0 (Current), @bob', '2024-04-18', '### Commits'],
    ],
    skipped: ['"Node.js 20 Changelog" (line 1: above the first version)'],
  },
];

test.each(layouts)('$name', async ({ file = 'CHANGELOG.md', text, posts, skipped = [] }) => {
  const parsed = await parseChangelog({ name: file, text });
  const read = parsed.records.map(({ fields }) => [
    fields.title,
    fields.createdAt === undefined ? null : String(fields.createdAt).slice(0, 10),
    String(fields.markdown).split('\n', 1)[0],
  ]);
  expect(read).toEqual(posts);
  expect(parsed.skipped).toEqual(skipped);
  expect(parsed.problems).toEqual([]);
  expect(lostLines(text, parsed)).toEqual([]);
  expect(parsed.headings).toBe(posts.length + skipped.length);
  expect(await formatOf({ name: file, text })).toBe('changelog');
});

test.each([
  ['dates', '## January 31, 2024\n\nA\n\n## 2023-12\n\nB\n', ['January 31, 2024', '2023-12']],
  [
    'titles and dates',
    '## Quieter engines - 2024-01-31\n\nA\n\n## Doors (May 2, 2023)\n',
    ['Quieter engines', 'Doors'],
  ],
  ['numbers', '## 13 (2024-01-31)\n\nA\n\n## 12 - 2023-01-31\n', ['13', '12']],
  ['series', '## 2.x\n\nA\n\n## 1.x\n', ['2.x', '1.x']],
  ['other words beside versions', '## 1.1.0 - 2024-02-01\n\n## Week 2 (2024-01-31)\n', ['1.1.0', 'Week 2']],
  [
    'newer versions at another level',
    '# News\n\n### 2.0.1\n\n## 1.1.0 - 2024-01-01\n\n## 1.0.0 - 2023-01-01\n',
    ['2.0.1', '1.1.0', '1.0.0'],
  ],
  [
    'newer versions in another form',
    '**2.0** (2024-01-31)\n\n## 1.1.0 - 2024-01-01\n\n## 1.0.0 - 2023-01-01\n',
    ['2.0', '1.1.0', '1.0.0'],
  ],
  [
    'years above their versions',
    '## 2024\n\n## 1.1.0 - 2024-01-01\n\nA\n\n## 2023\n\n## 1.0.0 - 2023-01-01\n',
    ['1.1.0', '1.0.0'],
  ],
  ['front matter', '---\ntitle: All\n---\n\n## 1.0.0 - 2023-01-01\n', ['1.0.0']],
])('headings with %s', async (_, text, titles) => {
  const parsed = await parseChangelog({ name: 'CHANGELOG.md', text });
  expect(parsed.records.map(({ fields }) => fields.title)).toEqual(titles);
  expect(parsed.records.map(({ fields }) => String(fields.markdown)).join()).not.toContain('#');
  expect(lostLines(text, parsed)).toEqual([]);
});

test('the items of a version that is an item keep their order and depth', async () => {
  const { records } = await parseChangelog({
    name: '',
    text: '- 1.1.0\n  - two\n    - deep\n- 1.0.0\n  - one\n',
  });
  expect(records.map(({ fields }) => fields.markdown)).toEqual(['- two\n  - deep', '- one']);
});

const two = '# Notes\n\n## 1.1.0 - 2024-02-01\n\n- two\n\n## 1.0.0 - 2024-01-01\n\n- one\n';
const undated = '# Notes\n\n## 1.1.0\n\n- two\n\n## 1.0.0\n\n- one\n';

test.each([
  ['NEWS.md', two, 'changelog'],
  ['docs/CHANGELOG_2023.md', two, 'changelog'],
  ['release_notes.md', undated, 'changelog'],
  ['whats-new.md', undated, 'changelog'],
  ['versions.md', two, 'changelog'],
  ['NEWS', two, 'changelog'],
  ['CHANGES.txt', two, 'changelog'],
  ['CHANGELOG.md', '# Nothing here yet', 'changelog'],
  ['CHANGELOG.md', `---\ntitle: Changelog\n---\n\n${two}`, 'changelog'],
  ['versions.md', undated, 'markdown'],
  ['plans.md', '# Plans\n\n## June 2024\n\n- a\n\n## Words - 2024-07-01\n\n- b\n', 'markdown'],
  ['news.md', '# News\n\nWe moved to 1.0.0.\n', 'markdown'],
  ['release-2.md', '# Release 2\n\nA post about it.\n', 'markdown'],
  ['changelog.md', '---\ntitle: How we write 1.0.0\n---\n\n## 1.0.0 - 2024-01-01\n', 'markdown'],
  ['news.txt', two, 'changelog'],
  ['notes.txt', two, null],
  ['posts.csv', 'a,b', null],
] as const)('%s is recognized by its text (%#)', async (name, text, format) => {
  expect(await formatOf({ name, text })).toBe(format);
});
