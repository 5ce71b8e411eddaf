import { Context, type Emitter, type Liquid } from 'liquidjs';
import { isRecord } from '../../lib/validation.ts';
import { Problem } from './problem.ts';

/** Longest template, in characters. */
export const MAX_SOURCE = 20_000;
/** How deep blocks may stand in blocks. */
export const MAX_NESTING = 50;
/** Longest text that a template, or one filter in it, may give, in characters. */
const MAX_TEXT = 1_000_000;
/** Most things that a list made by a template may hold, with their parts and those of lists in it. */
export const MAX_ITEMS = 100_000;
/** Most characters that such a list may hold together: it may be written out in one step. */
const MAX_LIST_TEXT = 5_000_000;
/** How much text and how many things a render may make on the way, all filters together. */
const MAX_WORK = 20_000_000;
/** Most pieces of text, values, tags, filters and comparisons that a render may evaluate. */
const MAX_STEPS = 100_000;
/** Longest time of a render, in milliseconds. The other bounds are met first, except by heavy filters. */
const MAX_TIME_MS = 500;

/**
 * The variables of one render, and what it has used of its bounds. LiquidJS asks before each piece of a template,
 * and our filters and operators ask too, so that steps are counted the same on every machine. `now` is in milliseconds.
 */
export class BoundedContext extends Context {
  constructor(liquid: Liquid, variables: object, now: () => number) {
    super(variables, liquid.options, { sync: true }, { liquid });
    let steps = 0;
    let work = 0;
    const deadline = now() + MAX_TIME_MS;
    this.renderLimit.check = () => {
      steps += 1;
      if (steps > MAX_STEPS) throw new Problem(TOO_MANY_STEPS);
      if (now() > deadline) throw new Problem(TOO_SLOW);
    };
    this.memoryLimit.use = (amount) => {
      if (amount > 0) work += Number(amount);
      if (work > MAX_WORK) throw new Problem(TOO_MUCH_WORK);
    };
  }

  /** An index past the end is null: `changes.first` without changes is no mistake of the author's. */
  override readProperty(from: object, key: string | number): unknown {
    const value: unknown = super.readProperty(from, key);
    const isPlace = typeof key === 'number' || key === 'first' || key === 'last';
    if (value === undefined && isPlace && (Array.isArray(from) || typeof from === 'string')) return null;
    return value;
  }
}

const TOO_MANY_STEPS = `it takes more than ${number(MAX_STEPS)} steps: loop over fewer things, as with limit: 100`;
const TOO_SLOW = `it takes longer than ${MAX_TIME_MS} milliseconds: loop over fewer things, or use fewer filters`;
const TOO_MUCH_WORK = `it makes more than ${number(MAX_WORK)} characters on the way: use fewer filters on long texts`;
const TOO_LONG = `it gives more than ${number(MAX_TEXT)} characters: write less, as with the filter cut`;

/** Takes what is written, and stops when it is too much. LiquidJS's own has no bound. */
export class BoundedEmitter implements Emitter {
  buffer = '';

  constructor(private readonly context: Context) {}

  write(value: unknown): void {
    const text = toText(value);
    this.context.memoryLimit.use(text.length);
    if (this.buffer.length + text.length > MAX_TEXT) throw new Problem(TOO_LONG);
    this.buffer += text;
  }
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) {
    requireBounded(value);
    return value.map(toText).join('');
  }
  if (typeof value !== 'object') return String(value);
  throw new Problem('this is no text but something with parts: name the part, as in {{ release.name }}');
}

/** Throws `Problem` when what a filter gave is too large, or is no number where it should be. */
export function requireBounded(value: unknown, filter = ''): void {
  const subject = filter === '' ? 'this list' : `the filter ${filter}`;
  if (typeof value === 'string' && value.length > MAX_TEXT) {
    throw new Problem(`${subject} gives more than ${number(MAX_TEXT)} characters: use it on shorter texts`);
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new Problem(`${subject} gives no number here: see what it is given`);
  }
  if (!Array.isArray(value)) return;
  const { items, characters } = measure(value);
  if (items > MAX_ITEMS) {
    throw new Problem(`${subject} gives a list of more than ${number(MAX_ITEMS)} things: use it on less`);
  }
  if (characters > MAX_LIST_TEXT) {
    throw new Problem(
      `${subject} gives a list of more than ${number(MAX_LIST_TEXT)} characters: use it on less`,
    );
  }
}

/**
 * Counts every occurrence of an element: a list that holds itself twice, forty times over, is small in
 * memory and without end to write, compare or sort. Texts count where the list is written out, so not in things.
 */
function measure(list: unknown[]): { items: number; characters: number } {
  const left: { parts: unknown[]; isText: boolean }[] = [{ parts: list, isText: true }];
  let items = 0;
  let characters = 0;
  for (let next = left.pop(); next !== undefined && items <= MAX_ITEMS; next = left.pop()) {
    items += next.parts.length;
    if (items > MAX_ITEMS) break;
    for (const part of next.parts) {
      if (typeof part === 'string') characters += next.isText ? part.length : 0;
      else if (Array.isArray(part)) left.push({ parts: part, isText: next.isText });
      else if (isRecord(part)) left.push({ parts: Object.values(part), isText: false });
    }
  }
  return { items, characters };
}

/** `100,000`. */
export function number(value: number): string {
  return value.toLocaleString('en');
}
