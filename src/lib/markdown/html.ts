// Raw HTML and addresses in untrusted Markdown: tags that may stay, how they are read, written and paired.

export const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Elements of words. They may cross the elements that Markdown makes. */
export const PHRASING = names('b i em strong code kbd samp var sub sup del ins s u small mark q');
/** Elements that hold blocks or lines, and must nest. */
export const STRUCTURE = names(
  'p pre blockquote ul ol li dl dt dd table caption thead tbody tfoot tr th td h1 h2 h3 h4 h5 h6 details summary',
);
export const VOID = names('br hr');
/** Elements whose content is no text for readers: they go with their content. */
export const OPAQUE = names(
  'script style iframe object svg math template noscript textarea title xmp noembed noframes applet frameset canvas',
);
const OTHERS = names(
  'a abbr acronym area audio base basefont bdi bdo big blink button cite col colgroup data datalist dfn embed font ' +
    'frame head html image img input isindex keygen label link map marquee menuitem meta meter nobr optgroup output ' +
    'param picture plaintext portal progress rb rbc rp rt rtc ruby select slot source span strike time track tt video ' +
    'wbr',
);

/** Parts of other elements, which no note names. They go with their attributes. */
export const PARTS = names('area col param source track wbr');
/** Elements of HTML whose end tags may be left out. */
const UNENDED = names('p li dt dd thead tbody tfoot tr th td');

/** Elements that begin and end a line, but have no place in a note. */
const BLOCKS = names(
  'address article aside body center dialog dir div fieldset figcaption figure footer form header hgroup legend main ' +
    'menu nav option search section',
);

/** Keeps words apart when the tag between them is removed. */
export function gapOf({ name, isEnd }: Tag, isKept: boolean, before: string, after: string): string {
  if (before.trim() === '' || after.trim() === '') return '';
  if (isKept && !isEnd && /^(?:li|dt|dd)$/.test(name)) return '<br>';
  return STRUCTURE.has(name) || BLOCKS.has(name) ? ' ' : '';
}

/** Tells `<ul> is kept` from a block that nobody closed, by what stands beside the tag in its line. */
export function isAmongWords({ name, attributes }: Tag, before: string, after: string): boolean {
  if (attributes.size > 0) return false;
  if (UNENDED.has(name)) return /^(?:[ \t]+[^\s<\p{Lu}]|[,.:;!?)/])/u.test(after);
  return !/(?:^|>)$/.test(before.trimEnd()) || /^[ \t]*[^\s<]/.test(after);
}

/** Tags of these elements stay, without their attributes. */
export function isKept(name: string): boolean {
  return VOID.has(name) || STRUCTURE.has(name) || PHRASING.has(name);
}

export interface Tag {
  name: string;
  isEnd: boolean;
  attributes: ReadonlyMap<string, string>;
}

