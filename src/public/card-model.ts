import { cutLine } from '../lib/text.ts';
import { drawableRanges } from './card-ranges.ts';
import { type Publication, pageAddress } from './model.ts';

/** The texts of a social image. */
export interface Card {
  /** Above the title; empty for none. */
  heading: string;
  title: string;
  /** Below it. */
  footer: string;
  accentColor: string;
}

/** Much more than four lines. */
const MAX_TITLE = 160;
const MAX_LINE = 80;

const date = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });

/** The image of the list, or of a post. A title in a script that the typefaces lack gives way to the page's. */
export function cardOf(
  publication: Publication,
  publicUrl: string,
  post: { title: string; createdAt: string } | null,
): Card {
  const { host, pathname } = new URL(pageAddress(publication, publicUrl));
  const address = cutLine(`${host}${pathname}`.replace(/\/$/, ''), MAX_LINE);
  const pageTitle = drawable(publication.title, MAX_LINE) ?? address;
  const { accentColor } = publication;
  const footer = post === null ? address : date.format(new Date(post.createdAt));
  const title = post === null ? null : drawable(post.title, MAX_TITLE);
  return title === null
    ? { heading: '', title: pageTitle, footer, accentColor }
    : { heading: pageTitle, title, footer, accentColor };
}

/** What a font draws in color, and joiners, selectors and directions, which show nothing by themselves. */
const OPTIONAL = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Cf}\p{M}]/u;

/** The text without emoji; null when the typefaces lack one of its other characters, or nothing is left. */
function drawable(text: string, maxLength: number): string | null {
  const line = cutLine(text.normalize('NFC'), maxLength);
  let kept = '';
  for (const each of line) {
    if (isDrawable(each)) kept += each;
    else if (!OPTIONAL.test(each)) return null;
  }
  return cutLine(kept, maxLength) || null;
}

function isDrawable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return drawableRanges.some(([first, last]) => first <= code && code <= last);
}
