import { decodeEntities } from './address.ts';

function names(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

/** Elements that shape words. They may cross what Markdown makes, which does no harm. */
export const PHRASING = names('b i em strong code kbd samp var sub sup del ins s u small mark q a');
/** Elements that hold blocks or lines, and must nest. */
export const STRUCTURE = names(
  'p pre blockquote ul ol li dl dt dd table caption thead tbody tfoot tr th td h1 h2 h3 h4 h5 h6 details summary',
);
/** Elements without content. */
export const VOID = names('br hr');

/** What these hold is no text for readers, or is not read as HTML: they go with their content. */
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

/** Elements at which Markdown begins a block of HTML, wherever they stand alone or not. */
const BLOCK_STARTERS = names(
  'address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt ' +
    'fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link ' +
    'main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead ' +
    'title tr track ul',
);

export function isKept(name: string): boolean {
  return VOID.has(name) || STRUCTURE.has(name) || (PHRASING.has(name) && name !== 'a');
}

/** Whether HTML has an element of that name: `<string>` is more likely to be a type of someone's code. */
function isElement(name: string): boolean {
  return isKept(name) || OPAQUE.has(name) || OTHERS.has(name);
}

export function startsBlock(name: string): boolean {
  return BLOCK_STARTERS.has(name);
}

export interface Tag {
  name: string;
  isEnd: boolean;
  attributes: Map<string, string>;
  /** Where the text goes on after it. */
  end: number;
}

// U+0001 to U+0003 stand for what begins a line in a quote or a list item, and count as white space.
// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are the marks
const NAME = /<(\/?)([a-z][a-z\d]{0,15})(?=[\s/>\u0001-\u0003])/iy;
const SPACE = /[\s/\u0001-\u0003]*/y;
const ATTRIBUTE =
  /([^\s/>="'<\u0001-\u0003][^\s/>=<\u0001-\u0003]*)(?:[\s\u0001-\u0003]*=[\s\u0001-\u0003]*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?/y;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: they are the marks

/** Reads tags as leniently as browsers do. Unterminated ones cost their length, so all of them share a budget. */
export class TagReader {
  private readonly lastEnd: number;
  private budget: number;

  constructor(private readonly text: string) {
    this.lastEnd = text.lastIndexOf('>');
    this.budget = 4 * text.length + 1000;
  }

  /** The tag of an HTML element that begins at `at`, or null when none does, or it has no end. */
  read(at: number): Tag | null {
    if (at > this.lastEnd || this.budget < 0) return null;
    NAME.lastIndex = at;
    const [start, slash, name] = NAME.exec(this.text) ?? [];
    if (start === undefined || name === undefined || !isElement(name.toLowerCase())) return null;
    const attributes = new Map<string, string>();
    const end = this.readAttributes(at + start.length, attributes);
    if (end === null) return null;
    return { name: name.toLowerCase(), isEnd: slash === '/', attributes, end };
  }

  private readAttributes(from: number, attributes: Map<string, string>): number | null {
    for (let at = from; ; ) {
      SPACE.lastIndex = at;
      at += SPACE.exec(this.text)?.[0].length ?? 0;
      if (this.text[at] === '>') return at + 1;
      ATTRIBUTE.lastIndex = at;
      const match = ATTRIBUTE.exec(this.text);
      at += match?.[0].length ?? 0;
      if (match === null || this.text[at] === '=' || this.budget < 0) {
        // A quote without its end was looked for through all the text.
        this.budget -= this.text[at] === '=' ? this.text.length - from : at - from;
        return null;
      }
      const [, key = '', ...values] = match;
      const value = values.find((each) => each !== undefined) ?? '';
      if (!attributes.has(key.toLowerCase())) attributes.set(key.toLowerCase(), decodeEntities(value));
    }
  }
}

const END_TAG = /<\/([a-z][a-z\d]{0,15})[\s/>]/gi;

/** Where things end in a text, for questions that go through it from its beginning to its end. */
export class Ends {
  private tags: Map<string, number[]> | null = null;
  private readonly none = new Set<string>();

  constructor(private readonly text: string) {}

  /** The position after the next `mark` from `from` on, or null. */
  after(mark: string, from: number): number | null {
    if (this.none.has(mark)) return null;
    const at = this.text.indexOf(mark, from);
    if (at === -1) this.none.add(mark);
    return at === -1 ? null : at + mark.length;
  }

  /** The position after the next end tag of that name, or null. */
  afterEndTag(name: string, from: number): number | null {
    this.tags ??= this.listEndTags();
    const positions = this.tags.get(name) ?? [];
    while (positions.length > 0 && (positions.at(-1) ?? 0) < from) positions.pop();
    const at = positions.at(-1);
    return at === undefined ? null : this.after('>', at);
  }

  /** By name, the last first, so that those behind us are taken off the end. */
  private listEndTags(): Map<string, number[]> {
    const tags = Map.groupBy(this.text.matchAll(END_TAG), ([, name = '']) => name.toLowerCase());
    return new Map(
      Array.from(tags, ([name, matches]) => [name, matches.map(({ index }) => index).reverse()]),
    );
  }
}
