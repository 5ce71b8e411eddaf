import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { letOthersIn } from '../../src/lib/time.ts';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import { readRecords } from '../../src/posts/import/records.ts';
import { importFile } from '../../src/posts/import/service.ts';
import { appWithOrganization, bearer } from '../support/test-app.ts';

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
        '### Added\n- A [guide][docs], see [1.0.0]\n\n[docs]: https://x.test/docs\n[1.0.0]: https://x.test/releases/tag/v1.0.0',
      sourceMetadata: { version: '1.1.0' },
      createdAt: '2026-02-03T00:00:00.000Z',
    },
    {
      title: '1.0.0 (yanked)',
      markdown: '### Fixed\n- Everything',
      sourceMetadata: { version: '1.0.0' },
      createdAt: '2026-01-02T00:00:00.000Z',
    },
  ]);
  expect(skipped).toEqual(['unreleased changes']);
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
    ['## @scope/pack@1.2.3 - 2026-01-02', '1.2.3', '2026-01-02'],
    ['## Version 1.2.3: 2026-01-02', '1.2.3', '2026-01-02'],
    ['1.2.3 / 2026-01-02\n==================', '1.2.3', '2026-01-02'],
    ['## 1.2.3', '1.2.3', undefined],
    ['Before\n1.2.3 / 2026-01-02\n------------------', '1.2.3', '2026-01-02'],
  ])('%s', async (heading, version, date) => {
    const { records } = await parse(`# Changelog\n\n${heading}\n\nText`);
    expect(records).toMatchObject([{ fields: { title: version, markdown: 'Text' } }]);
    expect((records[0]?.fields.createdAt as string | undefined)?.slice(0, 10)).toBe(date as string);
  });

  test.each([
    '## 2.0 migration guide',
    '## Added',
    '## 3 things',
    '#### 1.2.3 - 2026-01-02',
    '```\n## 1.2.3 - 2026-01-02\n```',
    '1.2.3 / 2026-01-02\nis a version\n---',
  ])('no version: %s', async (line) => {
    const { records } = await parse(`## 1.0.0 - 2026-01-01\n\n${line}`);
    expect(records).toMatchObject([{ fields: { markdown: line } }]);
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
  const reading = readRecords({ name: 'CHANGELOG.md', text }, { organizationId: 'org_a' });
  let turns = 0;
  let isDone = false;
  void reading.finally(() => {
    isDone = true;
  });
  for (; !isDone; turns++) await letOthersIn();
  expect((await reading).records).toHaveLength(1_000);
  expect(turns).toBeGreaterThan(5);
});
