import { CodeSpans } from './code-spans.ts';

/** What could be markup, and addresses, in which less of it is. */
const SPECIAL = /https?:\/\/[\w\-.:/?#@!$&'()+,;=%~]+|\\+|\*+|_+|~+|`+|[[\]|<&]/gi;
const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/iy;
/** What begins a heading, a quote, a list, a rule, or the underline of a heading, up to what is to be escaped. */
const LINE_START = /^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|-(?=[\s-]*$)|=+$|\d{1,9}(?=[.)](?:\s|$)))/;
const LESS = /<(?![a-z/!?]|$)(?![^\s<>]*@)/iy;
/** In an address: underscores that are not within words, and tildes. */
const RISKY_IN_ADDRESS = /(?<![a-z\d])_|_(?![a-z\d])|~/i;

/**
 * One line of plain text, such as a commit's subject, as Markdown that renders to the same words, as they are with as
 * little escaping as will do. Spans between backticks stay code. White space and control characters become a space.
 */
export function inlineMarkdown(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return escapeLine(line, true);
}

/** A line as Markdown that renders to the same words; the spans between backticks may stay code. */
export function escapeLine(line: string, keepsCode: boolean): string {
  const code = keepsCode ? new CodeSpans(line, false) : null;
  const [start = ''] = LINE_START.exec(line) ?? [];
  const isNumber = /^\d/.test(start);
  const pieces = isNumber ? [start, `\\${line[start.length]}`] : start === '' ? [] : [`\\${start}`];
  let written = isNumber ? start.length + 1 : start.length;
  SPECIAL.lastIndex = written;
  for (let match = SPECIAL.exec(line); match !== null; match = SPECIAL.exec(line)) {
    const [found] = match;
    const end = code !== null && found.startsWith('`') ? code.read(match.index).end : null;
    const piece = end === null ? escapePiece(found, line, match.index) : line.slice(match.index, end);
    pieces.push(line.slice(written, match.index), piece);
    written = end ?? match.index + found.length;
    SPECIAL.lastIndex = written;
  }
  return pieces.join('') + line.slice(written);
}

function escapePiece(found: string, line: string, at: number): string {
  const first = found.charAt(0);
  const before = line.slice(Math.max(0, at - 2), at);
  const after = line.slice(at + found.length, at + found.length + 2);
  if (first === 'h' || first === 'H') return escapeAddress(found);
  if (first === '<') return matchesAt(LESS, line, at) ? found : '\\<';
  if (first === '&') return matchesAt(ENTITY, line, at) ? '\\&' : found;
  if (first === '\\' && found.length === 1 && /^[^!-/:-@[-`{-~h]/i.test(after)) return found;
  if (/[*_~]/.test(first) && /\s$/.test(before) && /^\s/.test(after)) return found;
  // Within a word an underscore is no markup.
  if (first === '_' && /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(after)) return found;
  return found.replaceAll(/[\s\S]/g, '\\$&');
}

/** An address stays as it is, or in angle brackets where something in it could be markup. */
function escapeAddress(found: string): string {
  if (/&[#a-z\d]+;/i.test(found)) return found.replaceAll(/[_~&]/g, '\\$&');
  if (!RISKY_IN_ADDRESS.test(found)) return found;
  let end = found.length;
  while (/[?!.,:_~'")&;]/.test(found.charAt(end - 1))) end--;
  const address = found.slice(0, end);
  const rest = found.slice(end).replaceAll(/[_~&]/g, '\\$&');
  return RISKY_IN_ADDRESS.test(address) ? `<${address}>${rest}` : address + rest;
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
