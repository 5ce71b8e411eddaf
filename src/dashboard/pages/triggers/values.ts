// The values of a filter as one line, separated by commas. A value with a comma, such as a project "Quiet, fast",
// stands in double quotes; a quote inside is doubled.

const VALUE = /\s*("(?:[^"]|"")*"(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)/g;

/** In characters: more than all values of a filter together. */
const MAX_LENGTH = 20_000;

export function readValues(line: string): string[] {
  if (line.length > MAX_LENGTH) return [line];
  return Array.from(line.matchAll(VALUE), ([, text = '']) => withoutQuotes(text)).filter(
    (value) => value.trim() !== '',
  );
}

export function writeValues(values: readonly string[]): string {
  return values.map((value) => (isPlain(value) ? value : `"${value.replaceAll('"', '""')}"`)).join(', ');
}

function withoutQuotes(text: string): string {
  const [, quoted] = /^"(.*)"$/s.exec(text) ?? [];
  return quoted === undefined ? text.trim() : quoted.replaceAll('""', '"');
}

function isPlain(value: string): boolean {
  return value.trim() === value && !/^"|,/.test(value);
}
