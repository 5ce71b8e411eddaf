import { basename, dirname, resolve } from 'node:path';
import { quote } from '../../audit/model.ts';
import { type AuditDeps, recordAudit } from '../../audit/store.ts';
import { AppError } from '../../lib/app-error.ts';
import { derivedId } from '../../lib/ids.ts';
import { getOrganization } from '../../organizations/store.ts';
import type { ContentType, PostStatus } from '../model.ts';
import { toPlainText } from '../plain-text.ts';
import { findPosts, type OwnedPost, savePosts } from '../store.ts';
import { isChangelogName, parseChangelog } from './changelog.ts';
import { parseJson, parseJsonLines } from './json.ts';
import { hasFrontMatter, parseMarkdown } from './markdown.ts';
import { checkRecord, type ImportedFields } from './record.ts';
import { importError, type ParsedFile, type SourceFile } from './source.ts';

/**
 * Bounds on one file. It is one transaction, and a server waits four seconds at most for it: so many posts take about
 * two, half of it for the index that the dashboard searches.
 */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_RECORDS = 25_000;

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
  onProgress?: (written: number, total: number) => void;
}

export interface ImportResult {
  file: string;
  created: number;
  updated: number;
  unchanged: number;
  /** What was passed over, in words. */
  skipped: string[];
}

/**
 * Writes a file's records as posts, all of them or none. A record has the id that it gives, or one made from
 * organization, source, and what names it in the file: the same file again updates. Throws `AppError` 400 that
 * names file, line and field, and 404 when there is no such organization.
 */
export async function importFile(
  deps: AuditDeps,
  file: SourceFile,
  options: ImportOptions,
): Promise<ImportResult> {
  await getOrganization(deps.db, options.organizationId);
  const now = deps.clock.now().toISOString();
  const { records, skipped } = readRecords(file, options);
  const existing = new Map((await findPosts(deps.db, [...records.keys()])).map((post) => [post.id, post]));

  const changed: OwnedPost[] = [];
  let created = 0;
  for (const [id, { lineOf, fields }] of records) {
    const old = existing.get(id);
    if (old !== undefined && old.organizationId !== options.organizationId) {
      throw importError(file, lineOf('id'), `id ${id} is taken by a post of another organization`);
    }
    const post = merge(id, fields, old, options, now);
    if (old === undefined) created++;
    if (post !== old) changed.push(post);
  }
  await savePosts(
    deps.db,
    changed,
    (written) => options.onProgress?.(written, changed.length),
    () => recordImport(deps, file, options, changed),
  );
  const unchanged = records.size - changed.length;
  return { file: file.name, created, updated: changed.length - created, unchanged, skipped };
}

/** One event for the whole file. */
function recordImport(
  deps: AuditDeps,
  { name }: SourceFile,
  { organizationId }: ImportOptions,
  written: readonly OwnedPost[],
): void {
  if (written.length === 0) return;
  const published = written.filter(({ status }) => status === 'published').length;
  const posts = written.length === 1 ? '1 post' : `${written.length} posts`;
  const summary = `imported ${posts} (${published} published) from ${quote(basename(name))}`;
  const target = { type: 'organization', id: organizationId };
  recordAudit(deps, { organizationId, action: 'post.imported', target, summary, count: written.length });
}

/** What the record says, over what the post has, over the defaults; `old` itself when that changes nothing. */
function merge(
  id: string,
  fields: ImportedFields,
  old: OwnedPost | undefined,
  options: ImportOptions,
  now: string,
): OwnedPost {
  const createdAt = fields.createdAt ?? old?.createdAt ?? now;
  const markdown = fields.markdown ?? fields.content ?? '';
  const post = {
    id,
    title: fields.title.trim(),
    content: fields.content ?? toPlainText(markdown),
    markdown,
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
  if (parsed.records.length > MAX_RECORDS) {
    throw importError(file, 1, `holds ${parsed.records.length} posts; ${MAX_RECORDS} at most fit one import`);
  }
  const source = options.source ?? sourceOf(file.name);
  const records = new Map<string, { lineOf: (field: string) => number; fields: ImportedFields }>();
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
    const twin = records.get(id);
    if (twin !== undefined) {
      throw importError(
        file,
        lineOf('id'),
        `is the same post as line ${twin.lineOf('id')}: ${checked.record.id ?? key}`,
      );
    }
    records.set(id, { lineOf, fields: checked.record });
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
