import { styleText } from 'node:util';
import { codeOf } from '../lib/app-error.ts';
import { tidings } from '../lib/build.ts';
import { writeWhole } from '../lib/disk.ts';
import { isolated, onOneLine, withoutControls } from '../lib/text.ts';
import { terminalName } from '../server/config.ts';

/** Output of a command. Tests pass their own. */
export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  readonly isInteractive: boolean;
  /** Columns of standard output; `Infinity` if it is not a terminal. */
  readonly width: number;
  readonly hasColor: boolean;
  /** The same of standard error. */
  readonly errorHasColor: boolean;
  /** False for terminals whose font lacks symbols such as ✓. */
  readonly hasSymbols: boolean;
}

const formats = {
  heading: 'bold',
  label: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
  quiet: 'dim',
} as const;

export type Style = keyof typeof formats;

/** Adds color to text without control characters. */
function paint(style: Style, text: string, hasColor: boolean): string {
  return hasColor ? styleText(formats[style], text, { validateStream: false }) : text;
}

export function processTerminal(): Terminal {
  // NO_COLOR, FORCE_COLOR and TERM=dumb count.
  const hasColor = (stream: NodeJS.WriteStream) => styleText('bold', ' ', { stream }) !== ' ';
  // The streams load at the first question: a server asks none.
  return {
    write: (text) => writeUntilClosed(1, text),
    writeError: (text) => writeUntilClosed(2, text),
    get isInteractive() {
      return process.stderr.isTTY === true;
    },
    // A terminal that does not know its size reports 0.
    get width() {
      return (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;
    },
    get hasSymbols() {
      return !(process.stdout.isTTY && /^(dumb|linux)$/.test(terminalName()));
    },
    get hasColor() {
      return hasColor(process.stdout);
    },
    get errorHasColor() {
      return hasColor(process.stderr);
    },
  };
}

/** The reader may close the pipe, as `head` does. */
function writeUntilClosed(descriptor: number, text: string): void {
  try {
    writeWhole(descriptor, text);
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') throw error;
  }
}

/** Text for people: blocks with an empty line between them. Empty strings are left out. */
export type Text = Block | readonly Block[];

/** A paragraph, or a block that adapts to the terminal. */
export type Block = string | ((look: Look) => string);

interface Look {
  /** In columns; `Infinity` outside of a terminal. */
  width: number;
  hasSymbols: boolean;
  paint(style: Style, text: string): string;
}

export function render(
  { width, hasColor, hasSymbols }: Pick<Terminal, 'width' | 'hasColor' | 'hasSymbols'>,
  text: Text,
): string {
  const look: Look = { width, hasSymbols, paint: (style, words) => paint(style, words, hasColor) };
  return [text]
    .flat()
    .map((block) => (typeof block === 'string' ? withoutControls(block) : block(look)))
    .filter((block) => block !== '')
    .join('\n\n');
}

export function complain(terminal: Terminal, kind: 'error' | 'warning', message: string): void {
  const label = paint(kind === 'error' ? 'bad' : 'warning', `${kind}:`, terminal.errorHasColor);
  terminal.writeError(`${label} ${withoutControls(message)}\n`);
}

export type Cell = string | { readonly text: string; readonly style: Style };

const statusStyles: Readonly<Record<string, Style>> = {
  active: 'good',
  processed: 'good',
  published: 'good',
  sent: 'good',
  scheduled: 'warning',
  queued: 'warning',
  retrying: 'warning',
  expired: 'warning',
  draft: 'quiet',
  ignored: 'quiet',
  duplicate: 'quiet',
  merged: 'quiet',
  disabled: 'bad',
  revoked: 'bad',
  rejected: 'bad',
  failed: 'bad',
};

/** A status in its color. The text may say more, such as the status code. */
export function status(word: string, text = word): Cell {
  const style = statusStyles[word];
  return style === undefined ? text : { text, style };
}

export const switchStatus = (isEnabled: boolean) => status(isEnabled ? 'active' : 'disabled');

const GAP = 2;

/** The width in columns that a cut column keeps. */
const MIN_COLUMN = 8;

/**
 * Rows below headings. On a narrow terminal, the columns in `cut` become shorter; if that is not enough, each row becomes
 * a list of labels and values. Other columns stay whole, so that ids can be copied.
 */
export function table<Heading extends string>(
  headings: readonly Heading[],
  rows: readonly (readonly Cell[])[],
  cut: readonly NoInfer<Heading>[] = [],
  minimum = MIN_COLUMN,
): Block {
  return (look) => {
    const cells = rows.map((row) => row.map((cell) => cleanText(cell)));
    const natural = headings.map((heading, column) =>
      widest([heading, ...cells.map((row) => row[column] ?? '')]),
    );
    const widths = fit(
      natural,
      headings.map((heading) => cut.includes(heading)),
      look.width,
      minimum,
    );
    if (widths === null) return records(headings, rows, look);
    const line = (values: readonly Cell[]) =>
      values
        .map((cell, column) => {
          const text = oneLine(cleanText(cell), widths[column]);
          const padding = ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(text));
          return `${paintCell(look, cell, isolated(text))}${padding}`;
        })
        .join(' '.repeat(GAP))
        .trimEnd();
    const head = headings.map((text) => ({ text, style: 'heading' as const }));
    return [head, ...rows].map(line).join('\n');
  };
}

