import { emojiTable } from './emoji-table.ts' with { type: 'macro' };
import { parseBlocks, type SyntaxNode } from './parse.ts';

// GitHub's alerts: quotes that begin with `[!NOTE]`. docs.github.com, "Basic writing and formatting syntax".

const KINDS = 'note|tip|important|warning|caution';

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();

/** Stands for the brackets of an alert until it is rendered. No text has it: Unicode calls it a noncharacter. */
const MARK = '\ufdd0';
const MARKED = new RegExp(`${MARK}(${KINDS})?`, 'gi');
const WRITTEN = new RegExp(`>[ \\t]*\\[!(?:${KINDS})\\]`, 'i');
const FIRST_LINE = new RegExp(`\\[!(${KINDS})\\](?=(?:[ \\t\\r]*|\\\\)(?:\\n|$))`, 'iy');

/**
 * Marks alerts: quotes at the top level, as on GitHub, with a body. Rendered, `\[!NOTE]` would look the same. The marks make no
 * text longer.
 */
export function markAlerts(markdown: string): string {
  const text = withoutAlertMarks(markdown);
  if (!WRITTEN.test(text)) return text;
  const { source, tree } = parseBlocks(text);
  let marked = '';
  let at = 0;
  for (const quote of tree.topNode.getChildren('Blockquote')) {
    const { from = 0, to = 0, nextSibling } = quote.getChild('Paragraph') ?? {};
    FIRST_LINE.lastIndex = from;
    const [written, kind] = FIRST_LINE.exec(source) ?? [];
    const isFirst = /^>[ \t]*$/.test(source.slice(quote.from, from));
    if (written === undefined || !isFirst || !hasBody(source.slice(from + written.length, to), nextSibling))
      continue;
    marked += `${source.slice(at, from)}${MARK}${kind}`;
    at = from + written.length;
  }
  return marked + source.slice(at);
}

function hasBody(rest: string, next: SyntaxNode | null | undefined): boolean {
  let node = next;
  while (node != null && /^(?:QuoteMark|CommentBlock)$/.test(node.name)) node = node.nextSibling;
  return node != null || rest.trim() !== '';
}

/** Writes the brackets again. */
export function withoutAlertMarks(text: string): string {
  return text.includes(MARK)
    ? text.replaceAll(MARKED, (_, kind = '') => (kind === '' ? '' : `[!${kind}]`))
    : text;
}

const IN_HTML = new RegExp(`<blockquote>\\n<p>${MARK}(${KINDS})(?:[ \\t]*(?:<br />)?\\n|(</p>\\n))`, 'gi');

/** Gives marked alerts their title and a class. */
export function withAlerts(html: string): string {
  const titled = html.replaceAll(IN_HTML, (_, kind: string, end?: string) => {
    const title = `<blockquote class="alert alert-${kind.toLowerCase()}">\n<p class="alert-title">${nameOf(kind)}</p>\n`;
    return end === undefined ? `${title}<p>` : title;
  });
  return withoutAlertMarks(titled);
}

const IN_PLAIN_TEXT = new RegExp(`^\\s*${MARK}(${KINDS})[ \\t\\r]*\\n(?=(\\n?))`, 'i');

/** `Note: …` for the plain text of a marked quote. */
export function plainAlert(text: string): string {
  return text.replace(IN_PLAIN_TEXT, (_, kind: string, blank: string) =>
    blank === '' ? `${nameOf(kind)}: ` : `${nameOf(kind)}:\n`,
  );
}

// Shortcodes of emoji, as GitHub has them.

let emojis: ReadonlyMap<string, string> | undefined;

function emojiOf(name: string): string | undefined {
  emojis ??= new Map(
    emojiTable()
      .split('\n')
      .map((line) => line.split(' ', 2) as [string, string]),
  );
  return emojis.get(name);
}

/** Not in an address or a time: `10:100:30`. */
const SHORTCODE = /(?<![\w/.]):([\w+-]{1,50}):(?!\w)/g;

/** Replaces the shortcodes of a text, such as `:tada:`. Others stay. */
export function withEmoji(text: string): string {
  return text.replaceAll(SHORTCODE, (written, name: string) => emojiOf(name) ?? written);
}

const TAG_OR_WORDS = /<(\/?)([a-z][a-z\d]*)[^>]*>|[^<]+/gi;

/** The same in HTML, outside of code. */
export function withEmojiInHtml(html: string): string {
  if (!html.includes(':')) return html;
  let depth = 0;
  return html.replaceAll(TAG_OR_WORDS, (part, slash?: string, name?: string) => {
    if (name === undefined) return depth > 0 ? part : withEmoji(part);
    if (/^(?:code|pre|kbd|samp)$/.test(name)) depth += slash === '/' ? -1 : 1;
    return part;
  });
}
