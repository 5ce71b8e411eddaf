import { toHtml } from './parse.ts';

// Addresses of images in the text of posts. Stored texts hold absolute ones, because sites show them.

const FILE = '[A-Za-z0-9_-]{1,64}\\.(?:png|jpg|gif|webp|avif)';

/** An image of this server, as its path. */
export const MEDIA_PATH = new RegExp(`^/media/${FILE}$`);

/** Where an address may begin in Markdown and HTML: after `](`, `<`, `="`, `: `. */
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

/** An image in Markdown. */
export function imageMarkdown(alt: string, address: string): string {
  return `![${alt.replaceAll(/[\\`*_[\]<>&|~!]/g, '\\$&')}](${address})`;
}

const MAX_ADDRESS = 2_000;

/** Every image of a text that has a whole address, in order, each once. At most `limit`. */
export function imagesIn(markdown: string, limit: number): string[] {
  const found = new Set<string>();
  const keep = (address: string | null | undefined) => {
    if (!address || !/^https?:\/\//i.test(address) || found.size >= limit) return;
    // In bytes: an index of PostgreSQL refuses longer keys.
    if (Buffer.byteLength(address) <= MAX_ADDRESS) found.add(address);
  };
  const html = toHtml(markdown);
  new HTMLRewriter()
    .on('img', { element: (element) => keep(decodeAttribute(element.getAttribute('src'))) })
    .transform(html);
  return [...found];
}

/** The rewriter gives attributes as they are written. */
const decodeAttribute = (text: string | null) => text?.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

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
