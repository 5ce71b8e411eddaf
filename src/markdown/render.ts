import { withAlerts } from './alerts.ts';
import { withEmojiInHtml } from './emoji.ts';
import { names } from './html.ts';
import { MEDIA_PATH } from './media.ts';
import { toHtml } from './parse.ts';
import { safeMarkdown } from './safe.ts';

/** Elements of text. None of them runs, loads or asks for something. */
const ELEMENTS = names(
  'h1 h2 h3 h4 h5 h6 p br hr ul ol li dl dt dd blockquote pre code kbd samp var sub sup b i em strong del ins s u ' +
    'small mark q table caption thead tbody tfoot tr th td details summary a input',
);
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

/** Renders anybody's Markdown for the dashboard, within two independent walls: `safeMarkdown` and `allowOnly`. */
export function renderMarkdown(markdown: string): string {
  const safe = safeMarkdown(markdown);
  const linked = toHtml(safe, { autolinks: true });
  // Bun may lose the end of emphasis around an address that it links. The emphasis would reach beyond the post.
  const allowed = allowOnly(isBalanced(linked) ? linked : toHtml(safe));
  return withEmojiInHtml(withAlerts(allowed));
}

/** Drops everything that is not listed above. Other sites' images become links: a page requests nothing of others. */
export function allowOnly(html: string): string {
  let openLinks = 0;
  return new HTMLRewriter()
    .on('*', {
      element(element) {
        const { tagName } = element;
        if (tagName === 'img') {
          if (MEDIA_PATH.test(element.getAttribute('src') ?? '')) keepImage(element);
          else element.replace(pictureLink(element, openLinks > 0), { html: true });
        } else if (SWALLOWED.has(tagName)) {
          element.remove();
        } else if (
          !ELEMENTS.has(tagName) ||
          (tagName === 'input' && element.getAttribute('type') !== 'checkbox')
        ) {
          element.removeAndKeepContent();
        } else {
          keepAllowed(element);
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

/** An image of our own. */
function keepImage(element: HTMLRewriterTypes.Element): void {
  for (const [name = ''] of [...element.attributes]) {
    if (name !== 'src' && name !== 'alt' && name !== 'title') element.removeAttribute(name);
  }
  if (!element.hasAttribute('alt')) element.setAttribute('alt', '');
  element.setAttribute('loading', 'lazy');
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