/** Widths that fit the terminal; null if there are none. Columns that can be cut share what the others leave. */
function fit(
  natural: readonly number[],
  canCut: readonly boolean[],
  total: number,
  minimum: number,
): number[] | null {
  const available = total - GAP * (natural.length - 1);
  const sum = (widths: readonly number[]) => widths.reduce((all, width) => all + width, 0);
  let limit = Math.max(...natural);
  const limited = () => natural.map((width, column) => (canCut[column] ? Math.min(width, limit) : width));
  while (sum(limited()) > available && limit > minimum) limit--;
  return sum(limited()) > available ? null : limited();
}

function records(headings: readonly string[], rows: readonly (readonly Cell[])[], look: Look): string {
  const entries = rows.map((row) => headings.map((heading, column) => [heading, row[column] ?? ''] as const));
  return entries.map((entry) => labeled(entry, look)).join('\n\n');
}

export function fields(values: Readonly<Record<string, Cell | null>>): Block {
  return (look) => labeled(Object.entries(values), look);
}

function labeled(entries: readonly (readonly [label: string, value: Cell | null])[], look: Look): string {
  const width = widest(entries.map(([label]) => label)) + GAP;
  return entries
    .map(([label, value]) => {
      const text = cleanText(value ?? '–');
      return `${look.paint('label', label)}${' '.repeat(width - Bun.stringWidth(label))}${paintCell(look, value ?? '', isolated(text))}`;
    })
    .join('\n');
}

const widest = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => Bun.stringWidth(text)));

const cleanText = (cell: Cell) => onOneLine(typeof cell === 'string' ? cell : cell.text);

const paintCell = (look: Look, cell: Cell, text: string) =>
  typeof cell === 'string' ? text : look.paint(cell.style, text);

const checkMarks = {
  ok: ['✓', 'ok', 'good'],
  warning: ['!', '!', 'warning'],
  failed: ['✗', 'x', 'bad'],
} as const;

/** One result of a doctor: a mark, the message, and advice below it. */
export function check(result: keyof typeof checkMarks, message: string, advice?: string): Block {
  return ({ paint, hasSymbols, width }) => {
    const [symbol, ascii, style] = checkMarks[result];
    const mark = hasSymbols ? symbol : ascii;
    const wrapped = (text: string, indent: number) =>
      wrap(withoutControls(text), width - indent).replaceAll('\n', `\n${' '.repeat(indent)}`);
    const line = `${paint(style, mark)} ${wrapped(message, 2)}`;
    return advice === undefined ? line : `${line}\n    ${wrapped(advice, 4)}`;
  };
}

/** Blocks without empty lines between them. */
export function lines(blocks: readonly Block[]): Block {
  return (look) =>
    blocks.map((block) => (typeof block === 'string' ? withoutControls(block) : block(look))).join('\n');
}

export const painted =
  (text: string, style: Style | null): Block =>
  (look) =>
    style === null ? withoutControls(text) : look.paint(style, withoutControls(text));

/** Breaks lines between words. Lines with a command stay whole, so that it can be pasted. */
export function wrap(text: string, width: number): string {
  const columns = Math.max(width, 20);
  const isWhole = (line: string) => Bun.stringWidth(line) <= columns || line.includes(`${tidings} `);
  const wrapLine = (line: string) => (isWhole(line) ? line : Bun.wrapAnsi(line, columns));
  return text.split('\n').map(wrapLine).join('\n');
}

/** A title or a message on one line, cut to `maxWidth` columns. */
export function oneLine(text: string, maxWidth = 60): string {
  const clean = onOneLine(text);
  if (Bun.stringWidth(clean) <= maxWidth) return clean;
  // A slice can end in half of a wide character, which it includes whole.
  const start = Bun.sliceAnsi(clean, 0, maxWidth - 1);
  const fits = Bun.stringWidth(start) < maxWidth;
  return `${fits ? start : Bun.sliceAnsi(clean, 0, maxWidth - 2)}…`;
}

/** One changing line on a terminal, or none anywhere else. */
export interface Progress {
  readonly isShown: boolean;
  /** `part`: draws a bar. */
  show(text: string, part?: { done: number; of: number }): void;
  clear(): void;
}

const BAR_WIDTH = 20;

/** How often the line changes at most, in milliseconds. */
const PAUSE_MS = 80;

export function progressOf({ isInteractive, writeError, width, hasSymbols }: Terminal): Progress {
  const columns = Number.isFinite(width) ? width : 80;
  let shownAt = Number.NEGATIVE_INFINITY;
  let last = '';
  return {
    isShown: isInteractive,
    show(text, part) {
      const now = performance.now();
      const isSoon = now - shownAt < PAUSE_MS;
      const line = `${part === undefined ? '' : `${barOf(part, hasSymbols)} `}${text}…`.slice(0, columns - 1);
      if (!isInteractive || isSoon || line === last) return;
      [shownAt, last] = [now, line];
      writeError(`\r\u001b[K${line}`);
    },
    clear() {
      if (isInteractive && last !== '') writeError('\r\u001b[K');
      last = '';
    },
  };
}

function barOf({ done, of }: { done: number; of: number }, hasSymbols: boolean): string {
  const full = Math.round((Math.min(done, of) / Math.max(of, 1)) * BAR_WIDTH);
  const [on, off] = hasSymbols ? ['█', '░'] : ['#', '.'];
  return on.repeat(full) + off.repeat(BAR_WIDTH - full);
}
