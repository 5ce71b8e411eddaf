import { escapeHtml } from '../markdown/html.ts';
import { renderMarkdown } from '../markdown/render.ts';

/** Renders long Markdown in a thread. Rejects with `AppError` when it takes too long. */
export type RenderInThread = (markdown: string) => Promise<string>;

/** Longer texts are rendered in the thread. */
const MAX_HERE = 10_000;

/** Images of one post whose sizes are looked up. */
const MAX_SIZES = 50;

const OWN_IMAGE = /\/media\/(img_[A-Za-z0-9_-]{1,60})\.[a-z]{3,4}/g;

/** Ids of our images in a text. */
export function imageIdsIn(markdown: string): string[] {
  if (!markdown.includes('/media/img_')) return [];
  const ids = new Set<string>();
  for (const [, id = ''] of markdown.matchAll(OWN_IMAGE)) if (ids.size < MAX_SIZES) ids.add(id);
  return [...ids];
}

export interface ArticleOptions {
  /** The level of the highest heading within the text. */
  level: 2 | 3;
  /** Headings get ids and link to themselves. */
  hasAnchors: boolean;
  /** In front of `/media/…`: empty, or the address of the page behind a proxy. */
  mediaBase: string;
  sizes: ReadonlyMap<string, { width: number; height: number }>;
}

/** The text of a post as part of a page: safe, with headings that fit the page's outline, and images of known size. */
export async function renderArticle(
  markdown: string,
  options: ArticleOptions,
  render?: RenderInThread,
): Promise<string> {
  const isLong = render !== undefined && markdown.length > MAX_HERE;
  const html = isLong ? await render(markdown) : renderMarkdown(markdown);
  return fitHeadings(fitElements(html, options), options);
}

function fitElements(html: string, { mediaBase, sizes }: ArticleOptions): string {
  return (
    new HTMLRewriter()
      .on('img', {
        element(image) {
          const src = image.getAttribute('src') ?? '';
          const size = sizes.get(/\/(img_[A-Za-z0-9_-]+)\./.exec(src)?.[1] ?? '');
          if (size !== undefined) {
            image.setAttribute('width', String(size.width));
            image.setAttribute('height', String(size.height));
          }
          image.setAttribute('src', mediaBase + src);
        },
      })
      // Long lines scroll, and the keyboard scrolls only what has the focus.
      .on('pre', { element: (pre) => void pre.setAttribute('tabindex', '0') })
      .on('table', {
        element(table) {
          table.before('<div class="scroll" role="group" aria-label="Table" tabindex="0">', { html: true });
          table.after('</div>', { html: true });
        },
      })
      .transform(html)
  );
}

/** A text of 200,000 characters could have 50,000 headings. */
const MAX_ANCHORS = 1_000;

const HEADING = /<h([1-6])(?: align="[a-z]+")?>([\s\S]*?)<\/h\1>/g;

/** Levels start at `level` and skip none, whatever the author wrote. */
function fitHeadings(html: string, { level, hasAnchors }: ArticleOptions): string {
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
