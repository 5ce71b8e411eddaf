// Reads HTML as leniently as browsers do, independently of the service, and reports everything in a page that could
// run, load or take over something. A tag without an end counts as a tag, since more text may be put after it.

const HARMLESS = new Set(
  (
    'h1 h2 h3 h4 h5 h6 p br hr ul ol li dl dt dd blockquote pre code kbd samp var sub sup b i em strong del ins s u ' +
    'small mark q table caption thead tbody tfoot tr th td details summary a img input'
  ).split(' '),
);
const HARMLESS_ATTRIBUTES = new Set(
  'href src alt title align class type checked disabled start aria-label'.split(' '),
);

/** Names everything in a piece of HTML that is active or may swallow the text after it. */
export function findActive(html: string): string[] {
  const found: string[] = [];
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at)) {
    const next = html[at + 1] ?? '';
    if (/[!?]/.test(next) || (next === '/' && /[^a-z]/i.test(html[at + 2] ?? ' ')))
      found.push(`markup at ${at}`);
    at = /[a-z/]/i.test(next) ? readTag(html, at + 1, found) : at + 1;
  }
  return found;
}

function readTag(html: string, start: number, found: string[]): number {
  const isEnd = html[start] === '/';
  let at = isEnd ? start + 1 : start;
  const name = readWhile(html, at, /[^\s/>]/);
  at += name.length;
  if (!HARMLESS.has(name.toLowerCase())) found.push(`<${name}>`);
  for (;;) {
    at += readWhile(html, at, /[\s/]/).length;
    if (at >= html.length) {
      found.push(`<${name} without an end`);
      return at;
    }
    if (html[at] === '>') return at + 1;
    const key = (html[at] ?? '') + readWhile(html, at + 1, /[^\s/>=]/);
    at += key.length;
    const space = readWhile(html, at, /\s/).length;
    let value = '';
    if (html[at + space] === '=') {
      at += space + 1;
      at += readWhile(html, at, /\s/).length;
      const quote = html[at] === '"' || html[at] === "'" ? (html[at] ?? '') : '';
      value = readWhile(html, at + quote.length, quote === '' ? /[^\s>]/ : new RegExp(`[^${quote}]`));
      at += value.length + 2 * quote.length;
    }
    judge(name.toLowerCase(), key.toLowerCase(), value, found);
  }
}

function judge(element: string, key: string, value: string, found: string[]): void {
  if (!HARMLESS_ATTRIBUTES.has(key)) found.push(`${key} of <${element}>`);
  if (element === 'input' && key === 'type' && value !== 'checkbox') found.push(`<input type=${value}>`);
  if (key !== 'href' && key !== 'src') return;
  const address = decode(value).replaceAll(/[\p{Cc}\s]/gu, '');
  if (URL.canParse(address) && !/^(https?|mailto):$/.test(new URL(address).protocol)) {
    found.push(`${key}="${value}"`);
  }
}

/** Decodes the entities of an attribute, independently of the service. */
function decode(value: string): string {
  const named: Record<string, string> = {
    Tab: '\t',
    NewLine: '\n',
    colon: ':',
    amp: '&',
    quot: '"',
    lt: '<',
    gt: '>',
  };
  return value
    .replaceAll(/&#x([0-9a-f]+);?/gi, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16) % 0x11_0000),
    )
    .replaceAll(/&#(\d+);?/g, (_, digits: string) => String.fromCodePoint(Number(digits) % 0x11_0000))
    .replaceAll(/&([a-z]+);/gi, (entity, name: string) => named[name] ?? entity);
}

function readWhile(text: string, start: number, pattern: RegExp): string {
  let end = start;
  while (end < text.length && pattern.test(text.charAt(end))) end++;
  return text.slice(start, end);
}
