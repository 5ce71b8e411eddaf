import { readTag } from './html.ts';
import { toHtml } from './parse.ts';

// Addresses of images in the text of posts. Stored texts hold absolute ones, because sites show them.

const FILE = '[A-Za-z0-9_-]{1,64}\\.(?:png|jpg|gif|webp|avif)';

/** An image of this server, as its path. */
export const MEDIA_PATH = new RegExp(`^/media/${FILE}$`);

/** An address begins after `](`, `<`, `="`, `: ` in Markdown and HTML. */
const TYPED = new RegExp(`(?<=[(<"']|\\]:[ \\t]{1,10})/media/(?=${FILE})`, 'g');

/** Makes the addresses absolute that a person typed as `/media/…`. */
export function withAbsoluteMedia(markdown: string, publicUrl: string): string {
  return markdown.includes('/media/') ? markdown.replaceAll(TYPED, `${publicUrl}/media/`) : markdown;
}

/** The reverse, for our own pages, which show images of their own origin alone. */
export function withRelativeMedia(markdown: string, publicUrl: string): string {
  const start = `${publicUrl}/media/`;
  return markdown.includes(start) ? markdown.replaceAll(start, '/media/') : markdown;
}

const ANYWHERE = new RegExp(`https?://[^\\s()<>"']{1,300}?(/media/img_${FILE})`, 'g');

/** The same for every public URL, to compare texts. */
export function withoutMediaOrigin(text: string): string {
  return text.includes('/media/') ? text.replaceAll(ANYWHERE, '$1') : text;
}

export function imageMarkdown(alt: string, address: string): string {
  return `![${alt.replaceAll(/[\\`*_[\]<>&|~!]/g, '\\$&')}](${address})`;
}

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

const MAX_ADDRESS = 2_000;

/** A comment, which goes on to the end when nothing ends it, or the tag of an image. Bounded, since many may have no end. */
const IMAGE = /<!--[\s\S]*?(?:-->|$)|<img(?=[\s/>])(?:"[^"]{0,4000}"|'[^']{0,4000}'|[^'"<>]){0,1000}>/gi;

/**
 * Every image of a text that has a whole address, in order, each once. At most `limit`. Reads tags and not elements: the
 * time of a parser grows with those that are open.
 */
export function imagesIn(markdown: string, limit: number): string[] {
  const found = new Set<string>();
  // Most texts have none, and are not rendered.
  if (!/!\[|<img/i.test(markdown)) return [];
  for (const [tag] of toHtml(markdown).matchAll(IMAGE)) {
    const address = readTag(tag)?.attributes.get('src') ?? '';
    // In bytes: an index of PostgreSQL refuses longer keys.
    if (/^https?:\/\//i.test(address) && Buffer.byteLength(address) <= MAX_ADDRESS) found.add(address);
    if (found.size >= limit) break;
  }
  return [...found];
}

/** Replaces an address wherever the text names it whole, in Markdown or HTML. */
export function replaceAddress(text: string, from: string, to: string): string {
  const spellings = new Set([from, from.replaceAll('&', '&amp;')]);
  let current = text;
  for (const spelling of spellings) {
    // Most texts name none of many addresses.
    if (!current.includes(spelling)) continue;
    const whole = new RegExp(`${RegExp.escape(spelling)}(?=[\\s)>"'\\]]|$)`, 'g');
    current = current.replaceAll(whole, () => to);
  }
  return current;
}
