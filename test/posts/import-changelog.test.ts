import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import { CHANGELOG_HEAD } from '../../src/posts/import/exported-changelog.ts';
import { readRecords } from '../../src/posts/import/records.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';
import { turnsDuring } from '../support/turns.ts';

const parse = (text: string) => parseChangelog({ name: 'CHANGELOG.md', text });

test('Keep a Changelog: a post per version, its date as createdAt', async () => {
  const { records, skipped } = await parse(`# Changelog

All notable changes.

## [Unreleased]

### Added
- Not yet

## [1.1.0] - 2026-02-03

### Added
- A [guide][docs], see [1.0.0]

## [1.0.0] - 2026-01-02 [YANKED]

### Fixed
- Everything

[docs]: https://x.test/docs
[unreleased]: https://x.test/compare/v1.1.0...HEAD
[1.1.0]: https://x.test/compare/v1.0.0...v1.1.0
[1.0.0]: https://x.test/releases/tag/v1.0.0
`);
  expect(records.map(({ fields }) => fields)).toEqual([
    {
      title: '1.1.0',
      markdown:
        '### Added\n- A [guide][docs], see [1.0.0]\n\n[1.1.0]: https://x.test/compare/v1.0.0...v1.1.0\n[docs]: https://x.test/docs\n[1.0.0]: https://x.test/releases/tag/v1.0.0',
      sourceMetadata: { version: '1.1.0' },
      createdAt: '2026-02-03T00:00:00.000Z',
    },
    {
      title: '1.0.0 (yanked)',
      markdown: '### Fixed\n- Everything\n\n[1.0.0]: https://x.test/releases/tag/v1.0.0',
      sourceMetadata: { version: '1.0.0' },
      createdAt: '2026-01-02T00:00:00.000Z',
    },
  ]);
  expect(skipped).toEqual([
    '"Changelog" (line 1: above the first version)',
    '"[Unreleased]" (line 5: not released)',
  ]);
});

test.each([
  ['**1.1.0** (2026-02-03)', 'Unreleased', '**1.0.0** (2026-01-02)'],
  ['1.1.0 (2026-02-03)', '**Unreleased**', '1.0.0 (2026-01-02)'],
])('unreleased changes below %s stay out, in bold or not', async (first, mark, second) => {
  const { records, skipped } = await parse(
    `# Log\n\n${first}\n\n- a\n\n${mark}\n\n- secret\n\n${second}\n\n- b\n`,
  );
  expect(records.map(({ fields }) => fields.markdown)).toEqual(['- a', '- b']);
  expect(skipped).toContain('"Unreleased" (line 7: not released)');
});

test('packages below a version, without dates of their own, are parts of it', async () => {
  const part = (version: string) =>
    ['core', 'cli', 'icons'].map((name) => `### \`@acme/${name}@${version}\`\n\n- ${name}`).join('\n\n');
  const { records, skipped } = await parse(
    `# Versions\n\n## 2.1.0\n\n_Feb 3, 2026_\n\n${part('2.1.0')}\n\n### Docs\n\n- More\n\n## 2.0.0\n\n_Jan 2, 2026_\n\n${part('2.0.0')}\n`,
  );
  expect(records.map(({ fields }) => fields)).toMatchObject([
    {
      title: '2.1.0',
      markdown: `_Feb 3, 2026_\n\n${part('2.1.0')}\n\n### Docs\n\n- More`,
      createdAt: '2026-02-03T00:00:00.000Z',
    },
    { title: '2.0.0', createdAt: '2026-01-02T00:00:00.000Z' },
  ]);
  expect(skipped).toEqual(['"Versions" (line 1: above the first version)']);
});

test('packages below a date have that date', async () => {
  const names = ['core', 'cli', 'icons'];
  const part = (version: string) =>
    names.map((name) => `### @acme/${name}@${version}\n\n- ${name}`).join('\n\n');
  const { records } = await parse(
    `# Changes\n\n## 2026-02-03\n\n${part('2.1.0')}\n\n## 2026-01-02\n\n${part('2.0.0')}\n`,
  );
  expect(records.map(({ fields }) => [fields.title, String(fields.createdAt).slice(0, 10)])).toEqual([
    ...names.map((name) => [`@acme/${name}@2.1.0`, '2026-02-03']),
    ...names.map((name) => [`@acme/${name}@2.0.0`, '2026-01-02']),
  ]);
});

