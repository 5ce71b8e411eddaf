// Raw HTML and addresses in untrusted Markdown: what may stay, and how to read it.

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Elements of words. They may cross the elements that Markdown makes. */
export const PHRASING = names('b i em strong code kbd samp var sub sup del ins s u small mark q');
/** Elements that hold blocks or lines, and must nest. */
export const STRUCTURE = names(
  'p pre blockquote ul ol li dl dt dd table caption thead tbody tfoot tr th td h1 h2 h3 h4 h5 h6 details summary',
);
/** Elements without content. */
export const VOID = names('br hr');
/** Elements whose content is no text for readers: they go with their content. */
export const OPAQUE = names(
  'script style iframe object svg math template noscript textarea title xmp noembed noframes applet frameset canvas',
);
const OTHERS = names(
  'a abbr acronym address area article aside audio base basefont bdi bdo big blink body button center cite col colgroup ' +
    'data datalist dfn dialog dir div embed fieldset figcaption figure font footer form frame head header hgroup html ' +
    'image img input isindex keygen label legend link main map marquee menu menuitem meta meter nav nobr optgroup ' +
    'option output param picture plaintext portal progress rb rbc rp rt rtc ruby search section select slot source ' +
    'span strike time track tt video wbr',
);

/** Tags of these elements stay, without their attributes. */
export function isKept(name: string): boolean {
  return VOID.has(name) || STRUCTURE.has(name) || PHRASING.has(name);
}

/** False for names that HTML does not have: `<string>` is more likely to be a type in somebody's code. */
function isElement(name: string): boolean {
  return isKept(name) || OPAQUE.has(name) || OTHERS.has(name);
}

export interface Tag {
  name: string;
  isEnd: boolean;
  attributes: ReadonlyMap<string, string>;
}

const TAG = /^<(\/?)([a-z][a-z\d]{0,15})(?=[\s/>])([\s\S]*)>$/i;
const ATTRIBUTE = /([^\s/>="'<][^\s/>=<]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?/g;

/** Reads a whole tag; null when it is of no element that HTML has. */
export function readTag(source: string): Tag | null {
  const [, slash, name = '', rest = ''] = TAG.exec(source) ?? [];
  if (!isElement(name.toLowerCase())) return null;
  const attributes = new Map<string, string>();
  for (const [, key = '', ...values] of rest.matchAll(ATTRIBUTE)) {
    const value = values.find((each) => each !== undefined) ?? '';
    // As in browsers, the first of one name holds.
    if (!attributes.has(key.toLowerCase())) attributes.set(key.toLowerCase(), decodeEntities(value));
  }
  return { name: name.toLowerCase(), isEnd: slash === '/', attributes };
}

const special = (length: string) =>
  `<!---?>|<!--[^]${length}-->|<\\?[^]${length}\\?>|<!\\[CDATA\\[[^]${length}\\]\\]>|<![a-z][^>]${length}>`;

/** The comment, instruction or declaration that a text begins with. */
export const SPECIAL = new RegExp(`^(?:${special('*?')})`, 'i');

/** Everything in HTML that begins with `<`, as leniently as browsers read it. Bounded, since many may have no end. */
export const MARKUP = new RegExp(
  `${special('{0,4000}?')}|</?[a-z](?:"[^"]{0,4000}"|'[^']{0,4000}'|[^'"<>]){0,1000}>|<`,
  'gi',
);

/** Where the elements of a text end. */
export class EndTags {
  private readonly ends: ReadonlyMap<string, { at: number; end: number }[]>;

  constructor(text: string) {
    const tags = Map.groupBy(
      text.matchAll(/<\/([a-z][a-z\d]{0,15})(?:[\s/][^<>]{0,100})?>/gi),
      ([, name = '']) => name.toLowerCase(),
    );
    this.ends = new Map(
      Array.from(tags, ([name, matches]) => [
        name,
        matches.map((match) => ({ at: match.index, end: match.index + match[0].length })),
      ]),
    );
  }

  /** The position after the first end tag of that name from `from` on; null when there is none. */
  after(name: string, from: number): number | null {
    const tags = this.ends.get(name) ?? [];
    let [low, high] = [0, tags.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tags[middle]?.at ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    return tags[low]?.end ?? null;
  }
}

/** Escapes text for HTML, in attributes too. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const SAFE_SCHEMES = names('http https mailto');

/** The entities that could hide a scheme's letters, its colon, or the white space that browsers ignore in it. */
const ENTITY = /&(?:#(\d{1,7});?|#x([0-9a-f]{1,6});?|(colon|Tab|NewLine|amp|quot|lt|gt|apos);)/gi;
const NAMED: Record<string, string> = {
  colon: ':',
  tab: '\t',
  newline: '\n',
  amp: '&',
  quot: '"',
  lt: '<',
  gt: '>',
  apos: "'",
};

function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (_, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? '';
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Links may lead to http, https, mailto, or an address relative to the page. */
export function isSafeAddress(address: string): boolean {
  const plain = decodeEntities(address).replaceAll(/[\s\p{Cc}\p{Cf}]/gu, '');
  const scheme = /^[^/?#:]*(?=:)/.exec(plain)?.[0];
  return scheme === undefined || SAFE_SCHEMES.has(scheme.toLowerCase());
}

/** Images and links of raw HTML must have a whole address of the web. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(address);
}

/** An address as a link's destination in Markdown: percent-encodes what Markdown or HTML would read in it. */
export function toDestination(address: string): string {
  return address
    .replaceAll(/[\s<>()\\`"'*[\]|]/g, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code < 0x80 ? `%${code.toString(16).toUpperCase().padStart(2, '0')}` : encodeURI(character);
    })
    .replaceAll(/&(?=#|[a-z][a-z\d]*;)/gi, '&amp;');
}
