import {
  type Container,
  Cursor,
  isRule,
  matchContainers,
  skipListMarker,
  skipQuoteMarker,
} from './containers.ts';
import { Ends } from './html.ts';
import { htmlStart, removableEnd } from './html-blocks.ts';
import { interrupts, isFence, isHeading, isUnderline } from './leaves.ts';
import { markPrefix } from './marks.ts';

/** Deeper quotes and lists than these are nobody's notes. */
const MAX_CONTAINERS = 24;

/**
 * A stretch of the text. `verbatim` is code, and what makes quotes, lists and rules; `inline` has words, links and
 * tags; `html` is raw HTML, in which Markdown is not read. Where lines go on within one, what they begin with in a
 * quote or an item is written as marks.
 */
export interface Region {
  kind: 'verbatim' | 'inline' | 'html';
  parts: string[];
  scope: number;
}

export interface Blocks {
  /** Put together, with the marks resolved, they are the text. */
  regions: Region[];
  /** By scope, the one that it is in. Scope 0 is the whole text. */
  parents: number[];
  /** What closes a fence that is still open. */
  closing: string;
}

type Leaf =
  | { kind: 'none' | 'paragraph' }
  | { kind: 'fence'; marker: string; length: number }
  | { kind: 'html'; end: RegExp | null };

/** Splits Markdown as CommonMark does. Null when quotes and lists are nested beyond all reason. */
export function splitBlocks(source: string): Blocks | null {
  const scanner = new Scanner(source);
  return scanner.run() ? scanner.blocks() : null;
}

class Scanner {
  private readonly regions: Region[] = [];
  private readonly parents: number[] = [0];
  private containers: Container[] = [];
  private leaf: Leaf = { kind: 'none' };
  private readonly ends: Ends;
  /** Where the next line begins. */
  private at = 0;
  private lineEnd = '';

  constructor(private readonly source: string) {
    this.ends = new Ends(source);
  }

  run(): boolean {
    while (this.at <= this.source.length && this.containers.length <= MAX_CONTAINERS) {
      const start = this.at;
      const end = this.endOfLine(start);
      this.at = end + 1;
      this.readLine(this.source.slice(start, end), start);
    }
    return this.containers.length <= MAX_CONTAINERS;
  }

  blocks(): Blocks {
    return { regions: this.regions, parents: this.parents, closing: this.closing() };
  }

  private endOfLine(from: number): number {
    const end = this.source.indexOf('\n', from);
    return end === -1 ? this.source.length : end;
  }

  private readLine(line: string, start: number): void {
    const cursor = new Cursor(line);
    const matched = matchContainers(this.containers, cursor);
    const isWithin = matched === this.containers.length;
    if (isWithin && this.continueLeaf(cursor)) return;
    if (this.leaf.kind !== 'paragraph') this.leaf = { kind: 'none' };
    const hasOpened = this.openContainers(cursor, matched);
    const isNew = hasOpened || this.leaf.kind === 'none';
    if (isNew || cursor.isBlank || interrupts(cursor)) this.leaveUnmatched(hasOpened ? null : matched);
    if (cursor.isBlank) this.addVerbatim(line);
    else if (cursor.indent > 3 && this.leaf.kind !== 'paragraph') this.addVerbatim(line);
    else this.readContent(line.slice(0, cursor.next), cursor.rest, start + cursor.next);
  }

  private leaveUnmatched(matched: number | null): void {
    if (matched !== null) this.containers.length = matched;
    this.leaf = { kind: 'none' };
  }

  /** A fence and a block of HTML take lines as they are, until they end. */
  private continueLeaf(cursor: Cursor): boolean {
    const { leaf } = this;
    if (leaf.kind === 'fence') {
      const run = cursor.rest.trimEnd();
      const isClosing =
        cursor.indent <= 3 && run.length >= leaf.length && run === leaf.marker.repeat(run.length);
      this.addVerbatim(cursor.line);
      if (isClosing) this.leaf = { kind: 'none' };
      return true;
    }
    if (leaf.kind !== 'html' || (leaf.end === null && cursor.isBlank)) return false;
    this.continueRegion(cursor.line.slice(0, cursor.at), cursor.line.slice(cursor.at));
    if (leaf.end?.test(cursor.rest)) this.leaf = { kind: 'none' };
    return true;
  }

