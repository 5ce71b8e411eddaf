/** A quote or an item of a list: what a line must begin with to stand in it. */
export type Container = { scope: number } & (
  | { kind: 'quote' }
  | { kind: 'item'; width: number; isEmpty: boolean }
);

/** A place in a line, in characters and in columns: a tab reaches to the next multiple of four. */
export class Cursor {
  /** Where what was not consumed begins. */
  at = 0;
  private column = 0;
  /** How many columns of the tab at `at` were consumed. */
  private partial = 0;
  /** Where the first character that is no space stands, and how many columns it is indented. */
  next = 0;
  indent = 0;

  constructor(readonly line: string) {
    this.look();
  }

  get isBlank(): boolean {
    return this.next >= this.line.length;
  }

  /** The rest of the line, without its indentation. */
  get rest(): string {
    return this.line.slice(this.next);
  }

  private look(): void {
    let column = this.column - this.partial;
    this.next = this.at;
    for (; ; this.next++) {
      const character = this.line[this.next];
      if (character === '\t') column += 4 - (column % 4);
      else if (character === ' ') column++;
      else break;
    }
    this.indent = column - this.column;
  }

  /** Goes past columns of white space. */
  skipColumns(count: number): void {
    const goal = this.column + count;
    let column = this.column - this.partial;
    while (column < goal && this.at < this.next) {
      const width = this.line[this.at] === '\t' ? 4 - (column % 4) : 1;
      if (column + width > goal) break;
      column += width;
      this.at++;
    }
    this.column = goal;
    this.partial = goal - column;
    this.look();
  }

  /** Goes past the indentation and a marker. */
  skipMarker(length: number): void {
    this.skipColumns(this.indent);
    this.at += length;
    this.column += length;
    this.look();
  }
}

/** How many of the containers a line stands in; the cursor ends behind what they begin it with. */
export function matchContainers(containers: readonly Container[], cursor: Cursor): number {
  const first = containers.findIndex((container) => !matches(container, cursor));
  return first === -1 ? containers.length : first;
}

function matches(container: Container, cursor: Cursor): boolean {
  if (container.kind === 'quote') return skipQuoteMarker(cursor);
  if (cursor.isBlank) return !container.isEmpty;
  if (cursor.indent < container.width) return false;
  container.isEmpty = false;
  cursor.skipColumns(container.width);
  return true;
}

export function skipQuoteMarker(cursor: Cursor): boolean {
  if (cursor.indent > 3 || cursor.line[cursor.next] !== '>') return false;
  cursor.skipMarker(1);
  if (cursor.indent > 0) cursor.skipColumns(1);
  return true;
}

const LIST_MARKER = /^(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)/;
const RULE = /^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;

export function isRule(rest: string): boolean {
  return RULE.test(rest);
}

/** Goes past the marker of a list item, and says how far the item's lines are indented; null when there is none. */
export function skipListMarker(
  cursor: Cursor,
  interrupts: boolean,
): { width: number; isEmpty: boolean } | null {
  const { rest } = cursor;
  const [marker, number] = LIST_MARKER.exec(rest) ?? [];
  if (cursor.indent > 3 || marker === undefined || isRule(rest)) return null;
  const isEmpty = rest.slice(marker.length).trim() === '';
  if (interrupts && (isEmpty || (number !== undefined && Number(number) !== 1))) return null;
  const before = cursor.indent;
  cursor.skipMarker(marker.length);
  const after = isEmpty || cursor.indent > 4 ? 1 : cursor.indent;
  if (cursor.indent > 0) cursor.skipColumns(isEmpty ? cursor.indent : after);
  return { width: before + marker.length + after, isEmpty };
}
