import { NOW } from './request.ts';

// String literals of the languages, and lines of code.

export const literal = {
  shell: (text: string) => `'${text.replaceAll("'", `'\\''`)}'`,
  /** JavaScript and PHP. */
  single: (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  python: (text: string) => (/^[^'\\]*"[^'\\]*$/.test(text) ? `'${text}'` : JSON.stringify(text)),
  go: (text: string) => (/^[^`]*"[^`]*$/.test(text) ? `\`${text}\`` : JSON.stringify(text)),
};

/** Code in lines; null leaves a line out. */
export function code(...lines: (string | null | readonly string[])[]): string {
  return lines
    .flat()
    .filter((line) => line !== null)
    .join('\n');
}

export const indented = (spaces: string, lines: readonly string[]) => lines.map((line) => spaces + line);

/** An expression for a text in which each `NOW` becomes `now`. */
export function withTime(text: string, write: (part: string) => string, now: string, plus: string): string {
  return text
    .split(NOW)
    .map((part) => write(part))
    .join(`${plus}${now}${plus}`);
}
