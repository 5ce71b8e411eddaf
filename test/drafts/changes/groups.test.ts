import { expect, test } from 'bun:test';
import {
  groupChanges,
  groupNames,
  highlights,
  withoutRepetitions,
} from '../../../src/drafting/changes/groups.ts';
import { change } from './samples.ts';

const texts = (changes: { text: string }[]) => changes.map(({ text }) => text).join(' ');

test('groups come in the order of a changelog, none of them empty', () => {
  const all = groupNames.toReversed().map((group) => change({ group, text: group }));
  expect(groupChanges(all).map(({ name }) => name)).toEqual([...groupNames]);
  expect(groupChanges(all.slice(1, 3)).map(({ name }) => name)).toEqual(['Security', 'Performance']);
  expect(groupChanges([])).toEqual([]);
});

test('in a group what breaks comes first, else the order stays', () => {
  const [group] = groupChanges([
    change({ text: 'a' }),
    change({ text: 'B', isBreaking: true, group: 'Other' }),
    change({ text: 'c' }),
    change({ text: 'D', isBreaking: true, group: 'Other' }),
  ]);
  expect(texts(group?.changes ?? [])).toBe('B D a c');
});

test('changes with the same text are merged', () => {
  const [first, second] = [
    { label: '#1', url: null },
    { label: '#2', url: 'https://x.test/2' },
  ];
  const all = withoutRepetitions([
    change({ text: 'a', references: [first], authors: ['ann'] }),
    change({ text: 'b' }),
    change({ text: 'a', references: [second, first], authors: ['bob', 'ann'] }),
    change({ text: 'a', scope: 'other' }),
    change({ text: 'a', group: 'Fixed' }),
  ]);
  expect(all).toEqual([
    change({ text: 'a', references: [first, second], authors: ['ann', 'bob'] }),
    change({ text: 'b' }),
    change({ text: 'a', scope: 'other' }),
    change({ text: 'a', group: 'Fixed' }),
  ]);
});

test('one that breaks makes all of them break', () => {
  const same = { text: 'a', group: 'Fixed' } as const;
  const breaking = change({ ...same, isBreaking: true, breakingNote: 'why' });
  expect(withoutRepetitions([change(same), breaking])).toEqual([breaking]);
});

test('highlights: what matters to readers', () => {
  const all = [
    change({ text: 'chore' }),
    change({ text: 'removed', group: 'Removed' }),
    change({ text: 'deprecated', group: 'Deprecated' }),
    change({ text: 'fixed', group: 'Fixed' }),
    change({ text: 'changed', group: 'Changed' }),
    change({ text: 'security', group: 'Security' }),
    change({ text: 'added', group: 'Added' }),
    change({ text: 'also-added', group: 'Added' }),
    change({ text: 'Revert: changed', group: 'Changed' }),
    change({ text: 'breaking', group: 'Removed', isBreaking: true }),
  ];
  const order = 'breaking added also-added security changed fixed removed deprecated Revert: changed';
  expect(texts(highlights(all, 100))).toBe(order);
  expect(texts(highlights(all, 2))).toBe('breaking added');
  expect(highlights(all, 0)).toEqual([]);
});

test('chores are highlights only when there is nothing else', () => {
  expect(texts(highlights([change({ text: 'a' }), change({ text: 'b' })], 1))).toBe('a');
});
