import {
  Context,
  type Emitter,
  evalToken,
  evalTokenValue,
  type FilterImplOptions,
  ForTag,
  filters,
  Liquid,
  LiquidError,
  type Template,
  Token,
  Tokenizer,
  TokenKind,
  TypeGuards,
  toValue,
  toValueSync,
  type Variable,
} from 'liquidjs';
import { AppError } from '../lib/app-error.ts';
import { cleanText, inlineMarkdown, toPlainText } from '../lib/markdown/plain-text.ts';
import { cutLine, fenceAfter } from '../lib/text.ts';
import { parseTime } from '../lib/time.ts';
import { isRecord } from '../lib/validation.ts';

// Titles and bodies of drafts, in Liquid. The people of a team write the templates; the variables hold text from
// outside, which is never read as Liquid.

/** Longest title, in characters. */
const MAX_TITLE = 500;

/** The place of an error in a template. Both count from 1. */
export interface TemplatePlace {
  line: number;
  column: number;
}

/** A template that cannot be used. The message names the template, the line, the column and the problem. */
export class TemplateError extends AppError {
  constructor(message: string, place?: TemplatePlace, cause?: unknown) {
    super(400, message, { cause, ...(place && { details: { place } }) });
  }
}

/** The text that a template gives for `variables`. `name` begins the messages of `TemplateError`, such as `body`. */
export function renderTemplate(name: string, source: string, variables: Record<string, unknown>): string {
  return explained(name, source, () => render(liquid.parse(source), variables));
}

/** One well-formed line of at most 500 characters. Throws `TemplateError`, also when it comes out empty. */
export function renderTitle(source: string, variables: Record<string, unknown>): string {
  const title = cutLine(cleanText(renderTemplate('title', source, variables)), MAX_TITLE);
  if (title !== '') return title;
  throw new TemplateError(
    'title template: the title is empty; add fixed text, or a fallback with | default:',
  );
}

/** Markdown without the empty lines that tags leave behind. Throws `TemplateError`. */
export function renderBody(source: string, variables: Record<string, unknown>): string {
  return collapseBlankLines(renderTemplate('body', source, variables));
}

/**
 * Throws `TemplateError` for a template that is empty, does not parse, uses an unknown variable, filter or tag, also in
 * branches that are not taken, or fails with `known`: a whole example, in which null may have any part.
 */
export function checkTemplate(name: string, source: string, known: Record<string, unknown>): void {
  if (source.trim() === '')
    throw new TemplateError(`${name} template: it is empty; omit it to use the built-in one`);
  explained(name, source, () => {
    const templates = liquid.parse(source);
    const assigned = Object.keys(liquid.analyzeSync(templates).locals).map((local) => [local, null]);
    requireKnown(name, templates, { ...known, ...Object.fromEntries(assigned) });
    render(templates, known);
  });
}

function requireKnown(name: string, templates: Template[], known: Record<string, unknown>): void {
  for (const variable of Object.values(liquid.analyzeSync(templates).globals).flat()) {
    const problem = findUnknown(variable, known);
    const { row, col } = variable.location;
    if (problem !== null) throw templateError(name, problem, { line: row, column: col });
  }
  for (const template of templates) {
    const children = toValueSync(template.children?.(false, true) ?? []) as Template[];
    requireKnown(
      name,
      children,
      template instanceof ForTag ? { ...known, ...namesIn(template, known) } : known,
    );
  }
}

/** The names inside a loop. An element is like the first one of the example. */
function namesIn({ collection, variable }: ForTag, known: Record<string, unknown>) {
  const context = new Context(known, liquid.options, { sync: true });
  const list: unknown = TypeGuards.isPropertyAccessToken(collection)
    ? toValueSync(evalToken(collection, context))
    : null;
  return { forloop: null, [variable]: Array.isArray(list) ? (list[0] ?? null) : null };
}

