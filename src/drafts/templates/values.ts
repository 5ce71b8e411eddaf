import {
  type Context,
  evalTokenValue,
  Filter,
  type FilteredValueToken,
  type RangeToken,
  type Template,
  type Token,
  TokenKind,
  TypeGuards,
  toValueSync,
  Value,
} from 'liquidjs';
import { filters } from './filters.ts';
import { MAX_ITEMS, number } from './limits.ts';
import { didYouMean, nearest } from './nearest.ts';
import { Problem, quote } from './problem.ts';

/** The templates in a block: LiquidJS gives them as a generator, for those that would have to be read first. */
export function childrenOf(template: Template): Template[] {
  return template.children === undefined ? [] : (toValueSync(template.children(false, true)) as Template[]);
}

/** Every value that a tag or an output reads, with those inside it: arguments, bounds of ranges, keys in brackets. */
export function* valuesOf(template: Template): Generator<Value | Token> {
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
