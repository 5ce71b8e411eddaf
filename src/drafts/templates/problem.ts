import { LiquidError, type Token } from 'liquidjs';
import { AppError } from '../../lib/app-error.ts';
import { cutLine } from '../../lib/text.ts';
import { explainSyntax } from './syntax.ts';

/** A template that cannot be used. The message names the template, line, column, and the variable, filter or tag at fault, and says what to do. */
export class TemplateError extends AppError {
  constructor(message: string, cause?: unknown) {
    super(400, message, { cause });
  }
}

/** What is wrong, in words for the author, and where if that is known. Thrown inside the engine. */
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
