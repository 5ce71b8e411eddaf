import { expect, test } from 'bun:test';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import type { Visit } from '../../src/dashboard/page.ts';
import { defaultLook } from '../../src/dashboard/preferences.ts';
import { ForVisit, When } from '../../src/dashboard/view/elements.tsx';

const now = new Date('2026-11-20T12:00:00.000Z');

const shown = (at: string, zone = 'UTC') => {
  const visit = { look: { ...defaultLook, zone }, deps: { clock: { now: () => now } } } as Visit;
  return render(h(ForVisit, { visit, children: h(When, { at }) }));
};

test.each([
  ['2026-11-20T12:00:00.000Z', 'just now'],
  ['2026-11-20T11:59:48.000Z', '12 s ago'],
  ['2026-11-20T11:58:00.000Z', '2 min ago'],
  ['2026-11-20T11:00:01.000Z', '59 min ago'],
  ['2026-11-20T09:00:00.000Z', '3 h ago'],
  ['2026-11-19T12:00:01.000Z', '23 h ago'],
  ['2026-11-19T12:00:00.000Z', 'yesterday'],
  ['2026-11-18T12:00:01.000Z', 'yesterday'],
  ['2026-11-18T12:00:00.000Z', '18 Nov 2026'],
  ['2025-01-02T00:00:00.000Z', '2 Jan 2025'],
  ['2026-11-20T12:00:30.000Z', 'in 30 s'],
  ['2026-11-20T15:00:00.000Z', 'in 3 h'],
  ['2026-11-21T13:00:00.000Z', 'tomorrow'],
  ['2026-11-23T12:00:00.000Z', 'in 3 days'],
  ['2027-02-01T00:00:00.000Z', '1 Feb 2027'],
])('%s is "%s"', (at, words) => {
  expect(shown(at)).toContain(`>${words}</time>`);
});

test('the exact time stands beside it, and what is no time is shown as it is', () => {
  expect(shown('2026-11-16T17:02:11.482Z')).toBe(
    '<time datetime="2026-11-16T17:02:11.482Z" title="16 Nov 2026, 17:02:11 UTC">16 Nov 2026</time>',
  );
  expect(shown('<b>')).toBe('<span>&lt;b></span>');
});

test("in the person's zone, the day is theirs, and UTC stands beside the exact time", () => {
  expect(shown('2026-11-16T23:30:00.000Z', 'Europe/Berlin')).toBe(
    '<time datetime="2026-11-16T23:30:00.000Z" title="17 Nov 2026, 00:30:00 CET (16 Nov 2026, 23:30:00 UTC)">17 Nov 2026</time>',
  );
});
