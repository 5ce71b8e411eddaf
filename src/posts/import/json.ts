import { findNodeAtLocation, type ParseErrorCode, parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import { AppError } from '../../lib/app-error.ts';
import { depthOf, endOfString, skipSpace } from '../../lib/json.ts';
import { turns } from '../../lib/time.ts';
import { isRecord } from '../../lib/validation.ts';
import {
  countLines,
  importError,
  MAX_PROBLEMS,
  type ParsedFile,
  type RawRecord,
  type SourceFile,
} from './files.ts';

// JSON and JSON Lines files of posts, read post by post. Each is weighed before it is parsed: a million tiny values in one
// would hold up others.

/** Brackets, commas and colons of a post. The largest metadata has 16,384 characters. */
const MAX_MARKS = 20_000;
const MAX_DEPTH = 100;

/** The line of a problem is looked for in so many characters of a post. */
const MAX_LOCATED = 250_000;

/** A value without the white space around it. */
interface Value {
  text: string;
  /** The line of its beginning, counted from 1. */
  line: number;
  /** It is a whole line. */
  isLine?: true;
}

/** Reads a JSON array of posts. Lets others in while it reads, and stops at the first post after `maxPosts`. */
export function parseJson(file: SourceFile, maxPosts: number): Promise<ParsedFile> {
  return readValues(file, elementsOf(file), maxPosts);
}

/** Reads a JSON object from each line that is not empty, in the same way. */
export function parseJsonLines(file: SourceFile, maxPosts: number): Promise<ParsedFile> {
  return readValues(file, linesOf(file.text), maxPosts);
}

async function readValues(file: SourceFile, values: Iterator<Value>, maxPosts: number): Promise<ParsedFile> {
  const turn = turns();
  const toRecord = recordReader(file);
  const records: RawRecord[] = [];
  const problems: AppError[] = [];
  while (problems.length < MAX_PROBLEMS && records.length <= maxPosts) {
    await turn();
    try {
      const { value, done } = values.next();
      if (done) break;
      records.push(toRecord(value));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      problems.push(error);
    }
  }
  separateTwins(records);
  return { records, skipped: [], problems };
}

/** Checks records. Their keys are their titles. */
function recordReader(file: SourceFile) {
  return (value: Value): RawRecord => {
    const fields = read(file, value);
    if (!isRecord(fields)) throw importError(file, value.line, 'must be a post, as a JSON object');
    const key = typeof fields.title === 'string' ? fields.title : '';
    return { fields, key, lineOf: (field) => lineOfField(value, field) };
  };
}

/**
 * Tells records of one title apart, so that each keeps its key when newer ones are added: the oldest has the title, others
 * have their date too. Without dates, the last of the file is the oldest.
 */
function separateTwins(records: readonly RawRecord[]): void {
  for (const twins of Map.groupBy(records.toReversed(), ({ key }) => key).values()) {
    if (twins.length === 1) continue;
    const times = new Map(twins.map((each) => [each, timeOf(each)]));
    const isDated = [...times.values()].every((time) => !Number.isNaN(time));
    const oldestFirst = isDated
      ? twins.sort((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0))
      : twins;
    const seen = new Map<string, number>();
    for (const [index, twin] of oldestFirst.entries()) {
      const date = isDated && index > 0 ? ` ${new Date(times.get(twin) ?? 0).toISOString()}` : '';
      const count = (seen.get(date) ?? 0) + 1;
      seen.set(date, count);
      twin.key += count === 1 ? date : `${date} ${count}`;
    }
  }
}

const timeOf = ({ fields: { createdAt } }: RawRecord) =>
  typeof createdAt === 'string' ? Date.parse(createdAt) : Number.NaN;

function* linesOf(text: string): Generator<Value> {
  let line = 1;
  for (let begin = 0, end = 0; begin < text.length; begin = end) {
    begin = skipSpace(text, end);
    line += countLines(text, end, begin);
    end = text.indexOf('\n', begin);
    if (end === -1) end = text.length;
    if (begin < end) yield { text: text.slice(begin, end).trimEnd(), line, isLine: true };
  }
}

/** Divides an array at its commas, whatever is between them. Throws `AppError` 400 for what is around them. */
function* elementsOf(file: SourceFile): Generator<Value> {
  const { text } = file;
  const start = skipSpace(text, 0);
  let line = 1 + countLines(text, 0, start);
  if (text[start] !== '[') {
    read(file, { text, line: 1 });
    throw importError(file, line, 'must be a JSON array of posts');
  }
  for (let at = start; text[at] !== ']'; ) {
    const begin = skipSpace(text, at + 1);
    line += countLines(text, at, begin);
    const isFirst = at === start;
    at = endOfElement(text, begin);
    const element = text.slice(begin, at).trimEnd();
    const isEmpty = element === '' && text[at] === ']' && isFirst;
    if (!isEmpty) yield { text: element, line };
    line += countLines(text, begin, at);
    if (at === text.length) throw importError(file, line, 'is not valid JSON: CloseBracketExpected');
    if (text[at] === ']' && skipSpace(text, at + 1) < text.length) {
      throw importError(file, line, 'is not valid JSON: EndOfFileExpected');
    }
  }
}

const [QUOTE, COMMA, COLON, CLOSE_BRACKET] = [34, 44, 58, 93];

/** The place of the comma or bracket that ends an element, or the end of the text. */
function endOfElement(text: string, begin: number): number {
  let depth = 0;
  for (let at = begin; at < text.length; at++) {
    const each = text.charCodeAt(at);
    if (depth === 0 && (each === COMMA || each === CLOSE_BRACKET)) return at;
    if (each === QUOTE) at = endOfString(text, at);
    else depth += depthOf(each);
  }
  return text.length;
}

/** Says why a value would take too long to parse. */
function weigh(text: string): 'nests too deeply' | 'has too many values' | null {
  let [marks, depth] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const each = text.charCodeAt(at);
    if (each === QUOTE) at = endOfString(text, at);
    const change = depthOf(each);
    if (change !== 0 || each === COMMA || each === COLON) marks++;
    depth += change;
    if (depth > MAX_DEPTH) return 'nests too deeply';
    if (marks > MAX_MARKS) return 'has too many values';
  }
  return null;
}

