import { parseBlocks, type SyntaxNode } from './parse.ts';
import { cutGraphemes, escapeLines, toPlainText } from './plain-text.ts';

/** What follows a block may belong to it: an underline makes a heading of a paragraph. In characters. */
const MARGIN = 1_000;

/**
 * The beginning of a Markdown text, at most `maxLength` characters: whole blocks and list items. Null for a text that is
 * not longer. A first block that is too long becomes plain words.
 */
export function excerptOf(markdown: string, maxLength: number): string | null {
  if (markdown.length <= maxLength) return null;
  // Blocks that end beyond the limit don't count, so the rest need not be read.
  const { source, tree } = parseBlocks(markdown.slice(0, maxLength + MARGIN));
  let end = 0;
  const take = (node: SyntaxNode) => {
    if (node.to <= maxLength && !/Heading|HTMLBlock|LinkReference/.test(node.name)) end = node.to;
  };
  for (let node = tree.topNode.firstChild; node !== null; node = node.nextSibling) {
    take(node);
    if (node.to > maxLength && node.name.endsWith('List')) node.getChildren('ListItem').forEach(take);
    if (node.to > maxLength) break;
  }
  if (end > 0) return source.slice(0, end);
  return escapeLines(cutGraphemes(toPlainText(source), maxLength));
}
