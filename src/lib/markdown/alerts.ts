import { emojiTable } from './emoji-table.ts' with { type: 'macro' };

// GitHub's alerts: quotes that begin with `[!NOTE]`. docs.github.com, "Basic writing and formatting syntax".

const KINDS = 'note|tip|important|warning|caution';

const nameOf = (kind: string) => kind.charAt(0).toUpperCase() + kind.slice(1).toLowerCase();

const BLOCK = new RegExp(
  `<(/?)(?:blockquote|li)>(?:\\n<p>\\[!(${KINDS})\\](?:[ \\t]*(?:<br />)?\\n|</p>\\n(?!</blockquote>)))?`,
  'gi',
);

/** Gives alerts their title and a class, at the top level alone, as GitHub does. */
export function withAlerts(html: string): string {
  if (!html.includes('[!')) return html;
  let depth = 0;
  return html.replaceAll(BLOCK, (written, slash: string, kind?: string) => {
    const isOutside = depth === 0;
    depth += slash === '/' ? -1 : 1;
    if (kind === undefined || !isOutside || !written.startsWith('<blockquote')) return written;
    const title = `<blockquote class="alert alert-${kind.toLowerCase()}">\n<p class="alert-title">${nameOf(kind)}</p>\n`;
    return written.endsWith('</p>\n') ? title : `${title}<p>`;
  });
}

const IN_PLAIN_TEXT = new RegExp(`^\\s*\\[!(${KINDS})\\][ \\t]*\\n(?=(\\n?)[\\s\\S])`, 'i');

/** `Note: …` for the plain text of a quote. */
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
