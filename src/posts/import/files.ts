import { AppError } from '../../lib/app-error.ts';
import { endOfString } from '../../lib/json.ts';
import { cutLine, withoutControls } from '../../lib/text.ts';
import { parseTime } from '../../lib/time.ts';
import { isRecord } from '../../lib/validation.ts';
import { Post } from '../model.ts';
import { findDate, MAX_HEADING, readHeading, wordsOf } from './version-heading.ts';

// Marks in front matter that say whether a post is public, for Jekyll, Hugo, Astro and others.

/** `scheduled`: a draft that is to be published at its date. */
type Mark = Post['status'] | 'scheduled';

const MARKS: Readonly<Record<string, Post['status']>> = {
  draft: 'draft',
  isdraft: 'draft',
  unpublished: 'draft',
  hidden: 'draft',
  private: 'draft',
  unlisted: 'draft',
  archived: 'draft',
  wip: 'draft',
  headless: 'draft',
  published: 'published',
  ispublished: 'published',
  publish: 'published',
  public: 'published',
  ispublic: 'published',
  visible: 'published',
};

/** From such a day on, other tools show the page no longer, and Tidings would. */
const ENDS = new Set(['expirydate', 'unpublishdate']);

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  y: true,
  on: true,
  1: true,
  false: false,
  no: false,
  n: false,
  off: false,
  0: false,
};

const STATUSES: Readonly<Record<string, Mark>> = {
  draft: 'draft',
  scheduled: 'scheduled',
  future: 'scheduled',
  pending: 'draft',
  private: 'draft',
  hidden: 'draft',
  unlisted: 'draft',
  internal: 'draft',
  unpublished: 'draft',
  archived: 'draft',
  published: 'published',
  publish: 'published',
  public: 'published',
  live: 'published',
};

const MAX_WORD = 100;

/** Reads a field of front matter as a mark, or says why it can't be read. Null: it is no mark. */
function readMark(name: string, value: unknown): { mark: Mark } | { problem: string } | null {
  const key = plain(name);
  const word = plain(value);
  if (key === 'status' || key === 'visibility' || key === 'state') {
    const mark = lookUp(STATUSES, word);
    if (mark !== undefined) return { mark };
    // Other tools keep the state of something else here.
    return key === 'state' ? null : { problem: 'must be draft or published' };
  }
  if (ENDS.has(key) && word !== '' && word !== 'null') return { mark: 'draft' };
  // Eleventy writes no page.
  if (key === 'permalink' && word === 'false') return { mark: 'draft' };
  const marked = lookUp(MARKS, key);
  if (marked === undefined) return null;
  // Some sites write the day of the publication here.
  if (marked === 'published' && typeof value === 'string' && parseTime(isoOf(value)) !== null) return null;
  const isTrue = lookUp(BOOLEANS, word);
  if (isTrue === undefined) return { problem: 'must be true or false' };
  const other = marked === 'draft' ? 'published' : 'draft';
  return { mark: isTrue ? marked : other };
}

/** Reads `Is-Draft`, `is_draft`, and `isDraft` alike. Aliases of YAML can repeat a long text many times. */
function plain(text: unknown): string {
  if (typeof text === 'object' || (typeof text === 'string' && text.length > MAX_WORD)) return '';
  return String(text)
    .toLowerCase()
    .replaceAll(/[\s_-]/g, '');
}

function lookUp<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

export interface SourceFile {
  name: string;
  text: string;
}

export interface RawRecord {
  fields: Record<string, unknown>;
  /** Stable across imports of the same record: the source of the post's id when the file gives none. */
  key: string;
  /** A mark such as `status: scheduled`: a draft that is to be published at its date. */
  isScheduled?: boolean;
  /** The line of a field, or of the record without it; counted from 1. */
  lineOf(field: string): number;
}

export interface ParsedFile {
  records: RawRecord[];
  /** Each part of the file that is no post, with its line and the reason. */
  skipped: string[];
  /** Names of front matter that mean nothing to Tidings: `sourceMetadata` has them. Absent for none. */
  unknownFields?: string[];
  headings?: number;
  problems?: AppError[];
}

export const MAX_PROBLEMS = 10;

const LISTED_NAMES = 50;

export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, LISTED_NAMES).map((name) => cutLine(withoutControls(name), 60));
  const more = names.length > LISTED_NAMES ? `, and ${names.length - LISTED_NAMES} more` : '';
  return listed.join(', ') + more;
}

