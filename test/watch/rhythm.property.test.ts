import { expect, test } from 'bun:test';
import { isSilent, learnRhythm, WINDOW } from '../../src/intake/silence.ts';
import { rounds } from '../support/rounds.ts';

// Simulated teams: false alarms are rare on each steady rhythm, and a real silence is found.

const QUARTER = 91;
const YEARS = 3;

/** Random numbers from 0 to 1 that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Day 0 was a Thursday. */
const isWeekday = (day: number) => ![2, 3].includes(day % 7);
const isVacation = (day: number) => {
  const ofYear = day % 365;
  return (ofYear >= 200 && ofYear < 214) || ofYear >= 355 || ofYear < 3;
};

function burst(start: number, end: number) {
  return (random: () => number) => {
    let isOn = false;
    return () => (isOn = isOn ? random() > end : random() < start);
  };
}

function every(shortest: number, spread: number, length: number) {
  return (random: () => number) => {
    let next = -1;
    let left = 0;
    return (day: number) => {
      if (next === -1) next = day + Math.floor(random() * shortest);
      if (day >= next) {
        next = day + shortest + Math.floor(random() * spread);
        left = length;
      }
      return left-- > 0;
    };
  };
}

type Team = (random: () => number) => (day: number) => boolean;

const always =
  (isActive: (day: number, random: () => number) => boolean): Team =>
  (random) =>
  (day) =>
    isActive(day, random);

/** Each with the days in which its silence must be found. */
const teams: [name: string, team: Team, foundWithin: number][] = [
  ['works every day', always((_, random) => random() < 0.95), 10],
  ['works on weekdays', always((day, random) => random() < (isWeekday(day) ? 0.9 : 0.03)), 14],
  ['works on some weekdays', always((day, random) => isWeekday(day) && random() < 0.5), 30],
  [
    'works on weekdays, with vacations',
    always((day, random) => !isVacation(day) && isWeekday(day) && random() < 0.9),
    21,
  ],
  ['works now and then', always((_, random) => random() < 0.1), 90],
  ['works in bursts', burst(0.08, 0.25), 120],
  ['releases on Thursdays', always((day, random) => day % 7 === 0 && random() < 0.95), 42],
  ['releases once a month', every(26, 9, 1), 70],
  ['works some days each month', every(27, 8, 3), 70],
];

function simulate(team: Team, seed: number) {
  const random = randomOf(seed);
  const isActive = team(random);
  const start = 19_000 + Math.floor(random() * 365);
  const end = start + YEARS * 365;
  const days: number[] = [];
  let alarms = 0;
  let known = 0;
  let hasTold = false;
  const look = (today: number) => {
    const last = days.at(-1) ?? today;
    const from = Math.max(start, last - WINDOW);
    const rhythm = learnRhythm(
      days.slice(-WINDOW).filter((day) => day >= from),
      from,
    );
    if (rhythm !== null) known++;
    return rhythm !== null && isSilent(rhythm, last, today);
  };
  for (let today = start; today < end; today++) {
    const isTold = look(today);
    if (isTold && !hasTold) alarms++;
    hasTold = isTold;
    if (!isActive(today)) continue;
    days.push(today);
    hasTold = false;
  }
  const quarters = known / QUARTER;
  let found = 0;
  while (found < 365 && !look((days.at(-1) ?? end) + found)) found++;
  return { alarms, quarters, found };
}

test.each(teams)('a team that %s', (_, team, foundWithin) => {
  const runs = Array.from({ length: rounds(10, 60) }, (__, seed) => simulate(team, 7 + seed * 7_919));
  const sum = (of: (run: (typeof runs)[number]) => number) => runs.reduce((total, run) => total + of(run), 0);
  expect(sum(({ quarters }) => quarters)).toBeGreaterThan(runs.length * 8);
  expect(sum(({ alarms }) => alarms) / sum(({ quarters }) => quarters)).toBeLessThanOrEqual(1);
  expect(Math.max(...runs.map(({ found }) => found))).toBeLessThanOrEqual(foundWithin);
});

test('too little is known of a short history, and of few days', () => {
  const days = Array.from({ length: 14 }, (_, at) => at);
  expect(learnRhythm(days, 0)).toBeNull();
  expect(learnRhythm([...days, 14], 0)).not.toBeNull();
  expect(learnRhythm([0, 10, 20, 30, 40], 0)).toBeNull();
  expect(learnRhythm([], 0)).toBeNull();
});
