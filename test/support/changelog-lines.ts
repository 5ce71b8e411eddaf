import type { ParsedFile } from '../../src/posts/import/files.ts';

/**
 * The lines of a changelog that are not in exactly one post, nor below a heading that `skipped` or `problems` name. A link
 * definition may be in several posts, or belong to a link in a skipped part.
 */
export function lostLines(text: string, { records, skipped, problems = [] }: ParsedFile): string[] {
  const starts = new Map<number, string[] | null>();
  for (const { fields, lineOf } of records) starts.set(lineOf(''), linesOf(String(fields.markdown)));
  for (const part of skipped) starts.set(Number(/\(line (\d+): /.exec(part)?.[1]), null);
  for (const { details } of problems) {
    // A heading inside HTML or code is text of the version above it.
    const isInside = /HTML above it|has no end/.test(String(details.problem));
    if (!isInside) starts.set(Number(details.line), null);
  }
  const lost: string[] = [];
  const definitions: string[] = [];
  const skippedLines: string[] = [];
  let post: string[] | null | undefined;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    const isStart = starts.has(index + 1);
    if (isStart) post = starts.get(index + 1);
    if (post === null) skippedLines.push(line);
    else if (isDefinition(line)) definitions.push(line);
    else if (isText(line) && !isStart) {
      const at = post?.indexOf(line) ?? -1;
      if (at === -1) lost.push(line);
      else post?.splice(at, 1);
    }
  }
  const bodies = records.map(({ fields }) => String(fields.markdown));
  for (const line of definitions) {
    const label = line.slice(0, line.indexOf(']') + 1).toLowerCase();
    const isKept =
      bodies.some((body) => body.includes(line)) ||
      skippedLines.some((each) => each.toLowerCase().includes(label));
    if (!isKept) lost.push(line);
  }
  // Lines of a post that are left are not its own, except for a link from its heading.
  const own = new Set(linesOf(text));
  const twice = [...starts.values()].flatMap((left) => left ?? []);
  return [...lost, ...twice.filter((line) => own.has(line) && !isDefinition(line))];
}

const isDefinition = (line: string) => /^\\?\[.*\]:(?!\()/.test(line);

/** Rules and what underlines a heading are no text. */
const isText = (line: string) => !/^(?:=*|-*)$/.test(line);

const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(isText);
