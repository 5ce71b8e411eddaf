import { type Region, splitBlocks } from './blocks.ts';
import { isKept, TagReader } from './html.ts';
import { writeRegion } from './inline.ts';
import { unmark } from './marks.ts';
import { pairTags } from './pair.ts';
import { Pieces } from './pieces.ts';

/** Some pieces, from one up to another that is not one of them. */
interface Range {
  from: number;
  to: number;
}

/**
 * Takes out of Markdown what could be active. What is left may read as something else than it did before, so it is
 * to be done again until nothing changes. Null when quotes and lists are nested beyond all reason.
 */
export function rewrite(source: string, keepsTags: boolean): string | null {
  const blocks = splitBlocks(source);
  if (blocks === null) return null;
  const pieces = new Pieces();
  const htmlBlocks = blocks.regions.map((region) => writeBlock(region, pieces, keepsTags));
  if (blocks.closing !== '') pieces.add(blocks.closing);
  pairTags(pieces, blocks.parents);
  for (const block of htmlBlocks) if (block !== null) dropBlankLines(pieces.list, block);
  return trimLike(source, unmark(pieces.list.join('')));
}

/** Adds a region to the pieces. Returns which of them they are when it is still a block of HTML. */
function writeBlock({ kind, parts, scope }: Region, pieces: Pieces, keepsTags: boolean): Range | null {
  const text = parts.join('');
  const from = pieces.list.length;
  if (kind === 'verbatim') pieces.add(text);
  else if (kind === 'inline') writeRegion(text, scope, pieces, { isHtml: false, keepsTags });
  else if (keepsTags && staysHtml(text)) {
    writeRegion(text, scope, pieces, { isHtml: true, keepsTags });
    // Blank lines in preformatted text do not end it.
    return /^<pre/i.test(text) ? null : { from, to: pieces.list.length };
  } else writeRegion(dedent(text), scope, pieces, { isHtml: false, keepsTags });
  return null;
}

/** Where tags went, a blank line would end the block of HTML, and make code of the indented lines behind it. */
function dropBlankLines(pieces: string[], { from, to }: Range): void {
  const lines = pieces.slice(from, to).join('').split('\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks of what begins a line
  const kept = lines.filter((line) => /[^\s\u0001-\u0003]/.test(line));
  if (kept.length === lines.length) return;
  pieces[from] = kept.join('\n').trimStart();
  pieces.fill('', from + 1, to);
}

/** Whether a block of HTML begins with a tag that is kept, and will be a block of HTML again. */
function staysHtml(text: string): boolean {
  const tag = new TagReader(text).read(0);
  return tag !== null && isKept(tag.name);
}

/** Lines of HTML are often indented, which would make code of them where they become Markdown. */
function dedent(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks of what begins a line
  return text.replaceAll(/\n([\u0001-\u0003]*)[ \t]+/g, '\n$1');
}

/** Without the blank lines that a comment left at the beginning or the end. */
function trimLike(source: string, text: string): string {
  let start = 0;
  let end = text.length;
  if (!source.startsWith('\n')) while (text[start] === '\n') start++;
  if (!source.endsWith('\n')) while (end > start && text[end - 1] === '\n') end--;
  return text.slice(start, end);
}
