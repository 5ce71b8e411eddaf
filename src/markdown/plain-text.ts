import type { ContentType } from '../posts/model.ts';

// Marks in the text while it is put together: between the cells of a row, and around an inline tag.
const CELL = '\u001f';
const TAG_OPENS = '\u0001';
const TAG_CLOSES = '\u0002';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks
const MARKS = /[\u0001\u0002\u001f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks
const MARKED_TAG = /\u0001[^\u0002]*\u0002/g;

/** What a link's text may be for its address to be left out: an issue, a person, a commit, a version. */
const REFERENCE = /^(#\d+|@[\w-]+|[0-9a-f]{7,40}|v?\d+\.\d+[\w.+-]*)$/i;

const TAG = /^<(\/?[a-z][^>]*|!--.*--|![a-z][^>]*)>$/is;

// Quotes and lists in each other beyond any that people write: each level copies the text within it once more.
const TOO_DEEP =
  /^((?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))){50})(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))+/gm;

/**
 * Markdown (GFM) as text that reads well where nothing renders it: list markers and line breaks
 * stay, markup and HTML tags go, a link keeps its address where the text alone would not do.
 */
export function toPlainText(markdown: string): string {
  const text = Bun.markdown.render(
    markdown.replaceAll(MARKS, '').replaceAll(TOO_DEEP, '$1'),
    {
      heading: block,
      paragraph: block,
      blockquote: block,
      code: (code) => block(code.replaceAll(MARKS, '')),
      hr: () => '\n\n',
      list: (items, { depth }) => (depth > 0 ? `\n${items}` : `${items}\n`),
      listItem: (children, { ordered, start, index, checked }) => {
        const marker = ordered ? `${(start ?? 1) + index}.` : '-';
        const box = checked === undefined ? '' : checked ? '[x] ' : '[ ] ';
        const lines = children.trim().replaceAll(/\n+/g, '\n');
        return `${marker} ${box}${lines.replaceAll('\n', `\n${' '.repeat(marker.length + 1)}`)}\n`;
      },
      table: block,
      tr: (cells) => `${cells.slice(0, -1).replaceAll(CELL, ' | ')}\n`,
      th: (cell) => cell + CELL,
      td: (cell) => cell + CELL,
      link: (children, { href }) => {
        const isAddress = /^https?:/i.test(href);
        return !isAddress || children === href || REFERENCE.test(children)
          ? children
          : `${children} (${href})`;
      },
      image: (alt) => alt,
      html: (html) => block(withoutTags(html)),
      // An inline tag comes as a text of its own, and so does one in code, where it stays.
      text: (text) => (TAG.test(text) ? TAG_OPENS + text + TAG_CLOSES : text),
      codespan: (code) => code.replaceAll(MARKS, ''),
    },
    { autolinks: true },
  );
  return (
    text
      .replaceAll(MARKED_TAG, '')
      // Only from where a run begins: from each of its characters, a long one inside a line takes the square of it.
      .replaceAll(/(?<![ \t])[ \t]+$/gm, '')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim()
  );
}

/** What a post's Markdown is where it is read as plain text. LinkedIn knows no lists: there a bullet reads better. */
export function plainTextFor(contentType: ContentType, markdown: string): string {
  const text = toPlainText(markdown);
  return contentType === 'linkedin_post' ? text.replaceAll(/^( *)- /gm, '$1• ') : text;
}

/** One blank line after it; quotes in quotes need no more of them. */
function block(children: string): string {
  return children.endsWith('\n\n') ? children : `${children}\n\n`;
}

/** Raw HTML without its tags and comments, in one pass, since there may be thousands without an end. */
function withoutTags(html: string): string {
  const lastComment = html.lastIndexOf('-->');
  let text = '';
  let at = 0;
  for (let start = html.indexOf('<'); start !== -1; start = html.indexOf('<', at)) {
    const isComment = html.startsWith('<!--', start) && start + 4 <= lastComment;
    const end = isComment ? html.indexOf('-->', start + 4) + 2 : html.indexOf('>', start);
    if (end === -1) break;
    text += html.slice(at, start);
    at = end + 1;
  }
  return text + html.slice(at);
}