const TAG = /^<(\/?)([a-z][a-z\d]{0,15})(?=[\s/>])([\s\S]*)>$/i;
const ATTRIBUTE = /([^\s/>="'<][^\s/>=<]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?/g;

/** Reads a whole tag. Null for names that HTML does not have, as in `<string>`, and for `<Button>`, a component. */
export function readTag(source: string): Tag | null {
  const [, slash, written = '', rest = ''] = TAG.exec(source) ?? [];
  const name = written.toLowerCase();
  if (/[a-z]/.test(written) && /[A-Z]/.test(written)) return null;
  if (!isKept(name) && !OPAQUE.has(name) && !BLOCKS.has(name) && !OTHERS.has(name)) return null;
  const attributes = new Map<string, string>();
  for (const [, key = '', ...values] of rest.matchAll(ATTRIBUTE)) {
    const value = values.find((each) => each !== undefined) ?? '';
    // As in browsers, the first of one name holds.
    if (!attributes.has(key.toLowerCase())) attributes.set(key.toLowerCase(), decodeEntities(value));
  }
  return { name, isEnd: slash === '/', attributes };
}

const special = (length: string) =>
  `<!---?>|<!--[^]${length}-->|<\\?[^]${length}\\?>|<!\\[CDATA\\[[^]${length}\\]\\]>|<![a-z][^>]${length}>`;

export const SPECIAL = new RegExp(`^(?:${special('*?')})`, 'i');

/** Everything in HTML that begins with `<`, as leniently as browsers read it. Bounded, since many may have no end. */
export const MARKUP = new RegExp(
  `${special('{0,1000}?')}|</?[a-z](?:"[^"]{0,4000}"|'[^']{0,4000}'|[^'"<>]){0,1000}>|<`,
  'gi',
);

/** Finds the position after the first end tag of a name from a position on; null when there is none. */
export function endTagFinder(text: string): (name: string, from: number) => number | null {
  const matches = text.matchAll(/<\/([a-z][a-z\d]{0,15})(?:[\s/][^<>]{0,100})?>/gi);
  const byName = Map.groupBy(matches, ([, name = '']) => name.toLowerCase());
  return (name, from) => {
    const tags = byName.get(name) ?? [];
    let [low, high] = [0, tags.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tags[middle]?.index ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    const tag = tags[low];
    return tag === undefined ? null : tag.index + tag[0].length;
  };
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&${ESCAPES[character]};`);
}

const ESCAPES: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };

/** Browsers read `</br>` as a line break, too. */
export function voidTag({ name, isEnd }: Tag, source: string): string {
  if (isEnd) return name === 'br' ? '<br>' : '';
  return source === `<${name}/>` || source === `<${name} />` ? source : `<${name}>`;
}

export function writeImage({ attributes }: Tag, isHtml: boolean): string {
  const src = attributes.get('src')?.trim() ?? '';
  const alt = (attributes.get('alt') ?? '').replaceAll(/[\s\p{Cc}]+/gu, ' ');
  const label = alt.replaceAll(/[\\`*_[\]<>&|~!]/g, '\\$&');
  if (!isWebAddress(src)) return isHtml ? escapeHtml(alt) : label;
  if (isHtml) return `<img src="${escapeHtml(src)}" alt="${escapeHtml(alt)}">`;
  return `![${label}](${toDestination(src)})`;
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

export function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (_, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? '';
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code > 0 && code <= 0x10_ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/** Links may lead to http, https, mailto, or an address relative to the page. */
export function isSafeAddress(address: string): boolean {
  // Hot path: no colon, not even as an entity, means no scheme.
  if (!/[:&]/.test(address)) return true;
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

export function withoutEscapes(address: string): string {
  return address.replaceAll(/\\(?=[!-/:-@[-`{-~])/g, '');
}

/** A link's destination, as it is written where that does no harm; null when it must go. */
export function cleanAddress(written: string): string | null {
  const isPointed = written.startsWith('<');
  const address = isPointed ? written.slice(1, -1) : written;
  if (!isSafeAddress(withoutEscapes(address))) return null;
  // HTML could be read in brackets around something else than a plain address.
  const isPlain = isPointed
    ? /^(?:|https?:[^\s\\`]*|[^a-z/!?\\`][^\\`]*)$/i.test(address)
    : !/[<>`]/.test(address);
  return isPlain ? written : toDestination(address);
}

/** A text that takes the place of a stretch of the source. */
export interface Edit {
  from: number;
  to: number;
  text: string;
}

/** A tag that stays, or goes, if its other half is found. Else it is what somebody wrote about: `Fix <b> in titles`. */
export interface PairedTag {
  edit: Edit;
  name: string;
  isEnd: boolean;
  /** The block that it stands in: an index of `parents`. */
  scope: number;
  isKept: boolean;
  isInHtml: boolean;
  /** Words stand beside it. Without another half it is one of them. */
  isAmongWords: boolean;
  /** Replaces the tag where it cannot stay: its own words, or nothing if it has another half. */
  alone: string;
  /** Takes its place then. */
  gap: string;
}

/** Deeper than this, tags are dropped: browsers flatten what is nested deeper than some hundred levels. */
const MAX_OPEN = 40;

/** A list item in somebody else's list would end the item that holds the post, so these need their parent. */
const PARENTS: readonly [element: RegExp, parent: RegExp][] = [
  [/^li$/, /^[uo]l$/],
  [/^d[td]$/, /^dl$/],
  [/^(?:caption|thead|tbody|tfoot|tr)$/, /^table$/],
  [/^t[hd]$/, /^tr$/],
];

/** Elements whose end tags may be left out, and the start tags before which they end. */
const ENDED_BY: readonly [element: RegExp, next: RegExp][] = [
  [/^li$/, /^li$/],
  [/^d[td]$/, /^d[td]$/],
  [/^p$/, /^p$/],
  [/^t[hd]$/, /^(?:th|td|tr|tbody|tfoot)$/],
  [/^tr$/, /^(?:tr|tbody|tfoot)$/],
  [/^(?:thead|tbody)$/, /^(?:tbody|tfoot)$/],
];

function patternFor(name: string, table: typeof PARENTS): RegExp | undefined {
  return table.find(([element]) => element.test(name))?.[1];
}

export const needsParent = (name: string) => patternFor(name, PARENTS) !== undefined;

/** Makes words of tags without their other half. Returns the end tags that scope 0, the text, still needs. */
export function pairTags(all: readonly PairedTag[], parents: readonly number[]): string[] {
  findAlone(all, parents);
  const tags = all.filter(({ isKept }) => isKept);
  const open: PairedTag[] = [];
  for (const tag of tags) {
    for (let last = open.at(-1); last && !isWithin(tag.scope, last.scope, parents); last = open.at(-1)) {
      drop(last);
      open.pop();
    }
    if (tag.isEnd) close(tag, open);
    else start(tag, open);
  }
  const stays = (tag: PairedTag) => tag.scope === 0 && !PHRASING.has(tag.name);
  for (const tag of open) if (!stays(tag)) drop(tag);
  const unclosed = open.filter(stays).reverse();
  return unclosed.map(({ name }) => `</${name}>`);
}

function start(tag: PairedTag, open: PairedTag[]): void {
  const parent = patternFor(tag.name, PARENTS);
  const isOutside = parent && !open.some(({ name, scope }) => scope === tag.scope && parent.test(name));
  if (isOutside || (!parent && tag.isAmongWords && tag.alone !== '')) {
    drop(tag);
    return;
  }
  const ends = ({ name, scope }: PairedTag) =>
    scope === tag.scope && patternFor(name, ENDED_BY)?.test(tag.name) === true;
  let closers = '';
  for (let last = open.at(-1); last !== undefined && ends(last); last = open.at(-1)) {
    closers += `</${last.name}>`;
    open.pop();
  }
  tag.edit.text = closers + tag.edit.text;
  if (open.length < MAX_OPEN) open.push(tag);
  else drop(tag);
}

function close(tag: PairedTag, open: PairedTag[]): void {
  const at = open.findLastIndex(({ name, scope }) => name === tag.name && scope === tag.scope);
  // An end tag of words must not end the blocks in which it stands.
  const crosses = PHRASING.has(tag.name) && open.slice(at + 1).some(({ name }) => !PHRASING.has(name));
  if (at === -1 || crosses) {
    drop(tag);
    return;
  }
  for (const inner of open.splice(at).slice(1)) {
    if (patternFor(inner.name, ENDED_BY)) tag.edit.text = `</${inner.name}>${tag.edit.text}`;
    else drop(inner);
  }
}

function drop({ edit, alone, gap }: PairedTag): void {
  edit.text = alone || gap;
}

/** Empties `alone` of tags whose other half stands in the same block, or in one around it. */
function findAlone(tags: readonly PairedTag[], parents: readonly number[]): void {
  const open = new Map<string, PairedTag[]>();
  for (const tag of tags) {
    const { name, isEnd, scope, isInHtml } = tag;
    if (isInHtml && UNENDED.has(name) && !(tag.isKept && tag.isAmongWords)) tag.alone = '';
    const starts = open.getOrInsertComputed(name, () => []);
    if (!isEnd) starts.push(tag);
    else {
      let start = starts.pop();
      while (start !== undefined && !isWithin(scope, start.scope, parents)) start = starts.pop();
      if (start !== undefined) {
        start.alone = '';
        tag.alone = '';
      }
    }
  }
  for (const tag of tags) if (!tag.isKept && tag.alone !== '') drop(tag);
}

function isWithin(scope: number, outer: number, parents: readonly number[]): boolean {
  let current: number | undefined = scope;
  while (current !== undefined && current > outer) current = parents[current];
  return current === outer;
}
