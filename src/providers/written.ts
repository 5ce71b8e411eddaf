import { cutLine } from '../lib/text.ts';

// Words for a changelog that people write beside the change: fenced blocks such as `release-note` in a description or a message
// (kubernetes.io, "Adding Release Notes"), and the trailer `Changelog:` of a commit (docs.gitlab.com/user/project/changelogs).

/** A text for readers, in Markdown of one line. */
export interface WrittenEntry {
  text: string;
  /** The kind that its block or a heading names, such as `fixed`; absent without one. */
  kind?: string;
}

/** A block with this name in lower case, without a plural `s`. No entries: its author wrote that there is nothing to say. */
export interface WrittenBlock {
  name: string;
  entries: WrittenEntry[];
}

/** Bounds of one text. What is beyond them is cut. */
const MAX_TEXT_LENGTH = 100_000;
const MAX_BLOCKS = 20;
const MAX_ENTRIES = 50;
const MAX_ENTRY_LENGTH = 1_000;
/** Of all entries of one text, in characters: events are kept for long. */
const MAX_ENTRIES_LENGTH = 20_000;

/** Fences with such a name hold code, which nobody reads in a changelog. */
const CODE = new Set(
  (
    'bash batch bat c console cpp cs csharp css csv diff docker dockerfile dotenv elixir env fish git go graphql hcl html ' +
    'http ini java javascript js json json5 jsonc jsx kotlin kt log lua make makefile mermaid mjs nginx nix patch perl php ' +
    'plain plaintext powershell proto ps1 py python rb rs ruby rust sas scala scss sh shell sql suggestion svelte swift ' +
    'terraform tf toml ts tsx txt typescript vue xml yaml yml zig zsh'
  ).split(' '),
);

/** The name of a fence, and what stands behind it on the same line. */
const INFO = /^\{?\.?([\p{L}\p{N}][\p{L}\p{N}_.-]{0,49})\}?[\s:,=]{0,5}(.*)$/u;

/** The name of a block, however it is written: `Release-Notes` is `release-note`. */
export function blockName(name: string): string {
  return name.trim().toLowerCase().replace(/s$/, '');
}

/** A line that opens or closes a fence, or holds a whole one. */
const FENCE = /^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4})?(`{3,}|~{3,})[ \t]*(.*)$/;

/** The blocks of a description or a message, in order. None in a comment, in another fence, or without a word in it. */
export function blocksIn(text: string): WrittenBlock[] {
  if (!/```|~~~/.test(text)) return [];
  const lines = text.slice(0, MAX_TEXT_LENGTH).split(/\r\n?|\n/);
  const blocks: WrittenBlock[] = [];
  let room = MAX_ENTRIES_LENGTH;
  const add = (info: string, content: readonly string[]) => {
    if (blocks.length >= MAX_BLOCKS) return;
    const block = blockOf(info, content, room);
    if (block === null) return;
    room -= block.entries.reduce((sum, entry) => sum + entry.text.length, 0);
    blocks.push(block);
  };
  let isComment = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (isComment || /^\s*<!--/.test(line)) {
      isComment = !line.includes('-->');
      continue;
    }
    const [, fence = '', info = ''] = FENCE.exec(line) ?? [];
    if (fence === '') continue;
    if (fence.startsWith('`') && info.includes('`')) {
      // All of it on one line: code in a sentence, for Markdown.
      const [, whole] = /^([^`]*)`{3,}\s*$/.exec(info) ?? [];
      if (whole !== undefined) add(whole, []);
      continue;
    }
    const start = at + 1;
    do at++;
    while (at < lines.length && !closes(lines[at] ?? '', fence));
    add(info, lines.slice(start, at));
  }
  return blocks;
}

function closes(line: string, fence: string): boolean {
  const text = line.trim();
  return text.length >= fence.length && text === (fence[0] ?? '').repeat(text.length);
}

