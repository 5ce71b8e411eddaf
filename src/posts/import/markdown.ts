import { isRecord } from '../../lib/validation.ts';
import { importError, type ParsedFile, type SourceFile } from './source.ts';

const FRONT_MATTER = /^---[ \t]*\n([\s\S]*?)^---[ \t]*(?:\n|$)/m;

/** Front-matter names that other tools have for our fields. */
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
 * One post: front matter in YAML, then the body. A title that is not given is the body's first heading, which
 * then leaves the body. `draft: true` makes it a draft; names that mean nothing to us are kept in
 * `sourceMetadata`. Throws `AppError` 400 for front matter that is no YAML object.
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
