import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { changesOf } from '../../../src/drafting/changes/reached.ts';
import type { Commit, EventData } from '../../../src/providers/events.ts';
import { commit, pullRequest } from './samples.ts';

const listed = (...given: Parameters<typeof changesOf>) => changesOf(...given).changes;

const sha = (name: string) => name.repeat(40).slice(0, 40);
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

const push = (minute: number, after: string, ...commits: Commit[]) => ({
  occurredAt: at(minute),
  key: sha(after),
  data: { after: sha(after), compareUrl: null, commits },
});
const merged = (minute: number, number: number, given: Partial<EventData['pull_request']> = {}) => ({
  occurredAt: at(minute),
  key: `${number}`,
  data: pullRequest({ number, title: `pr ${number}`, ...given }),
});
const made = (name: string, subject: string, given: Partial<Commit> = {}) =>
  commit({ sha: sha(name), subject, ...given });

type Events = Parameters<typeof changesOf>[0];
const told = (events: Partial<Events>) =>
  listed({ pushes: [], pullRequests: [], ...events }).map(
    ({ text, references }) => `${text}: ${references.map(({ label }) => label).join(' ')}`,
  );

describe('a pull request is listed once', () => {
  test.each<[string, Events['pushes'][number]]>([
    [
      'a merge commit',
      push(1, 'c', made('a', 'one'), made('b', 'two'), made('c', 'Merge pull request #12 from x/y')),
    ],
    ['a squash', push(1, 'c', made('c', 'Pr 12 (#12)'))],
    ['a rebase', push(1, 'c', made('a', 'one'), made('c', 'two'))],
    ['a push whose list of commits is cut', push(1, 'c', made('a', 'one'))],
  ])('%s', (_, pushed) => {
    const pullRequests = [merged(1, 12, { mergeCommitSha: sha('c') })];
    expect(told({ pushes: [pushed], pullRequests })).toEqual(['Pr 12: #12']);
  });

  test.each([
    ['by its merge commit', made('c', 'whatever'), sha('c')],
    ['by the subject of a merge', made('c', 'Merge pull request #12 from x/y'), null],
    ['by the number of a squash', made('c', 'one (#12)'), null],
    ['by the last of two numbers', made('c', 'one (#7) (#12)'), null],
    ['by a commit that fixes it up', made('c', 'fixup! one (#12)'), null],
  ])('%s, among other commits', (_, own, mergeCommitSha) => {
    const pushes = [push(1, 'd', made('b', 'two'), own, made('d', 'three'))];
    const pullRequests = [merged(2, 12, { mergeCommitSha })];
    expect(told({ pushes, pullRequests })).toEqual(['Two: bbbbbbb', 'Three: ddddddd', 'Pr 12: #12']);
  });

  test('what the body of a squash names stands beside it', () => {
    const squash = made('c', 'Pr 12 (#12)', { further: ['feat: one', 'fix!: two'] });
    const pushes = [push(1, 'c', squash), push(2, 'c', squash)];
    const pullRequests = [merged(1, 12, { mergeCommitSha: sha('c') })];
    expect(told({ pushes })).toEqual(['Pr 12: #12', 'One: #12', 'Two: #12']);
    expect(told({ pushes, pullRequests }).toSorted()).toEqual(['One: #12', 'Pr 12: #12', 'Two: #12']);
  });

  test('its commits stay its own when another push brings them again', () => {
    const one = made('a', 'one');
    const pushes = [push(1, 'd', one, made('d', 'two')), push(2, 'c', one, made('c', 'x'))];
    const pullRequests = [merged(1, 12, { mergeCommitSha: sha('c') })];
    expect(told({ pushes, pullRequests })).toEqual(['Pr 12: #12', 'Two: ddddddd']);
  });

  test('its labels count', () => {
    const pullRequests = [merged(1, 12, { labels: ['bug'], url: 'https://x.test/12', author: 'ann' })];
    expect(listed({ pushes: [], pullRequests })).toMatchObject([
      { group: 'Fixed', references: [{ label: '#12', url: 'https://x.test/12' }], authors: ['ann'] },
    ]);
  });
});

