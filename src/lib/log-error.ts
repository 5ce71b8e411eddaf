import { withoutControls } from './controls.ts';

/** How much is told of an error's text, in characters, and of how many causes. */
const MAX_LENGTH = 8_000;
const MAX_CAUSES = 5;

/** Ours, and those of whom we talk to. What is told of a key is enough to find it by. */
const SECRETS: [pattern: RegExp, replacement: string][] = [
  [/\b(tdk_\w{4})\w+/g, '$1…'],
  [/\b(bearer|basic)\s+[^\s"',;]+/gi, '$1 …'],
  [/([?&](?:token|key|secret|password|code)=)[^&\s"']+/gi, '$1…'],
  [/\bsha256=[0-9a-f]{8,}/gi, 'sha256=…'],
  [/\b(gh[a-z]_|[a-z]+_pat_|lin_[a-z]+_|unkey_)\w+/g, '$1…'],
  [/\b(tidings_[a-z]+=)[^;\s"']+/g, '$1…'],
];

/** What the log tells of an error. */
export interface DescribedError {
  type: string;
  message: string;
  stack?: string;
  code?: string;
  status?: number;
  cause?: DescribedError;
}

/**
 * An error for the log: only what is named here. The errors of libraries carry requests, headers and whole bodies as
 * properties of theirs, which would all be written down.
 */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: clean(String(error)) };
  const described: DescribedError = { type: error.constructor.name, message: clean(error.message) };
  if (error.stack !== undefined) described.stack = clean(error.stack);
  if ('code' in error && ['string', 'number'].includes(typeof error.code)) {
    described.code = clean(String(error.code));
  }
  const status = 'status' in error ? error.status : 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number') described.status = status;
  if (error.cause !== undefined && depth < MAX_CAUSES)
    described.cause = describeError(error.cause, depth + 1);
  return described;
}

function clean(text: string): string {
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return withoutSecrets(withoutControls(short));
}

/** The text without what looks like a key, a token or a signature. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((told, [pattern, replacement]) => told.replaceAll(pattern, replacement), text);
}
