import { CodeSpans } from './code-spans.ts';
import { cleanAddress, readDefinition, readLink } from './links.ts';
import type { Pieces } from './pieces.ts';
import { type Mode, TagWriter } from './tag-writer.ts';

const ASCII_PUNCTUATION = /[!-/:-@[-`{-~]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks of what begins a line
const DELIMITER_ROW = /^[\s|:>\u0001-\u0003-]+$/;

/** Rewrites words with links and tags, or a block of raw HTML, and adds it to the pieces. */
export function writeRegion(text: string, scope: number, pieces: Pieces, mode: Mode): void {
  new Writer(text, scope, pieces, mode).run();
}

class Writer extends TagWriter {
  private readonly code: CodeSpans | null;
  private readonly special: RegExp;

  constructor(text: string, scope: number, pieces: Pieces, mode: Mode) {
    super(text, scope, pieces, mode);
    this.code = mode.isHtml ? null : new CodeSpans(text, isTable(text));
    this.special = mode.isHtml ? /[<\]]/g : /[\\`<[\]]/g;
  }

  run(): void {
    if (!this.mode.isHtml) this.definitions();
    while (this.at < this.text.length) {
      this.special.lastIndex = this.at;
      const next = this.special.exec(this.text)?.index;
      if (next === undefined) break;
      this.at = next;
      this.readSpecial(this.text[next] ?? '');
    }
    this.at = this.text.length;
    this.replace(this.at, '');
  }

  private readSpecial(character: string): void {
    if (character === '\\') this.at += ASCII_PUNCTUATION.test(this.text[this.at + 1] ?? '') ? 2 : 1;
    else if (character === '`') this.readBackticks();
    else if (character === '[') this.openBracket();
    else if (character === ']' && this.mode.isHtml) this.breakAddress();
    else if (character === ']') this.closeBracket();
    else this.readLess();
  }

  /** Definitions of links can only begin a paragraph. */
  private definitions(): void {
    for (;;) {
      const target = readDefinition(this.text, this.at);
      if (target === null) return;
      const address = cleanAddress(target, this.text);
      this.at = target.start;
      this.replace(target.end, address ?? '#');
      const line = this.text.indexOf('\n', this.at);
      if (line === -1) return;
      this.at = line + 1;
    }
  }

  private readBackticks(): void {
    const { length, end } = this.code?.read(this.at) ?? { length: 1, end: null };
    this.at = end ?? this.at + length;
  }

  private openBracket(): void {
    const isImage =
      this.text[this.at - 1] === '!' && this.text[this.at - 2] !== '\\' && this.written < this.at;
    if (isImage) this.at--;
    const at = this.replace(this.at + (isImage ? 2 : 1), isImage ? '![' : '[');
    this.brackets.push({ at, isImage });
  }

  private closeBracket(): void {
    const opener = this.brackets.pop();
    if (opener === undefined) this.at++;
    else if (this.text[this.at + 1] === '(') this.closeLink(opener);
    else {
      if (opener.isImage) this.pieces.dropTagsFrom(opener.at);
      this.at++;
    }
  }

  private closeLink(opener: { at: number; isImage: boolean }): void {
    const link = readLink(this.text, this.at + 1);
    const address = cleanAddress(link, this.text);
    if (opener.isImage) this.pieces.dropTagsFrom(opener.at);
    if (address === null && link.after !== null) {
      // The link goes, its text stays.
      this.pieces.set(opener.at, '');
      this.replace(link.after, '');
    } else if (address === null) {
      // No link by the rules, but a lenient reader could make one of it.
      this.replace(this.at + 2, ']\\(');
    } else if (link.after !== null) {
      this.links++;
      const rest = /[`<]/.test(link.title) ? ')' : this.text.slice(link.end, link.after);
      const start = this.text.slice(this.at, link.start);
      this.replace(link.after, start + address + rest);
    } else this.at++;
  }

  /** A site that lets no raw HTML through may read Markdown in it, where we do not. */
  private breakAddress(): void {
    const near = this.text.slice(this.at + 1, this.at + 500);
    const next = near.charAt(0);
    const link = next === '(' || next === ':' ? readLink(near, 0) : null;
    if (link === null || cleanAddress(link, near) !== null) this.at++;
    else this.replace(this.at + 2, `]&#${next.charCodeAt(0)};`);
  }
}

function isTable(text: string): boolean {
  const lines = text.includes('-') && text.includes('|') ? text.split('\n') : [];
  return lines.slice(1).some((line) => line.includes('-') && DELIMITER_ROW.test(line));
}
