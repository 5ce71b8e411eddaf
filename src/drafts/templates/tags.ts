import {
  CaptureTag,
  CaseTag,
  type Context,
  type Emitter,
  evalToken,
  type Liquid,
  Parser,
  Tag,
  type TagToken,
  type TopLevelToken,
  TypeGuards,
} from 'liquidjs';
import { BoundedEmitter, MAX_NESTING } from './limits.ts';
import { didYouMean, nearest } from './nearest.ts';
import { Problem, quote } from './problem.ts';

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
export function registerTags(liquid: Liquid): void {
  for (const name of refused) liquid.registerTag(name, RefusedTag);
  liquid.registerTag('capture', BoundedCaptureTag);
  liquid.registerTag('case', BoundedCaseTag);
  delete liquid.tags.tablerow;
}

/** Refuses blocks that are too deep in each other for the stack, and knows which are open when a tag is unknown. */
export class BoundedParser extends Parser {
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
