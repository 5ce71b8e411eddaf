import type { Command } from 'commander';

// How commands speak: one JSON value on standard output with `--json`, words for people without.

/** Where a command reads and writes. Tests give their own. */
export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** Whether standard error is a terminal that a person watches. */
  readonly isInteractive: boolean;
}

/** Prints the value as JSON when `--json` was given, and otherwise what `forPeople` makes of it. */
export function print<Value>(
  terminal: Terminal,
  command: Command,
  value: Value,
  forPeople: (value: Value) => string,
): void {
  const wantsJson = command.optsWithGlobals().json === true;
  terminal.write(wantsJson ? `${JSON.stringify(value)}\n` : `${steady(forPeople(value))}\n`);
}

/**
 * Without what would steer the terminal: a provider's names and words, a post's text and an error's message come from
 * strangers. Line breaks and tabs stay.
 */
export function steady(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

/** Rows under headings, in columns as wide as their widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(Bun.stringWidth(heading), ...rows.map((row) => Bun.stringWidth(row[column] ?? ''))),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - Bun.stringWidth(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Labels and values, a line each. */
export function fields(values: Readonly<Record<string, string | null>>): string {
  return table(
    ['', ''],
    Object.entries(values).map(([label, value]) => [label, value ?? '–']),
  )
    .split('\n')
    .slice(1)
    .join('\n');
}

/** A control character in a title must not steer the terminal; a line break must not break a row. */
export function oneLine(text: string, maxWidth = 60): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const clean = text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return Bun.stringWidth(clean) > maxWidth ? `${Bun.sliceAnsi(clean, 0, maxWidth - 1)}…` : clean;
}
