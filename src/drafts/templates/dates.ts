import { parseTime } from '../../lib/time.ts';
import { Problem, quote } from './problem.ts';

const months = 'January February March April May June July August September October November December'.split(
  ' ',
);
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** Longest format, in characters. */
const MAX_FORMAT = 100;

interface Directive {
  value: (time: Date) => number | string;
  /** Numbers are filled up to this many characters, with 0 unless `fill` says otherwise. */
  width?: number;
  fill?: ' ';
}

const hour12 = (time: Date) => time.getUTCHours() % 12 || 12;

/** What a format may say, as in Ruby and C, all in UTC and in English. */
const directives = new Map<string, Directive>([
  ['Y', { value: (time) => time.getUTCFullYear(), width: 4 }],
  ['y', { value: (time) => time.getUTCFullYear() % 100, width: 2 }],
  ['m', { value: (time) => time.getUTCMonth() + 1, width: 2 }],
  ['B', { value: (time) => months[time.getUTCMonth()] ?? '' }],
  ['b', { value: (time) => (months[time.getUTCMonth()] ?? '').slice(0, 3) }],
  ['d', { value: (time) => time.getUTCDate(), width: 2 }],
  ['e', { value: (time) => time.getUTCDate(), width: 2, fill: ' ' }],
  ['j', { value: dayOfYear, width: 3 }],
  ['A', { value: (time) => days[time.getUTCDay()] ?? '' }],
  ['a', { value: (time) => (days[time.getUTCDay()] ?? '').slice(0, 3) }],
  ['u', { value: (time) => time.getUTCDay() || 7 }],
  ['H', { value: (time) => time.getUTCHours(), width: 2 }],
  ['I', { value: hour12, width: 2 }],
  ['l', { value: hour12, width: 2, fill: ' ' }],
  ['M', { value: (time) => time.getUTCMinutes(), width: 2 }],
  ['S', { value: (time) => time.getUTCSeconds(), width: 2 }],
  ['p', { value: (time) => (time.getUTCHours() < 12 ? 'AM' : 'PM') }],
  ['P', { value: (time) => (time.getUTCHours() < 12 ? 'am' : 'pm') }],
  ['F', { value: (time) => time.toISOString().slice(0, 10) }],
  ['T', { value: (time) => time.toISOString().slice(11, 19) }],
  ['s', { value: (time) => Math.floor(time.getTime() / 1000) }],
  ['z', { value: () => '+0000' }],
  ['Z', { value: () => 'UTC' }],
  ['%', { value: () => '%' }],
]);

/**
 * A time in ISO 8601 as `format` says (`%B %-d, %Y`), in UTC and English wherever the server stands. Text that is no
 * time stays as it is. Throws `Problem` for the time of rendering, and for a format that there is not.
 */
export function formatDate(text: string, format: unknown): string {
  if (typeof format !== 'string' || format === '') {
    throw new Problem('the filter date needs a format, as in date: "%B %-d, %Y"');
  }
  if (format.length > MAX_FORMAT) {
    throw new Problem(`the format of the filter date may have at most ${MAX_FORMAT} characters`);
  }
  if (/^(now|today)$/i.test(text)) {
    throw new Problem(
      `the filter date does not know ${text}, so that a draft is always the same: use a variable of what was shipped`,
    );
  }
  const time = parseTime(text);
  if (time === null) return text;
  return format.replaceAll(/%([-_0^]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
    const directive = directives.get(letter);
    if (directive !== undefined) return write(directive, flag, time);
    const known = Array.from(directives.keys(), (name) => `%${name}`).join(' ');
    throw new Problem(`the filter date does not know ${quote(whole)}; it knows ${known}`);
  });
}

function write({ value, width = 0, fill }: Directive, flag: string, time: Date): string {
  const text = String(value(time));
  if (flag === '-') return text;
  if (flag === '^') return text.toUpperCase();
  const filler = flag === '_' ? ' ' : flag === '0' ? '0' : (fill ?? '0');
  return text.padStart(width, filler);
}

function dayOfYear(time: Date): number {
  const start = Date.UTC(time.getUTCFullYear(), 0, 1);
  return Math.floor((time.getTime() - start) / 86_400_000) + 1;
}
