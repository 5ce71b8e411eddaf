import { afterEach, describe, expect, test } from 'bun:test';
import { sampleMaterial } from '../../src/drafting/check.ts';
import type { Recipe } from '../../src/drafting/store.ts';
import { type Composer, threadedComposer } from '../../src/drafting/thread.ts';
import { parseChangelog } from '../../src/posts/import/changelog.ts';
import type { ParsedFile } from '../../src/posts/import/files.ts';
import { refusalOf } from '../support/refusal.ts';
import { limitOfStuckThreads } from '../support/stuck-thread.ts';

const oddThread = new URL('../support/odd-thread.ts', import.meta.url);
/** For what is not about the limit: no machine is too slow. */
const noLimit = () => () => undefined;
const material = sampleMaterial('release');

let composer: Composer;
afterEach(() => composer.close());

function recipe(fields: Partial<Recipe> = {}): Recipe {
  return {
    triggerId: 'trg_1',
    platform: 'github',
    event: 'release',
    contentType: 'changelog',
    titleTemplate: null,
    bodyTemplate: null,
    ...fields,
  };
}

const made = { title: 'Rocket 2.4.0: quieter engines' };

/** The rejection of a draft that cannot be made. */
const failureOf = (draft: Promise<unknown>) =>
  draft.then(
    () => null,
    (error: Error) => error.message,
  );

describe('a thread that goes wrong is ended, and the next draft gets a new one', () => {
  test.each([
    ['is stuck', 'stuck', 'The draft took more than 2 s to write. Simplify its template'],
    ['crashes', 'crashes', 'The draft could not be written: '],
    ['ends', 'ends', 'The draft could not be written: its thread ended'],
  ])('it %s', async (_, triggerId, message) => {
    using limit = limitOfStuckThreads();
    composer = threadedComposer({ main: oddThread, after: limit.after });
    expect(await composer.compose(recipe(), material)).toMatchObject({ text: made });
    const drafts = [triggerId, 'trg_1', triggerId, 'trg_2'].map((id) =>
      composer.compose(recipe({ triggerId: id }), material).then(({ text }) => text?.title, String),
    );
    expect(await Promise.all(drafts)).toEqual([
      expect.stringContaining(message),
      made.title,
      expect.stringContaining(message),
      made.title,
    ]);
  });
});

test('a draft of much material has more time, and no draft has more than 10 s', async () => {
  const limits: number[] = [];
  composer = threadedComposer({
    after: (ms) => {
      limits.push(ms);
      return () => undefined;
    },
  });
  for (const length of [100_000, 10_000_000])
    await composer.compose(recipe(), { ...material, branch: 'x'.repeat(length) }).catch(() => undefined);
  expect(limits).toEqual([4_000, 10_000]);
});

test('the time limit of 2 s starts when the thread begins to work', async () => {
  const limits: number[] = [];
  const events: string[] = [];
  const after = (ms: number) => {
    limits.push(ms);
    events.push('limit');
    return () => void events.push('cancelled');
  };
  composer = threadedComposer({ after });
  const draft = composer.compose(recipe(), material);
  await Promise.resolve();
  expect(limits).toEqual([]);
  await draft;
  await composer.check({ titleTemplate: null, bodyTemplate: 'Text' }, material);
  expect(limits).toEqual([2_000, 2_000]);
  expect(events).toEqual(['limit', 'cancelled', 'limit', 'cancelled']);
});

test('a failed template names the place, and the thread survives', async () => {
  composer = threadedComposer({ after: noLimit });
  const failing = recipe({ bodyTemplate: '{{ release.name }}\n{{ 1 | divided_by: omitted }}' });
  expect(await refusalOf(composer.compose(failing, material))).toEqual({
    status: 400,
    message: expect.stringContaining('body template, line 2, column 1: the result of divided_by'),
  });
  expect(await composer.compose(recipe(), material)).toMatchObject({ text: made });
});

describe('close', () => {
  test('rejects the draft under way, those that wait, and those that come later', async () => {
    composer = threadedComposer({ main: oddThread, after: noLimit });
    // The first one is made: the thread is there, and the second is under way in it.
    await composer.compose(recipe(), material);
    const underWay = failureOf(composer.compose(recipe({ triggerId: 'stuck' }), material));
    const waiting = failureOf(composer.compose(recipe(), material));
    await Promise.resolve();
    composer.close();
    const stopped = 'The draft was not written: the server is stopping';
    expect(await Promise.all([underWay, waiting])).toEqual([stopped, stopped]);
    expect(await failureOf(composer.compose(recipe(), material))).toBe(stopped);
  });

  test('without a thread, and twice, is nothing', () => {
    composer = threadedComposer();
    composer.close();
    expect(() => composer.close()).not.toThrow();
  });
});

test('a thread without work is let go, and comes back with the next draft', async () => {
  composer = threadedComposer({ idleMs: 0, after: noLimit });
  expect(await composer.compose(recipe(), material)).toMatchObject({ text: made });
  // Timers end in order: the thread's own is the earlier one.
  await new Promise((resolve) => setTimeout(resolve));
  expect(await composer.compose(recipe(), material)).toMatchObject({ text: made });
});

test('a pending time limit does not keep the process alive', async () => {
  const script = `
    import { threadedComposer } from '${import.meta.resolve('../../src/drafting/thread.ts')}';
    const composer = threadedComposer({ main: new URL('${oddThread}') });
    const draft = composer.compose({ triggerId: 'stuck' }, {}).catch(({ message }) => message);
    setTimeout(() => composer.close());
    process.stdout.write(await draft);
  `;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
  expect(await new Response(child.stdout).text()).toBe('The draft was not written: the server is stopping');
  expect(await child.exited).toBe(0);
});

describe('a changelog', () => {
  const file = {
    name: 'CHANGELOG.md',
    text: '# Log\n\n## Unreleased\n\nSoon\n\n## [1.1.0] - 2026-02-30\n\nTwo\n\n## [1.0.0] - 2026-01-31\n\n- One\n\n## 0.9.0 - 2026-01-01\n\nZero\n',
  };
  const plain = ({ records, problems = [], ...rest }: ParsedFile) => ({
    ...rest,
    records: records.map(({ lineOf, ...record }) => ({ ...record, line: lineOf('title') })),
    problems: problems.map(({ message, code, details }) => ({ message, code, details })),
  });

  test('is read as in this thread', async () => {
    composer = threadedComposer({ after: noLimit });
    const here = plain(await parseChangelog(file));
    expect(here).toMatchObject({ records: [{ line: 11 }, { line: 15 }], problems: [{ code: 'bad_file' }] });
    expect(plain(await composer.readChangelog(file, 100))).toEqual(here);
  });

  test('with too many posts sends no more than one beyond the limit', async () => {
    composer = threadedComposer({ after: noLimit });
    expect((await composer.readChangelog(file, 1)).records).toHaveLength(2);
    expect((await composer.readChangelog(file, 0)).records).toHaveLength(1);
  });
});
