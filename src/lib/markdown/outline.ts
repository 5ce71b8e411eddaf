import { escapeHtml } from './html.ts';
import { childrenOf, labelsIn, parseBlocks, type SyntaxNode } from './parse.ts';
import { cutGraphemes, escapeLines, toPlainText } from './plain-text.ts';

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
 * paragraph or heading, in Markdown, with the link definitions that it uses. Code, comments, quotes and nested lists are
 * left out.
 */
export function outlineOf(markdown: string, maxItems: number): OutlinePart[] {
  // Markdown has no such bullet, but release notes do.
  const { source, tree } = parseBlocks(markdown.replaceAll(/^([ \t]*)•(?=[ \t])/gm, '$1*'));
  const nodes = [...childrenOf(tree)];
  const definitions = definitionsIn(nodes, source);
  let items = 0;
  return nodes.flatMap((node): OutlinePart[] => {
    if (!node.name.endsWith('List')) return headingsOf(node, source);
    const listed = node.getChildren('ListItem').slice(0, maxItems - items);
    items += listed.length;
    return listed.map((item) => ({
      kind: 'item',
      text: withDefinitions(textOf(item, source), definitions, { max: MAX_DEFINITIONS }),
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
  let first = item.firstChild;
  while (first !== null && !/Heading\d$|^Paragraph$/.test(first.name)) first = first.nextSibling;
  if (first === null) return '';
  const text = source.slice(first.from, Math.min(first.to, first.from + MAX_ITEM_LENGTH));
  const words = first.name.startsWith('ATX') ? text.replace(/^#+[ \t]*/, '') : text;
  return (first.name.startsWith('Setext') ? words.replace(/\n[^\n]*$/, '') : words).replaceAll(
    /[ \t\r]*\n[ \t]*/g,
    ' ',
  );
}

interface Definition {
  /** Its place in the source. */
  from: number;
  text: string;
}

/** The definitions of links (`[docs]: https://…`) and footnotes by their labels. Of one label the first holds. Leaves out long ones, unless `cut` shortens footnotes. */
export function definitionsIn(
  nodes: readonly SyntaxNode[],
  source: string,
  cut?: (footnote: string) => string,
): ReadonlyMap<string, Definition> {
  const definitions = new Map<string, Definition>();
  for (const { name, from, to } of nodes) {
    if (!/^(?:LinkReference|Footnote)$/.test(name)) continue;
    const isLong = to - from > MAX_DEFINITION_LENGTH;
    if (isLong && (cut === undefined || name !== 'Footnote')) continue;
    const text = isLong && cut !== undefined ? cut(source.slice(from, to)) : source.slice(from, to);
    const [label = ''] = labelsIn(text);
    if (label !== '' && !definitions.has(label)) definitions.set(label, { from, text });
  }
  return definitions;
}

export function withDefinitions(
  text: string,
  definitions: ReadonlyMap<string, Definition>,
  { labels = labelsIn(text), max }: { labels?: Iterable<string>; max?: number } = {},
): string {
  const used = [...new Set(labels)].flatMap((label) => definitions.get(label)?.text ?? []).slice(0, max);
  return [text, used.join('\n')].filter((part) => part !== '').join('\n\n');
}

/** Characters behind a block that may belong to it: an underline makes a heading of a paragraph. */
const MARGIN = 1_000;

/**
 * The beginning of a Markdown text, at most `maxLength` characters: whole blocks and list items, and the definitions of
 * links and footnotes that they use. Null for a text that is not longer. A first block that is too long becomes plain words.
 */
export function excerptOf(markdown: string, maxLength: number): string | null {
  if (markdown.length <= maxLength) return null;
  // Blocks that end beyond the limit don't count, so the rest need not be read.
  const { source, tree } = parseBlocks(markdown.slice(0, maxLength + MARGIN));
  let end = 0;
  const take = (node: SyntaxNode) => {
    if (node.to <= maxLength && !/Heading|HTMLBlock|LinkReference|Footnote/.test(node.name)) end = node.to;
  };
  for (let node = tree.topNode.firstChild; node !== null; node = node.nextSibling) {
    take(node);
    if (node.to > maxLength && node.name.endsWith('List')) node.getChildren('ListItem').forEach(take);
    if (node.to > maxLength) break;
  }
  if (end === 0) return escapeLines(cutGraphemes(toPlainText(source), maxLength));
  const excerpt = source.slice(0, end);
  return withDefinitions(excerpt, definitionsBehind(excerpt, markdown), { max: MAX_DEFINITIONS });
}

const DEFINITION = /^ {0,3}(\[(?:[^[\]\\\n]|\\.){1,200}\]):/gm;

/** Texts have their definitions at the end, so not more than this is read from the first one that an excerpt uses. */
const MAX_READ = 20_000;

/** The definitions that an excerpt uses, and that stand behind it. A long footnote is cut. */
function definitionsBehind(excerpt: string, markdown: string): ReadonlyMap<string, Definition> {
  const labels = new Set(labelsIn(excerpt));
  if (labels.size === 0) return new Map();
  DEFINITION.lastIndex = excerpt.length;
  let first: RegExpExecArray | null;
  do first = DEFINITION.exec(markdown);
  while (first !== null && !labelsIn(first[1] ?? '').some((label) => labels.has(label)));
  if (first === null) return new Map();
  const { source, tree } = parseBlocks(markdown.slice(first.index, first.index + MAX_READ));
  return definitionsIn([...childrenOf(tree)], source, cutFootnote);
}

function cutFootnote(text: string): string {
  const [paragraph = ''] = text.split(/\n[ \t]*\n/, 1);
  const cut = cutGraphemes(paragraph, MAX_DEFINITION_LENGTH);
  return cut === paragraph ? `${cut} …` : cut;
}

/** A text of 200,000 characters could have 50,000 headings. */
const MAX_ANCHORS = 1_000;

const HEADING = /<h([1-6])(?: align="[a-z]+")?>([\s\S]*?)<\/h\1>/g;

export interface HeadingOptions {
  /** The level of the highest heading within the text. */
  level: 2 | 3;
  /** Headings get ids and link to themselves. */
  hasAnchors: boolean;
}

/** Fits the headings of a text to a page: levels start at `level` and skip none, whatever the author wrote. */
export function fitHeadings(html: string, { level, hasAnchors }: HeadingOptions): string {
  const open: number[] = [];
  const ids = new Map<string, number>();
  let count = 0;
  return html.replaceAll(HEADING, (_, written: string, content: string) => {
    const own = Number(written);
    while ((open.at(-1) ?? 0) >= own) open.pop();
    open.push(own);
    const name = `h${Math.min(6, level + open.length - 1)}`;
    const slug = hasAnchors && count++ < MAX_ANCHORS ? slugOf(content) : '';
    if (slug === '') return `<${name}>${content}</${name}>`;
    const times = (ids.get(slug) ?? 0) + 1;
    ids.set(slug, times);
    const id = escapeHtml(times === 1 ? `h-${slug}` : `h-${slug}-${times}`);
    const inner = content.includes('<a ') ? content : `<a href="#${id}">${content}</a>`;
    return `<${name} id="${id}">${inner}</${name}>`;
  });
}

/** `<code>Fixed</code> &amp; more` becomes `fixed-more`. */
function slugOf(html: string): string {
  const words = html
    .replaceAll(/<[^>]*>|&#?\w+;/g, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u);
  return words.filter(Boolean).join('-').slice(0, 60).toWellFormed();
}
