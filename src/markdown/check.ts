import { isSafeAddress } from './address.ts';
import { isKept, PHRASING, VOID } from './html.ts';

/** Browsers flatten what is nested much deeper. */
const MAX_DEPTH = 120;
/** A tag as the renderer and we write them: whatever else begins with `<` is not to be there. */
const TAG = /<(\/?)([a-z][a-z\d]*)((?: [a-z]+(?:="[^"<>]*")?)*) ?\/?>/g;
const EMPTY = new Set([...VOID, 'img', 'input']);

/**
 * Sites that link addresses, and those that let no raw HTML through and read Markdown in it. Emphasis need not be closed
 * there: Bun loses its end to an address that it links, as in `**see https://x.test/y**`, which is not the text's fault.
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

/** Whether Markdown, rendered with its raw HTML let through, has nothing but harmless elements, well nested. */
export function isHarmless(markdown: string): boolean {
  const plain = Bun.markdown.html(markdown);
  if (!isWellFormed(plain, true) || !hasOnlyAllowed(plain)) return false;
  return OTHER_SITES.every((options) => {
    const html = Bun.markdown.html(markdown, options);
    return html === plain || (isWellFormed(html, false) && hasOnlyAllowed(html));
  });
}

/** What a parser of HTML finds in it. */
function hasOnlyAllowed(html: string): boolean {
  let isFine = true;
  const refuse = () => {
    isFine = false;
  };
  new HTMLRewriter()
    .on('*', {
      element(element) {
        const { tagName } = element;
        const isAllowed = isKept(tagName) || tagName === 'a' || tagName === 'img' || tagName === 'input';
        if (!isAllowed) refuse();
        for (const [name = '', value = ''] of element.attributes) {
          if (!Object.hasOwn(ATTRIBUTES, name) || ATTRIBUTES[name]?.(value, tagName) !== true) refuse();
        }
      },
    })
    .onDocument({ comments: refuse, doctype: refuse })
    .transform(html);
  return isFine;
}

/**
 * Whether every `<` begins a plainly written tag, and what holds blocks is nested and closed, so that neither a
 * lenient parser nor what is put after the text can make something else of it.
 */
function isWellFormed(html: string, countsWords: boolean): boolean {
  if (html.replaceAll(TAG, '').includes('<')) return false;
  const open: string[] = [];
  const words = new Map<string, number>();
  for (const [, slash, name = ''] of html.matchAll(TAG)) {
    const change = slash === '' ? 1 : -1;
    if (EMPTY.has(name)) continue;
    if (PHRASING.has(name)) {
      const count = (words.get(name) ?? 0) + change;
      if (countsWords && (count < 0 || count > MAX_DEPTH)) return false;
      words.set(name, count);
    } else if (change === 1) {
      if (open.push(name) > MAX_DEPTH) return false;
    } else if (open.pop() !== name) return false;
  }
  return open.length === 0 && (!countsWords || words.values().every((count) => count === 0));
}
