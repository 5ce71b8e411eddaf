import {
  type Context,
  evalTokenValue,
  Filter,
  type FilteredValueToken,
  ForTag,
  type PropertyAccessToken,
  type RangeToken,
  type Template,
  type Token,
  TokenKind,
  TypeGuards,
  toValueSync,
  Value,
} from 'liquidjs';
import { cutLine } from '../../lib/text.ts';
import { isRecord } from '../../lib/validation.ts';
import { filters } from './filters.ts';
import { MAX_ITEMS, number } from './limits.ts';
import { didYouMean, nearest, Problem, quote } from './problem.ts';

/** The names that a template itself makes, with assign, capture and increment, wherever it does. */
export function assignedIn(templates: Template[]): string[] {
  return templates.flatMap((template) => [
    ...Array.from(template.localScope?.() ?? [], (token) => token.content),
    ...assignedIn(childrenOf(template)),
  ]);
}

/** Throws `Problem` for a variable that neither `known` nor the template has, in branches that are not taken too. */
export function requireKnown(templates: Template[], known: Record<string, unknown>): void {
  const assigned = Object.fromEntries(assignedIn(templates).map((name) => [name, ANYTHING]));
  visit(templates, { ...known, ...assigned });
}

function visit(templates: Template[], names: Record<string, unknown>): void {
  for (const template of templates) {
    for (const value of valuesOf(template)) {
      if (!TypeGuards.isPropertyAccessToken(value)) continue;
      const missing = findMissing(value, names);
      if (missing !== null) throw new Problem(missing, value);
    }
    visit(
      childrenOf(template),
      template instanceof ForTag ? { ...names, ...namesIn(template, names) } : names,
    );
  }
}

/** Names inside a loop: a sample of its elements. */
function namesIn({ variable, collection }: ForTag, names: Record<string, unknown>): Record<string, unknown> {
  const list = TypeGuards.isPropertyAccessToken(collection) ? sampleOf(collection, names) : ANYTHING;
  const item: unknown = Array.isArray(list) && list.length > 0 ? list[0] : ANYTHING;
  return { [variable]: item, forloop: FORLOOP };
}

/** Stands for a value that the source of a template does not tell. */
const ANYTHING = Symbol('anything');
const MISSING = Symbol('missing');

/** The properties of `forloop`. */
export const FORLOOP = {
  index: 1,
  index0: 0,
  rindex: 1,
  rindex0: 0,
  first: true,
  last: true,
  length: 1,
  name: '',
};

type Key = string | number | typeof ANYTHING;

/** `release.name` as its keys; a key that is itself read from a variable is ANYTHING. */
function keysOf(token: PropertyAccessToken): Key[] {
  return token.props.map((prop) => {
    const isGiven =
      TypeGuards.isWordToken(prop) || TypeGuards.isQuotedToken(prop) || TypeGuards.isNumberToken(prop);
    return isGiven ? prop.content : ANYTHING;
  });
}

/** The value that a path has among `names`: ANYTHING when that cannot be told, or is not there. */
function sampleOf(token: PropertyAccessToken, names: Record<string, unknown>): unknown {
  if (token.variable !== undefined) return ANYTHING;
  const [root = ANYTHING, ...keys] = keysOf(token);
  const value = keys.reduce<unknown>(step, own(names, root));
  return value === MISSING ? ANYTHING : value;
}

/** The problem of a path that `names` does not have; null when it has it. */
export function findMissing(token: PropertyAccessToken, names: Record<string, unknown>): string | null {
  if (token.variable !== undefined) return null;
  const advice = advise(keysOf(token), names);
  return advice && `there is no variable ${quote(token.getText().replaceAll(/\s+/g, ''))}.${advice}`;
}

/** The path that is nearest, or what there is where it ends; null when the path itself is there. */
function advise(keys: Key[], names: Record<string, unknown>): string | null {
  const meant: Key[] = [];
  let value: unknown = names;
  for (const key of keys) {
    const read = meant.length === 0 ? own : step;
    const isThere = read(value, key) !== MISSING;
    const near = isThere || typeof key !== 'string' ? key : nearest(key, partsOf(value));
    if (near === null || read(value, near) === MISSING) {
      if (Array.isArray(value)) return ` ${write(meant)} is a list: go over it with for.`;
      const paths = partsOf(value).map((part) => write([...meant, part]));
      return ` There is ${cutLine(paths.join(', '), 200)}.`;
    }
    meant.push(near);
    value = read(value, near);
  }
  return meant.every((key, index) => key === keys[index]) ? null : didYouMean(write(meant));
}

/** As LiquidJS reads a property, from a sample. */
function step(value: unknown, key: Key): unknown {
  // A null has every part: an author that is not known has no name.
  if (value === MISSING || value === ANYTHING || value === null) return value ?? ANYTHING;
  const found = own(value, key);
  if (found !== MISSING) return found;
  const isPlace = typeof key === 'number' || key === 'first' || key === 'last';
  if (Array.isArray(value) && isPlace) return value.length === 0 ? ANYTHING : value[0];
  if (typeof value === 'string' && typeof key === 'number') return '';
  return key === 'size' && ['object', 'string'].includes(typeof value) ? 0 : MISSING;
}