test('front matter of a changelog marks all of its posts as drafts, and a mark that cannot be read is a problem', async () => {
  const versions = '## 1.1.0 - 2026-02-03\n\nB\n\n## 1.0.0 - 2026-01-02\n\nA\n';
  const { records, skipped } = await parse(`---\ntitle: Changes\nDraft: yes\n---\n\n${versions}`);
  expect(records).toMatchObject([{ fields: { status: 'draft' } }, { fields: { status: 'draft' } }]);
  expect(skipped).toEqual(['front matter (line 1: above the first version)']);
  const { problems = [] } = await parse(`---\ntitle: Changes\ndraft: maybe\n---\n\n${versions}`);
  expect(problems.map(({ message }) => message)).toEqual(['CHANGELOG.md:3: draft must be true or false']);
  const [plain] = (await parse(`---\ntitle: Changes\npublished: true\n---\n\n${versions}`)).records;
  expect(plain?.fields).not.toHaveProperty('status');
});

describe('headings', () => {
  test.each([
    ['## 1.2.3 - 2026-01-02', '1.2.3', '2026-01-02'],
    ['## [1.2.3] - 2026-01-02', '1.2.3', '2026-01-02'],
    ['## v1.2.3 (2026-01-02)', 'v1.2.3', '2026-01-02'],
    ['# [2.0.0](https://x.test/a...b) (2026-01-02)', '2.0.0', '2026-01-02'],
    ['### [2.0.1][link] - 2026/1/2', '2.0.1', '2026-01-02'],
    ['## 1.2.3-rc.1+build.5 – 2026-01-02', '1.2.3-rc.1+build.5', '2026-01-02'],
    ['## v1.21.0 — October 21, 2026', 'v1.21.0', '2026-10-21'],
    ['## 1.2 (2nd Jan 2026)', '1.2', '2026-01-02'],
    ['## @scope/pack@1.2.3 - 2026-01-02', '@scope/pack@1.2.3', '2026-01-02'],
    ['## pack@1.2.3', 'pack@1.2.3', undefined],
    ['## my-lib 1.2.3 (2026-01-02)', 'my-lib 1.2.3', '2026-01-02'],
    ['## My Long Product 1.2.3 (2026-01-02)', 'My Long Product 1.2.3', '2026-01-02'],
    ['## Release 1.2.3 (2026-01-02)', '1.2.3', '2026-01-02'],
    ['## What’s new in 1.2.3', '1.2.3', undefined],
    ['## v.1.2.3 (2026-01-02)', 'v1.2.3', '2026-01-02'],
    ['## 🎉 1.2.3 (2026-01-02)', '1.2.3', '2026-01-02'],
    ['## **1.2.3** - `2026-01-02`', '1.2.3', '2026-01-02'],
    ['## <small>[1.2.3](https://x.test/1.2.2...1.2.3) (2026-01-02)</small>', '1.2.3', '2026-01-02'],
    ['## | 1.2.3 | 2026-01-02 |', '1.2.3', '2026-01-02'],
    ['## “1.2.3” 2026-01-02', '1.2.3', '2026-01-02'],
    ['## 1.2.3 “Winter has come”', '1.2.3 “Winter has come”', undefined],
    ['## 1.2.3 fast-otter (2026-01-02)', '1.2.3 fast-otter', '2026-01-02'],
    ['## 1.2.3 (2026-01-02) - Harbor', '1.2.3 Harbor', '2026-01-02'],
    ['## v1.2.3 → 2026-01-02', 'v1.2.3', '2026-01-02'],
    ['## 1.2.3 – 1.2.5 (2026-01-02)', '1.2.3 – 1.2.5', '2026-01-02'],
    ['## Week of January 2, 2026', 'Week of January 2, 2026', '2026-01-02'],
    ['## January 2 – January 9, 2026', 'January 2 – January 9, 2026', '2026-01-09'],
    ['## 1.2.3, 2026-01-02, long-term support', '1.2.3 long-term support', '2026-01-02'],
    ['## 1.2.3/1.2.4 and 0.9.8 / 2026-01-02 (YANKED)', '1.2.3/1.2.4 and 0.9.8 (yanked)', '2026-01-02'],
    ['## 1.2.3rc1', '1.2.3rc1', undefined],
    ['## 18.5b0', '18.5b0', undefined],
    ['## 1.2.3.post1', '1.2.3.post1', undefined],
    ['## 1.2.3.dev3 (January 2nd, 2026)', '1.2.3.dev3', '2026-01-02'],
    ['## 1.2.3.4.5', '1.2.3.4.5', undefined],
    ['## 2.0 beta 2 (2026-01-02)', '2.0 beta 2', '2026-01-02'],
    ['## v19 (2026-01-02)', 'v19', '2026-01-02'],
    ['## 2026.1.2', '2026.1.2', undefined],
    ['## 2026.01.02', '2026.01.02', '2026-01-02'],
    ['## 2026-01-02, Version 20.0.0 (Current)', '20.0.0 (Current)', '2026-01-02'],
    ['## 02.01.2026: 1.2.3', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (released 2026-01-02)', '1.2.3', '2026-01-02'],
    ['## 1.2.3 - released on Friday, January 2nd, 2026', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (2nd January, 2026)', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (2 of January 2026)', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (2026 January 2)', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (2-Jan-2026)', '1.2.3', '2026-01-02'],
    ['## 1.2.3 - 02.01.2026', '1.2.3', '2026-01-02'],
    ['## 1.2.3 (Fri Jan 02 2026 16:18:25 GMT+0200 (CEST))', '1.2.3', '2026-01-02'],
    ['## 1.2.3 - 2026-01-02T23:30:00-08:00', '1.2.3', '2026-01-02'],
    ['## 1.2.3 - January 2026', '1.2.3', '2026-01-01'],
    ['##1.2.3 (2026-01-02)', '1.2.3', '2026-01-02'],
    ['#### 1.2.3 (2026-01-02)', '1.2.3', '2026-01-02'],
    ['**1.2.3** (2026-01-02)\n', '1.2.3', '2026-01-02'],
    ['Version 1.2.3 (2026-01-02)\n', '1.2.3', '2026-01-02'],
    ['* Noteworthy changes in release 1.2.3 (2026-01-02) [stable]\n', '1.2.3 [stable]', '2026-01-02'],
    ['## Version 1.2.3: 2026-01-02', '1.2.3', '2026-01-02'],
    ['1.2.3 / 2026-01-02\n==================', '1.2.3', '2026-01-02'],
    ['## 1.2.3', '1.2.3', undefined],
    ['Before\n1.2.3 / 2026-01-02\n------------------', '1.2.3', '2026-01-02'],
  ])('%s', async (heading, version, date) => {
    const { records } = await parse(`# Changelog\n\n${heading}\nText`);
    expect(records).toMatchObject([{ fields: { title: version, markdown: 'Text' } }]);
    expect((records[0]?.fields.createdAt as string | undefined)?.slice(0, 10)).toBe(date as string);
  });

  test.each([
    '## Added',
    '## 3 things',
    '## Changes since 0.9.0',
    '## Python 3.11 support',
    '## Next steps',
    '### 1.0',
    '### 0.8 / 0.9',
    '### Next.js',
    '### Unreleased',
    '```\n## 1.2.3 - 2026-01-02\n```',
    '<!--\n## 1.2.3 - 2026-01-02\n-->',
    '- item\n\n  ## 1.2.3 - 2026-01-02',
    '1.2.3 / 2026-01-02\nis a version\n---',
    '1.2.3 is broken.',
    '* 0.1.0\n* 0.2.0',
  ])('text of the version above: %j', async (line) => {
    const text = `## 1.0.0 - 2026-01-01\n\n${line}\n\nMore\n\n## 0.9.0 - 2025-01-01\n\nFirst`;
    const { records, skipped } = await parse(text);
    expect(records).toMatchObject([
      { fields: { title: '1.0.0', markdown: `${line}\n\nMore` } },
      { fields: { title: '0.9.0', markdown: 'First' } },
    ]);
    expect(skipped).toEqual([]);
  });

  test.each([
    '## [Unreleased]',
    '## Unreleased changes',
    '## Unreleased (2026-01-02)',
    '## HEAD',
    '## main',
    '## Next',
    '## Master (unreleased)',
    '## 2.0.0 - TBD',
    '## 2.0.0 (unreleased)',
    '## 2.0.0 (not yet released)',
    '## 2.0.0 (in development)',
    '## 2.0.0 (draft) - 2026-01-02',
    '## 2.0.0 (canceled)',
    '## 2.0.0-WIP',
    '## 2.0.0-SNAPSHOT (2026-01-02)',
    '## 2.0.0-unreleased',
    '## 2.0.0 - ????-??-??',
    '## 2.0.0 - 2026-xx-xx',
    '## [Unreleased: 2.0.0]',
    '# Unreleased',
    '## 2.0.0\n\n*Unreleased*',
    '## 2.0.0\n\nRelease date: TBA',
  ])('not released, and named: %j', async (heading) => {
    const text = `${heading}\n\n### Added\n\n- Later\n\n## 1.0.0 - 2026-01-01\n\nText`;
    const { records, skipped, problems } = await parse(text);
    expect(records).toMatchObject([{ fields: { title: '1.0.0', markdown: 'Text' } }]);
    const [line = ''] = heading.split('\n');
    expect(skipped).toEqual([`"${line.replace(/^#+ /, '')}" (line 1: not released)`]);
    expect(problems).toEqual([]);
  });

  test.each([
    ['## 1.0.0 - 2024-02-30', '2024-02-30 is no date'],
    ['## 1.0.0 (Feb 30, 2024)', 'Feb 30, 2024 is no date'],
    ['## 1.0.0 - 2024-13-01', '2024-13-01 is no date'],
    ['## 1.0.0 (03/04/2024)', '03/04/2024 could be 2024-04-03 or 2024-03-04. Write it in that form'],
    [`## 1.0.0 ${'x'.repeat(500)}`, /^the heading of version 1\.0\.0 x+… must have at most 500 characters$/],
    ['<div>\n## 1.0.0 - 2024-01-01\n</div>', 'version 1.0.0 belongs to the HTML above it. Add a blank line'],
    ['```\n## 1.0.0 - 2024-01-01', 'version 1.0.0 is inside code that has no end. It begins in line 5'],
    ['<!--\n## 1.0.0 - 2024-01-01', 'version 1.0.0 is inside a comment that has no end'],
  ])('a problem with its line: %j', async (lines, problem) => {
    const { problems = [] } = await parse(`## 2.0.0 - 2024-03-01\n\nText\n\n${lines}\n\nMore\n`);
    const line = lines.startsWith('##') ? 5 : 6;
    expect(problems.map(({ details }) => details)).toEqual([
      {
        line,
        problem:
          typeof problem === 'string' ? expect.stringContaining(problem) : expect.stringMatching(problem),
      },
    ]);
  });

  test('a date with slashes is read in the order that others of the file show', async () => {
    const datesOf = async (other: string) =>
      (await parse(`## 1.1.0 (03/04/2024)\n\n## 1.0.0 (${other})\n`)).records.map(({ fields }) =>
        String(fields.createdAt).slice(0, 10),
      );
    expect(await datesOf('31/01/2024')).toEqual(['2024-04-03', '2024-01-31']);
    expect(await datesOf('01/31/2024')).toEqual(['2024-03-04', '2024-01-31']);
  });

  test.each([
    '*2026-01-02*',
    '_Released Jan 2, 2026_',
    '**Date**: [2nd January 2026][m].',
    '* Release Jan 2, 2026',
  ])('the date may have the first line for itself, which stays: %s', async (line) => {
    const { records } = await parse(`## 1.0.0\n\n${line}\n\n- Text\n`);
    expect(records).toMatchObject([
      { fields: { createdAt: '2026-01-02T00:00:00.000Z', markdown: `${line}\n\n- Text` } },
    ]);
  });

  test('a link in a heading stays as text', async () => {
    const { records } = await parse('### 1.0.0 [Full changelog](https://x.test/v1)\n\n- Text\n');
    expect(records).toMatchObject([
      { fields: { title: '1.0.0', markdown: '[Full changelog](https://x.test/v1)\n\n- Text' } },
    ]);
  });

  test('versions of packages, and a version that occurs twice, are posts of their own', async () => {
    const text = ['@acme/core@1.2.0', '@acme/cli@1.2.0', '1.2.0', '1.2.0'].map(
      (name) => `## ${name} - 2026-01-02\n`,
    );
    const { records } = await parse(text.join('\n'));
    expect(records.map(({ key }) => key)).toEqual([
      '@acme/core@1.2.0',
      '@acme/cli@1.2.0',
      '1.2.0 2',
      '1.2.0',
    ]);
  });
});

describe('link definitions', () => {
  test('go to the versions that use them, by their labels as CommonMark compares them', async () => {
    const text = `## 1.1.0 - 2024-02-01

- See [The  Guide] and [the text][ the
  GUIDE ] and [#12], [Straße], [A\\]b]

## 1.0.0 - 2024-01-01

- See [other]

[the guide]: https://x.test/guide
[#12]: https://x.test/12
[STRASSE]: https://x.test/s
[A\\]B]: https://x.test/ab
[other]: <https://x.test/o p> "T"
`;
    const [newer, older] = (await parse(text)).records.map(({ fields }) =>
      String(fields.markdown).split('\n\n'),
    );
    expect(newer?.[1]?.split('\n')).toEqual([
      '[the guide]: https://x.test/guide',
      '[#12]: https://x.test/12',
      '[STRASSE]: https://x.test/s',
      '[A\\]B]: https://x.test/ab',
    ]);
    expect(older).toEqual(['- See [other]', '[other]: <https://x.test/o p> "T"']);
  });

  test('stay in their place when nothing uses them, and as text when another one has the label', async () => {
    const text = '## 1.0.0 - 2024-01-01\n\n[a]\n\n[b]: https://x.test/b\n\n[A]: https://x.test/2\n';
    const { records } = await parse(`[a]: https://x.test/1\n\n${text}`);
    expect(records).toMatchObject([
      {
        fields: {
          markdown: '[a]\n\n[b]: https://x.test/b\n\n\\[A]: https://x.test/2\n\n[a]: https://x.test/1',
        },
      },
    ]);
  });
});

test('versions of one day keep their order, also when one is added on top', async () => {
  const day = (versions: string[]) => versions.map((version) => `## ${version} - 2026-01-02\n`).join('\n');
  const times = async (text: string) => (await parse(text)).records.map(({ fields }) => fields.createdAt);
  expect(await times(day(['1.0.2', '1.0.1', '1.0.0']))).toEqual([
    '2026-01-02T00:00:00.002Z',
    '2026-01-02T00:00:00.001Z',
    '2026-01-02T00:00:00.000Z',
  ]);
  expect((await times(day(['1.0.3', '1.0.2', '1.0.1', '1.0.0']))).slice(1)).toEqual(
    await times(day(['1.0.2', '1.0.1', '1.0.0'])),
  );
});

test('--date is for the versions that have none, in the order of the file', async () => {
  const app = await appWithOrganization();
  const file = { name: 'CHANGELOG.md', text: '## 1.2.0\n## 1.1.0 - 2026-01-02\n## 1.0.0\n' };
  const options = { organizationId: 'org_a', status: 'published', contentType: 'changelog' } as const;
  await importFile(app.deps, file, { ...options, date: '2025-01-01T00:00:00.000Z' });
  const response = await app.request('/v1/org_a/posts', bearer(await app.addKey('org_a')));
  expect(await response.json()).toMatchObject({
    posts: [
      { title: '1.1.0', createdAt: '2026-01-02T00:00:00.000Z' },
      { title: '1.2.0', createdAt: '2025-01-01T00:00:00.000Z' },
      { title: '1.0.0', createdAt: '2024-12-31T23:59:59.998Z' },
    ],
  });
});

test("a real project's changelog (helmet's) imports and reads back over the API, twice as once", async () => {
  const app = await appWithOrganization();
  const auth = bearer(await app.addKey('org_a'));
  const name = join(dirname(Bun.resolveSync('helmet/package.json', import.meta.dir)), 'CHANGELOG.md');
  const text = await Bun.file(name).text();
  const options = { organizationId: 'org_a', status: 'published', contentType: 'changelog' } as const;

  // Helmet writes every version as "## 8.1.0 - 2025-03-17".
  const headings = Array.from(text.matchAll(/^## (\d\S*) - (\S+)$/gm), ([, version = '', date = '']) => ({
    version,
    date,
  }));
  expect(headings.length).toBeGreaterThan(100);
  expect(await importFile(app.deps, { name, text }, options)).toMatchObject({ created: headings.length });
  expect(await importFile(app.deps, { name, text }, options)).toMatchObject({ unchanged: headings.length });

  const read: { title: string; createdAt: string; markdown: string }[] = [];
  for (let page: number | null = 1; page !== null; ) {
    const response = await app.request(`/v1/org_a/posts?limit=25&page=${page}`, auth);
    const body = (await response.json()) as { posts: typeof read; pagination: { nextPage: number | null } };
    read.push(...body.posts);
    page = body.pagination.nextPage;
  }
  const byVersion = (a: { version: string }, b: { version: string }) => a.version.localeCompare(b.version);
  expect(
    read.map((post) => ({ version: post.title, date: post.createdAt.slice(0, 10) })).sort(byVersion),
  ).toEqual(headings.sort(byVersion));
  // Nothing of the text is lost: each line of it stands in some post, but for headings and the introduction.
  const bodies = read.map(({ markdown }) => markdown).join('\n');
  const lines = text
    .slice(text.indexOf('## '))
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('## '));
  for (const line of lines) expect(bodies).toContain(line.trim());
});