function findUnknown(variable: Variable, known: Record<string, unknown>): string | null {
  let value: unknown = known;
  let path = '';
  for (const segment of variable.segments) {
    if (value === null || typeof segment === 'object') return null;
    const isPlace = typeof segment === 'number' || segment === 'first' || segment === 'last';
    if (Array.isArray(value) && isPlace) value = value[0] ?? null;
    else if (Object.hasOwn(Object(value), segment)) value = (value as Record<string, unknown>)[segment];
    else if (segment === 'size' && path !== '') value = 0;
    else {
      const parts = Array.isArray(value)
        ? ['first', 'last', 'size']
        : isRecord(value)
          ? Object.keys(value)
          : ['size'];
      const there = parts.map((part) => path + part).join(', ');
      return `there is no variable ${variable}. Choose from: ${cutLine(there, 300)}.`;
    }
    path += `${segment}.`;
  }
  return null;
}

/** Sentences for messages of LiquidJS that name no remedy. */
const explanations: Record<string, string> = {
  'parse length limit exceeded': 'it has more than 20,000 characters; shorten it',
  'template render limit exceeded': 'it takes longer than 500 milliseconds; use fewer loops or filters',
  'memory alloc limit exceeded': 'it uses too much memory; use fewer loops or filters',
  'Maximum call stack size exceeded.': 'it is nested too deeply; split it with assign',
};

/** Filters that begin like the given name; there are too many to list them all. */
function suggestFilters(name: string): string {
  const similar = Object.keys(liquid.filters).filter((each) => each.startsWith(name.slice(0, 2)));
  return similar.length === 0
    ? 'liquidjs.com/filters lists the filters'
    : `similar filters: ${similar.sort().join(', ')}`;
}

/** Runs `work`, whatever it throws becoming a `TemplateError`. */
function explained<Result>(name: string, source: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof TemplateError) throw error;
    const thrown = LiquidError.is(error) ? (error.originalError ?? error) : error;
    const said = String(thrown instanceof Error ? thrown.message : thrown).replace(
      /, line:\d+, col:\d+$/,
      '',
    );
    const [, filter] = /^undefined filter: (\w+)/.exec(said) ?? [];
    const unknown = filter === undefined ? '' : `; ${suggestFilters(filter)}`;
    const token = LiquidError.is(error) && error.token.input === source ? error.token : null;
    const [line, column] = token?.getPosition() ?? [];
    const place = line === undefined || column === undefined ? undefined : { line, column };
    throw templateError(name, `${explanations[said] ?? said}${unknown}`, place, error);
  }
}

function templateError(name: string, problem: string, place?: TemplatePlace, cause?: unknown) {
  const at = place === undefined ? '' : `, line ${place.line}, column ${place.column}`;
  return new TemplateError(`${name} template${at}: ${problem}`, place, cause);
}

/** Markdown with at most one empty line at a time, without white space around it. What is in fenced code stays. */
function collapseBlankLines(markdown: string): string {
  const lines: string[] = [];
  let fence = '';
  let isAfterBlank = false;
  for (const line of markdown.replaceAll(/\r\n?/g, '\n').split('\n')) {
    const isBlank = fence === '' && line.trim() === '';
    if (!isBlank) lines.push(line);
    else if (!isAfterBlank) lines.push('');
    isAfterBlank = isBlank;
    fence = fenceAfter(line, fence);
  }
  return lines.join('\n').trim();
}

// LiquidJS without files, and with its limits closed where a template could pass them.

/** Longest text that a template may write, in characters. */
const MAX_OUTPUT = 1_000_000;

const liquid = new Liquid({
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
function render(templates: Template[], variables: Record<string, unknown>): string {
  const context = new Context({ ...variables }, liquid.options, { sync: true }, { liquid });
  // Half a surrogate pair, which a filter may cut out of a text, cannot be stored.
  return String(toValueSync(renderer.renderTemplates(templates, context))).toWellFormed();
}
