import { expect, test } from 'bun:test';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { defaultLook, type Visit } from '../../src/dashboard/page.ts';
import { Clock, Exactly, ForVisit, When } from '../../src/dashboard/view/elements.tsx';

const now = new Date('2026-11-20T12:00:00.000Z');

const shown = (at: string, zone = 'UTC', Time = When) => {
  const visit = { look: { ...defaultLook, zone }, deps: { clock: { now: () => now } } } as Visit;
  return render(h(ForVisit, { visit, children: h(Time, { at }) }));
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
  ['2026-11-18T12:00:00.000Z', 'Nov 18, 2026'],
  ['2025-01-02T00:00:00.000Z', 'Jan 2, 2025'],
  ['2026-11-20T12:00:30.000Z', 'in 30 s'],
  ['2026-11-20T15:00:00.000Z', 'in 3 h'],
  ['2026-11-21T13:00:00.000Z', 'tomorrow'],
  ['2026-11-23T12:00:00.000Z', 'in 3 days'],
  ['2027-02-01T00:00:00.000Z', 'Feb 1, 2027'],
])('%s is "%s"', (at, words) => {
  expect(shown(at)).toContain(`>${words}</time>`);
});

test('the exact time stands beside it, and what is no time is shown as it is', () => {
  expect(shown('2026-11-16T17:02:11.482Z')).toBe(
    '<time datetime="2026-11-16T17:02:11.482Z" title="Nov 16, 2026, 17:02:11">Nov 16, 2026</time>',
  );
  expect(shown('<b>')).toBe('<span>&lt;b></span>');
});

test.each([
  ['2026-11-16T23:30:00.000Z', 'Europe/Berlin', When, 'Nov 17, 2026', '00:30:00 UTC+1'],
  ['2026-11-16T23:30:00.000Z', 'Europe/Berlin', Clock, 'Nov 17, 2026, 00:30', '00:30:00 UTC+1'],
  ['2026-09-29T12:00:09.000Z', 'UTC', Clock, 'Sep 29, 2026, 12:00', '12:00:09'],
  ['2026-09-29T12:00:09.000Z', 'Asia/Kolkata', Exactly, 'Sep 29, 2026, 17:30:09', '17:30:09 UTC+5:30'],
  // The hour that comes twice in autumn: both, and the next.
  ['2027-10-31T00:30:00.000Z', 'Europe/Berlin', Clock, 'Oct 31, 2027, 02:30 UTC+2', '02:30:00 UTC+2'],
  ['2027-10-31T01:30:00.000Z', 'Europe/Berlin', Clock, 'Oct 31, 2027, 02:30 UTC+1', '02:30:00 UTC+1'],
  ['2027-10-31T02:30:00.000Z', 'Europe/Berlin', Clock, 'Oct 31, 2027, 03:30', '03:30:00 UTC+1'],
])('%s in %s is on the clock of the zone', (at, zone, Time, text, exact) => {
  const day = text.split(', ').slice(0, 2).join(', ');
  expect(shown(at, zone, Time)).toBe(`<time datetime="${at}" title="${day}, ${exact}">${text}</time>`);
});
