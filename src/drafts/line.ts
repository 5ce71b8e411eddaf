import { inlineMarkdown } from '../markdown/text.ts';
import type { Change } from './changes/change.ts';

/** A change as the text of a list item, in Markdown: `**engine:** Quiet mode ([#12](https://…))`. */
export function changeLine({ text, scope, group, isBreaking, breakingNote, references }: Change): string {
  // It goes on in the line, which ends without a full stop.
  const note = breakingNote?.replace(/(?<![.])[.]$/, '') ?? null;
  const links = references.map(({ label, url }) =>
    url === null ? label : `[${inlineMarkdown(label)}](${inLink(url)})`,
  );
  return [
    isBreaking ? '**Breaking:** ' : '',
    // Under the heading Security a scope of that name says nothing more.
    scope === null || scope.toLowerCase() === group.toLowerCase() ? '' : `**${inlineMarkdown(scope)}:** `,
    inlineMarkdown(text),
    note === null || note === text ? '' : ` – ${inlineMarkdown(note)}`,
    links.length === 0 ? '' : ` (${links.join(', ')})`,
  ].join('');
}

/** An address that cannot end the link early. */
function inLink(url: string): string {
  return url.replaceAll(/[()<>\\]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
