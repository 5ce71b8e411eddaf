import { type InlineContext, type MarkdownConfig, parser, Table } from '@lezer/markdown';
import { turns } from '../lib/time.ts';
import { bounded } from './bounds.ts';
import { DefinitionParser } from './definition.ts';

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
const definitions: MarkdownConfig = {
  parseBlock: [
    {
      name: 'LinkReference',
      leaf: (cx, { start, content }) =>
        content.startsWith('[') ? new DefinitionParser(cx, start, content) : null,
    },
  ],
};
const reader = parser.configure([Table, definitions, config]);
const inlineReader = reader.configure({ remove: ['HTMLBlock'] });
const blockReader = parser.configure({
  ...definitions,
  remove: ['Escape', 'Entity', 'InlineCode', 'HTMLTag', 'Emphasis', 'HardBreak', 'Link', 'Image', 'LinkEnd'],
});

export type Tree = ReturnType<typeof reader.parse>;
export type SyntaxNode = Tree['topNode'];
/** A node during a walk. Its `node` costs more, and knows its parent and children. */
export type NodeRef = Pick<SyntaxNode, 'type' | 'name' | 'from' | 'to' | 'node'>;

/** What was parsed, since positions are those of the bounded text. */
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
/** The same in a block of HTML, which becomes Markdown when its tags go. Its text is part of one that is bounded. */
export const parseInHtml = (html: string): Tree => inlineReader.parse(html);
/** Blocks alone. */
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
/** Where a block begins for certain: after a blank line, and at an item that interrupts a paragraph. */
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
