import { cutText, MAX_BODY_LENGTH } from '../text.ts';
import { HtmlFootnotes, markAlerts, markFootnotes, withAlerts, withEmojiInHtml } from './extensions.ts';
import { isKept, isSafeAddress, names, PHRASING, VOID } from './html.ts';
import { MEDIA_PATH } from './media.ts';
import { fitHeadings, type HeadingOptions } from './outline.ts';
import { bounded, toHtml } from './parse.ts';
import { cleanText, escapeLines, toPlainText } from './plain-text.ts';
import { rewrite } from './rewrite.ts';

// Drafts are made of text that strangers write, and rendered by sites that we do not know, perhaps with raw HTML let
// through. So the text is rewritten, and then rendered and checked; text that fails the check becomes plain words.

/** Room for the fence and the tags that are closed at the end of a text that was cut. */
const RESERVE = 2000;
const MAX_PASSES = 8;

/**
 * Markdown with nothing active in it: no scripts, no attributes, only addresses of http, https and mailto, whatever
 * renders it. Harmless text stays byte for byte, code included. At most 200,000 characters; a second time changes
 * nothing.
 */
export function safeMarkdown(markdown: string): string {
  const text = cleanText(fit(markdown));
  const whole = settle(text, true);
  if (whole !== null && isHarmless(whole)) return whole;
  const tagless = settle(text, false);
  if (tagless !== null && isHarmless(tagless)) return tagless;
  const words = escapeLines(tagless === null ? text : toPlainText(tagless));
  return isHarmless(words) ? words : escapeLines(text.replaceAll(/[<&[\]`]/g, ' '));
}

/** Rewrites a text until nothing changes; null when that does not end. */
function settle(text: string, keepsTags: boolean): string | null {
  let current = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const next = rewrite(current, keepsTags);
    if (next === current) return next;
    current = fit(next);
  }
  return null;
}

/** Cuts a text that is too long so that there is room to close what is open then. */
function fit(text: string): string {
  return text.length <= MAX_BODY_LENGTH ? text : cutText(text, MAX_BODY_LENGTH - RESERVE);
}

const MAX_DEPTH = 120;
/** A tag as Bun and `rewrite` write it. Nothing else may begin with `<`. */
const TAG = /<(\/?)([a-z][a-z\d]*)((?: [a-z]+(?:="[^"<>]*")?)*) ?\/?>/g;
const EMPTY = new Set([...VOID, 'img', 'input']);

/**
 * Sites that link addresses, and sites that read Markdown where others let raw HTML through. Emphasis may stay open
 * there: Bun loses its end to a linked address, as in `**see https://x.test/y**`.
 */
const OTHER_SITES: Bun.markdown.Options[] = [{ autolinks: true }, { noHtmlBlocks: true, noHtmlSpans: true }];

const SAFE_ATTRIBUTES: Record<string, (value: string, element: string) => boolean> = {
  href: (value, element) => element === 'a' && isSafeAddress(value),
  src: (value, element) => element === 'img' && isSafeAddress(value),
  alt: (_, element) => element === 'img',
  title: (_, element) => element === 'a' || element === 'img',
  align: (value) => /^(?:left|center|right)$/.test(value),
  class: (value) => /^(?:language-\S*|task-list-item(?:-checkbox)?|contains-task-list)$/.test(value),
  type: (value, element) => element === 'input' && value === 'checkbox',
  checked: (value, element) => element === 'input' && value === '',
  disabled: (value, element) => element === 'input' && value === '',
  start: (value, element) => element === 'ol' && /^\d+$/.test(value),
};

/** Renders Markdown as different sites do, and looks for anything but harmless, well nested elements. */
export function isHarmless(markdown: string): boolean {
  // Beyond the bounds, sites read something else than we do.
  if (bounded(markdown) !== markdown) return false;
  const plain = toHtml(markdown);
  if (!isWellFormed(plain, true) || !hasOnlyAllowed(plain)) return false;
  return OTHER_SITES.every((options) => {
    const html = toHtml(markdown, options);
    return html === plain || (isWellFormed(html, false) && hasOnlyAllowed(html));
  });
}

function hasOnlyAllowed(html: string): boolean {
  let isFine = true;
  const refuse = () => {
    isFine = false;
  };
  new HTMLRewriter()
    .on('*', {
      element(element) {
        const { tagName } = element;
        if (!isKept(tagName) && !/^(?:a|img|input)$/.test(tagName)) refuse();
        for (const [name = '', value = ''] of element.attributes) {
          if (!Object.hasOwn(SAFE_ATTRIBUTES, name) || SAFE_ATTRIBUTES[name]?.(value, tagName) !== true)
            refuse();
        }
      },
    })
    .onDocument({ comments: refuse, doctype: refuse })
    .transform(html);
  return isFine;
}

/** Plain tags, and blocks nested and closed: no lenient parser and no text after it makes something else of it. */
function isWellFormed(html: string, countsWords: boolean): boolean {
  if (html.replaceAll(TAG, '').includes('<')) return false;
  const open: string[] = [];
  const words = new Map<string, number>();
  for (const [, slash, name = ''] of html.matchAll(TAG)) {
    const change = slash === '' ? 1 : -1;
    if (EMPTY.has(name)) continue;
    if (name === 'a' || PHRASING.has(name)) {
      const count = (words.get(name) ?? 0) + change;
      if (countsWords && (count < 0 || count > MAX_DEPTH)) return false;
      words.set(name, count);
    } else if (change === 1) {
      if (open.push(name) > MAX_DEPTH) return false;
    } else if (open.pop() !== name) return false;
  }
  return open.length === 0 && (!countsWords || words.values().every((count) => count === 0));
}

const SWALLOWED = names(
  'script style template noscript iframe object embed svg math title textarea select xmp plaintext head',
);

const ATTRIBUTES: Readonly<Record<string, (value: string, element: string) => boolean>> = {
  href: (value, element) => element === 'a' && isWebAddress(value),
  title: (_, element) => element === 'a',
  align: (value) => /^(?:left|center|right)$/.test(value),
  class: (value) => /^(?:language-[\w+#.-]+|task-list-item(?:-checkbox)?|contains-task-list)$/.test(value),
  type: (value, element) => element === 'input' && value === 'checkbox',
  checked: (value, element) => element === 'input' && value === '',
  disabled: (_, element) => element === 'input',
  start: (value, element) => element === 'ol' && /^\d{1,9}$/.test(value),
};

/** Describes the page around the HTML. JSON, since it goes to a thread. */
export interface HtmlOptions {
  /** In front of `/media/…`: empty, or the address of a page behind a proxy. */
  mediaBase?: string;
  /** As the text of an article on a public page. */
  article?: HeadingOptions & {
    /** By the ids of our images, so that a page doesn't jump while it loads. */
    sizes: Readonly<Record<string, { width: number; height: number }>>;
  };
}

/**
 * Renders anybody's Markdown, within two independent walls: `safeMarkdown` and `allowOnly`. Takes up to a second: on the
 * event loop, ask `texts`.
 */
export function renderMarkdown(markdown: string, options: HtmlOptions = {}): string {
  const footnotes = new HtmlFootnotes(markdown);
  const safe = safeMarkdown(markFootnotes(markAlerts(markdown), footnotes));
  const linked = toHtml(safe, { autolinks: true });
  // Bun may lose the end of emphasis around an address that it links. The emphasis would reach beyond the post.
  const allowed = allowOnly(isBalanced(linked) ? linked : toHtml(safe), options);
  const html = footnotes.finish(withEmojiInHtml(withAlerts(allowed)));
  return options.article === undefined ? html : fitHeadings(html, options.article);
}

/** Drops everything that is not allowed above. Other sites' images become links: a page requests nothing of others. */
export function allowOnly(html: string, options: HtmlOptions = {}): string {
  let openLinks = 0;
  return new HTMLRewriter()
    .on('*', {
      element(element) {
        const { tagName } = element;
        if (tagName === 'img') {
          if (MEDIA_PATH.test(element.getAttribute('src') ?? '')) keepImage(element, options);
          else element.replace(pictureLink(element, openLinks > 0), { html: true });
        } else if (SWALLOWED.has(tagName)) {
          element.remove();
        } else if (
          !(isKept(tagName) || tagName === 'a') &&
          !(tagName === 'input' && element.getAttribute('type') === 'checkbox')
        ) {
          element.removeAndKeepContent();
        } else {
          keepAllowed(element);
          if (options.article !== undefined) fitElement(element);
          if (tagName === 'a') {
            openLinks++;
            element.onEndTag(() => void openLinks--);
          }
        }
      },
    })
    .onDocument({ comments: (comment) => void comment.remove() })
    .transform(html);
}

function keepAllowed(element: HTMLRewriterTypes.Element): void {
  const { tagName } = element;
  for (const [name = '', value = ''] of [...element.attributes]) {
    if (!Object.hasOwn(ATTRIBUTES, name) || ATTRIBUTES[name]?.(value, tagName) !== true) {
      element.removeAttribute(name);
    }
  }
  if (tagName === 'a') element.setAttribute('rel', 'noopener nofollow');
  if (tagName === 'input') {
    element.setAttribute('disabled', '');
    element.setAttribute('aria-label', element.hasAttribute('checked') ? 'Done' : 'To do');
  }
}

/** Long lines and wide tables scroll, and the keyboard scrolls only what has the focus. */
function fitElement(element: HTMLRewriterTypes.Element): void {
  if (element.tagName === 'pre') element.setAttribute('tabindex', '0');
  if (element.tagName === 'table') {
    element.before('<div class="scroll" role="group" aria-label="Table" tabindex="0">', { html: true });
    element.after('</div>', { html: true });
  }
}

function keepImage(element: HTMLRewriterTypes.Element, { mediaBase = '', article }: HtmlOptions): void {
  for (const [name = ''] of [...element.attributes]) {
    if (name !== 'src' && name !== 'alt' && name !== 'title') element.removeAttribute(name);
  }
  if (!element.hasAttribute('alt')) element.setAttribute('alt', '');
  element.setAttribute('loading', 'lazy');
  const src = element.getAttribute('src') ?? '';
  const { width, height } = article?.sizes[/\/(img_[\w-]+)\./.exec(src)?.[1] ?? ''] ?? {};
  if (width !== undefined) element.setAttribute('width', String(width));
  if (height !== undefined) element.setAttribute('height', String(height));
  element.setAttribute('src', mediaBase + src);
}

/** The description of a picture, with a link to it outside of links. */
function pictureLink(element: HTMLRewriterTypes.Element, isInLink: boolean): string {
  const words = quotable(element.getAttribute('alt') ?? '').trim() || 'Picture';
  const address = element.getAttribute('src') ?? '';
  if (isInLink || !isWebAddress(address)) return words;
  return `<a href="${quotable(address)}" rel="noopener nofollow">${words}</a>`;
}

/** Refuses relative addresses, which would lead into the dashboard. */
function isWebAddress(address: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\p{Cc}]+$/iu.test(address);
}

/** Escapes a raw attribute, whose entities stay, for text and attributes. */
function quotable(raw: string): string {
  return raw.replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function isBalanced(html: string): boolean {
  const open = new Map<string, number>();
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z\d]*)\b[^>]*>/g)) {
    open.set(name, (open.get(name) ?? 0) + (slash === '' ? 1 : -1));
  }
  return [...open].every(([name, count]) => count === 0 || /^(?:br|hr|img|input)$/.test(name));
}