describe('merges', () => {
  test('of an unknown pull request are changes', () => {
    const pushes = [push(1, 'b', made('a', 'one'), made('b', 'Merge pull request #12 from ann/quiet'))];
    expect(told({ pushes })).toEqual(['One: aaaaaaa', 'Merge ann/quiet: #12']);
  });

  test.each([
    "Merge branch 'main' into x",
    "Merge branch 'main' of https://github.com/acme/rocket",
    "Merge branches 'a' and 'b'",
    "Merge remote-tracking branch 'origin/main'",
    "Merge tag 'v1'",
    "Merge commit 'c02f9a6'",
  ])('%s brings nothing of its own', (subject) => {
    expect(told({ pushes: [push(1, 'a', made('a', subject))] })).toEqual([]);
  });

  test.each([
    ['Merge branch handling into one place', 'Merge branch handling into one place: aaaaaaa'],
    ["Merge branch 'next' (#12)", "Merge branch 'next': #12"],
  ])('%s is a change', (subject, line) => {
    expect(told({ pushes: [push(1, 'a', made('a', subject))] })).toEqual([line]);
  });
});

describe('fixup commits', () => {
  test('join the commit that they fix up, wherever it is', () => {
    const pushes = [
      push(1, 'b', made('a', 'fixup! feat: x', { author: 'bob' }), made('b', 'y')),
      push(2, 'c', made('c', 'feat: x', { author: 'ann' })),
      push(3, 'd', made('d', 'squash! feat: x', { author: 'cid', breaking: 'why' })),
    ];
    expect(told({ pushes })).toEqual(['Y: bbbbbbb', 'X: ccccccc aaaaaaa ddddddd']);
    expect(listed({ pushes, pullRequests: [] })[1]).toMatchObject({
      authors: ['ann', 'bob', 'cid'],
      isBreaking: true,
      breakingNote: 'why',
    });
  });

  test('join each other under the text of the commit that they fix up', () => {
    const pushes = [
      push(1, 'c', made('a', 'fixup! feat: x'), made('b', 'y'), made('c', 'fixup! fixup! feat: x')),
    ];
    expect(told({ pushes })).toEqual(['X: aaaaaaa ccccccc', 'Y: bbbbbbb']);
  });

  test('leave two commits of one text two', () => {
    expect(told({ pushes: [push(1, 'b', made('a', 'x'), made('b', 'x'))] })).toEqual([
      'X: aaaaaaa',
      'X: bbbbbbb',
    ]);
  });
});

test('of two tellings of one pull request the later holds', () => {
  const pullRequests = [merged(2, 12, { title: 'new' }), merged(1, 12, { title: 'old' })];
  expect(told({ pullRequests })).toEqual(['New: #12']);
});

test('all comes in the order in which it happened', () => {
  const pushes = [push(5, 'e', made('e', 'last')), push(1, 'b', made('a', 'first'), made('b', 'second'))];
  const pullRequests = [merged(6, 9), merged(3, 10), merged(3, 1)];
  expect(told({ pushes, pullRequests })).toEqual([
    'First: aaaaaaa',
    'Second: bbbbbbb',
    'Pr 1: #1',
    'Pr 10: #10',
    'Last: eeeeeee',
    'Pr 9: #9',
  ]);
});

// Few shas, numbers and instants, so that many things meet.
const name = fc.constantFrom(...'abcdef');
const number = fc.integer({ min: 1, max: 4 });
const title = fc.oneof(
  fc.constantFrom('feat: x', 'fix: y', 'z', 'fixup! feat: x', 'squash! z', 'fixup! w', "Merge branch 'main'"),
  number.map((each) => `feat: x (#${each})`),
  number.map((each) => `Merge pull request #${each} from a/b`),
);
const commits = fc.record({ name, title }).map((each) => made(each.name, each.title));
const pushes = fc
  .tuple(fc.nat(3), name, fc.array(commits, { maxLength: 4 }))
  .map(([minute, after, all]) => push(minute, after, ...all));
const pullRequests = fc
  .tuple(fc.nat(3), number, fc.option(name), title)
  .map(([minute, each, merge, text]) =>
    merged(minute, each, { title: text, mergeCommitSha: merge === null ? null : sha(merge) }),
  );