function blockOf(info: string, content: readonly string[], room: number): WrittenBlock | null {
  const [, word, rest = ''] = INFO.exec(info.trim()) ?? [];
  if (word === undefined || CODE.has(word.toLowerCase())) return null;
  const name = blockName(word);
  const written = withoutComments(content);
  const isEmpty = PLACEHOLDER.test(written.join('\n').trim());
  const beside = rest.trim();
  if (isEmpty) {
    if (beside === '' || isKind(beside)) return null;
    return { name, entries: isNone(beside) ? [] : [{ text: cutLine(beside, MAX_ENTRY_LENGTH) }] };
  }
  if (isNone(beside)) return { name, entries: [] };
  let left = room;
  const entries = entriesOf(written, isKind(beside) ? beside.toLowerCase() : undefined).filter(({ text }) => {
    left -= text.length;
    return left >= 0;
  });
  return { name, entries };
}

/** A word that may name a kind. The drafts know which words do. */
function isKind(text: string): boolean {
  return !isNone(text) && /^[\p{L}-]{1,30}$/u.test(text);
}

/** Lines without comments, which may span some. One without an end hides the rest, as on the page. */
function withoutComments(lines: readonly string[]): string[] {
  let isComment = false;
  return lines.map((line) => {
    let [shown, rest] = ['', line];
    while (rest !== '') {
      const mark = isComment ? '-->' : '<!--';
      const at = rest.indexOf(mark);
      if (!isComment) shown += at === -1 ? rest : rest.slice(0, at);
      if (at === -1) break;
      rest = rest.slice(at + mark.length);
      isComment = !isComment;
    }
    return shown;
  });
}

/** Nothing, or what people write until they know more. `NOTE` alone is a slip for `NONE`. */
const PLACEHOLDER = /^(?:(?:tbd|tba|todo|note|\.{3}|…|\?)[.!]?)?$/i;

/** `NONE`, `none.`, `"N/A"`, `None required`, `release-note-none`, also as an item of a list. */
function isNone(text: string): boolean {
  return /^(?:[-*+] +)?["'`*_“”‘’«»([]{0,4}(?:(?:release[- ]notes?[-: ]{1,3})?none(?: required| needed)?|n\/a|not (?:required|needed|applicable))["'`*_“”‘’«»)\].!]{0,5}$/i.test(
    text.trim(),
  );
}

const HEADING = /^ {0,3}#{1,6} +(.{1,60}?)[ #:]*$/;
const ITEM = /^(\s*)(?:[-*+•]|\d{1,9}[.)])\s+(.*)$/;

/** `engine: starts softer`: a change and its place. */
const SCOPED = /^ {0,3}`?[\w./-]{1,50}`?(?:\([^()]{1,50}\))?!?: +\S/;

/** The lines of a paragraph in which each begins with a scope, as items. */
function withScopedItems(lines: readonly string[]): string[] {
  const read: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const start = at;
    while (SCOPED.test(lines[at] ?? '')) at++;
    const isWhole = isBetween(lines[start - 1]) && isBetween(lines[at]) && at - start > 1;
    for (const line of lines.slice(start, at)) read.push(isWhole ? `- ${line.trim()}` : line);
    if (at < lines.length) read.push(lines[at++] ?? '');
  }
  return read;
}

const isBetween = (line = '') => line.trim() === '' || HEADING.test(line) || ITEM.test(line);

/** Words before a list that name a kind, or only that there is a list. */
const LEAD =
  /^(?:(?:new|notable|other|breaking|user-facing) )?(?:added|changed|changes|deprecated|deprecations|removed|fixed|fixes|bugs|bug ?fixes|security|performance|features|enhancements|improvements|action[ -]required|notes|release notes|changelog):$/i;

/**
 * An item of a list is an entry with what is below it, otherwise each paragraph. A heading names the kind of what follows. A
 * sentence that ends with a colon goes on with the list or the paragraph that it leads to.
 */
