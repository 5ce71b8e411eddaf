import {
  CaptureTag,
  CaseTag,
  type Context,
  defaultOperators,
  type Emitter,
  evalToken,
  Liquid,
  Parser,
  type PropertyAccessToken,
  Tag,
  type TagToken,
  type Template,
  type TopLevelToken,
  TypeGuards,
  toValueSync,
  UndefinedVariableError,
} from 'liquidjs';
import { assignedIn, FORLOOP, findMissing, prepare } from './check.ts';
import { filters, requirePattern } from './filters.ts';
import { BoundedContext, BoundedEmitter, MAX_NESTING, MAX_SOURCE, number } from './limits.ts';
import { didYouMean, nearest, Problem, quote } from './problem.ts';

/** Tags that would read another file. */
const refused = ['include', 'render', 'layout', 'block'];
/** Parts of a block, and the tags that they belong to. */
const parts = new Map([
  ['else', ['if', 'unless', 'case', 'for']],
  ['elsif', ['if', 'unless']],
  ['when', ['case']],
]);
const blocks = ['if', 'unless', 'case', 'for', 'capture', 'comment', 'raw'];

/** LiquidJS's would collect what it captures without a bound. */
class BoundedCaptureTag extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const text = yield this.liquid.renderer.renderTemplates(
      this.templates,
      context,
      new BoundedEmitter(context),
    );
    context.bottom()[this.variable] = text;
  }
}

/** LiquidJS's would compare with a thousand lists before it looks at a limit. */
class BoundedCaseTag extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    const target = yield this.value.value(context);
    let isMatched = false;
    for (const { values, templates } of this.branches) {
      for (const token of values) {
        const value = yield evalToken(token, context);
        if (!(yield context.opts.operators['==']?.(target, value, context))) continue;
        yield this.liquid.renderer.renderTemplates(templates, context, emitter);
        isMatched = true;
        break;
      }
    }
    if (!isMatched) yield this.liquid.renderer.renderTemplates(this.elseTemplates, context, emitter);
  }
}

class RefusedTag extends Tag {
  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
    super(token, remaining, liquid);
    throw new Problem(
      `the tag ${token.name} is refused, as templates stand alone: write its text here`,
      token,
    );
  }

  override render(): void {
    throw new Problem(`the tag ${this.name} is refused`);
  }
}

/** Sets the tags of an engine: none that reads a file, none that writes HTML, and bounded ones. */
function registerTags(liquid: Liquid): void {
  for (const name of refused) liquid.registerTag(name, RefusedTag);
  liquid.registerTag('capture', BoundedCaptureTag);
  liquid.registerTag('case', BoundedCaseTag);
  delete liquid.tags.tablerow;
}

/** Refuses blocks that are too deep in each other for the stack, and knows which are open when a tag is unknown. */
class BoundedParser extends Parser {
  private readonly engine: Liquid;
  private readonly open: TagToken[] = [];

  constructor(liquid: Liquid) {
    super(liquid);
    this.engine = liquid;
  }

  override parseToken(token: TopLevelToken, remaining: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    if (!TypeGuards.isTagToken(token)) return super.parseToken(token, remaining);
    if (this.engine.tags[token.name] === undefined) throw unknownTag(token, this.open, this.engine);
    if (this.open.length >= MAX_NESTING) {
      throw new Problem(`blocks are nested more than ${MAX_NESTING} deep: take them apart`, token);
    }
    this.open.push(token);
    const template = super.parseToken(token, remaining);
    this.open.pop();
    return template;
  }
}

function unknownTag(token: TagToken, open: TagToken[], liquid: Liquid): Problem {
  const { name } = token;
  const owners = parts.get(name) ?? blocks.filter((block) => `end${block}` === name);
  const names = owners.map((owner) => `{% ${owner} %}`).join(' or ');
  const within = open.at(-1);
  if (owners.length === 0) {
    const known = [...Object.keys(liquid.tags), ...parts.keys(), ...blocks.map((block) => `end${block}`)];
    const meant = nearest(
      name,
      known.filter((tag) => !refused.includes(tag)),
    );
    return new Problem(`there is no tag ${quote(name)}.${didYouMean(meant)}`, token);
  }
  if (within === undefined) return new Problem(`{% ${name} %} has no ${names} before it`, token);
  const [line] = within.getPosition();
  return new Problem(
    `{% ${name} %} does not belong to {% ${within.name} %} of line ${line}: add {% end${within.name} %} before it`,
    token,
  );
}

const liquid = createEngine();

/** Most templates that are kept compiled. */
const MAX_COMPILED = 200;
const compiled = new Map<string, Compiled>();

interface Compiled {
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
