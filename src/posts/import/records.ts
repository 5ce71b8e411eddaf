import { basename, dirname, resolve } from 'node:path';
import { findNodeAtLocation, type ParseErrorCode, parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import { AppError } from '../../lib/app-error.ts';
import { depthOf, endOfString, skipSpace } from '../../lib/json.ts';
import { texts } from '../../lib/markdown/texts.ts';
import { cutLine, derivedId } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import { isRecord } from '../../lib/validation.ts';
import { checkRecord, type ImportedFields, isImportedField } from '../model.ts';
import { isChangelogName, parseChangelog } from './changelog.ts';
import { isExportedChangelog } from './exported-changelog.ts';
import {
  countLines,
  FRONT_MATTER,
  importError,
  lineOf,
  MAX_PROBLEMS,
  type ParsedFile,
  parseMarkdown,
  type RawRecord,
  type SourceFile,
} from './files.ts';

// Each post is weighed before it is parsed: a million tiny values in one would hold up others.

/** Brackets, commas and colons of a post. The largest metadata has 16,384 characters. */
const MAX_MARKS = 20_000;
const MAX_DEPTH = 100;

/** The line of a problem is looked for in so many characters of a post. */
const MAX_LOCATED = 250_000;

interface Value {
  text: string;
  line: number;
  /** It is a whole line. */
  isLine?: true;
}

/** Reads a JSON array of posts. Lets others in while it reads, and stops at the first post after `maxPosts`. */
function parseJson(file: SourceFile, maxPosts: number): Promise<ParsedFile> {
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

function recordReader(file: SourceFile) {
  return (value: Value): RawRecord => {
    const fields = read(file, value);
    if (!isRecord(fields)) throw importError(file, value.line, 'must be a post, as a JSON object');
    const key = typeof fields.title === 'string' ? fields.title : '';
    return { fields, key, lineOf: (field) => lineOfField(value, field) };
  };
}

/** The oldest of one title has it as key; others have their date too. Without dates, the last of the file is the oldest. */
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

/** May stop at the first post after `maxPosts`. */
type Parser = (file: SourceFile, maxPosts: number) => ParsedFile | Promise<ParsedFile>;

const parsers = {
  json: parseJson,
  jsonl: parseJsonLines,
  markdown: parseMarkdown,
  changelog: parseChangelog,
} satisfies Record<string, Parser>;
export type ImportFormat = keyof typeof parsers;
export const importFormats = Object.keys(parsers) as ImportFormat[];

export interface ReadOptions {
  organizationId: string;
  /** `createdAt` of the newest record without one; each record below it is a millisecond older. */
  date?: string | undefined;
  /** Absent: follows from the file's name and beginning. */
  format?: ImportFormat | undefined;
  /** Part of the ids of records without an id. Absent: the file's folder and name. */
  source?: string | undefined;
  maxPosts?: number;
  /** Reads a changelog in a thread. Absent: here, which takes a second for the largest ones. */
  readChangelog?: Parser | undefined;
}

export interface CheckedRecord {
  id: string;
  isIdGiven: boolean;
  name: string;
  lineOf: (field: string) => number;
  isScheduled: boolean;
  fields: ImportedFields & { content: string };
}

/** Returns the first problems as well, in the order of the file. Throws `AppError` 400 `unknown_format`. */
export async function readRecords(file: SourceFile, options: ReadOptions) {
  const format = options.format ?? (await formatOf(file));
  if (format === null) throw new AppError(400, `${file.name}: unknown format`, { code: 'unknown_format' });
  const { maxPosts = Number.POSITIVE_INFINITY } = options;
  const { records: raw, problems, ...parsed } = await parse(file, format, maxPosts, options);
  if (raw.length > maxPosts) {
    const what = `has more than ${maxPosts} posts`;
    return { ...parsed, records: [], problems: [importError(file, 1, what, 'too_many_posts')] };
  }
  const source = options.source ?? sourceOf(file.name);
  const records: CheckedRecord[] = [];
  const turn = turns();
  const refused = new Set<string>();
  for (const [index, { fields: given, key, lineOf, isScheduled = false }] of raw.entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    await turn();
    const fields = { ...given };
    for (const name of Object.keys(given)) {
      if (isImportedField(name)) continue;
      delete fields[name];
      // The other records of the file have it, too.
      if (refused.has(name) || problems.length >= MAX_PROBLEMS) continue;
      refused.add(name);
      const what = `${cutLine(name, 100)} is not a known field. sourceMetadata may have any others`;
      problems.push(importError(file, lineOf(name), what));
    }
    const createdAt = fields.createdAt ?? defaultDate(format, options.date, index);
    if (createdAt === undefined && format === 'changelog') {
      const what = `createdAt is missing: version ${fields.title} has no date. Write it as "## [${fields.title}] - 2026-01-31"`;
      problems.push(importError(file, lineOf('createdAt'), what, 'undated_version'));
      continue;
    }
    const checked = checkRecord(createdAt === undefined ? fields : { ...fields, createdAt });
    if ('problem' in checked) {
      const { field, message } = checked.problem;
      problems.push(importError(file, lineOf(field), `${field} ${message}`));
      continue;
    }
    const { id, ...record } = checked.record;
    const content = record.content ?? (await texts.plain(record.markdown ?? ''));
    records.push({
      id: id ?? derivedId('post', options.organizationId, source, format, key),
      isIdGiven: id !== undefined,
      name: id ?? key,
      lineOf,
      isScheduled,
      fields: { ...record, content },
    });
  }
  problems.sort((one, other) => lineOf(one) - lineOf(other));
  return { ...parsed, records, problems: problems.slice(0, MAX_PROBLEMS) };
}

async function parse(
  file: SourceFile,
  format: ImportFormat,
  maxPosts: number,
  { readChangelog = parseChangelog }: Pick<ReadOptions, 'readChangelog'>,
) {
  const read: Parser = format === 'changelog' ? readChangelog : parsers[format];
  try {
    const { problems = [], ...parsed } = await read(file, maxPosts);
    if (parsed.records.length + problems.length === 0) {
      problems.push(importError(file, 1, `has no posts when read as ${format}`, 'no_posts'));
    }
    return { headings: null, ...parsed, problems };
  } catch (error) {
    // The stack was too small for a value in a value in a value.
    const problem = error instanceof RangeError ? importError(file, 1, 'nests too deeply') : error;
    if (!(problem instanceof AppError)) throw error;
    return { records: [], skipped: [], headings: null, problems: [problem] };
  }
}

function defaultDate(format: ImportFormat, date: string | undefined, index: number): string | undefined {
  if (date === undefined) return undefined;
  return new Date(Date.parse(date) - (format === 'changelog' ? index : 0)).toISOString();
}

/** The name of a file that holds posts. */
export function isImportable(name: string): boolean {
  return formatOfName(name) !== null;
}

function formatOfName(name: string): ImportFormat | null {
  if (/\.(jsonl|ndjson)$/i.test(name)) return 'jsonl';
  if (/\.json$/i.test(name)) return 'json';
  const isMarkdown = /\.(md|markdown|mdx)$/i.test(name);
  // GNU projects have files such as NEWS.
  const isText = /(?:^|[/\\])[^.]*$|\.txt$/i.test(name);
  if (isChangelogName(name) !== false && (isMarkdown || isText)) return 'changelog';
  return isMarkdown ? 'markdown' : null;
}

/** The format that follows from the name and the text; null for names that are no file of posts. */
export async function formatOf({ name, text }: SourceFile): Promise<ImportFormat | null> {
  const format = formatOfName(name);
  if (format === null || format.startsWith('json')) return format;
  if (isExportedChangelog(text)) return 'changelog';
  const isNamed = isChangelogName(name);
  if (isNamed === true && !FRONT_MATTER.test(text)) return 'changelog';
  const { versions, dated } = await countVersions(text);
  // A post may tell about a version, and even list a few.
  const isChangelog = isNamed === false || FRONT_MATTER.test(text) ? dated > 1 : versions > 1 || dated > 0;
  return isChangelog ? 'changelog' : 'markdown';
}

/** A changelog has its first versions here. */
const BEGINNING = 64 * 1024;

/** Versions with an invalid date count too. A heading without a version, such as "June 2024", does not tell what the file is. */
async function countVersions(text: string) {
  const { records, problems = [] } = await parseChangelog({ name: '', text: text.slice(0, BEGINNING) });
  const versions = records.filter(({ fields }) => fields.sourceMetadata !== undefined);
  const dated = versions.filter(({ fields }) => fields.createdAt !== undefined);
  return { versions: versions.length + problems.length, dated: dated.length + problems.length };
}

/** The format of a text without a name. */
export async function formatOfText(text: string): Promise<ImportFormat> {
  if (/^\s*\[\s*[{\]]/.test(text)) return 'json';
  if (/^\s*\{/.test(text)) return 'jsonl';
  const { versions, dated } = await countVersions(text);
  return (FRONT_MATTER.test(text) ? dated > 1 : versions > 0) ? 'changelog' : 'markdown';
}

function sourceOf(path: string): string {
  const full = resolve(path);
  return `${basename(dirname(full))}/${basename(full)}`;
}
