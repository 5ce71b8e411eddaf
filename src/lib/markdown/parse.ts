import {
  type BlockContext,
  type InlineContext,
  type LeafBlock,
  type LeafBlockParser,
  type Line,
  type MarkdownConfig,
  parser,
  Table,
} from '@lezer/markdown';
import { turns } from '../time.ts';

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

const LABEL = /\\[\s\S]|\[((?:[^[\]\\]|\\[\s\S]){1,999})\]/g;

/** The labels in a text that may be links, or the one of a definition, as CommonMark compares them. */
export function labelsIn(text: string): string[] {
  return Array.from(text.matchAll(LABEL), ([, label]) => label)
    .filter((label) => label !== undefined)
    .map((label) => label.replaceAll(/\s+/g, ' ').trim().toLowerCase().toUpperCase());
}

// The one place that parses Markdown. Each text is bounded before, so that its time is proportional to its length.

/** Bounds the brackets, backticks and tags of a paragraph times its length: at worst the parser looks at each pair. */
const MAX_COST = 1_000_000;

function skipCostly(cx: InlineContext, _next: number, at: number): number {
  if (at > cx.offset) return -1;
  const specials = cx.text.match(/[[\]<`]/g)?.length ?? 0;
  return specials * cx.text.length > MAX_COST ? cx.end : -1;
}

/** Finds each `<` that is no markup here, but could be where a lenient parser reads it. */
function findLess(cx: InlineContext, next: number, at: number): number {
  const isLess = next === 60 && /[a-z/!?]/i.test(cx.slice(at + 1, at + 2));
  return isLess ? cx.addElement(cx.elt('Less', at, at + 1)) : -1;
}

/** Finds what can be active: links, tags and code. */
const config: MarkdownConfig = {
  remove: ['Emphasis', 'HardBreak', 'Entity'],
  defineNodes: ['Less'],
  parseInline: [
    { name: 'Costly', parse: skipCostly, before: 'Escape' },
    { name: 'Less', parse: findLess, after: 'HTMLTag' },
  ],
};

/** The library reads all lines of a definition again at each line, so one of more lines is text. */
const MAX_DEFINITION_LINES = 100;

/** The parsers of paragraphs by name, which the types of the library leave out. */
const { blockNames, leafBlockParsers } = parser as unknown as {
  blockNames: readonly string[];
  leafBlockParsers: readonly ((cx: BlockContext, leaf: LeafBlock) => LeafBlockParser | null)[];
};
const readDefinition = leafBlockParsers[blockNames.indexOf('LinkReference')];

/** Definitions of links: `[label]: destination "title"`. */
const definitions: MarkdownConfig = {
  parseBlock: [
    {
      name: 'LinkReference',
      leaf(begin, paragraph) {
        const reading = readDefinition?.(begin, paragraph) ?? null;
        let lines = 1;
        return (
          reading && {
            nextLine: (cx, line, leaf) => lines++ < MAX_DEFINITION_LINES && reading.nextLine(cx, line, leaf),
            finish: (cx, leaf) => lines <= MAX_DEFINITION_LINES && reading.finish(cx, leaf),
          }
        );
      },
    },
  ],
};
/** The beginning of a footnote, at the beginning of a block. A name has at most 100 characters. */
export const FOOTNOTE = /\[\^([^\s[\]]{1,100})\]:[ \t]*/y;

function footnoteAt({ text, pos, indent, baseIndent }: Line): number {
  FOOTNOTE.lastIndex = pos;
  return indent < baseIndent + 4 ? (FOOTNOTE.exec(text)?.[0].length ?? 0) : 0;
}

/** One within another would let each line be as many blocks deep as it likes. */
function isInFootnote(cx: BlockContext): boolean {
  for (let depth = cx.depth - 1; depth > 0; depth--) {
    if (cx.parentType(depth).name === 'Footnote') return true;
  }
  return false;
}

/** `[^name]: text`, whose further blocks stand four columns further in, as `cmark-gfm` reads it. */
const footnotes: MarkdownConfig = {
  defineNodes: [
    {
      name: 'Footnote',
      block: true,
      composite(_cx, line) {
        const belongs = line.next < 0 || line.indent >= line.baseIndent + 4;
        if (belongs) line.moveBaseColumn(line.baseIndent + 4);
        return belongs;
      },
    },
  ],
  parseBlock: [
    {
      name: 'Footnote',
      before: 'LinkReference',
      parse(cx, line) {
        const length = footnoteAt(line);
        if (length === 0 || isInFootnote(cx)) return false;
        cx.startComposite('Footnote', line.pos);
        line.moveBase(line.pos + length);
        return null;
      },
      endLeaf: (_cx, line) => footnoteAt(line) > 0,
    },
  ],
};
const reader = parser.configure([Table, definitions, config]);
const footnoteReader = reader.configure(footnotes);
const inlineReader = reader.configure({ remove: ['HTMLBlock'] });
const blockReader = parser.configure([
  {
    ...definitions,
    remove: [
      'Escape',
      'Entity',
      'InlineCode',
      'HTMLTag',
      'Emphasis',
      'HardBreak',
      'Link',
      'Image',
      'LinkEnd',
    ],
  },
  footnotes,
]);

export type Tree = ReturnType<typeof reader.parse>;
export type SyntaxNode = Tree['topNode'];
/** A node during a walk. Its `node` costs more, and knows its parent and children. */
export type NodeRef = Pick<SyntaxNode, 'type' | 'name' | 'from' | 'to' | 'node'>;

/** Holds the bounded text too, since positions are in that. */
export interface Parsed {
  source: string;
  tree: Tree;
}

const parseWith = (by: typeof parser, markdown: string): Parsed => {
  const source = bounded(markdown);
  return { source, tree: by.parse(source) };
};

/** Everything that can be active. */
export const parseActive = (markdown: string) => parseWith(reader, markdown);
/** The same, and `Footnote` for the text of each. */
export const parseFootnotes = (markdown: string) => parseWith(footnoteReader, markdown);
/** The same in a block of HTML, which becomes Markdown when its tags go. Its text is part of one that is bounded. */
export const parseInHtml = (html: string): Tree => inlineReader.parse(html);
export const parseBlocks = (markdown: string) => parseWith(blockReader, markdown);

export function* childrenOf({ topNode }: Tree): Generator<SyntaxNode> {
  for (let node = topNode.firstChild; node !== null; node = node.nextSibling) yield node;
}

/** The top-level blocks of a text of any length, and the text that was parsed. Lets others in while it reads. */
export async function readBlocks(markdown: string): Promise<{ source: string; blocks: SyntaxNode[] }> {
  const turn = turns();
  const source = bounded(markdown);
  const reading = blockReader.startParse(source);
  let tree = reading.advance();
  for (; tree === null; tree = reading.advance()) await turn();
  const blocks: SyntaxNode[] = [];
  for (const block of childrenOf(tree)) {
    blocks.push(block);
    await turn();
  }
  return { source, blocks };
}

/** Bounds addresses times marks of emphasis in a block: for each address that it links, Bun looks at each open mark. */
const MAX_LINKING_COST = 1_000_000;
/** A certain start of a block: after a blank line, or an item that interrupts a paragraph. */
const NEXT_BLOCK = /\n[ \t]*\n|\n(?= {0,3}[-*+] +\S)/;

/** Links addresses only where that takes time in proportion to the text. */
function affordable(source: string, options: Bun.markdown.Options): Bun.markdown.Options {
  if (options.autolinks !== true) return options;
  const count = (block: string, pattern: RegExp) => block.match(pattern)?.length ?? 0;
  let cost = 0;
  for (const block of source.split(NEXT_BLOCK)) {
    cost += count(block, /[*_~]/g) * count(block, /@|www\.|:\/\//gi);
    if (cost > MAX_LINKING_COST) return { ...options, autolinks: false };
  }
  return options;
}

/** As sites render it. */
export function toHtml(markdown: string, options: Bun.markdown.Options = {}): string {
  const source = bounded(markdown);
  return Bun.markdown.html(source, affordable(source, options));
}

export function renderWith(
  markdown: string,
  callbacks: Bun.markdown.RenderCallbacks,
  options: Bun.markdown.Options,
): string {
  const source = bounded(markdown);
  return Bun.markdown.render(source, callbacks, affordable(source, options));
}
