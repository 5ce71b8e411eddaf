import type { Command } from 'commander';
import { escapeControls, onOneLine, withoutControls } from '../lib/text.ts';

/** Output of a command. Tests pass their own. */
export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** True if standard error is a terminal. */
  readonly isInteractive: boolean;
}

/** Prints the value: as one JSON value with `--json`, otherwise as the text that `forPeople` returns. */
export function print<Value>(
  terminal: Terminal,
  command: Command,
  value: Value,
  forPeople: (value: Value) => string,
): void {
  const wantsJson = command.optsWithGlobals().json === true;
  const text = wantsJson ? escapeControls(JSON.stringify(value)) : withoutControls(forPeople(value));
  terminal.write(`${text}\n`);
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(Bun.stringWidth(heading), ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  const padded = (cell: string, column: number) =>
    cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
  return [headings, ...rows].map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
}

export function fields(values: Readonly<Record<string, string | null>>): string {
  const rows = Object.entries(values).map(([label, value]) => [label, value ?? '–']);
  return table(['', ''], rows).replace(/^\n/, '');
}

/** A title or a message for one row, cut to `maxWidth` columns. */
export function oneLine(text: string, maxWidth = 60): string {
  const clean = onOneLine(text);
  return Bun.stringWidth(clean) > maxWidth ? `${Bun.sliceAnsi(clean, 0, maxWidth - 1)}…` : clean;
}

const WIDTH = 30;

/** A progress bar on standard error, when that is a terminal. `done` removes it. */
export function progressBar(terminal: Terminal, label: string) {
  let shownPercent = -1;
  return {
    show(done: number, total: number): void {
      const percent = Math.floor((done / total) * 100);
      if (!terminal.isInteractive || percent === shownPercent) return;
      shownPercent = percent;
      const filled = Math.round((percent / 100) * WIDTH);
      const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
      terminal.writeError(`\r${label}  ${bar}  ${String(percent).padStart(3)} %  ${done} of ${total}`);
    },
    done(): void {
      if (shownPercent >= 0) terminal.writeError('\r\u001b[K');
    },
  };
}
