/** A heading or a list item at the top level of a Markdown text. */
export type OutlinePart =
  /** Text that does a heading's work has a level below all headings: 7 in bold, 8 with a colon. */
  { kind: 'heading'; level: number; text: string } | { kind: 'item'; text: string };

/** As much of an item as is kept, in characters. */
export const MAX_ITEM_LENGTH = 2000;

const ITEM = /^([ \t]*)([-*+•]|\d{1,9}[.)])(?:([ \t]+)|$)/;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(?:(=)=*|--+)[ \t]*$/;
const BOLD = /^(?:\*\*[^*]{1,100}\*\*|__[^_]{1,100}__):?$/;

/**
 * The headings and the top-level list items of a Markdown text, at most `maxItems` of these. Of an item the first
 * paragraph, in Markdown. Code, comments and nested lists are passed over.
 */
export function outlineOf(markdown: string, maxItems: number): OutlinePart[] {
  const parts: OutlinePart[] = [];
  let items = 0;
  /** The item whose first paragraph goes on. */
  let open: { kind: 'item'; text: string } | null = null;
  /** Where the text of the list's items begins; what is further in belongs to an item. */
  let offset: number | null = null;
  /** The paragraph line that an underline would make a heading. */
  let paragraph: string | null = null;
  let skip: ((line: string) => boolean) | null = null;

  for (const line of markdown.split(/\r?\n/)) {
    if (skip !== null) {
      if (skip(line)) skip = null;
      continue;
    }
    skip = skippedBlock(line);
    const heading = skip === null ? headingOf(line, open === null ? paragraph : null) : null;
    const isBreak = skip !== null || heading !== null || line.trim() === '' || isRule(line);
    if (heading !== null) parts.push(heading);
    if (heading !== null || isRule(line)) offset = null;
    if (isBreak) {
      open = null;
      paragraph = null;
      continue;
    }

    const match = ITEM.exec(line);
    const indent = widthOf(/^[ \t]*/.exec(line)?.[0] ?? '');
    const isInside = offset !== null && indent >= offset;
    if (match !== null && (isInside || indent <= 3)) {
      open = null;
      if (isInside) continue;
      if (items++ === maxItems) return parts;
      const [marker, , mark = '', space = ''] = match;
      offset = indent + mark.length + (space.length > 4 ? 1 : Math.max(1, space.length));
      open = { kind: 'item', text: line.slice(marker.length, marker.length + MAX_ITEM_LENGTH) };
      parts.push(open);
    } else if (open !== null) {
      if (open.text.length < MAX_ITEM_LENGTH) open.text += ` ${line.slice(0, MAX_ITEM_LENGTH).trim()}`;
    } else if (!isInside) {
      offset = null;
      paragraph = line;
    }
  }
  return parts;
}

/** What ends the block that a line begins when nothing in it is read: a fence of code, a comment. */
function skippedBlock(line: string): ((line: string) => boolean) | null {
  const fence = FENCE.exec(line)?.[1];
  // Backticks further on are code within a line.
  if (
    fence !== undefined &&
    (fence.startsWith('~') || !line.slice(line.indexOf(fence) + fence.length).includes('`'))
  )
    return (next) => next.trimStart().startsWith(fence);
  const isComment = line.trimStart().startsWith('<!--') && !line.includes('-->');
  return isComment ? (next) => next.includes('-->') : null;
}

function headingOf(line: string, paragraph: string | null): OutlinePart | null {
  const hashes = /^ {0,3}(#{1,6})(?=[ \t])/.exec(line);
  const text = line.slice(hashes?.[0].length ?? 0).trim();
  if (hashes !== null) return { kind: 'heading', level: hashes[1]?.length ?? 1, text };
  const underline = paragraph === null ? null : UNDERLINE.exec(line);
  if (underline !== null)
    return { kind: 'heading', level: underline[1] === undefined ? 2 : 1, text: paragraph ?? '' };
  if (text.length > 110 || ITEM.test(line) || !/^\S/.test(line)) return null;
  if (BOLD.test(text)) return { kind: 'heading', level: 7, text };
  return text.endsWith(':') && text.length <= 60 ? { kind: 'heading', level: 8, text } : null;
}

/** A line across the page, which looks like list markers. */
function isRule(line: string): boolean {
  return line.length <= 200 && /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.replaceAll(/[ \t]/g, ''));
}

/** Columns that white space takes. */
function widthOf(space: string): number {
  return space.replaceAll('\t', '    ').length;
}
