import {
  type Context,
  defaultOperators,
  Liquid,
  type PropertyAccessToken,
  type Template,
  toValueSync,
  UndefinedVariableError,
} from 'liquidjs';
import { assignedIn } from './check.ts';
import { filters, requirePattern } from './filters.ts';
import { BoundedContext, BoundedEmitter, MAX_SOURCE, number } from './limits.ts';
import { Problem, quote } from './problem.ts';
import { BoundedParser, registerTags } from './tags.ts';
import { prepare } from './values.ts';
import { FORLOOP, findMissing } from './variables.ts';

const liquid = createEngine();

/** Most templates that are kept compiled. */
const MAX_COMPILED = 200;
const compiled = new Map<string, Compiled>();

export interface Compiled {
  templates: Template[];
  /** Names that the template makes itself. They are null until then. */
  assigned: string[];
}

function createEngine(): Liquid {
  const engine = new Liquid({
    // No file system: what there is to read is in this object.
    templates: {},
    greedy: false,
    ownPropertyOnly: true,
    strictVariables: true,
    parseLimit: MAX_SOURCE,
    operators: boundedOperators(),
  });
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
  for (const [name, filter] of filters) engine.registerFilter(name, filter);
  registerTags(engine);
  return engine;
}

/** A tag can hold a thousand comparisons, and LiquidJS looks at its limits once for each tag. */
function boundedOperators(): typeof defaultOperators {
  const operators = Object.entries(defaultOperators).map(([name, operator]) => {
    const bounded = (...operands: [unknown, unknown, Context]) => {
      const context = (name === 'not' ? operands[1] : operands[2]) as Context;
      context.renderLimit.check(performance.now());
      if (name === 'contains') requirePattern(operands[1]);
      return operator(...operands);
    };
    return [name, bounded] as const;
  });
  return Object.fromEntries(operators);
}

/** The template ready to render. Throws `Problem`, or an error of LiquidJS. Those used last are kept. */
export function compile(source: string): Compiled {
  if (source.length > MAX_SOURCE) {
    const [has, most] = [number(source.length), number(MAX_SOURCE)];
    throw new Problem(`it has ${has} characters, and at most ${most} are allowed: make it shorter`);
  }
  const known = compiled.get(source);
  const result = known ?? parse(source);
  compiled.delete(source);
  compiled.set(source, result);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return result;
}

function parse(source: string): Compiled {
  const templates = new BoundedParser(liquid).parse(source);
  for (const template of templates) prepare(template);
  return { templates, assigned: assignedIn(templates) };
}

/** Renders once, with variables that the template cannot change. Throws `Problem`, or an error of LiquidJS. */
export function run(
  { templates, assigned }: Compiled,
  variables: Record<string, unknown>,
  now = () => performance.now(),
): string {
  // LiquidJS's increment writes into the object that it is given.
  const names: Record<string, unknown> = Object.create(null);
  for (const name of assigned) names[name] = null;
  Object.assign(names, variables);
  const context = new BoundedContext(liquid, names, now);
  const emitter = new BoundedEmitter(context);
  try {
    toValueSync(liquid.renderer.renderTemplates(templates, context, emitter));
  } catch (error) {
    throw error instanceof UndefinedVariableError ? explainMissing(error, context) : error;
  }
  // Half a surrogate pair, which a filter may have cut out of a text, cannot be stored.
  return emitter.buffer.toWellFormed();
}

/** The names that were there when rendering stopped are still in the context. */
function explainMissing(error: UndefinedVariableError, context: Context): Error {
  const names = context.getAll() as Record<string, unknown>;
  if ('forloop' in names) names.forloop = FORLOOP;
  const missing = findMissing(error.token as PropertyAccessToken, names);
  // A key that is itself read from a variable is known only now.
  const path = error.originalError?.message.replace('undefined variable: ', '') ?? '';
  return new Problem(missing ?? `there is no variable ${quote(path)}.`, error.token);
}
