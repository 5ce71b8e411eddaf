import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { packTar } from 'modern-tar';
import { readIfAllowed } from '../../db/checked.ts';
import type { Storage } from '../../db/engine.ts';
import { texts } from '../lib/markdown/texts.ts';
import { derivedId, escapeControls } from '../lib/text.ts';
import { turns } from '../lib/time.ts';
import { getOrganization } from '../people/organization-store.ts';
import { CHANGELOG_HEAD, changelogEntry } from './import/exported-changelog.ts';
import {
  contentTypes,
  DEFAULT_CONTENT_TYPE,
  MAX_TEXT,
  type OwnedPost,
  type PageSelection,
  type Post,
  type PostSelection,
  postStatuses,
} from './model.ts';
import { listPostIds, readPosts, toPost } from './store.ts';

// All posts of an organization as text, a few posts at a time, so that it takes the same memory for any number of them.

export const exportNames = {
  json: 'posts.json',
  jsonl: 'posts.jsonl',
  markdown: 'posts.tar.gz',
  changelog: 'CHANGELOG.md',
} as const;
export type ExportFormat = keyof typeof exportNames;
export const exportFormats = Object.keys(exportNames) as ExportFormat[];

export interface ExportOptions extends Partial<PostSelection> {
  organizationId: string;
  /** Default: newest first. A changelog is always newest first. */
  sort?: PageSelection['sort'] | undefined;
}

/** Posts that are read at once: at their longest, some tens of megabytes. */
const BATCH = 25;

/** The posts of the moment when it begins, each once and as it is when its turn comes. Throws `AppError` 404. */
export async function* readExport(
  db: Pick<Storage, 'read'>,
  format: ExportFormat,
  { organizationId, ...given }: ExportOptions,
): AsyncGenerator<OwnedPost> {
  const isChangelog = format === 'changelog';
  // A changelog is for readers, unless somebody asks for more.
  const {
    statuses = isChangelog ? ['published'] : [...postStatuses],
    contentTypes: types = isChangelog ? [DEFAULT_CONTENT_TYPE] : [...contentTypes],
  } = given;
  const sort = isChangelog ? 'desc' : (given.sort ?? 'desc');
  const ids = await db.read(async (tx) => {
    await getOrganization(tx, organizationId);
    return listPostIds(tx, organizationId, { statuses, contentTypes: types, sort });
  });
  const turn = turns();
  for (let at = 0; at < ids.length; at += BATCH) {
    const batch = ids.slice(at, at + BATCH);
    const posts = await readIfAllowed(db, (tx) => readPosts(tx, batch));
    for (const id of batch) {
      const post = posts.get(id);
      if (post?.organizationId !== organizationId) continue;
      if (statuses.includes(post.status) && types.includes(post.contentType)) yield post;
      await turn();
    }
  }
}

export async function* exportText(
  posts: AsyncIterable<OwnedPost>,
  format: Exclude<ExportFormat, 'markdown'>,
): AsyncGenerator<string> {
  const write = writers[format];
  yield write.head;
  let separator = '';
  for await (const post of posts) {
    yield separator + (await write.post(post));
    separator = write.separator;
  }
  yield write.tail;
}

const writers = {
  json: {
    head: '[',
    post: (post: OwnedPost) => escapeControls(JSON.stringify(toPost(post))),
    separator: ',\n',
    tail: ']\n',
  },
  jsonl: {
    head: '',
    post: async (post: OwnedPost) => `${escapeControls(JSON.stringify(await exportedFields(post)))}\n`,
    separator: '',
    tail: '',
  },
  changelog: { head: CHANGELOG_HEAD, post: changelogEntry, separator: '', tail: '' },
};

async function exportedFields({
  organizationId: _,
  isDateSet,
  content,
  ...post
}: OwnedPost): Promise<Partial<OwnedPost>> {
  // Addresses of links can make the text longer than an import allows. It is derived again.
  const isDerived = content.length > MAX_TEXT && content === (await texts.plain(post.markdown));
  const { id, title, ...rest } = post satisfies Omit<Post, 'content'>;
  return { id, title, ...(isDerived ? {} : { content }), ...rest, ...(isDateSet ? {} : { isDateSet }) };
}

// Posts as Markdown files with front matter, which `import/files.ts` reads back without loss.

export interface ExportedFile {
  /** Relative, with a folder for the type. Safe and unique on every system, also where case does not count. */
  path: string;
  text: string;
  modifiedAt: Date;
}

export async function* exportFiles(posts: AsyncIterable<OwnedPost>): AsyncGenerator<ExportedFile> {
  for await (const post of posts) {
    yield { path: pathOf(post), text: await writeMarkdown(post), modifiedAt: new Date(post.updatedAt) };
  }
}

/** The latest time of a TAR header, in milliseconds: in the year 2242. */
const MAX_TIME = (2 ** 33 - 1) * 1_000;

/** Two empty blocks end an archive. */
const TAR_END = new Uint8Array(1024);

/** A `.tar.gz` file, written as it is read. Unlike a ZIP file it has no table of contents to keep in memory. */
export function archiveOf(files: AsyncIterable<ExportedFile>): AsyncIterable<Uint8Array> {
  async function* blocks() {
    for await (const { path, text, modifiedAt } of files) {
      const body = Buffer.from(text);
      const mtime = new Date(Math.min(Math.max(modifiedAt.getTime(), 0), MAX_TIME));
      const packed = await packTar([{ header: { name: path, size: body.byteLength, mtime }, body }]);
      yield packed.subarray(0, -TAR_END.byteLength);
    }
    yield TAR_END;
  }
  // An error of the source reaches the reader through the stream.
  return pipeline(Readable.from(blocks()), createGzip(), () => undefined);
}

const MAX_WORDS = 60;

/** Ids of Tidings' own form. Any other may differ from its neighbor in case alone, or continue the words of a title. */
const OWN_ID = /^post_[1-9A-HJ-NP-Za-km-z]{20,22}$/;

function pathOf({ id, title, contentType, createdAt }: OwnedPost): string {
  const words = title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_WORDS)
    .replaceAll(/^-|-$/g, '');
  const hash = OWN_ID.test(id) ? '' : `.${derivedId('id', id).slice(3, 15).toLowerCase()}`;
  const parts = [createdAt.slice(0, 10), words, id].filter(Boolean);
  return `${contentType}/${parts.join('-')}${hash}.md`;
}

/** Each field of the front matter is JSON, which is YAML too. Tools change a carriage return, so such a text is a field. */
async function writeMarkdown(post: OwnedPost): Promise<string> {
  const { id, title, contentType, status, createdAt, updatedAt, sourceMetadata } = post;
  const { isDateSet, content, markdown } = post;
  const isField = markdown.includes('\r');
  const fields = {
    id,
    title,
    contentType,
    status,
    createdAt,
    updatedAt,
    isDateSet: isDateSet ? undefined : false,
    sourceMetadata: sourceMetadata ?? undefined,
    verbatim: !isField && markdown !== markdown.trim() ? true : undefined,
    content: content === (await texts.plain(markdown)) ? undefined : content,
    markdown: isField ? markdown : undefined,
  };
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${escapeControls(JSON.stringify(value))}\n`],
  );
  const body = isField || markdown === '' ? '' : `\n${markdown}\n`;
  return `---\n${lines.join('')}---\n${body}`;
}