function own(value: unknown, key: Key): unknown {
  if (key === ANYTHING) return ANYTHING;
  const found = Object.hasOwn(Object(value), key) ? (value as Record<string, unknown>)[key] : undefined;
  return found === undefined ? MISSING : found;
}

function partsOf(value: unknown): string[] {
  if (Array.isArray(value)) return ['size', 'first', 'last'];
  return isRecord(value) ? Object.keys(value) : ['size'];
}

function write([root, ...keys]: Key[]): string {
  return keys.reduce<string>(
    (path, key) => path + (typeof key === 'string' && /^[\w-]+$/.test(key) ? `.${key}` : `[${String(key)}]`),
    String(root),
  );
}

/** The templates in a block: LiquidJS gives them as a generator, for those that would have to be read first. */
function childrenOf(template: Template): Template[] {
  return template.children === undefined ? [] : (toValueSync(template.children(false, true)) as Template[]);
}

/** Every value that a tag or an output reads, with those inside it: arguments, bounds of ranges, keys in brackets. */
function* valuesOf(template: Template): Generator<Value | Token> {
  for (const value of template.arguments?.() ?? []) yield* withInner(value);
}

function* withInner(value: Value | Token): Generator<Value | Token> {
  yield value;
  if (value instanceof Value || TypeGuards.isFilteredValueToken(value)) {
    for (const token of value.initial.postfix) yield* withInner(token);
    for (const { args } of value.filters) {
      for (const arg of args) {
        const token = Array.isArray(arg) ? arg[1] : arg;
        if (token !== undefined) yield* withInner(token);
      }
    }
  } else if (TypeGuards.isRangeToken(value)) {
    yield* withInner(value.lhs);
    yield* withInner(value.rhs);
  } else if (TypeGuards.isPropertyAccessToken(value)) {
    if (value.variable !== undefined) yield* withInner(value.variable);
    for (const prop of value.props) yield* withInner(prop);
  }
}

/** Checks what a template reads as far as its source tells, and bounds its ranges. Throws `Problem`. */
export function prepare(template: Template): void {
  // All of them first: a range is changed into something else.
  const values = [...valuesOf(template)];
  for (const value of values) {
    if (value instanceof Value || TypeGuards.isFilteredValueToken(value)) {
      for (const filter of value.filters) requireFilter(filter);
      requireOneValue(value, template.token);
    } else if (TypeGuards.isRangeToken(value)) boundRange(value);
  }
  for (const child of childrenOf(template)) prepare(child);
}

/** LiquidJS's `strictFilters` would do it too, without the place, and for `cycle` only when it is rendered. */
function requireFilter(filter: Filter | FilteredValueToken['filters'][number]): void {
  if (filters.has(filter.name)) return;
  // A private field to TypeScript, and the only one that tells where the filter stands.
  const at = filter instanceof Filter ? (Reflect.get(filter, 'token') as Token) : filter;
  const meant = nearest(filter.name, filters.keys());
  throw new Problem(`there is no filter ${quote(filter.name)}.${didYouMean(meant)}`, at);
}

/** LiquidJS takes `{{ a b }}` and `{% if a and %}`, and leaves out what does not fit. */
function requireOneValue({ initial }: Value | FilteredValueToken, at: Token): void {
  let values = 0;
  for (const token of initial.postfix) {
    const isOperator = TypeGuards.isOperatorToken(token);
    const takes = !isOperator ? 0 : token.operator === 'not' ? 1 : 2;
    if (values < takes) throw new Problem(`a value is missing next to ${quote(token.getText())}`, token);
    values += 1 - takes;
  }
  if (values === 1) return;
  const second = initial.postfix.filter((token) => !TypeGuards.isOperatorToken(token))[1];
  throw new Problem('two values stand here with nothing between them', second ?? at);
}

/**
 * A range as an expression of ours: LiquidJS's counts from 9007199254740992 for ever, as adding 1 to it changes
 * nothing, before it looks at any limit.
 */
function boundRange(range: RangeToken): void {
  const { lhs, rhs } = range;
  const evaluate = function* (context: Context): Generator<unknown, number[], unknown> {
    const from = Number(yield evalTokenValue(lhs, context));
    const to = Number(yield evalTokenValue(rhs, context));
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) {
      throw new Problem('a range goes from one whole number to another, such as (1..3)', range);
    }
    const length = Math.max(to - from + 1, 0);
    if (length > MAX_ITEMS) {
      throw new Problem(`this range has more than ${number(MAX_ITEMS)} numbers: make it shorter`, range);
    }
    context.memoryLimit.use(length);
    return Array.from({ length }, (_, index) => from + index);
  };
  Object.assign(range, {
    kind: TokenKind.FilteredValue,
    initial: { postfix: [lhs, rhs], evaluate },
    filters: [],
  });
}
