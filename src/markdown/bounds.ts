// Keeps the time of every parser of Markdown proportional to the length of the text. `parse.ts` applies it to each text
// that is parsed. What is beyond a bound gets a backslash, with which Markdown shows it as text.

/** A marker of a quote or a list that stands further right begins none: parsers look at each open one at every line. */
const MAX_COLUMN = 80;

/** A longer run of backticks encloses no code: parsers look for the end of each length to the end of the paragraph. */
const MAX_BACKTICKS = 50;

/** Cells that a table may lack, beyond as many as it has: parsers add an empty one for each. */
const MAX_MISSING_CELLS = 200;

/** Markdown that any parser reads in time proportional to its length. What people write stays as it is. */
export function bounded(markdown: string): string {
  return boundTables(boundNesting(markdown)).replaceAll(LONG_RUN, (run) => '\\`'.repeat(run.length));
}

const LONG_RUN = new RegExp(`\`{${MAX_BACKTICKS + 1},}`, 'g');

/** The beginnings of lines that could reach the column, since a tab is up to four columns. */
const LONG_START = /^[ \t>\d.)*+-]{20,}/gm;
const MARKER = />|(?:[-+*]|\d{1,9}[.)])(?=[ \t\r\n]|$)/y;
const RULE = /^[ \t>]*(?:-[ \t-]*|\*[ \t*]*)$/;

function boundNesting(markdown: string): string {
  return markdown.replaceAll(LONG_START, (start, at: number) => {
    const isWhole = /^[\r\n]?$/.test(markdown.charAt(at + start.length));
    if (isWhole && RULE.test(start)) return start;
    let column = 0;
    for (let index = 0; index < start.length; ) {
      const isSpace = start[index] === ' ' || start[index] === '\t';
      MARKER.lastIndex = at + index;
      const length = isSpace ? 1 : (MARKER.exec(markdown)?.[0].length ?? 0);
      if (length === 0) return start;
      const last = index + length - 1;
      if (!isSpace && column >= MAX_COLUMN) return `${start.slice(0, last)}\\${start.slice(last)}`;
      column += start[index] === '\t' ? 4 - (column % 4) : length;
      index += length;
    }
    return start;
  });
}

/** Bounds the columns of a table: the expression by which a parser tells one takes many times as long for a longer line. */
const MAX_COLUMNS = 1_000;

/** The second line of a table has no other characters. Some parsers end lines at `\n` alone. */
const DELIMITERS = /(?<![^\n])[[\s>]--\n]*(?=[\|:\-])[[\s\|:\-]--\n]+(?![^\n])/gv;
const BLANK_LINE = /\n[ \t>]*(?=\n|$)/g;

function boundTables(markdown: string): string {
  let rows = { end: -1, lines: 0, cells: 0 };
  return markdown.replaceAll(DELIMITERS, (line, at: number) => {
    const columns = line.includes('|') ? (line.match(/-+/g)?.length ?? 0) : 0;
    if (columns < 2) return line;
    if (at > rows.end) rows = readRows(markdown, at);
    const isComplete = rows.lines * columns <= 2 * rows.cells + MAX_MISSING_CELLS;
    return isComplete && columns <= MAX_COLUMNS ? line : line.replace(/[|:-]/, '\\$&');
  });
}

/** The lines up to a blank one. */
function readRows(markdown: string, at: number) {
  BLANK_LINE.lastIndex = at;
  const end = BLANK_LINE.exec(markdown)?.index ?? markdown.length;
  const text = markdown.slice(at, end);
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0;
  return { end, lines: count(/\n/g), cells: count(/\|/g) };
}
