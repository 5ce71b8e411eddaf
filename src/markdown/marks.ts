// While a paragraph is rewritten, what its lines begin with in quotes and lists is written with control characters,
// which the text itself has none of: they count as white space, and go when the line break before them goes.
const MARKS = { ' ': '\u0001', '>': '\u0002', '\t': '\u0003' } as const;
const PLAIN: Record<string, string> = { '\u0001': ' ', '\u0002': '>', '\u0003': '\t' };

export function markPrefix(prefix: string): string {
  return prefix.replaceAll(/[ >\t]/g, (character) => MARKS[character as keyof typeof MARKS]);
}

export function unmark(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are the marks
  return text.replaceAll(/[\u0001-\u0003]/g, (mark) => PLAIN[mark] ?? '');
}
