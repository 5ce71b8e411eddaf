import { cutText } from '../lib/text.ts';
import { escapeLine } from './one-line.ts';
import { toPlainText } from './plain-text.ts';

const LIST_ITEM = /^(?:- |\d{1,9}\. )/;

/** Markdown as lines and flat lists of nothing but words, escaped: whatever renders it, it is text. */
export function toEscapedText(markdown: string, maxLength: number): string {
  return escapeLines(toPlainText(markdown), maxLength);
}

/** The lines of a text as they are, escaped. It may be twice as long, so it is cut to what then fits. */
export function escapeLines(text: string, maxLength: number): string {
  const escaped = joinLines(text);
  return escaped.length <= maxLength ? escaped : joinLines(cutText(text, Math.floor(maxLength / 4)));
}

function joinLines(text: string): string {
  const lines = text.split('\n').map((line) => escapeItem(line.trim()));
  return lines.map((line, index) => line + lineBreak(line, lines[index + 1] ?? '')).join('\n');
}

function escapeItem(line: string): string {
  const [marker = ''] = LIST_ITEM.exec(line) ?? [];
  return marker + escapeLine(line.slice(marker.length).trim(), false);
}

/** Lines of one paragraph stay lines. */
function lineBreak(line: string, next: string): string {
  return line === '' || next === '' || LIST_ITEM.test(next) ? '' : '  ';
}
