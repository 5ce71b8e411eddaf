import { expect, test } from 'bun:test';
import { BoundedMap } from '../../src/lib/bounded-map.ts';

const kept = (map: BoundedMap<string, object | number>, keys: string) =>
  [...keys].filter((key) => map.get(key) !== undefined).join('');

test('beyond the bound, the entry that was set least recently leaves', () => {
  const map = new BoundedMap<string, number>(3);
  for (const key of 'abc') map.set(key, 1);
  map.set('a', 2);
  map.set('d', 1);
  expect(kept(map, 'abcd')).toBe('acd');
  expect(map.get('a')).toBe(2);
  expect(map.size).toBe(3);
});

test('weights count, also those that come later', () => {
  const map = new BoundedMap<string, object>(10);
  const [a, b] = [{}, {}];
  map.set('a', a, 4);
  map.set('b', b, 4);
  map.addWeight('b', b, 2);
  expect(kept(map, 'ab')).toBe('ab');
  map.addWeight('b', b, 1);
  expect(kept(map, 'ab')).toBe('b');
});

test('a value that was replaced or deleted gets no weight', () => {
  const map = new BoundedMap<string, object>(10);
  const [former, present] = [{}, {}];
  map.set('a', former, 5);
  map.set('a', present, 5);
  map.addWeight('a', former, 100);
  expect(map.get('a')).toBe(present);
  map.delete('a');
  map.addWeight('a', present, 100);
  map.set('b', present, 10);
  expect(kept(map, 'ab')).toBe('b');
});
