import { escapeHtml } from './html.ts';

/** A text of 200,000 characters could have 50,000 headings. */
const MAX_ANCHORS = 1_000;

const HEADING = /<h([1-6])(?: align="[a-z]+")?>([\s\S]*?)<\/h\1>/g;

export interface HeadingOptions {
  /** The level of the highest heading within the text. */
  level: 2 | 3;
  /** Headings get ids and link to themselves. */
  hasAnchors: boolean;
}

/** Fits the headings of a text to a page: levels start at `level` and skip none, whatever the author wrote. */
export function fitHeadings(html: string, { level, hasAnchors }: HeadingOptions): string {
  const open: number[] = [];
  const ids = new Map<string, number>();
  let count = 0;
  return html.replaceAll(HEADING, (_, written: string, content: string) => {
    const own = Number(written);
    while ((open.at(-1) ?? 0) >= own) open.pop();
    open.push(own);
    const name = `h${Math.min(6, level + open.length - 1)}`;
    const slug = hasAnchors && count++ < MAX_ANCHORS ? slugOf(content) : '';
    if (slug === '') return `<${name}>${content}</${name}>`;
    const times = (ids.get(slug) ?? 0) + 1;
    ids.set(slug, times);
    const id = escapeHtml(times === 1 ? `h-${slug}` : `h-${slug}-${times}`);
    const inner = content.includes('<a ') ? content : `<a href="#${id}">${content}</a>`;
    return `<${name} id="${id}">${inner}</${name}>`;
  });
}

/** `<code>Fixed</code> &amp; more` becomes `fixed-more`. */
function slugOf(html: string): string {
  const words = html
    .replaceAll(/<[^>]*>|&#?\w+;/g, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u);
  return words.filter(Boolean).join('-').slice(0, 60).toWellFormed();
}
