import { cutText, MAX_BODY_LENGTH } from '../lib/text.ts';
import { isHarmless } from './check.ts';
import { cleanText } from './clean.ts';
import { escapeLines, toEscapedText } from './plain.ts';
import { rewrite } from './rewrite.ts';

export { cutGraphemes } from './cut.ts';
export { inlineMarkdown } from './one-line.ts';

// Drafts are made of what strangers write, and rendered by sites that we do not know, perhaps with raw HTML let
// through. So the text is rewritten, and then rendered to see that nothing active is left; what the rewriting did not
// understand becomes plain text.

/** Longest text that is read, in characters. */
const MAX_READ = 1_000_000;
/** Room for the fence and the tags that are closed at the end of a text that was cut. */
const RESERVE = 2000;
/** How often what was rewritten may need it again. */
const MAX_PASSES = 8;

/**
 * Markdown with nothing active in it: no scripts, no attributes, no addresses but of http, https and mailto, whatever
 * renders it. What is harmless stays byte for byte, code included. At most 200,000 characters; a second time changes
 * nothing.
 */
export function safeMarkdown(markdown: string): string {
  const text = cleanText(cutText(markdown, MAX_READ));
  const whole = settle(text, true);
  if (whole?.isSettled && isHarmless(whole.text)) return whole.text;
  const tagless = settle(text, false);
  if (tagless?.isSettled && isHarmless(tagless.text)) return tagless.text;
  return toWords(text, tagless?.text ?? null);
}

/** Rewrites a text until nothing changes. Null when it turns out to be nested beyond all reason. */
function settle(text: string, keepsTags: boolean): { text: string; isSettled: boolean } | null {
  let current = text;
  for (let pass = 1; ; pass++) {
    const next = rewrite(current, keepsTags);
    if (next === null) return null;
    const fitting = fit(next, MAX_BODY_LENGTH);
    if (fitting === current || pass === MAX_PASSES) return { text: current, isSettled: fitting === current };
    current = fitting;
  }
}

/** A text that is too long, cut so that there is room to close what is open then. */
function fit(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : cutText(text, maxLength - RESERVE).toWellFormed();
}

/** The last resort: nothing but words, of the text without its tags where that can be read as Markdown. */
function toWords(text: string, tagless: string | null): string {
  const words =
    tagless === null ? escapeLines(text, MAX_BODY_LENGTH) : toEscapedText(tagless, MAX_BODY_LENGTH);
  return isHarmless(words) ? words : escapeLines(text.replaceAll(/[<&[\]`]/g, ' '), MAX_BODY_LENGTH);
}
