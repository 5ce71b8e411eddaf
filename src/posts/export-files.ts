import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { packTar } from 'modern-tar';
import { derivedId, escapeControls } from '../lib/text.ts';
import { texts } from '../markdown/texts.ts';
import type { OwnedPost } from './model.ts';

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

/** What a TAR header can hold, in milliseconds: until the year 2242. */
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

/**
 * Each field of the front matter is JSON, which is YAML too. The body is the text, between a blank line and a line break.
 * `verbatim`: white space at its ends belongs to it. Tools change a carriage return in a file, so such a text is a field.
 */
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
