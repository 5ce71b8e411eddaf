import {
  Context,
  type Emitter,
  evalTokenValue,
  type FilterImplOptions,
  filters,
  Liquid,
  type Template,
  Token,
  Tokenizer,
  TokenKind,
  TypeGuards,
  toValue,
  toValueSync,
} from 'liquidjs';
import { inlineMarkdown, toPlainText } from '../lib/markdown/plain-text.ts';
import { cutLine } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';

// LiquidJS without files, and with its limits closed where a template could pass them.

/** Longest text that a template may write, in characters. */
const MAX_OUTPUT = 1_000_000;

export const liquid = new Liquid({
  templates: {},
  greedy: false,
  strictFilters: true,
  ownPropertyOnly: true,
  parseLimit: 20_000,
  /** In milliseconds. */
  renderLimit: 500,
  /** In characters and list items, all filters and output together. */
  memoryLimit: 5_000_000,
});

type Memory = Context['memoryLimit'];
type Filter = (this: { context: Context }, value: unknown, ...args: unknown[]) => unknown;

const own: Record<string, Filter> = {
  md: (value) => inlineMarkdown(textOf(value)),
  plain: (value) => toPlainText(textOf(value)),
  cut: (value, length) => cutAtWord(textOf(value), Number(length)),
  date: formatDate,
};

/** Chance, and the server's time zone. */
const refused = /^(sample|date_to_.*)$/;
/** Search backwards, which takes up to the product of two lengths, in one step that no limit ends. */
const costly = /^(remove|replace)_last$/;
/** Characters that a search compares in the time of one that a filter writes. */
const COMPARED_AT_ONCE = 100;

for (const [name, filter] of Object.entries({ ...filters, ...own })) {
  if (refused.test(name)) liquid.unregisterFilter(name);
  else if (typeof filter === 'function') liquid.registerFilter(name, bounded(name, filter as Filter));
}
for (const name of ['include', 'render', 'layout', 'block']) delete liquid.tags[name];

function bounded(name: string, filter: Filter): FilterImplOptions {
  return function* (this: { context: Context }, value: unknown, ...args: unknown[]) {
    const { memoryLimit } = this.context;
    if (costly.test(name)) {
      memoryLimit.use((textOf(value).length * textOf(args[0]).length) / COMPARED_AT_ONCE);
    }
    const result: unknown = yield filter.call(this, value, ...args);
    if (typeof result === 'number' && !Number.isFinite(result)) {
      throw new Error(`the result of ${name} is not a number`);
    }
    charge(memoryLimit, result);
    return result;
  };
}

/** Counts what a list would write: LiquidJS counts its items alone, and a list may hold another one many times. */
function charge(memory: Memory, value: unknown): void {
  if (typeof value !== 'string' && !Array.isArray(value)) return;
  memory.use(value.length);
  if (typeof value !== 'string') for (const each of value) charge(memory, each);
}

/** Throws for an object, which Liquid would write as `[object Object]`. */
function textOf(value: unknown): string {
  const parts: unknown[] = [toValue(value)].flat(Number.POSITIVE_INFINITY);
  if (parts.some((part) => part !== null && typeof part === 'object'))
    throw new Error("an object can't be written; choose one of its properties");
  return parts.join('');
}

/** One line of at most `length` characters, with `…` after the last whole word when there is more. */
function cutAtWord(value: string, length: number): string {
  if (!(length >= 1)) throw new Error('cut needs a number of characters, such as cut: 120');
  const line = cutLine(value, length);
  const whole = cutLine(value, Number.MAX_SAFE_INTEGER);
  if (line === whole || whole[line.length - 1] === ' ') return line;
  const space = line.lastIndexOf(' ');
  // Cut a text without spaces, or with one long word at its end, within the word.
  return space < length / 2 ? line : `${line.slice(0, space).trimEnd()}…`;
}

const iso = (from: number, to: number) => (time: Date) => time.toISOString().slice(from, to);
const word = (options: Intl.DateTimeFormatOptions) => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options });
  return (time: Date) => format.format(time);
};
const hour12 = (time: Date) => String(time.getUTCHours() % 12 || 12);

