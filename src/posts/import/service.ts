import { basename, dirname, resolve } from 'node:path';
import type { Database } from '../../../db/client.ts';
import { quote } from '../../audit/model.ts';
import { type AuditDeps, recordAudit } from '../../audit/store.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../lib/app-error.ts';
import { derivedId } from '../../lib/ids.ts';
import { toPlainText } from '../../markdown/plain-text.ts';
import { getOrganization } from '../../organizations/store.ts';
import type { ContentType, PostStatus } from '../model.ts';
import { findOwners, type OwnedPost, readPosts, writePost } from '../store.ts';
import { isChangelogName, parseChangelog } from './changelog.ts';
import { parseJson, parseJsonLines } from './json.ts';
import { hasFrontMatter, parseMarkdown } from './markdown.ts';
import { checkRecord, type ImportedFields } from './record.ts';
import { importError, type ParsedFile, type SourceFile } from './source.ts';
import { importInPieces } from './staging.ts';

export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Bounds on one commit, which a delivery may have to wait for. A post larger than the second has a piece of its own. */
const MAX_PIECE_POSTS = 100;
const MAX_PIECE_CHARACTERS = 256 * 1024;

export const importFormats = ['json', 'jsonl', 'markdown', 'changelog'] as const;
type ImportFormat = (typeof importFormats)[number];

const parsers: Record<ImportFormat, (file: SourceFile) => ParsedFile> = {
  json: parseJson,
  jsonl: parseJsonLines,
  markdown: parseMarkdown,
  changelog: parseChangelog,
};

export interface ImportOptions {
  organizationId: string;
  /** For records that do not say; a post that exists keeps what it has. */
  status: PostStatus;
  contentType: ContentType;
  /** `createdAt` of the newest record that has none; those below it step back a millisecond each. */
  date?: string | undefined;
  /** Absent: told by the file's name and beginning. */
  format?: ImportFormat | undefined;
  /** What the file is a file of, for the ids of records that carry none. Absent: its folder and name. */
  source?: string | undefined;
  /** Told after each commit how many of the file's posts are done. */
  onProgress?: (done: number, total: number) => void;
}

export interface ImportResult {
  file: string;
  created: number;
  updated: number;
  unchanged: number;
  /** How many posts got another id than the file gives, because another organization has a post with that id. */
  reassignedIds: number;
  /** What was passed over, in words. */
  skipped: string[];
}

/**
 * Writes a file's records as posts, all of them at one moment or none. A record has the id that it gives, or one made
 * from organization, source, and what names it in the file: the same file again updates. Throws `AppError` 400 that
 * names file, line and field, and 404 when there is no such organization.
 */
export async function importFile(
  deps: AuditDeps & Pick<Deps, 'ids'>,
  file: SourceFile,
  options: ImportOptions,
): Promise<ImportResult> {
  const { db } = deps;
  const { organizationId, onProgress = () => undefined } = options;
  await getOrganization(db, organizationId);
  const now = deps.clock.now().toISOString();
  const { records: given, skipped } = readRecords(file, options);
  const { records, reassignedIds } = replaceTakenIds(db, file, organizationId, given);

  let created = 0;
  let updated = 0;
  let published = 0;
  const write = (piece: Piece, save: (post: OwnedPost) => void) => {
    const existing = new Map(readPosts(db, [...piece.keys()]).map((post) => [post.id, post]));
    for (const [id, { fields }] of piece) {
      const old = existing.get(id);
      if (old !== undefined && old.organizationId !== organizationId) {
        throw new AppError(
          409,
          `Another organization has taken the id ${id} meanwhile. Import the file again.`,
        );
      }
      const post = merge(id, fields, old, options, now);
      if (post === old) continue;
      save(post);
      if (post.status === 'published') published++;
      if (old === undefined) created++;
      else updated++;
    }
  };
  const record = () => recordImport(deps, file, options, created + updated, published);
  const [first, ...others] = splitRecords(records);
  if (first !== undefined && others.length === 0) {
    await db.write(() => {
      write(first, (post) => writePost(db, post));
      record();
    });
  } else if (first !== undefined) {
    await importInPieces(deps, organizationId, [first, ...others], write, record, (done, total) =>
      onProgress(Math.floor((records.size * done) / total), records.size),
    );
  }
  onProgress(records.size, records.size);
  const unchanged = records.size - created - updated;
  return { file: file.name, created, updated, unchanged, reassignedIds, skipped };
}

interface CheckedRecord {
  lineOf: (field: string) => number;
  fields: CompleteFields;
}

type CompleteFields = ImportedFields & { content: string };

/** Records by post id. */
type Records = Map<string, CheckedRecord>;

/** So many of the records as one commit writes. */
type Piece = ReadonlyMap<string, CheckedRecord>;

function* splitRecords(records: Records): Generator<Piece> {
  let piece: Records = new Map();
  let characters = 0;
  for (const [id, record] of records) {
    const { title, markdown = '', content } = record.fields;
    const length = title.length + markdown.length + content.length;
    if (piece.size === MAX_PIECE_POSTS || (piece.size > 0 && characters + length > MAX_PIECE_CHARACTERS)) {
      yield piece;
      piece = new Map();
      characters = 0;
    }
    piece.set(id, record);
    characters += length;
  }
  if (piece.size > 0) yield piece;
}

