import { styleText } from 'node:util';
import { terminalName } from '../config.ts';
import { codeOf } from '../lib/app-error.ts';
import { writeWhole } from '../lib/descriptor.ts';

/** Output of a command. Tests pass their own. */
export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** True if standard error is a terminal. */
  readonly isInteractive: boolean;
  /** Columns of standard output; `Infinity` if it is not a terminal. */
  readonly width: number;
  /** Whether standard output shows colors. */
  readonly hasColor: boolean;
  /** Whether standard error shows colors. */
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
export function paint(style: Style, text: string, hasColor: boolean): string {
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
