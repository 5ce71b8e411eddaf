import { emojiTable } from './emoji-table.ts' with { type: 'macro' };

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
