import { describe, expect, test } from 'bun:test';
import { compareTexts } from '../../src/drafting/suggestions.ts';
import { expectLinear } from '../support/growth.ts';
import { rounds } from '../support/rounds.ts';

const compare = (before: string, after: string) =>
  compareTexts({ title: 'T', markdown: before }, { title: 'T', markdown: after });
const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

test('the title, an empty line and the text are compared line by line', () => {
  const before = { title: 'One', markdown: 'a\nb\nc\n' };
  expect(compareTexts(before, { title: 'Two', markdown: 'a\nx\nc\nd' })).toEqual([
    { kind: 'removed', line: 'One' },
    { kind: 'added', line: 'Two' },
    { kind: 'same', line: '' },
    { kind: 'same', line: 'a' },
    { kind: 'removed', line: 'b' },
    { kind: 'added', line: 'x' },
    { kind: 'same', line: 'c' },
    { kind: 'added', line: 'd' },
  ]);
});

/** The most lines that two texts can share in one order. */
function countShared(one: string[], other: string[]): number {
  let row = new Array<number>(other.length + 1).fill(0);
  for (const line of one) {
    const next = [0];
    for (const [at, each] of other.entries()) {
      next.push(each === line ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

test('the difference has both texts, and as few changes as there can be', () => {
  const random = () => `.${lines(Math.floor(Math.random() * 12), () => 'abc'.charAt(Math.random() * 3))}.`;
  for (let round = 0; round < rounds(500, 20_000); round++) {
    const [before, after] = [random(), random()];
    const changes = compare(before, after) ?? [];
    const of = (left: string) => changes.flatMap(({ kind, line }) => (kind === left ? [] : [line]));
    expect([of('added').join('\n'), of('removed').join('\n')]).toEqual([`T\n\n${before}`, `T\n\n${after}`]);
    const shared = countShared(of('added'), of('removed'));
    expect([before, after, changes.filter(({ kind }) => kind === 'same').length]).toEqual([
      before,
      after,
      shared,
    ]);
  }
});

describe('texts are compared', () => {
  test('when one of 300 lines became another', () => {
    expect(
      compare(
        lines(300, (at) => `old ${at}`),
        lines(300, (at) => `new ${at}`),
      ),
    ).toHaveLength(602);
  });
  test('when 60 of 3,000 lines changed', () => {
    const text = (word: string) => lines(3_000, (at) => (at % 50 === 0 ? `${word} ${at}` : `line ${at}`));
    expect(compare(text('old'), text('new'))?.filter(({ kind }) => kind === 'added')).toHaveLength(60);
  });
});

/** Texts of so many lines that take Myers' algorithm the square of that. */
const hostile: Record<string, (count: number) => [string, string]> = {
  'with nothing in common': (count) => [lines(count, () => 'a'), lines(count, () => 'b')],
  'that repeat few lines in other orders': (count) => [
    lines(count, (at) => (at % 2 === 0 ? 'a' : 'b')),
    lines(count, (at) => (at % 3 === 0 ? 'a' : 'b')),
  ],
  'whose every second line changed': (count) => [
    lines(count, (at) => `${at}`),
    lines(count, (at) => `${at}${at % 2 === 0 ? '!' : ''}`),
  ],
  'that are shifted, with changes': (count) => [
    lines(count, (at) => `${at % 7}`),
    lines(count, (at) => `${(at + (at % 11)) % 7}`),
  ],
};

describe.each(Object.entries(hostile))('texts %s', (name, make) => {
  test('are not compared', () => {
    for (const count of [4_900, 60_000]) expect(compare(...make(count))).toBeNull();
  });
  test('cost no more than their length', async () => {
    await expectLinear(name, make, (texts) => compare(...texts), { most: 60_000 });
  });
});