/** `details` has the line and the problem apart, for callers that name the file once. */
export function importError(file: SourceFile, line: number, problem: string, code = 'bad_file'): AppError {
  return new AppError(400, `${file.name}:${line}: ${problem}`, { code, details: { line, problem } });
}

export const lineOf = ({ details }: AppError) => Number(details.line ?? 1);

const LINE_FEED = 10;

export const lineAt = (text: string, offset: number) => 1 + countLines(text, 0, offset);

export function countLines(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === LINE_FEED) lines++;
  return lines;
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

/** YAML between lines of `---`, or TOML between lines of `+++`. */
export const FRONT_MATTER = /^(---|\+\+\+)[ \t]*\n(?:([\s\S]*?)\n)??\1[ \t]*(?:\n|$)/;

/** Names of our fields in other tools' front matter, as `plain` reads them. Of several, the first one here counts. */
const ALIASES: Readonly<Record<string, string>> = {
  publishdate: 'createdAt',
  pubdate: 'createdAt',
  publisheddate: 'createdAt',
  datepublished: 'createdAt',
  publishedat: 'createdAt',
  publishedon: 'createdAt',
  published: 'createdAt',
  publish: 'createdAt',
  date: 'createdAt',
  created: 'createdAt',
  datecreated: 'createdAt',
  updated: 'updatedAt',
  updateddate: 'updatedAt',
  lastmod: 'updatedAt',
  lastmodified: 'updatedAt',
  modified: 'updatedAt',
  datemodified: 'updatedAt',
  type: 'contentType',
};

const { markdown: _, ...postFields } = Post.properties;
const OWN_NAMES = Object.keys({ ...postFields, isDateSet: true });
const FIELDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(OWN_NAMES.map((name) => [plain(name), name])),
  ...ALIASES,
};
const precedence = Object.keys(FIELDS);

const fieldOf = (name: string) => lookUp(FIELDS, plain(name));

const LOCAL_TIME = /^(\d{4}-\d\d-\d\d)[ T]+(\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) *(Z|UTC|[+-]\d\d:?\d\d)?$/;

/** A date as people and other tools write it, in ISO 8601. Times without an offset are in UTC. Other texts stay as they are. */
function isoOf(text: string): string {
  const given = text.trim();
  if (given.length > MAX_WORD || parseTime(given) !== null) return text;
  const [, day, time, zone = 'Z'] = LOCAL_TIME.exec(given) ?? [];
  if (day !== undefined) return `${day}T${time}${zone === 'UTC' ? 'Z' : zone}`;
  const date = given.includes(':') ? null : findDate(given);
  const [only, other] = date?.days ?? [];
  const isDate = date !== null && wordsOf(given.slice(0, date.from) + given.slice(date.to)) === '';
  return isDate && only !== undefined && other === undefined ? only.toISOString() : text;
}