  private openContainers(cursor: Cursor, matched: number): boolean {
    const before = this.containers.slice(0, matched);
    const opened: Container[] = [];
    while (before.length + opened.length <= MAX_CONTAINERS && !cursor.isBlank && cursor.indent <= 3) {
      const interrupts =
        this.leaf.kind === 'paragraph' && matched === this.containers.length && opened.length === 0;
      const item = skipQuoteMarker(cursor) ? 'quote' : skipListMarker(cursor, interrupts);
      if (item === null) break;
      const parent = [...before, ...opened].at(-1)?.scope ?? 0;
      const scope = this.parents.push(parent) - 1;
      opened.push(item === 'quote' ? { kind: 'quote', scope } : { kind: 'item', scope, ...item });
    }
    if (opened.length > 0) this.containers = [...before, ...opened];
    return opened.length > 0;
  }

  /** Reads what stands in a line behind the beginnings of quotes and items. */
  private readContent(prefix: string, content: string, start: number): void {
    if (this.leaf.kind === 'paragraph') {
      this.continueRegion(prefix, content);
      if (isUnderline(content)) this.leaf = { kind: 'none' };
      return;
    }
    const removable = removableEnd(this.source, start, this.ends);
    if (removable !== null) this.skipTo(prefix, removable);
    else this.startLeaf(prefix, content);
  }

  private startLeaf(prefix: string, content: string): void {
    const fence = isFence(content);
    const html = htmlStart(content, false);
    this.leaf = { kind: 'none' };
    if (fence !== null || isRule(content)) {
      this.addVerbatim(prefix + content);
      if (fence !== null) this.leaf = { kind: 'fence', ...fence };
    } else if (html !== null) {
      this.addRegion('html', prefix, content);
      if (!html.end?.test(content)) this.leaf = { kind: 'html', end: html.end };
    } else {
      this.addRegion('inline', prefix, content);
      if (!isHeading(content)) this.leaf = { kind: 'paragraph' };
    }
  }

  /** Leaves out what is no text for readers, whatever lines it goes over, and reads on behind it. */
  private skipTo(prefix: string, end: number): void {
    const lineEnd = this.endOfLine(end);
    this.at = lineEnd + 1;
    const rest = this.source.slice(end, lineEnd);
    const content = rest.trimStart();
    if (content !== '') this.readContent(prefix, content, lineEnd - content.length);
    else if (/[^\s>]/.test(prefix)) this.addVerbatim(prefix);
  }

  private addVerbatim(text: string): void {
    const last = this.regions.at(-1);
    if (last?.kind === 'verbatim') last.parts.push(this.lineEnd, text);
    else this.regions.push({ kind: 'verbatim', parts: [this.lineEnd, text], scope: 0 });
    this.lineEnd = '\n';
  }

  private addRegion(kind: 'inline' | 'html', prefix: string, content: string): void {
    this.addVerbatim(prefix);
    const outer = this.containers.at(-1)?.scope ?? 0;
    const scope = kind === 'html' ? outer : this.parents.push(outer) - 1;
    this.regions.push({ kind, parts: [content], scope });
  }

  private continueRegion(prefix: string, content: string): void {
    this.regions.at(-1)?.parts.push('\n', markPrefix(prefix), content);
  }

  private closing(): string {
    if (this.leaf.kind !== 'fence') return '';
    const prefix = this.containers.map((container) =>
      container.kind === 'quote' ? '> ' : ' '.repeat(container.width),
    );
    const start = this.source.endsWith('\n') ? '' : '\n';
    return `${start}${prefix.join('')}${this.leaf.marker.repeat(this.leaf.length)}`;
  }
}
