import {
  filters as builtIn,
  type Context,
  type FilterImplOptions,
  type Token,
  toValue,
  UndefinedVariableError,
} from 'liquidjs';
import { cutLine } from '../../lib/text.ts';
import { parseTime } from '../../lib/time.ts';
import { inlineMarkdown, toPlainText } from '../../markdown/plain-text.ts';
import { requireBounded } from './limits.ts';
import { Problem, quote } from './problem.ts';

/** `this` of a LiquidJS filter. */
interface Call {
  context: Context;
  token: Token;
}

type Filter = (this: Call, value: unknown, ...args: unknown[]) => unknown;

/**
 * Those of LiquidJS's filters that give the same for the same on every machine, in time that grows with their input.
 * Left out: `sample` (random), `date_to_…` (the server's time zone), `…_exp` (templates in texts, which nothing
 * checks), `json` and `inspect` (lists in lists without end), `raw`, and those that decode (they fail on most texts).
 */
const harmless = `
  abs append array_to_sentence_string at_least at_most capitalize ceil compact concat default divided_by downcase
  escape escape_once find find_index first floor group_by has join last lstrip map minus modulo newline_to_br
  normalize_whitespace number_of_words plus pop prepend push reject remove remove_first remove_last replace
  replace_first replace_last reverse round rstrip shift size slice slugify sort sort_natural split squish strip
  strip_html strip_newlines sum times to_integer truncate truncatewords uniq unshift upcase where
`
  .trim()
  .split(/\s+/);

/** These look for their first argument in a text; with a long one that takes the product of both lengths. */
const searching = /^(split|remove|replace)/;
/** These read their first argument as a path into each thing, which could be a template's expression. */
const reading = new Set([
  'find',
  'find_index',
  'group_by',
  'has',
  'map',
  'reject',
  'sort',
  'sort_natural',
  'sum',
  'where',
]);

/** Longest text that is looked for in another, in characters. */
const MAX_PATTERN = 1000;

/** Every filter that a template may use, by name. */
export const filters: ReadonlyMap<string, FilterImplOptions> = new Map(
  [
    ...harmless.map((name) => [name, builtIn[name as keyof typeof builtIn] as Filter] as const),
    ['md', (value: unknown) => inlineMarkdown(text('md', value))] as const,
    ['plain', (value: unknown) => toPlainText(text('plain', value))] as const,
    ['date', (value: unknown, format: unknown) => formatDate(text('date', value), format)] as const,
    ['cut', (value: unknown, length: unknown) => cutAtWord(text('cut', value), length)] as const,
    ['url_encode', (value: unknown) => urlEncode(text('url_encode', value))] as const,
  ].map(([name, filter]) => [name, guarded(name, filter)] as const),
);

/** The filter within the bounds of the render: a step of its own, and a result that is not too large. */
function guarded(name: string, filter: Filter): FilterImplOptions {
  return function* (this: Call, value: unknown, ...args: unknown[]): Generator<unknown, unknown, unknown> {
    this.context.renderLimit.check(performance.now());
    try {
      requireUsable(name, args[0]);
      const result = yield filter.call(this, value, ...args);
      requireBounded(result, name);
      if (typeof result === 'string') this.context.memoryLimit.use(result.length);
      return result;
    } catch (error) {
      throw explain(name, error, this.token);
    }
  };
}

function requireUsable(name: string, argument: unknown): void {
  if (searching.test(name)) requirePattern(argument);
  if (!reading.has(name) || (argument === undefined && /^(sort|sum)/.test(name))) return;
  if (typeof argument !== 'string' || argument.length > 100 || !/^[\w-]+(\.[\w-]+)*$/.test(argument)) {
    throw new Problem(`the filter ${name} needs the name of a part, as in ${name}: "title"`);
  }
}

/** Throws `Problem` when the text to look for is so long that the search would take its time. */
export function requirePattern(pattern: unknown): void {
  if (typeof pattern === 'string' && pattern.length > MAX_PATTERN) {
    throw new Problem(
      `the text to look for may have at most ${MAX_PATTERN} characters, not ${pattern.length}`,
    );
  }
}

function explain(name: string, error: unknown, token: Token): Problem {
  if (error instanceof Problem) return new Problem(error.message, token);
  if (error instanceof UndefinedVariableError) {
    // The name comes from the filter's argument.
    const part = /^undefined variable: (\S+)/.exec(error.originalError?.message ?? '')?.[1] ?? '';
    return new Problem(`the filter ${name} finds no ${quote(part)} in what it is given`, token);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new Problem(`the filter ${name} does not work on what it is given (${quote(reason)})`, token);
}

/** A value that our own filters take: text, or what is written like it. Null is empty. */
function text(name: string, given: unknown): string {
  // Liquid's nil, blank and empty are objects until then.
  const value: unknown = toValue(given);
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return String(value);
  const instead = Array.isArray(value) ? 'use it on each thing of the list' : 'name one of its parts';
  throw new Problem(`the filter ${name} needs a text: ${instead}`);
}

/** One line of at most `length` characters, with `…` after the last whole word when there is more. */
function cutAtWord(value: string, length: unknown): string {
  if (typeof length !== 'number' || !Number.isInteger(length) || length < 1 || length > 1_000_000) {
    throw new Problem('the filter cut needs the most characters that there may be, as in cut: 120');
  }
  const line = cutLine(value, length);
  const whole = cutLine(value, Number.MAX_SAFE_INTEGER);
  if (line === whole || whole[line.length - 1] === ' ') return line;
  const space = line.lastIndexOf(' ');
  // A text without spaces, or with one long word at its end, is cut where it is.
  return space < length / 2 ? line : `${line.slice(0, space).trimEnd()}…`;
}

/** Half a surrogate pair has no encoding, and text from outside may have one. */
function urlEncode(value: string): string {
  return encodeURIComponent(value.toWellFormed()).replaceAll('%20', '+');
}

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

/** Directives of a format, as in Ruby and C, in UTC and English. */
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
function formatDate(text: string, format: unknown): string {
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