/** Characters that may begin a value, outside of whole lines. Bun compares each key of TOML with all others. */
const LIMITS = {
  YAML: { mark: /[-,:?*[\]{}]/g, marks: 20_000, length: Number.POSITIVE_INFINITY },
  TOML: { mark: /[=,.[{]/g, marks: 2_000, length: 100_000 },
};

/** Characters that aliases may copy. */
const MAX_COPIED = 10_000_000;

/** Unknown names go to `sourceMetadata`. `verbatim` keeps white space, `markdown` is a text that a file cannot hold. */
export function parseMarkdown(file: SourceFile): ParsedFile {
  const [matter = '', fence, source = ''] = FRONT_MATTER.exec(file.text) ?? [];
  const { verbatim, markdown, ...given } = readFrontMatter(file, fence === '+++' ? 'TOML' : 'YAML', source);
  const rest = file.text.slice(matter.length);
  const isVerbatim = verbatim === true;
  const body = isVerbatim ? rest.replace(/^\n/, '').replace(/\n$/, '') : rest.trim();
  const hasTitle = Object.keys(given).some((name) => fieldOf(name) === 'title');
  const [heading = ''] = hasTitle ? [] : (/^#[ \t][^\n]*/.exec(body) ?? []);
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
  const lineOf = lineFinder(matter);
  const rank = ([name]: [string, unknown]) => precedence.indexOf(plain(name));
  const sorted = Object.entries(given).sort((one, other) => rank(one) - rank(other));
  const marks = readMarks(file, sorted, lineOf);
  for (const [name, value] of sorted) {
    if (readMark(name, value) !== null) continue;
    const field = fieldOf(name);
    const isDate = field === 'createdAt' || field === 'updatedAt';
    if (field === undefined) metadata[name] = value;
    else fields[field] ??= isDate && typeof value === 'string' ? isoOf(value) : value;
  }
  const path = readPath(file.name);
  if (path.isDraft || (path.isSkipped && marks.size === 0)) marks.add('draft');
  const release = readRelease(title);
  if (release !== null && fields.createdAt === undefined) Object.assign(fields, release);
  if (path.date !== undefined) fields.createdAt ??= path.date;
  const isScheduled = marks.has('scheduled') && !marks.has('draft');
  const status = statusOf(marks);
  if (status !== undefined) fields.status = status;
  const unknownFields = Object.keys(metadata);
  const hasUnknown = unknownFields.length > 0;
  if (hasUnknown) {
    const own = fields.sourceMetadata;
    fields.sourceMetadata = isRecord(own) ? { ...metadata, ...own } : (own ?? metadata);
  }

  return {
    records: [{ fields, key: '', lineOf, isScheduled }],
    skipped: [],
    ...(hasUnknown && { unknownFields }),
  };
}

/** Throws `AppError` 400 for one that can't be read. */
function readMarks(
  file: SourceFile,
  given: Iterable<[string, unknown]>,
  lineOf: (name: string) => number,
): Set<Mark> {
  const marks = new Set<Mark>();
  for (const [name, value] of given) {
    const read = readMark(name, value);
    if (read === null) continue;
    if ('problem' in read) throw importError(file, lineOf(name), `${name} ${read.problem}`);
    marks.add(read.mark);
  }
  return marks;
}

/** One mark of a draft is enough. */
function statusOf(marks: ReadonlySet<Mark>): Post['status'] | undefined {
  if (marks.size === 0) return undefined;
  return marks.has('draft') || marks.has('scheduled') ? 'draft' : 'published';
}

export function readStatus(file: SourceFile): Post['status'] | undefined {
  const [matter = '', fence, source = ''] = FRONT_MATTER.exec(file.text) ?? [];
  const given = readFrontMatter(file, fence === '+++' ? 'TOML' : 'YAML', source);
  return statusOf(readMarks(file, Object.entries(given), lineFinder(matter)));
}

function lineFinder(matter: string): (field: string) => number {
  const lines = matter.split('\n');
  return (field) =>
    lines.findIndex((line) => {
      const name = /^[ \t]*["']?([^\s"':=]*)/.exec(line)?.[1] ?? '';
      return name === field || (name !== '' && fieldOf(name) === field);
    }) + 1 || 1;
}

/** Astro and Jekyll skip names that begin with an underscore, which ids of posts may do: `isSkipped` holds without a mark. */
function readPath(path: string) {
  const folders = path.split(/[/\\]/);
  const name = folders.pop() ?? '';
  const dated = /^index\./.test(name) ? (folders.at(-1) ?? '') : name;
  const [, day = ''] = /^(\d{4}-\d\d-\d\d)(?!\d)/.exec(dated) ?? [];
  return {
    isDraft: folders.includes('_drafts'),
    isSkipped: name.startsWith('_'),
    date: parseTime(day)?.toISOString(),
  };
}

/** The title and the day of a file about one version, by its heading, such as `# v1.2.0 (2024-01-05)`. */
function readRelease(heading = ''): { title: string; createdAt: string } | null {
  const version = heading.length > MAX_HEADING ? null : readHeading(heading);
  const [day, other] = version?.date?.days ?? [];
  const isClear = version?.kind === 'version' && day !== undefined && other === undefined;
  return isClear ? { title: version.title, createdAt: day.toISOString() } : null;
}

function readFrontMatter(
  file: SourceFile,
  language: 'YAML' | 'TOML',
  source: string,
): Record<string, unknown> {
  if (isTooLarge(language, source)) throw importError(file, 1, 'front matter is too large');
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

function isTooLarge(language: 'YAML' | 'TOML', source: string): boolean {
  const { mark, marks, length } = LIMITS[language];
  if (source.length > length) return true;
  const lines = source.split('\n', marks + 1);
  const rest = lines.filter((line) => !isText(line)).join('\n');
  let count = lines.length;
  for (const _ of rest.matchAll(mark)) if (++count > marks) break;
  // Bun copies the text that an alias names, and a merge key copies all keys.
  const aliases = language === 'YAML' ? rest.split('*').length - 1 : 0;
  if (count > marks || aliases * rest.length > MAX_COPIED) return true;
  return rest.includes('<<') && aliases * count > marks;
}

/** The line is a name and one JSON string, as an export writes it. */
function isText(line: string): boolean {
  const [name] = /^\w+: (?=")/.exec(line) ?? [];
  return name !== undefined && endOfString(line, name.length) === line.length - 1;
}
