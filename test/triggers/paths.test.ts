import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { prefixesOf, touches } from '../../src/drafting/triggers/kinds/kind.ts';
import { changeTrigger } from '../../src/drafting/triggers/service.ts';
import { boundedPaths, pathCountFor } from '../../src/providers/paths.ts';
import { logOf } from '../support/deliveries.ts';
import { type ProjectApp, startProject } from '../support/project-app.ts';

// The filter by path, for repositories of several packages.

describe('a commit is in the paths', () => {
  test.each([
    ['packages/api/**', ['packages/api/src/a.ts'], true],
    ['packages/api/**', ['packages/api-docs/a.md'], false],
    ['packages/api', ['packages/api/a.ts'], true],
    ['packages/api', ['packages/api-docs/a.md'], false],
    ['packages/api/', ['packages/api/a.ts'], true],
    ['*.md', ['docs/deep/a.md'], true],
    ['packages/*/src/*', ['packages/web/src/a.ts'], true],
    ['packages/*/src/*', ['packages/web/test/a.ts'], false],
    ['README.md', ['docs/README.md', 'README.md'], true],
    // A folder stands for very many files in it.
    ['packages/api/**', ['packages/'], true],
    ['packages/api/**', ['packages/api/src/'], true],
    ['packages/api/**', ['packages/web/'], false],
    ['packages/api/**', [''], true],
    ['packages/api/**', [], false],
    ['packages/api/**', undefined, true],
  ])('%s: %p is %p', (pattern, paths, expected) => {
    expect(touches([pattern], paths === undefined ? {} : { paths })).toBe(expected);
  });

  test('without a filter always', () => {
    expect(touches(undefined, { paths: [] })).toBe(true);
  });
});

test('a provider is asked for folders, and for nothing when a pattern can match anywhere', () => {
  expect(prefixesOf(['packages/api/**', 'packages/api*', 'docs/a.md'])).toEqual([
    'packages/api/',
    'packages/',
    'docs/a.md',
  ]);
  expect(prefixesOf(['packages/api/**', '*.md'])).toBe(null);
});

test('very many files become the folders that hold them', () => {
  const many = Array.from({ length: 1_000 }, (_, n) => `packages/p${n % 3}/src/deep/${n}.ts`);
  expect(boundedPaths([...many, 'README.md'], 100)).toEqual([
    '',
    'packages/p0/src/deep/',
    'packages/p1/src/deep/',
    'packages/p2/src/deep/',
  ]);
  expect(boundedPaths(['b', 'a', 'b'])).toEqual(['a', 'b']);
  const wide = Array.from({ length: 1_000 }, (_, n) => `p${n}/a/b.ts`);
  expect(boundedPaths(wide, 100)).toEqual(['']);
  expect([1, 100, 10_000].map(pathCountFor)).toEqual([100, 50, 1]);
});

describe('a trigger with paths', () => {
  let world: ProjectApp;
  beforeEach(async () => {
    world = await startProject();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const at = (minutes: number) =>
    `${new Date(Date.parse('2026-11-20T08:00:00Z') + minutes * 60_000).toISOString().slice(0, 19)}Z`;
  const commit = (message: string, ...paths: string[]) => ({ message, paths });

  test('takes the commits of a push that are in them, and says so of others', async () => {
    const { id } = await world.trigger({ event: 'push', filters: { path: ['packages/api/**'] } });
    await world.happen(
      {
        push: [commit('feat: api', 'packages/api/a.ts'), commit('feat: web', 'packages/web/a.ts')],
        at: at(0),
      },
      { push: [commit('docs: all', 'README.md')], at: at(1) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['Api'] });
    const [entry] = await logOf(world.app);
    expect(entry?.title).toBe('1 commit pushed to main');
    expect(id).toStartWith('trg_');
  });

  test.each(['squash', 'merge'] as const)(
    'takes a pull request by its commits, merged by %s',
    async (how) => {
      await world.trigger({ event: 'push', filters: { path: ['packages/api/**'] } });
      const merge = (number: number, title: string, ...paths: string[]) =>
        ({ merge: number, title, commits: [commit('change', ...paths)], how, at: at(number) }) as const;
      await world.happen(
        { push: [commit('chore: begin', 'README.md')], at: at(0) },
        merge(1, 'feat: in api', 'packages/api/a.ts'),
        merge(2, 'feat: in web', 'packages/web/a.ts'),
      );
      await world.run();
      expect(await world.changes()).toEqual({ 'Unreleased: acme/rocket': ['In api'] });
    },
  );

  test('asks again for the files of a release when the filter changes', async () => {
    const { id } = await world.trigger({});
    await world.happen(
      {
        push: [commit('feat: api', 'packages/api/a.ts'), commit('feat: web', 'packages/web/a.ts')],
        at: at(0),
      },
      { release: 'v1', at: at(1) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['Api', 'Web'] });
    await changeTrigger(world.app.deps, id, { filters: { path: ['packages/web/**'] } });
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['Web'] });
  });

  test('keeps the notes of a release', async () => {
    await world.trigger({ filters: { path: ['packages/api/**'] } });
    await world.happen(
      { push: [commit('feat: web', 'packages/web/a.ts')], at: at(0) },
      { release: 'v1', notes: '- All of it', at: at(1) },
    );
    await world.run();
    expect(await world.changes()).toEqual({ v1: ['All of it'] });
  });
});