const directives: Record<string, (time: Date) => string> = {
  Y: iso(0, 4),
  y: iso(2, 4),
  m: iso(5, 7),
  d: iso(8, 10),
  e: (time) => String(time.getUTCDate()).padStart(2),
  H: iso(11, 13),
  I: (time) => hour12(time).padStart(2, '0'),
  l: (time) => hour12(time).padStart(2),
  p: (time) => (time.getUTCHours() < 12 ? 'AM' : 'PM'),
  M: iso(14, 16),
  S: iso(17, 19),
  F: iso(0, 10),
  T: iso(11, 19),
  B: word({ month: 'long' }),
  b: word({ month: 'short' }),
  A: word({ weekday: 'long' }),
  a: word({ weekday: 'short' }),
  j: (time) =>
    String(1 + Math.floor((time.getTime() - Date.UTC(time.getUTCFullYear())) / 86_400_000)).padStart(3, '0'),
  u: (time) => String(time.getUTCDay() || 7),
  P: (time) => (time.getUTCHours() < 12 ? 'am' : 'pm'),
  s: (time) => String(Math.floor(time.getTime() / 1000)),
  Z: () => 'UTC',
  z: () => '+0000',
  '%': () => '%',
};

/**
 * `%B %-d, %Y`, in UTC: LiquidJS is an hour off around a change of the server's clocks. Leaves a text that is no time,
 * such as `now`.
 */
function formatDate(value: unknown, format: unknown): unknown {
  if (typeof format !== 'string') throw new Error('date needs a format, such as date: "%B %-d, %Y"');
  const time = parseTime(textOf(value));
  if (time === null) return value;
  return format.replaceAll(/%([-_0^]?)([a-zA-Z%])/g, (whole, flag: string, letter: string) => {
    const text = directives[letter]?.(time) ?? whole;
    if (flag === '-') return text.replace(/^[0 ]+(?=\d)/, '');
    if (flag === '_') return text.replace(/^0+(?=\d)/, (zeros) => ' '.repeat(zeros.length));
    if (flag === '0') return text.replace(/^ +/, (spaces) => '0'.repeat(spaces.length));
    return flag === '^' ? text.toUpperCase() : text;
  });
}

/** LiquidJS's own has no limit. */
class BoundedEmitter implements Emitter {
  buffer = '';

  constructor(private readonly memory: Memory) {}

  write(value: unknown): void {
    charge(this.memory, value);
    this.buffer += textOf(value);
    if (this.buffer.length > MAX_OUTPUT) throw new Error('it writes more than 1,000,000 characters');
  }
}

const { renderer } = liquid;
const renderTemplates = renderer.renderTemplates.bind(renderer);
/** Tags such as `capture` render into an emitter of their own. */
renderer.renderTemplates = (templates, context, emitter = new BoundedEmitter(context.memoryLimit)) =>
  renderTemplates(templates, context, emitter);

const { readGroupOrRange } = Tokenizer.prototype;
/** LiquidJS would count from 2^53 forever, because adding 1 changes nothing there. */
Tokenizer.prototype.readGroupOrRange = function () {
  const range = readGroupOrRange.call(this);
  if (!TypeGuards.isRangeToken(range)) return range;
  const { lhs, rhs } = range;
  function* evaluate(context: Context): Generator<unknown, number[], unknown> {
    const from = Number(yield evalTokenValue(lhs, context));
    const to = Number(yield evalTokenValue(rhs, context));
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) {
      throw new Error('a range needs two whole numbers, such as (1..3)');
    }
    const length = Math.max(to - from + 1, 0);
    context.memoryLimit.use(length);
    return Array.from({ length }, (_, index) => from + index);
  }
  const initial = { postfix: [lhs, rhs], evaluate };
  return Object.assign(range, { kind: TokenKind.FilteredValue, initial, filters: [] });
};

let place = { input: '', at: 0, row: 1, column: 1 };
/** LiquidJS would count from the beginning for each variable. Most are asked for in their order. */
Token.prototype.getPosition = function () {
  const { input, begin } = this;
  if (input !== place.input || begin < place.at) place = { input, at: 0, row: 1, column: 1 };
  for (; place.at < begin; place.at++) {
    const isLineEnd = input[place.at] === '\n';
    place.row += isLineEnd ? 1 : 0;
    place.column = isLineEnd ? 1 : place.column + 1;
  }
  return [place.row, place.column];
};

/** Renders with variables that the template cannot change. Throws an error of LiquidJS. */
export function render(templates: Template[], variables: Record<string, unknown>): string {
  const context = new Context({ ...variables }, liquid.options, { sync: true }, { liquid });
  // Half a surrogate pair, which a filter may cut out of a text, cannot be stored.
  return String(toValueSync(renderer.renderTemplates(templates, context))).toWellFormed();
}
