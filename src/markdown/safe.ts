import { cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { bounded } from './bounds.ts';
import { isKept, isSafeAddress, PHRASING, VOID } from './html.ts';
import { toHtml } from './parse.ts';
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

const ATTRIBUTES: Record<string, (value: string, element: string) => boolean> = {
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
          if (!Object.hasOwn(ATTRIBUTES, name) || ATTRIBUTES[name]?.(value, tagName) !== true) refuse();
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