const events = fc.record({
  pushes: fc.array(pushes, { maxLength: 6 }),
  pullRequests: fc.array(pullRequests, { maxLength: 4 }),
});
const shuffled = events.chain((given) =>
  fc.record({
    given: fc.constant(given),
    again: fc.record({
      pushes: shuffledAndRepeated(given.pushes),
      pullRequests: shuffledAndRepeated(given.pullRequests),
    }),
  }),
);

function shuffledAndRepeated<Item>(items: Item[]): fc.Arbitrary<Item[]> {
  const all = [...items, ...items];
  return fc
    .tuple(fc.shuffledSubarray(items, { minLength: items.length }), fc.shuffledSubarray(all))
    .map(([each, more]) => structuredClone([...more, ...each]));
}

test('neither order nor repetition of the events matters', () => {
  fc.assert(
    fc.property(shuffled, ({ given, again }) => {
      expect(listed(again)).toEqual(listed(given));
    }),
    { numRuns: 500 },
  );
});

test('nothing is dropped, and nothing is listed twice', () => {
  fc.assert(
    fc.property(events, (given) => {
      const labels = listed(given).flatMap(({ references }) => references.map(({ label }) => label));
      for (const { data } of given.pullRequests) expect(labels).toContain(`#${data.number}`);
      const merges = new Map(given.pullRequests.map(({ data }) => [data.mergeCommitSha, `#${data.number}`]));
      const covered = new Set(
        given.pushes
          .filter(({ data }) => merges.has(data.after))
          .flatMap(({ data }) => data.commits.map((each) => each.sha)),
      );
      const subjects = Map.groupBy(
        given.pushes.flatMap(({ data }) => data.commits),
        (each) => each.sha,
      );
      for (const [id, all] of subjects) {
        if (
          covered.has(id) ||
          merges.has(id) ||
          all.some(({ subject }) => subject.startsWith('Merge branch'))
        )
          continue;
        const own = [id.slice(0, 7), ...all.flatMap(({ subject }) => subject.match(/#\d/)?.[0] ?? [])];
        expect(own.filter((label) => labels.includes(label))).not.toEqual([]);
      }
      const shas = labels.filter((label) => !label.startsWith('#'));
      expect(new Set(shas).size).toBe(shas.length);
      const known = new Set(given.pullRequests.map(({ data }) => `#${data.number}`));
      const numbers = labels.filter((label) => known.has(label));
      expect(new Set(numbers).size).toBe(numbers.length);
    }),
    { numRuns: 500 },
  );
});

test('a push of a merge queue is not only the pull request that it ends with', () => {
  const squash = (sha: string, subject: string) => commit({ sha, subject });
  const pushes = [
    {
      occurredAt: '2026-11-01T00:00:00.000Z',
      key: 'c3',
      data: {
        after: 'c3',
        compareUrl: null,
        commits: [
          squash('c1', 'feat: one (#1)'),
          squash('c2', 'feat: two (#2)'),
          squash('c3', 'feat: three (#3)'),
        ],
      },
    },
  ];
  const known = pullRequest({ number: 3, title: 'feat: three', mergeCommitSha: 'c3' });
  const pullRequests = [{ occurredAt: '2026-11-01T00:00:00.000Z', key: '3', data: known }];
  const labels = listed({ pushes, pullRequests }).flatMap(({ references }) =>
    references.map(({ label }) => label),
  );
  expect(labels.sort()).toEqual(['#1', '#2', '#3']);
});

test('a merge commit brings the commits of its branch, and not those of another merge', () => {
  const commits = [
    commit({ sha: 'b1', subject: 'wip on the gauge' }),
    commit({ sha: 'm1', subject: 'Merge pull request #1 from acme/one' }),
    commit({ sha: 'b2', subject: 'fix the gauge' }),
    commit({ sha: 'm2', subject: 'Merge pull request #2 from acme/gauge' }),
  ];
  const occurredAt = '2026-11-01T00:00:00.000Z';
  const pushes = [{ occurredAt, key: 'm2', data: { after: 'm2', compareUrl: null, commits } }];
  const known = pullRequest({ number: 2, title: 'fix: gauge', mergeCommitSha: 'm2' });
  const told = listed({ pushes, pullRequests: [{ occurredAt, key: '2', data: known }] });
  expect(told.map(({ text }) => text).sort()).toEqual(['Gauge', 'Merge acme/one']);
});
