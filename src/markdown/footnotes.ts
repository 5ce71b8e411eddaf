import { parseActive } from './parse.ts';

const DEFINITION = /^ {0,3}\[\^([^\s[\]]{1,100})\]:[ \t]*/;
const ANY_DEFINITION = new RegExp(DEFINITION, 'm');
const MENTION = /(?<!\\)\[\^([^\s[\]]{1,100})\]/g;
/** More stay as they are written, since a mark is longer than a mention. */
const MAX_MENTIONS = 1_000;

const CODE = new Set(['FencedCode', 'CodeBlock', 'InlineCode', 'HTMLBlock', 'CommentBlock', 'URL']);

/**
 * Footnotes: `word[^1]`, and a line `[^1]: The note.`, whose words other renderers take for the address of a link.
 * Both get the number of the note, in the order of the mentions, as `mark` writes it. Code stays.
 */
export function withFootnotes(markdown: string, mark: (number: number) => string): string {
  if (!ANY_DEFINITION.test(markdown)) return markdown;
  const { source, tree } = parseActive(markdown);
  const code: { from: number; to: number }[] = [];
  tree.iterate({
    enter({ name, from, to }) {
      if (!CODE.has(name)) return true;
      code.push({ from, to });
      return false;
    },
  });
  let at = 0;
  /** Asked from the start of the source to its end. */
  function isCode(position: number): boolean {
    while ((code[at]?.to ?? Number.POSITIVE_INFINITY) <= position) at++;
    return (code[at]?.from ?? Number.POSITIVE_INFINITY) <= position;
  }

  const defined = new Set<string>();
  let from = 0;
  const lines = source.split('\n').map((line) => {
    const start = from;
    from += line.length + 1;
    const [head = '', name = ''] = DEFINITION.exec(line) ?? [];
    const isNote = head !== '' && !defined.has(name) && !isCode(start + head.indexOf('['));
    if (isNote) defined.add(name);
    return { line, start, head, note: isNote ? name : null };
  });
  if (defined.size === 0) return markdown;

  const numbers = new Map<string, number>();
  const numberOf = (name: string) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return number;
  };
  at = 0;
  let mentions = 0;
  const withMarks = (text: string, start: number) =>
    text.replaceAll(MENTION, (mention, name, index) => {
      if (!defined.has(name) || isCode(start + index) || mentions === MAX_MENTIONS) return mention;
      mentions++;
      return mark(numberOf(name));
    });
  const marked = lines.map(({ line, start, head, note }) => {
    const begin = note === null ? 0 : head.length;
    return { note, line, text: withMarks(line.slice(begin), start + begin) };
  });
  let isInNote = false;
  return marked
    .map(({ text, note, line }) => {
      if (note !== null) {
        isInNote = true;
        return `\n${mark(numberOf(note))} ${text}`;
      }
      // What belongs to a note stands below its words.
      if (isInNote && /^(?: {4}|\t)/.test(line)) return text.replace(/^(?: {4}|\t)/, '');
      isInNote &&= line.trim() === '';
      return text;
    })
    .join('\n');
}
