import { LiquidError, type TagToken, type Token, TypeGuards } from 'liquidjs';
import { AppError } from '../../lib/app-error.ts';
import { cutLine } from '../../lib/text.ts';

/** A template that cannot be used. The message names the template, line, column, and the variable, filter or tag at fault, and says what to do. */
export class TemplateError extends AppError {
  constructor(message: string, cause?: unknown) {
    super(400, message, { cause });
  }
}

/** A problem in words for the author, with its place if known. Thrown inside the engine. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly at: Token | null = null,
  ) {
    super(message);
  }
}

/** Something from a template or a variable as a message can show it: one line, at most 60 characters. */
export function quote(text: string): string {
  return cutLine(text, 60);
}

/** `error`, whatever threw it, as one that an author can act on. `name` is what the message begins with. */
export function toTemplateError(name: string, source: string, error: unknown): TemplateError {
  if (error instanceof TemplateError) return error;
  const problem = toProblem(error);
  return new TemplateError(`${name} template${place(source, problem.at)}: ${problem.message}`, error);
}

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  // The stack is used up by brackets in brackets; blocks in blocks are counted before.
  const isDeep = error instanceof RangeError || /^Maximum call stack/.test(messageOf(error));
  if (!LiquidError.is(error)) {
    return new Problem(isDeep ? TOO_DEEP : `it cannot be rendered: ${quote(messageOf(error))}`);
  }
  const cause = error.originalError;
  if (cause instanceof Problem) return new Problem(cause.message, cause.at ?? error.token);
  if (isDeep) return new Problem(TOO_DEEP, error.token);
  const { message, at } = explainSyntax(cause?.message ?? error.message, error.token);
  return new Problem(message, at);
}

const TOO_DEEP = 'its brackets are nested too deeply; use assign to take it apart';

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Lines and columns count from 1, and columns in characters, not in halves of them. */
function place(source: string, at: Token | null): string {
  // A token may be of another text, such as an argument that a filter reads a path in.
  if (at === null || at.input !== source) return '';
  const before = source.slice(0, at.begin).split('\n');
  const column = Array.from(before.at(-1) ?? '').length + 1;
  return `, line ${before.length}, column ${column}`;
}

interface Explained {
  message: string;
  at: Token;
}

/** Beginnings of LiquidJS's parse errors, and plain sentences for them. */
const explanations: [start: RegExp, explain: (token: Token) => string][] = [
  [/^output .* not closed$/s, () => '{{ is not closed: end it with }}, and close every quote in it'],
  [/^raw .* not closed$/s, () => '{% raw %} is not closed: add {% endraw %}'],
  [/^tag \{%.* not closed$/s, (token) => notClosed(token)],
  [/^tag .* not closed$/s, () => '{% is not closed: end it with %}'],
  [/^(invalid value expression|unexpected token)/, () => 'a value is missing here, such as a variable'],
  [/^expected "\|" before filter$/, (token) => notUnderstood(token)],
  [
    /^expected filter name$/,
    () => 'the name of a filter is missing after |, or write or between two conditions',
  ],
  [/^expected ":" after/, () => 'after the name of a filter comes a colon, as in | cut: 120'],
  [
    /^unexpected character/,
    () => 'the values of a filter are separated by commas, as in | replace: "a", "b"',
  ],
  [/^\[ not closed$/, () => '[ is not closed: end it with ]'],
  [/^invalid range syntax$/, () => 'round brackets are only for ranges, such as (1..3)'],
  [/^illegal (liquid )?tag syntax/, () => 'a tag needs a name, as in {% if release.name %}'],
  [/^expected (variable name|"=")$/, () => 'assign is written as {% assign name = value %}'],
  [/^invalid capture name$/, () => 'capture is written as {% capture name %}'],
  [/^illegal tag: /, () => 'for is written as {% for change in changes %}'],
  [/^unexpected elsif/, () => 'elsif comes before else'],
  [/^duplicated else$/, () => 'there can be only one else'],
  [/^unexpected "/, () => 'else and end tags stand alone: leave out what follows their name'],
  [/^empty candidates/, () => 'cycle needs values, as in {% cycle "odd", "even" %}'],
  [/^every line of an inline comment/, () => 'every line of a {% # comment %} begins with #'],
];

/** The message for an author, and the place that it is about, of what LiquidJS says. */
function explainSyntax(said: string, token: Token): Explained {
  const message = said.replace(/, line:\d+, col:\d+$/, '');
  const found = explanations.find(([start]) => start.test(message));
  // LiquidJS points behind {% raw %}.
  const at = message.startsWith('raw ') ? openingOf(token) : token;
  return { message: found?.[1](token) ?? `it is not understood: ${message}`, at };
}

function notClosed(token: Token): string {
  const { name } = token as TagToken;
  return `{% ${name} %} is not closed: add {% end${name} %}`;
}

function notUnderstood(token: Token): string {
  const rest = token.input.slice(token.begin - 1, token.end).trimStart();
  const shown = /^\S{1,20}/.exec(rest)?.[0] ?? '';
  const instead = rest.startsWith('=')
    ? '=='
    : rest.startsWith('&')
      ? 'and'
      : rest.startsWith('|')
        ? 'or'
        : '';
  return `${shown} is not understood here${instead === '' ? '' : `: write ${instead}`}`;
}

function openingOf(token: Token): Token {
  if (TypeGuards.isTagToken(token)) return token;
  token.begin = Math.max(token.input.lastIndexOf('{%', token.begin - 1), 0);
  return token;
}

/** The candidate that a misspelt word most likely stands for, or null when none is close. Exact matches are no misspelling. */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length > 40) return null;
  let found: string | null = null;
  // One mistake in a short word, more in a long one.
  let best = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= best) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < best) [found, best] = [candidate, distance];
  }
  return found;
}

/** How many letters are added, left out, changed, or swapped with the next. Words here are short. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const current = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      current[j] = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [before, previous] = [previous, current];
  }
  return previous[to.length] ?? 0;
}

/** ` Did you mean release.name?`, or nothing. */
export function didYouMean(word: string | null): string {
  return word === null ? '' : ` Did you mean ${word}?`;
}