test('others get their turns while a long changelog is read', async () => {
  const version = (n: number) =>
    `## 1.${n}.0 - 2026-01-02\n\n${'- something **bold** and [docs][]\n'.repeat(20)}\n`;
  const text = Array.from({ length: 1_000 }, (_, n) => version(n)).join('');
  const turns = await turnsDuring(async () => {
    const { records } = await readRecords({ name: 'CHANGELOG.md', text }, { organizationId: 'org_a' });
    expect(records).toHaveLength(1_000);
  });
  expect(turns).toBeGreaterThan(5);
});

test('an exported changelog of 2 MB is read in turns', async () => {
  const text = CHANGELOG_HEAD + '\n## A post - 2026-01-01\n\n- item\n'.repeat(50_000);
  const turns = await turnsDuring(async () => {
    expect((await parseChangelog({ name: 'CHANGELOG.md', text })).records).toHaveLength(50_000);
  });
  expect(turns).toBeGreaterThan(5);
});

describe('headings that begin as a version', () => {
  test('and are none, are problems with their line, and their text goes nowhere else', async () => {
    const { records, problems = [] } = await parse(
      '## 2.0.0 (2026-03-01)\n\n- Two\n\n## 1.2% more\n\n- Between\n\n## 1.0.0 (2026-01-01)\n\n- One',
    );
    expect(records.map(({ fields }) => [fields.title, fields.markdown])).toEqual([
      ['2.0.0', '- Two'],
      ['1.0.0', '- One'],
    ]);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('"1.2% more" begins as a version, but is none'),
    ]);
    expect(problems[0]?.message).toContain('5');
  });

  test('and name a series, are in no post', async () => {
    const { records, skipped } = await parse(
      '# Releases\n\n## 5.4.x\n\n### 5.4.1 (2024-02-01)\n\n- a\n\n### 5.4.0 (2024-01-01)\n\n- b\n\n## 5.3.x\n\n### 5.3.0 (2023-12-01)\n\n- c',
    );
    expect(records.map(({ fields }) => [fields.title, fields.markdown])).toEqual([
      ['5.4.1', '- a'],
      ['5.4.0', '- b'],
      ['5.3.0', '- c'],
    ]);
    expect(skipped.join()).toContain('5.3.x');
  });

  test('with the hyphens of an editor, have their date', async () => {
    const { records } = await parse('## 1.0.0 (2026‐01‐05)\n\n- One\n\n## 0.9.0 – 2025–12–01\n\n- Zero');
    expect(records.map(({ fields }) => fields.createdAt)).toEqual([
      '2026-01-05T00:00:00.000Z',
      '2025-12-01T00:00:00.000Z',
    ]);
  });
});
