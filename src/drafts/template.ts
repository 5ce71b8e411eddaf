import { cutLine } from '../lib/text.ts';
import { cleanText } from '../markdown/plain-text.ts';
import { requireKnown } from './templates/check.ts';
import { compile, run } from './templates/engine.ts';
import { TemplateError, toTemplateError } from './templates/problem.ts';

// Titles and bodies of drafts, in Liquid. The people of a team write the templates; the variables hold text from
// outside, which is written as it is and never read as Liquid. `{% if release.name %}` is false for null but true
// for an empty text, as Liquid has it: `{% if release.name != blank %}` is false for both.

export { TemplateError };

/** Longest title, in characters. */
const MAX_TITLE = 500;

/**
 * The text that a template gives for `variables`, the same for the same. Variables that are null are empty. Throws
 * `TemplateError`, whose message begins with `name`, such as `body`. `now` is the clock of the time limit.
 */
export function renderTemplate(
  name: string,
  source: string,
  variables: Record<string, unknown>,
  now?: () => number,
): string {
  try {
    return run(compile(source), variables, now);
  } catch (error) {
    throw toTemplateError(name, source, error);
  }
}

/** A title: one well-formed line of at most 500 characters. Throws `TemplateError`, also when it comes out empty. */
export function renderTitle(source: string, variables: Record<string, unknown>): string {
  const title = cutLine(cleanText(renderTemplate('title', source, variables)), MAX_TITLE);
  if (title !== '') return title;
  throw new TemplateError(
    'title template: the title comes out empty; add words of your own, or | default: with something that is never empty',
  );
}

/** A body in Markdown, without the empty lines that tags leave behind. Throws `TemplateError`. */
export function renderBody(source: string, variables: Record<string, unknown>): string {
  return collapseBlankLines(renderTemplate('body', source, variables));
}

/**
 * Throws `TemplateError` for what is wrong with a template whatever it is rendered with, in branches that are not
 * taken too: it is empty, does not parse, is too long, uses a filter or tag that there is not, or reads a variable that `known`
 * has not. `known` is a whole example, in which each list has at least one thing; the template is rendered with it.
 */
export function checkTemplate(name: string, source: string, known: Record<string, unknown>): void {
  if (source.trim() === '')
    throw new TemplateError(`${name} template: it is empty; leave it out for the built-in one`);
  try {
    const compiled = compile(source);
    requireKnown(compiled.templates, known);
    run(compiled, known);
  } catch (error) {
    throw toTemplateError(name, source, error);
  }
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

/** The fence that is open after a line: its characters, such as three backticks, or nothing. */
function fenceAfter(line: string, open: string): string {
  // In lists and quotes too. Code that only looks like a fence costs nothing but empty lines that stay.
  const start = /^[\s>*+-]*(?:\d{1,9}[.)])?\s*/.exec(line)?.[0].length ?? 0;
  const char = line[start];
  if (char !== '`' && char !== '~') return open;
  let end = start;
  while (line[end] === char) end += 1;
  const fence = line.slice(start, end);
  const rest = line.slice(end);
  if (open !== '') return fence.startsWith(open) && rest.trim() === '' ? '' : open;
  const isFence = fence.length >= 3 && !(char === '`' && rest.includes('`'));
  return isFence ? fence : '';
}
