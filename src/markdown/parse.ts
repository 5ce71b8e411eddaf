import { type InlineContext, type MarkdownConfig, parser, Table } from '@lezer/markdown';

// Parsers of Markdown that keep positions. Bounds keep their time proportional to the length, on hostile text too.

// Deeper than any that people write: parsers copy the text within for each level, or take the square of the depth.
const TOO_DEEP =
  /^((?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))){50})(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))+/gm;

/** Drops the markers of quotes and lists beyond 50 in each other. */
export function limitNesting(markdown: string): string {
  return markdown.replaceAll(TOO_DEEP, '$1');
}

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
export const reader = parser.configure([Table, config]);
/** Reads blocks of HTML as Markdown, which they become when their tags go. */
export const inlineReader = reader.configure({ remove: ['HTMLBlock'] });
export const blockReader = parser.configure({
  remove: ['Escape', 'Entity', 'InlineCode', 'HTMLTag', 'Emphasis', 'HardBreak', 'Link', 'Image', 'LinkEnd'],
});

export type Tree = ReturnType<typeof reader.parse>;
export type SyntaxNode = Tree['topNode'];
/** A node during a walk. Its `node` costs more, and knows its parent and children. */
export type NodeRef = Pick<SyntaxNode, 'type' | 'name' | 'from' | 'to' | 'node'>;
