import { expect, test } from 'bun:test';
import { CADENCES, nextRoundup, type Schedule } from '../../src/drafting/roundups/service.ts';

const monday: Schedule = {
  cadence: 'weekly',
  weekday: 1,
  time: '09:00',
  timeZone: 'Europe/Berlin',
  startsOn: '2026-01-01',
};

function upcoming(schedule: Schedule, after: string, count: number): string[] {
  const times: string[] = [];
  for (let last = new Date(after); times.length < count; ) {
    last = nextRoundup(schedule, last);
    times.push(last.toISOString().slice(0, 16));
  }
  return times;
}

test('a weekly roundup keeps its time on the clock when the clocks change', () => {
  expect(upcoming(monday, '2026-03-20T00:00:00Z', 2)).toEqual(['2026-03-23T08:00', '2026-03-30T07:00']);
  expect(upcoming(monday, '2026-10-19T07:00:00Z', 1)).toEqual(['2026-10-26T08:00']);
});

test('a time that is skipped comes an hour later, and one that is shown twice comes once', () => {
  const sunday = { ...monday, weekday: 7, time: '02:30' };
  expect(upcoming(sunday, '2026-03-28T00:00:00Z', 2)).toEqual(['2026-03-29T01:30', '2026-04-05T00:30']);
  expect(upcoming(sunday, '2026-10-24T00:00:00Z', 2)).toEqual(['2026-10-25T00:30', '2026-11-01T01:30']);
});

test('a day that a zone skips moves the roundup to the next', () => {
  const friday = { ...monday, weekday: 5, timeZone: 'Pacific/Apia', startsOn: '2011-01-01' };
  expect(upcoming(friday, '2011-12-29T00:00:00Z', 2)).toEqual(['2011-12-30T19:00', '2012-01-05T19:00']);
});

test('every two weeks is counted from the start', () => {
  const biweekly: Schedule = { ...monday, cadence: 'biweekly', startsOn: '2026-11-27' };
  expect(upcoming(biweekly, '2026-01-01T00:00:00Z', 2)).toEqual(['2026-11-30T08:00', '2026-12-14T08:00']);
  expect(upcoming(biweekly, '2026-12-01T00:00:00Z', 1)).toEqual(['2026-12-14T08:00']);
});

test('monthly means the first such weekday of each month', () => {
  const monthly: Schedule = { ...monday, cadence: 'monthly' };
  expect(upcoming(monthly, '2026-11-02T08:00:00Z', 3)).toEqual([
    '2026-12-07T08:00',
    '2027-01-04T08:00',
    '2027-02-01T08:00',
  ]);
});

test('the next roundup does not depend on when one asks', () => {
  for (const cadence of CADENCES) {
    for (const timeZone of [
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'UTC',
    ]) {
      const schedule = { ...monday, cadence, weekday: 7, time: '02:15', timeZone };
      let next = nextRoundup(schedule, new Date('2026-01-01T00:00:00Z'));
      for (let hour = 0; hour < 24 * 120; hour++) {
        const now = new Date(Date.UTC(2026, 0, 1, hour));
        if (now >= next) next = nextRoundup(schedule, next);
        expect(nextRoundup(schedule, now)).toEqual(next);
      }
    }
  }
});