function read(file: SourceFile, value: Value): unknown {
  const problem = weigh(value.text);
  if (problem === 'nests too deeply') throw importError(file, value.line, problem);
  // A missing bracket makes all that follows a part of the value.
  if (problem !== null) throw findSyntaxError(file, value) ?? importError(file, value.line, problem);
  try {
    return JSON.parse(value.text);
  } catch {
    throw findSyntaxError(file, value) ?? importError(file, value.line, 'is not valid JSON');
  }
}

/** JSON.parse names no position, so a slower parser looks for it in the beginning of the value. */
function findSyntaxError(file: SourceFile, { text, line, isLine }: Value): AppError | null {
  if (isLine) return null;
  const beginning = text.slice(0, MAX_LOCATED);
  const errors: { code: ParseErrorCode; offset: number }[] = [];
  const onError = (code: ParseErrorCode, offset: number, length: number) => {
    const isCut = beginning.length < text.length && offset + length >= beginning.length;
    if (!isCut) errors.push({ code, offset });
  };
  visit(beginning, { onError }, { disallowComments: true });
  const [first] = errors;
  if (first === undefined) return null;
  const what = `is not valid JSON: ${printParseErrorCode(first.code)}`;
  return importError(file, line + countLines(text, 0, first.offset), what);
}

function lineOfField({ text, line, isLine }: Value, field: string): number {
  if (isLine || text.length > MAX_LOCATED) return line;
  const tree = parseTree(text);
  const offset = tree && findNodeAtLocation(tree, [field])?.offset;
  return line + countLines(text, 0, offset ?? 0);
}
