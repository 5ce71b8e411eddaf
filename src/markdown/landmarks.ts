import { turns } from '../lib/time.ts';

/** A heading or a definition of a link, by the name that the parser gives it. */
export interface Landmark {
  name: string;
  from: number;
  to: number;
}

const SETEXT = /^(?:=+|-+)\s*$/;
const FENCE = /^(?:(`{3,})[^`]*|(~{3,}).*)$/;
const MARKER = /^(?:[-+*]|(\d{1,9})[.)])(?=\s|$)/;
const HEADING = /^(#{1,6})(?=\s|$)/;
const DEFINITION =
  /^\[(?:[^\][\\]|\\.){1,999}\]:[ \t]*(?:<[^<>]*>|[^\s<]\S*)(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*$/;

const BLOCKS =
  'address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt ' +
  'fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link ' +
  'main menu menuitem nav noframes ol optgroup option p param section source summary table tbody td tfoot th thead ' +
  'title tr track ul';

/** How HTML begins and ends, by CommonMark 4.6. */
const HTML: readonly [start: RegExp, end: RegExp][] = [
  [/^<(?:script|pre|style|textarea)(?:\s|>|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^<!--/, /-->/],
  [/^<\?/, /\?>/],
  [/^<![a-z]/i, />/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [new RegExp(`^</?(?:${BLOCKS.replaceAll(' ', '|')})(?:\\s|/?>|$)`, 'i'), /^\s*$/],
];
/** Any other tag alone in its line, which cannot end a paragraph. */
const TAG: (typeof HTML)[number] = [/^<(?:\/[a-z][\w-]*\s*|[a-z][\w-]*(?:\s[^<>]*)?\/?)>\s*$/i, /^\s*$/];

/**
 * The headings of a text of any length, and the definitions of links in one line, as CommonMark has them outside of lists
 * and quotes. Reads each line once, and lets others in between them. Text right below a list or a quote belongs to it.
 */
export async function readLandmarks(text: string): Promise<Landmark[]> {
  const turn = turns();
  const read = lineReader();
  const found: Landmark[] = [];
  for (let from = 0; from < text.length; ) {
    await turn();
    const end = text.indexOf('\n', from);
    const to = end === -1 ? text.length : end;
    const landmark = read(text.slice(from, to), from);
    if (landmark !== null) found.push(landmark);
    from = to + 1;
  }
  return found;
}

/** Returns a function to call for each line and its position. It returns the landmark that ends there. */
function lineReader(): (line: string, from: number) => Landmark | null {
  /** Where the open paragraph begins. */
  let paragraph: number | null = null;
  /** A paragraph may be open in the list or the quote above. */
  let isLazy = false;
  /** By how many columns the text of the open list item is indented; 0 without one. */
  let item = 0;
  /** Nothing follows the marker of the item. */
  let isEmptyItem = false;
  /** Whether a line ends the code or the HTML that is open. */
  let isEnd: ((line: string, indent: number) => boolean) | null = null;

  const close = () => {
    paragraph = null;
    isLazy = false;
    item = 0;
  };

  function readMarker(words: string, indent: number, isOpen: boolean): boolean {
    const [marker, number] = MARKER.exec(words) ?? [];
    if (marker === undefined) return false;
    const after = words.slice(marker.length);
    const isEmpty = after.trim() === '';
    // Only such a marker ends a paragraph outside of lists.
    if (isOpen && item === 0 && (isEmpty || (number !== undefined && number !== '1'))) return false;
    const spaces = columnsOf(after, indent + marker.length);
    close();
    item = indent + marker.length + (isEmpty || spaces > 4 ? 1 : spaces);
    isEmptyItem = isEmpty;
    isLazy = !isEmpty;
    return true;
  }

  function readHtml(line: string, words: string, isOpen: boolean): boolean {
    const end = [...HTML, ...(isOpen ? [] : [TAG])].find(([start]) => start.test(words))?.[1];
    if (end === undefined) return false;
    close();
    if (!end.test(line)) isEnd = (next) => end.test(next);
    return true;
  }

  return (line, from) => {
    const words = line.trimStart();
    const indent = columnsOf(line, 0);
    if (isEnd !== null) {
      if (isEnd(line, indent)) isEnd = null;
      return null;
    }
    if (words === '') {
      // An item begins with one blank line at most.
      if (isEmptyItem) item = 0;
      paragraph = null;
      isLazy = false;
      return null;
    }
    if (item > 0 && indent >= item) {
      isEmptyItem = false;
      isLazy = !HEADING.test(words);
      return null;
    }
    isEmptyItem = false;
    const isOpen = isLazy || paragraph !== null;
    const start = from + line.length - words.length;
    const to = from + line.length;
    if (indent >= 4) {
      if (!isOpen) close();
      return null;
    }
    if (paragraph !== null && SETEXT.test(words)) {
      const heading = { name: `SetextHeading${words.startsWith('=') ? 1 : 2}`, from: paragraph, to };
      close();
      return heading;
    }
    const [, ...fences] = FENCE.exec(words) ?? [];
    const fence = fences.find((each) => each !== undefined);
    if (fence !== undefined) {
      close();
      isEnd = (next, by) => {
        const run = next.trim();
        return by < 4 && run.length >= fence.length && run === fence.charAt(0).repeat(run.length);
      };
      return null;
    }
    if (words.startsWith('>')) {
      close();
      isLazy = /^>[\s>]*[^\s>]/.test(words);
      return null;
    }
    if (isRule(words)) {
      close();
      return null;
    }
    if (readMarker(words, indent, isOpen)) return null;
    const [, marks] = HEADING.exec(words) ?? [];
    if (marks !== undefined) {
      close();
      return { name: `ATXHeading${marks.length}`, from: start, to };
    }
    if (readHtml(line, words, isOpen) || isOpen) return null;
    close();
    if (words.startsWith('[') && DEFINITION.test(words)) return { name: 'LinkReference', from: start, to };
    paragraph = start;
    return null;
  };
}

/** At least three of one character. A pattern could look at each of their combinations. */
function isRule(words: string): boolean {
  const marks = words.replaceAll(/\s+/g, '');
  return /^(?:-{3,}|\*{3,}|_{3,})$/.test(marks);
}

/** The columns of white space at the beginning of a text that begins in a column. */
function columnsOf(text: string, column: number): number {
  let at = column;
  for (const character of text) {
    if (character === '\t') at += 4 - (at % 4);
    else if (character === ' ') at++;
    else break;
  }
  return at - column;
}
