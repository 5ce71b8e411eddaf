import { expect, test } from 'bun:test';
import { replaces } from '../../src/drafting/events.ts';
import type { Event } from '../../src/providers/events.ts';

const known: Event = {
  type: 'project_update',
  key: 'update-1',
  branch: null,
  occurredAt: '2026-11-20T12:00:00.000Z',
  version: '2026-11-20T12:00:00.000Z 0',
  repository: null,
  deliveryId: 'b',
  data: {
    id: 'update-1',
    about: { kind: 'project', id: 'project-1', name: 'Quieter engines', url: null },
    body: 'Quieter',
    health: null,
    author: null,
    url: null,
  },
};
const withBody = (body: string) => ({ ...known, data: { ...known.data, body } }) as Event;

test.each<[string, Event]>([
  ['a later version', { ...withBody(''), version: '2026-11-20T12:00:00.000Z 1', deliveryId: 'c' }],
  ['the first time', { ...known, occurredAt: '2026-11-20T11:00:00.000Z', deliveryId: 'c' }],
  ['more', { ...withBody('Much quieter'), deliveryId: 'c' }],
  ['as much, in a fixed order', { ...withBody('Rounder'), deliveryId: 'c' }],
  ['the smaller delivery id', { ...known, deliveryId: 'a' }],
])('of two tellings of one event one wins, whichever comes first: %s', (_, other) => {
  expect(replaces(other, known)).toBe(true);
  expect(replaces(known, other)).toBe(false);
});

test('the same telling replaces nothing', () => {
  expect(replaces(structuredClone(known), known)).toBe(false);
});

test('of two edits of a release that say no time, the last that comes wins', () => {
  const release = (notes: string): Event => ({
    ...known,
    type: 'release',
    version: ' 1',
    data: { tag: 'v1', name: null, notes, isPrerelease: false, author: null, url: null },
  });
  expect(replaces(release('Shorter'), release('Much longer'))).toBe(true);
  expect(replaces(release('Much longer'), release('Shorter'))).toBe(true);
});