function entriesOf(lines: readonly string[], kindOfBlock: string | undefined): WrittenEntry[] {
  const entries: WrittenEntry[] = [];
  let kind = kindOfBlock;
  let entry = '';
  /** The indent of the list that the entry is an item of; null in a paragraph. */
  let indent: number | null = null;
  let isAfterBlank = false;
  /** The entry leads to the list. */
  let isLed = false;
  const end = () => {
    const text = cutLine(entry, MAX_ENTRY_LENGTH);
    if (text !== '' && !isNone(text) && entries.length < MAX_ENTRIES)
      entries.push({ text, ...(kind !== undefined && { kind }) });
    entry = '';
  };
  const append = (words: string, separator: string) => {
    if (entry.length <= MAX_ENTRY_LENGTH) entry += entry === '' ? words : `${separator}${words}`;
  };
  const appendItem = (item: string) => append(item, ':;,.'.includes(entry.at(-1) ?? '') ? ' ' : '; ');
  for (const line of withScopedItems(lines)) {
    const words = line.trim();
    if (words === '') {
      if (indent === null && !entry.endsWith(':')) end();
      isAfterBlank = true;
      continue;
    }
    const [, heading] = HEADING.exec(line) ?? [];
    const [, spaces = '', item] = ITEM.exec(line) ?? [];
    const isBelow = indent !== null && indentOf(line) > indent;
    if (heading !== undefined) {
      end();
      indent = null;
      kind = heading.toLowerCase();
    } else if (item !== undefined && (indent === null || spaces.length <= indent + 1)) {
      if (indent === null) {
        isLed = entry.endsWith(':') && !LEAD.test(entry);
        if (LEAD.test(entry)) [kind, entry] = [entry.slice(0, -1).toLowerCase(), ''];
      }
      if (!isLed) end();
      indent = spaces.length;
      appendItem(item.replace(/^\[[ x]\] +/i, ''));
    } else if (item !== undefined) appendItem(item);
    else {
      // A paragraph after the list.
      if (indent !== null && isAfterBlank && !isBelow) {
        end();
        indent = null;
      }
      append(words, ' ');
    }
    isAfterBlank = false;
  }
  end();
  return entries;
}

const indentOf = (line: string) => line.length - line.trimStart().length;

/** `Key: value`, as git reads it (git-scm.com/docs/git-interpret-trailers). */
const TRAILER = /^([A-Za-z0-9][A-Za-z0-9-]{0,60})[ \t]*:[ \t]*(.*)$/;
/** Lines that git itself writes. Others may stand beside these. */
const OF_GIT = /^(?:Signed-off-by: |\(cherry picked from commit )/;

/** The value of a trailer whose author has nothing to say to readers. */
export const NO_ENTRY = 'none';

/**
 * The value of the last trailer `Changelog` of a commit's message, in lower case; null without one. Trailers stand in the
 * last paragraph; GitHub puts those of the authors of a squash in one of their own below it.
 */
export function changelogTrailer(message: string): string | null {
  if (!/^changelog[ \t]*:/im.test(message)) return null;
  const [, ...paragraphs] = message
    .replaceAll(/\r\n?/g, '\n')
    .trim()
    .split(/\n(?:[ \t]*\n)+/);
  for (const paragraph of paragraphs.toReversed()) {
    const trailers = trailersOf(paragraph.split('\n'));
    if (trailers === null) return null;
    const value = trailers.findLast(({ key }) => key === 'changelog')?.value;
    if (value !== undefined) return isNone(value) ? NO_ENTRY : cutLine(value, 30).toLowerCase() || null;
  }
  return null;
}

/** Null when the paragraph is text. */
function trailersOf(lines: readonly string[]): { key: string; value: string }[] | null {
  const trailers: { key: string; value: string }[] = [];
  let others = 0;
  for (const line of lines) {
    if (/^[ \t]/.test(line) && trailers.length > 0) continue;
    const [, key, value = ''] = TRAILER.exec(line) ?? [];
    if (key !== undefined) trailers.push({ key: key.toLowerCase(), value: value.trim() });
    else if (!OF_GIT.test(line)) others++;
  }
  if (others === 0) return trailers;
  const isOfGit = lines.some((line) => OF_GIT.test(line));
  return isOfGit && trailers.length * 3 >= others ? trailers : null;
}
