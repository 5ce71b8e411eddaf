import { findNodeAtLocation, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { AppError } from '../../lib/app-error.ts';
import { isRecord } from '../../lib/validation.ts';

// JSON, JSON Lines and Markdown files of posts.

/** A file to import. */
export interface SourceFile {
  /** The path as the person gave it. */
  name: string;
  text: string;
}

/** One record of a file, not checked yet. */
export interface RawRecord {
  fields: Record<string, unknown>;
  /** Stable across imports of the same record: the source of the post's id when the file gives none. */
  key: string;
  /** The line of a field, or of the record without it; counted from 1. */
  lineOf(field: string): number;
}

export interface ParsedFile {
  records: RawRecord[];
  /** Descriptions of the skipped parts. */
  skipped: string[];
}

/** `message` names the field, where there is one. */
export function importError(file: SourceFile, line: number, message: string, code = 'bad_file'): AppError {
  return new AppError(400, `${file.name}:${line}: ${message}`, { code });
}

/** The line of a character, counted from 1. */
function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** Derives keys from titles, and numbers repeated titles. */
function titleKeys(): (title: unknown) => string {
  const seen = new Map<string, number>();
  return (title) => {
    const text = String(title);
    const count = (seen.get(text) ?? 0) + 1;
    seen.set(text, count);
    return count === 1 ? text : `${text} ${count}`;
  };
}

/** Reads a JSON array of posts. Throws `AppError` 400. */
export function parseJson(file: SourceFile): ParsedFile {
  const keyOf = titleKeys();
  const parsed = parse(file);
  if (!Array.isArray(parsed)) throw importError(file, 1, 'must be a JSON array of posts');
  const records = parsed.map((fields, index) => {
    const lineOf = (field?: string) => lineOfNode(file.text, index, field);
    if (!isRecord(fields)) throw importError(file, lineOf(), 'must be a post, as a JSON object');
    return { fields, key: keyOf(fields.title), lineOf };
  });
  return { records, skipped: [] };
}

/** Reads a JSON object from each line that is not empty. Throws `AppError` 400. */
export function parseJsonLines(file: SourceFile): ParsedFile {
  const keyOf = titleKeys();
  const records = file.text.split('\n').flatMap((text, index) => {
    if (text.trim() === '') return [];
    const line = index + 1;
    let fields: unknown;
    try {
      fields = JSON.parse(text);
    } catch {
      throw importError(file, line, 'is not valid JSON');
    }
    if (!isRecord(fields)) throw importError(file, line, 'must be a post, as a JSON object');
    return [{ fields, key: keyOf(fields.title), lineOf: () => line }];
  });
  return { records, skipped: [] };
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

function lineOfNode(text: string, index: number, field?: string): number {
  const tree = parseTree(text);
  const record = tree === undefined ? undefined : findNodeAtLocation(tree, [index]);
  const value =
    tree === undefined || field === undefined ? undefined : findNodeAtLocation(tree, [index, field]);
  return lineAt(text, (value ?? record)?.offset ?? 0);
}

const FRONT_MATTER = /^---[ \t]*\n([\s\S]*?)^---[ \t]*(?:\n|$)/m;

/** Names of our fields in other tools' front matter. */
const aliases: Record<string, string> = { date: 'createdAt', updated: 'updatedAt', type: 'contentType' };

const ownFields = new Set([
  'id',
  'title',
  'contentType',
  'status',
  'content',
  'sourceMetadata',
  'createdAt',
  'updatedAt',
]);

export function hasFrontMatter(text: string): boolean {
  return text.startsWith('---') && FRONT_MATTER.test(text);
}

/**
 * Reads one post: front matter in YAML, then the body. Without a `title`, the body's first heading becomes the title.
 * `draft: true` makes it a draft; unknown names go to `sourceMetadata`. Throws `AppError` 400.
 */
export function parseMarkdown(file: SourceFile): ParsedFile {
  const matter = file.text.startsWith('---') ? FRONT_MATTER.exec(file.text) : null;
  const given = matter === null ? {} : readYaml(file, matter[1] ?? '');
  const { title, body } = takeTitle(given.title, file.text.slice(matter?.[0].length ?? 0));

  const fields: Record<string, unknown> = { title, markdown: body };
  const metadata: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const field = aliases[name] ?? name;
    if (field === 'title') continue;
    if (field === 'draft') fields.status ??= value === true ? 'draft' : 'published';
    else if (ownFields.has(field)) fields[field] = value;
    else metadata[name] = value;
  }
  if (Object.keys(metadata).length > 0) {
    const own = fields.sourceMetadata;
    fields.sourceMetadata = isRecord(own) ? { ...metadata, ...own } : (own ?? metadata);
  }

  const lines = (matter?.[0] ?? '').split('\n');
  const lineOf = (field: string) => {
    const names = [field, ...Object.keys(aliases).filter((alias) => aliases[alias] === field)];
    return lines.findIndex((line) => names.some((name) => line.startsWith(`${name}:`))) + 1 || 1;
  };
  return { records: [{ fields, key: '', lineOf }], skipped: [] };
}

function readYaml(file: SourceFile, yaml: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = Bun.YAML.parse(yaml);
  } catch (error) {
    throw importError(
      file,
      1,
      `front matter is not valid YAML: ${error instanceof Error ? error.message : error}`,
    );
  }
  if (value === null || value === undefined) return {};
  if (!isRecord(value))
    throw importError(file, 1, 'front matter must be a YAML object, such as "title: Hello"');
  return value;
}

function takeTitle(title: unknown, text: string): { title: unknown; body: string } {
  const body = text.trim();
  if (title !== undefined) return { title, body };
  const heading = /^#[ \t]+(.+?)[ \t]*#*(?:\n|$)/.exec(body);
  return { title: heading?.[1], body: body.slice(heading?.[0].length ?? 0).trim() };
}
