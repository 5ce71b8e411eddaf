import { styleText } from 'node:util';
import { terminalName } from '../config.ts';

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
  const { stdout, stderr } = process;
  // NO_COLOR, FORCE_COLOR and TERM=dumb count.
  const hasColor = (stream: NodeJS.WriteStream) => styleText('bold', ' ', { stream }) !== ' ';
  return {
    write: (text) => void stdout.write(text),
    writeError: (text) => void stderr.write(text),
    isInteractive: stderr.isTTY === true,
    // A terminal that does not know its size reports 0.
    width: (stdout.isTTY && stdout.columns) || Number.POSITIVE_INFINITY,
    hasSymbols: !(stdout.isTTY && /^(dumb|linux)$/.test(terminalName())),
    get hasColor() {
      return hasColor(stdout);
    },
    get errorHasColor() {
      return hasColor(stderr);
    },
  };
}
