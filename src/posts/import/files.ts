import { findNodeAtLocation, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { AppError } from '../../lib/app-error.ts';
import { turns } from '../../lib/time.ts';
import { isRecord } from '../../lib/validation.ts';
import { Post } from '../model.ts';
import { readMark } from './marks.ts';

// JSON, JSON Lines and Markdown files of posts.

export interface SourceFile {
  /** The path as the person gave it. */
  name: string;
  text: string;
}

/** One record of a file, not checked yet. */
interface RawRecord {
  fields: Record<string, unknown>;
  /** Stable across imports of the same record: the source of the post's id when the file gives none. */
  key: string;
  /** The line of a field, or of the record without it; counted from 1. */
  lineOf(field: string): number;
}

export interface ParsedFile {
  records: RawRecord[];
  skipped: string[];
  /** The first lines that are no record. */
  problems?: AppError[];
}

/** How many problems of a file are looked for. */
export const MAX_PROBLEMS = 10;

/** `details` has the line and the problem apart, for callers that name the file once. */
export function importError(file: SourceFile, line: number, problem: string, code = 'bad_file'): AppError {
  return new AppError(400, `${file.name}:${line}: ${problem}`, { code, details: { line, problem } });
}

/** The line of an error that `importError` made. */
export const lineOf = ({ details }: AppError) => Number(details.line ?? 1);

/** The line of a character, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Returns a function from a day to the first time of it that no earlier call returned, a millisecond apart. */
export function timesApart(): (day: Date) => string {
  const perDay = new Map<number, number>();
  return (day) => {
    const count = perDay.get(day.getTime()) ?? 0;
    perDay.set(day.getTime(), count + 1);
    return new Date(day.getTime() + count).toISOString();
  };
}

/** Checks records, and derives their keys from their titles. Numbers repeated titles. */
function recordReader(file: SourceFile) {
  const seen = new Map<string, number>();
  return (fields: unknown, lineOf: (field?: string) => number): RawRecord => {
    if (!isRecord(fields)) throw importError(file, lineOf(), 'must be a post, as a JSON object');
    const title = String(fields.title);
    const count = (seen.get(title) ?? 0) + 1;
    seen.set(title, count);
    return { fields, key: count === 1 ? title : `${title} ${count}`, lineOf };
  };
}

/** Reads a JSON array of posts. Throws `AppError` 400. */
export function parseJson(file: SourceFile): ParsedFile {
  const read = recordReader(file);
  const parsed = parse(file);
  if (!Array.isArray(parsed)) throw importError(file, 1, 'must be a JSON array of posts');
  const records = parsed.map((each, index) => read(each, (field) => lineOfNode(file.text, index, field)));
  return { records, skipped: [] };
}

/** Reads a JSON object from each line that is not empty. Lets others in while it reads. */
export async function parseJsonLines(file: SourceFile): Promise<ParsedFile> {
  const read = recordReader(file);
  const turn = turns();
  const records: RawRecord[] = [];
  const problems: AppError[] = [];
  for (const [index, text] of file.text.split('\n').entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (text.trim() === '') continue;
    await turn();
    try {
      records.push(read(JSON.parse(text), () => index + 1));
    } catch (error) {
      problems.push(error instanceof AppError ? error : importError(file, index + 1, 'is not valid JSON'));
    }
  }
  return { records, skipped: [], problems };
}

function parse(file: SourceFile): unknown {
  try {
    return JSON.parse(file.text);
  } catch {
    // JSON.parse names no position, so a slower parser finds it.
    const errors: ParseError[] = [];
    parseTree(file.text, errors, { disallowComments: true });
    const [first] = errors;
    const what = first === undefined ? '' : `: ${printParseErrorCode(first.error)}`;
    throw importError(file, lineAt(file.text, first?.offset ?? 0), `is not valid JSON${what}`);
  }
}

function lineOfNode(text: string, index: number, field = ''): number {
  const tree = parseTree(text);
  const node = tree && (findNodeAtLocation(tree, [index, field]) ?? findNodeAtLocation(tree, [index]));
  return lineAt(text, node?.offset ?? 0);
}

/** YAML between lines of `---`, or TOML between lines of `+++`. */
export const FRONT_MATTER = /^(---|\+\+\+)[ \t]*\n(?:([\s\S]*?)\n)??\1[ \t]*(?:\n|$)/;

/** Names of our fields in other tools' front matter. Of several, the first one here counts. */
const aliases: Record<string, string> = {
  publishDate: 'createdAt',
  pubDate: 'createdAt',
  date: 'createdAt',
  updated: 'updatedAt',
  updatedDate: 'updatedAt',
  lastmod: 'updatedAt',
  type: 'contentType',
};
const precedence = Object.keys(aliases);

const { markdown: _, ...postFields } = Post.properties;
const ownFields = { ...postFields, isDateSet: true };

/**
 * Reads a post. Unknown names of its front matter go to `sourceMetadata`. An export has two more names: `verbatim` keeps
 * the white space around the text, and `markdown` is a text that a file cannot hold. Throws `AppError` 400.
 */
export function parseMarkdown(file: SourceFile): ParsedFile {
  const [matter = '', fence, source = ''] = FRONT_MATTER.exec(file.text) ?? [];
  const { verbatim, markdown, ...given } = readFrontMatter(file, fence === '+++' ? 'TOML' : 'YAML', source);
  const rest = file.text.slice(matter.length);
  const isVerbatim = verbatim === true;
  const body = isVerbatim ? rest.replace(/^\n/, '').replace(/\n$/, '') : rest.trim();
  const [heading = ''] = 'title' in given ? [] : (/^#[ \t][^\n]*/.exec(body) ?? []);
  // Match only from the start of a run: many of them inside a long line would take quadratic time.
  const title =
    heading
      .slice(1)
      .trim()
      .replace(/(?<!#)#+$/, '')
      .trim() || undefined;

  const text = body.slice(heading.length);
  const fields: Record<string, unknown> = { title, markdown: isVerbatim ? text : text.trim() };
  const metadata: Record<string, unknown> = {};
  if (verbatim !== undefined && !isVerbatim) metadata.verbatim = verbatim;
  if (markdown !== undefined && body === '') fields.markdown = markdown;
  else if (markdown !== undefined) metadata.markdown = markdown;
  const lines = matter.split('\n');
  const lineOf = (field: string) =>
    lines.findIndex((line) => {
      const name = /^[ \t]*["']?([^\s"':=]*)/.exec(line)?.[1] ?? '';
      return name === field || aliases[name] === field;
    }) + 1 || 1;
  const rank = ([name]: [string, unknown]) => precedence.indexOf(name);
  for (const [name, value] of Object.entries(given).sort((one, other) => rank(one) - rank(other))) {
    const field = aliases[name] ?? name;
    const mark = readMark(name, value);
    if (mark !== null) {
      if ('problem' in mark) throw importError(file, lineOf(name), `${name} ${mark.problem}`);
      // One mark of a draft is enough.
      if (fields.status !== 'draft') fields.status = mark.status;
    } else if (Object.hasOwn(ownFields, field)) fields[field] ??= value;
    else metadata[name] = value;
  }
  if (Object.keys(metadata).length > 0) {
    const own = fields.sourceMetadata;
    fields.sourceMetadata = isRecord(own) ? { ...metadata, ...own } : (own ?? metadata);
  }

  return { records: [{ fields, key: '', lineOf }], skipped: [] };
}

function readFrontMatter(
  file: SourceFile,
  language: 'YAML' | 'TOML',
  source: string,
): Record<string, unknown> {
  let value: unknown;
  try {
    value = Bun[language].parse(source) ?? {};
    // Dates of TOML are objects, which JSON writes in ISO 8601.
    if (language === 'TOML') value = JSON.parse(JSON.stringify(value));
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw importError(file, 1, `front matter is not valid ${language}: ${reason}`);
  }
  if (isRecord(value)) return value;
  throw importError(file, 1, 'front matter must be a YAML object, such as "title: Hello"');
}