/**
 * Ids are unique across organizations: a record whose id another organization has gets one that is derived from it,
 * and keeps that one when the other organization's post is gone.
 */
function replaceTakenIds(db: Database, file: SourceFile, organizationId: string, given: Records) {
  const owners = findOwners(db, [...given.keys()]);
  const derived = new Map(
    [...given.keys()]
      .filter((id) => owners.get(id) !== organizationId)
      .map((id) => [id, derivedId('post', organizationId, id)]),
  );
  const derivedOwners = findOwners(db, [...derived.values()]);
  const records: Records = new Map();
  let reassignedIds = 0;
  for (const [id, record] of given) {
    const other = derived.get(id);
    const isReassigned =
      other !== undefined && (owners.has(id) || derivedOwners.get(other) === organizationId);
    if (isReassigned) reassignedIds++;
    addRecord(records, file, isReassigned ? other : id, id, record);
  }
  return { records, reassignedIds };
}

/** Throws `AppError` 400 when the file has a record of that id already; `name` is how the file names it. */
function addRecord(
  records: Records,
  file: SourceFile,
  id: string,
  name: string,
  record: CheckedRecord,
): void {
  const twin = records.get(id);
  if (twin !== undefined) {
    throw importError(file, record.lineOf('id'), `is the same post as line ${twin.lineOf('id')}: ${name}`);
  }
  records.set(id, record);
}

/** One event for the whole file. */
function recordImport(
  deps: AuditDeps,
  { name }: SourceFile,
  { organizationId }: ImportOptions,
  written: number,
  published: number,
): void {
  if (written === 0) return;
  const posts = written === 1 ? '1 post' : `${written} posts`;
  const summary = `imported ${posts} (${published} published) from ${quote(basename(name))}`;
  const target = { type: 'organization', id: organizationId };
  recordAudit(deps.db, deps, { organizationId, action: 'post.imported', target, summary, count: written });
}

/** What the record says, over what the post has, over the defaults; `old` itself when that changes nothing. */
function merge(
  id: string,
  fields: CompleteFields,
  old: OwnedPost | undefined,
  options: ImportOptions,
  now: string,
): OwnedPost {
  const createdAt = fields.createdAt ?? old?.createdAt ?? now;
  const post = {
    id,
    title: fields.title.trim(),
    content: fields.content,
    markdown: fields.markdown ?? fields.content,
    contentType: fields.contentType ?? old?.contentType ?? options.contentType,
    sourceMetadata:
      fields.sourceMetadata === undefined ? (old?.sourceMetadata ?? null) : fields.sourceMetadata,
    status: fields.status ?? old?.status ?? options.status,
    createdAt,
    organizationId: options.organizationId,
  };
  if (old === undefined) return { ...post, updatedAt: fields.updatedAt ?? createdAt };
  const same = { ...post, updatedAt: fields.updatedAt ?? old.updatedAt };
  return Bun.deepEquals(same, old) ? old : { ...post, updatedAt: fields.updatedAt ?? now };
}

/** The checked records by post id. Throws `AppError` 400 for the first bad one. */
function readRecords(file: SourceFile, options: ImportOptions) {
  const format = options.format ?? formatOf(file);
  const parsed = parsers[format](file);
  if (parsed.records.length === 0)
    throw importError(file, 1, `holds no posts, read as ${format} (see --format)`);
  const source = options.source ?? sourceOf(file.name);
  const records: Records = new Map();
  for (const [index, { fields, key, lineOf }] of parsed.records.entries()) {
    const createdAt = fields.createdAt ?? defaultDate(format, options.date, index);
    if (createdAt === undefined && format === 'changelog') {
      throw importError(
        file,
        lineOf('createdAt'),
        `createdAt is missing: version ${fields.title} has no date. Write it as "## [${fields.title}] - 2026-01-31", or give --date for the versions that have none.`,
      );
    }
    const checked = checkRecord(createdAt === undefined ? fields : { ...fields, createdAt });
    if ('problem' in checked) {
      const { field, message } = checked.problem;
      throw importError(file, lineOf(field), `${field} ${message}`);
    }
    const id = checked.record.id ?? derivedId('post', options.organizationId, source, format, key);
    const content = checked.record.content ?? toPlainText(checked.record.markdown ?? '');
    addRecord(records, file, id, checked.record.id ?? key, {
      lineOf,
      fields: { ...checked.record, content },
    });
  }
  return { records, skipped: parsed.skipped };
}

function defaultDate(format: ImportFormat, date: string | undefined, index: number): string | undefined {
  if (date === undefined) return undefined;
  return new Date(Date.parse(date) - (format === 'changelog' ? index : 0)).toISOString();
}

function formatOf({ name, text }: SourceFile): ImportFormat {
  if (/\.(jsonl|ndjson)$/i.test(name)) return 'jsonl';
  if (/\.json$/i.test(name)) return 'json';
  if (/\.(md|markdown|mdx)$/i.test(name)) {
    return isChangelogName(name) && !hasFrontMatter(text) ? 'changelog' : 'markdown';
  }
  throw new AppError(
    400,
    `${name}: cannot tell what this is by its name; say --format ${importFormats.join('|')}`,
  );
}

function sourceOf(path: string): string {
  const full = resolve(path);
  return `${basename(dirname(full))}/${basename(full)}`;
}
