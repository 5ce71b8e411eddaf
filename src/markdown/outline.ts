import type { Landmark } from './landmarks.ts';
import { parseBlocks, type SyntaxNode } from './parse.ts';

export type OutlinePart =
  /** Text that serves as a heading has a level below all headings: 7 in bold, 8 with a colon. */
  { kind: 'heading'; level: number; text: string } | { kind: 'item'; text: string };

/** The length at which an item is cut, in characters. */
export const MAX_ITEM_LENGTH = 2000;

const MAX_DEFINITION_LENGTH = 500;
const MAX_DEFINITIONS = 10;

const BOLD = /^(?:\*\*[^*]{1,100}\*\*|__[^_]{1,100}__):?$/;

/**
 * The headings and the top-level list items of a Markdown text, at most `maxItems` items. An item is its first
 * paragraph, in Markdown, with the link definitions that it uses. Code, comments, quotes and nested lists are left out.
 */
export function outlineOf(markdown: string, maxItems: number): OutlinePart[] {
  // Markdown has no such bullet, but release notes do.
  const { source, tree } = parseBlocks(markdown.replaceAll(/^([ \t]*)•(?=[ \t])/gm, '$1*'));
  const nodes: SyntaxNode[] = [];
  for (let node = tree.topNode.firstChild; node !== null; node = node.nextSibling) nodes.push(node);
  const definitions = definitionsIn(nodes, source);
  let items = 0;
  return nodes.flatMap((node): OutlinePart[] => {
    if (!node.name.endsWith('List')) return headingsOf(node, source);
    const listed = node.getChildren('ListItem').slice(0, maxItems - items);
    items += listed.length;
    return listed.map((item) => ({
      kind: 'item',
      text: withDefinitions(textOf(item, source), definitions, MAX_DEFINITIONS),
    }));
  });
}

function headingsOf({ name, from, to }: SyntaxNode, source: string): OutlinePart[] {
  const text = source.slice(from, to);
  const [, kind, level] = /^(ATX|Setext)Heading(\d)$/.exec(name) ?? [];
  if (kind !== undefined) {
    const words = kind === 'ATX' ? text.replace(/^#+/, '') : text.slice(0, text.lastIndexOf('\n'));
    return [{ kind: 'heading', level: Number(level), text: words.trim() }];
  }
  return name === 'Paragraph' ? text.split('\n').flatMap((line) => headingOf(line.trimEnd()) ?? []) : [];
}

/** A line of a paragraph that serves as a heading. */
function headingOf(text: string): OutlinePart | null {
  if (text.length > 110) return null;
  if (BOLD.test(text)) return { kind: 'heading', level: 7, text };
  return text.endsWith(':') && text.length <= 60 ? { kind: 'heading', level: 8, text } : null;
}

function textOf(item: SyntaxNode, source: string): string {
  const first = item.getChild('Paragraph');
  if (first === null) return '';
  return source
    .slice(first.from, Math.min(first.to, first.from + MAX_ITEM_LENGTH))
    .replaceAll(/[ \t\r]*\n[ \t]*/g, ' ');
}

/** The definitions of links (`[docs]: https://…`) by their names in lower case. Of one name the first holds. */
export function definitionsIn(nodes: readonly Landmark[], source: string): ReadonlyMap<string, string> {
  const definitions = nodes.flatMap(({ name, from, to }): [string, string][] => {
    const text = source.slice(from, Math.min(to, from + MAX_DEFINITION_LENGTH + 1));
    const label = name === 'LinkReference' ? /^\[([^\][]{1,100})\]:/.exec(text)?.[1] : undefined;
    return label === undefined || text.length > MAX_DEFINITION_LENGTH ? [] : [[label.toLowerCase(), text]];
  });
  return new Map(definitions.reverse());
}

/** Adds the definitions that the text uses, at most `max`. */
export function withDefinitions(
  text: string,
  definitions: ReadonlyMap<string, string>,
  max?: number,
): string {
  if (definitions.size === 0) return text;
  const labels = Array.from(text.matchAll(/\[([^\][]{1,100})\](?!\()/g), ([, label = '']) =>
    label.toLowerCase(),
  );
  const used = [...new Set(labels)].flatMap((label) => definitions.get(label) ?? []).slice(0, max);
  return used.length === 0 ? text : `${text}\n\n${used.join('\n')}`;
}
