/** Markdown's definitions of links by reference (`[docs]: https://…`), by their names in lower case. */
export type LinkDefinitions = ReadonlyMap<string, string>;

const DEFINITION = /^ {0,3}\[([^\][]{1,100})\]:[ \t]*\S/;

/** Bounds on what one item takes along. */
const MAX_LENGTH = 500;
const MAX_USED = 10;

/** The definitions of a text; those of more than 500 characters are passed over. */
export function definitionsIn(markdown: string): LinkDefinitions {
  const definitions = new Map<string, string>();
  for (const line of markdown.split('\n')) {
    const name = line.length > MAX_LENGTH ? undefined : DEFINITION.exec(line)?.[1]?.toLowerCase();
    // As in CommonMark, the first of one name holds.
    if (name !== undefined && !definitions.has(name)) definitions.set(name, line.trim());
  }
  return definitions;
}

/** A part of the text with the definitions that it uses, at most 10. */
export function withDefinitions(part: string, definitions: LinkDefinitions): string {
  const names = Array.from(part.matchAll(/\[([^\][]{1,100})\]/g), ([, name = '']) => name.toLowerCase());
  const used = [...new Set(names)].flatMap((name) => definitions.get(name) ?? []).slice(0, MAX_USED);
  return used.length === 0 ? part : `${part}\n\n${used.join('\n')}`;
}
