import {
  Context,
  evalToken,
  ForTag,
  LiquidError,
  type Template,
  TypeGuards,
  toValueSync,
  type Variable,
} from 'liquidjs';
import { AppError } from '../lib/app-error.ts';
import { cleanText } from '../lib/markdown/plain-text.ts';
import { cutLine, fenceAfter } from '../lib/text.ts';
import { isRecord } from '../lib/validation.ts';
import { liquid, render } from './liquid.ts';

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
