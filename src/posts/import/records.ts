import { basename, dirname, resolve } from 'node:path';
import { AppError } from '../../lib/app-error.ts';
import { cutLine, derivedId } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import { texts } from '../../markdown/texts.ts';
import { checkRecord, type ImportedFields, isImportedField } from '../fields.ts';
import { isChangelogName, parseChangelog } from './changelog.ts';
import { isExportedChangelog } from './exported-changelog.ts';
import {
  FRONT_MATTER,
  importError,
  lineOf,
  MAX_PROBLEMS,
  type ParsedFile,
  parseMarkdown,
  type SourceFile,
} from './files.ts';
import { parseJson, parseJsonLines } from './json.ts';

// The records of a file, checked.

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
  /** Absent: no limit. */
  maxPosts?: number;
  /** Reads a changelog in a thread. Absent: here, which takes a second for the largest ones. */
  readChangelog?: Parser | undefined;
}

export interface CheckedRecord {
  id: string;
  isIdGiven: boolean;
  /** The record's name in the file. */
  name: string;
  lineOf: (field: string) => number;
  isScheduled: boolean;
  fields: ImportedFields & { content: string };
}

/**
 * Returns the first problems as well, in the order of the file. Lets others in while it reads. Throws `AppError` 400
 * `unknown_format`.
 */
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
