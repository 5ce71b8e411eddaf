import { onOneLine } from '../../lib/text.ts';
import { turns } from '../../lib/time.ts';
import type { Post } from '../model.ts';
import { lineAt, type ParsedFile, timesApart } from './files.ts';

// Our own changelogs, read line by line, so that no text can swallow the heading below it.

const MARK = '<!-- Exported by Tidings: each heading of level 2 has the title and the date of a post. -->';
/** The mark is among the first characters. */
const BEGINNING = 1_000;
export const CHANGELOG_HEAD = `# Changelog\n\n${MARK}\n`;

const HEADING = /^## (.+) - (\d{4}-\d\d-\d\d)$/;
/** A line of a text that would be read as a heading gets a backslash, which Markdown doesn't show. */
const HEADING_IN_TEXT = /^\\*## .+ - \d{4}-\d\d-\d\d$/;

/** Characters that could be markup in a heading. */
const MARKUP = /[\\`*_[\]<~]|&(?=[#\w])|#(?=#*$)/g;
/** A title that is a version stands in brackets, as in Keep a Changelog. */
const VERSION = /^v?\d+(?:\.\d+){1,3}(?:[-+][0-9A-Za-z.+-]+)?$/;

export function isExportedChangelog(text: string): boolean {
  return text.slice(0, BEGINNING).includes(MARK);
}

/** For a title of characters that no line can show. */
const UNTITLED = 'Untitled';

/** The section of a post. Its title is one line, and its text loses white space at both ends. */
export function changelogEntry({ title, markdown, createdAt }: Post): string {
  const line = onOneLine(title).trim() || UNTITLED;
  const heading = VERSION.test(line) ? `[${line}]` : line.replaceAll(MARKUP, '\\$&');
  const text = markdown
    .replaceAll(/\r\n?/g, '\n')
    .trim()
    .split('\n')
    .map((each) => (HEADING_IN_TEXT.test(each) ? `\\${each}` : each))
    .join('\n');
  return `\n## ${heading} - ${createdAt.slice(0, 10)}\n${text === '' ? '' : `\n${text}\n`}`;
}

/** Posts of one title are numbered, for their ids. Lets others in while it reads. */
export async function parseExportedChangelog(text: string): Promise<ParsedFile> {
  const turn = turns();
  const sections: { title: string; day: string; start: number; lines: string[] }[] = [];
  const above: string[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    await turn();
    const [, heading, day = ''] = HEADING.exec(line) ?? [];
    if (heading !== undefined) sections.push({ title: titleOf(heading), day, start, lines: [] });
    else (sections.at(-1)?.lines ?? above).push(HEADING_IN_TEXT.test(line) ? line.slice(1) : line);
    start += line.length + 1;
  }
  const timeOf = timesApart();
  const seen = new Map<string, number>();
  // Start with the oldest, so that a post added on top changes no other.
  const records: ParsedFile['records'] = [];
  for (const { title, day, start: at, lines } of sections.reverse()) {
    await turn();
    const number = (seen.get(title) ?? 0) + 1;
    seen.set(title, number);
    const date = new Date(day);
    records.push({
      key: number === 1 ? title : `${title} ${number}`,
      lineOf: () => lineAt(text, at),
      // `checkRecord` refuses a day that no calendar has.
      fields: {
        title,
        markdown: lines.join('\n').trim(),
        createdAt: Number.isNaN(date.getTime()) ? day : timeOf(date),
      },
    });
  }
  const isHead = `${above.join('\n').trim()}\n` === CHANGELOG_HEAD;
  const skipped = isHead ? [] : ['text (line 1: above the first post)'];
  return { records: records.reverse(), skipped, headings: records.length + skipped.length };
}

function titleOf(heading: string): string {
  const [, version] = /^\[([^\]\\]+)\]$/.exec(heading) ?? [];
  return version ?? heading.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1');
}
