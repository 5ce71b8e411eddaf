import { cutLine, cutText, fenceAfter } from '../lib/text.ts';
import { blocksIn, changelogTrailer, type WrittenBlock } from './written.ts';

// The text of a commit: bounded and without addresses for the log, its subject and its breaking change for drafts.

/** Bounds in characters of a commit message, and of all messages of a push. */
const MAX_MESSAGE_LENGTH = 10_000;
const MAX_MESSAGES_LENGTH = 1_000_000;

/** A push of 2048 commits must fit into the log: the more of them, the shorter each message. */
export function messageLengthFor(commitCount: number): number {
  return Math.min(MAX_MESSAGE_LENGTH, Math.floor(MAX_MESSAGES_LENGTH / Math.max(1, commitCount)));
}

/** `Co-authored-by: Ann <ann@acme.test>`: Git writes people's addresses into a message's trailers. */
const TRAILER = /^([A-Za-z][A-Za-z-]*-by:[^<\n]*)<[^<>\s@]+@[^<>\s@]+>/gm;

/**
 * The first characters of a commit message, without the email addresses of its trailers. A long one keeps the trailer that
 * drafts read at its end.
 */
export function messageOf(message: string, maxLength: number): string {
  const anonymous = message.replaceAll(TRAILER, (_, trailer: string) => trailer.trimEnd());
  if (anonymous.length <= maxLength) return cutText(anonymous, maxLength);
  const changelog = changelogTrailer(message);
  const end = changelog === null ? '' : `\n\nChangelog: ${changelog}`;
  return cutText(anonymous, maxLength - end.length) + end;
}

const MAX_NOTE_LENGTH = 500;

/** The lines of a message. `git merge --squash` indents those of each commit by four spaces. */
function linesOf(message: string): string[] {
  const lines = message.split('\n');
  if (!lines[0]?.startsWith('Squashed commit of the following:')) return lines;
  return lines.map((line) => line.replace(/^ {4}/, ''));
}

const COMMENT = '<!--';

/** The lines, empty where code or a comment is fenced. What has no end counts as text: a missing change is harder to notice. */
function proseOf(lines: readonly string[]): readonly string[] {
  let [open, from] = ['', 0];
  const prose = lines.map((line, index) => {
    const before = open;
    if (before === '') from = index;
    const isComment = before === COMMENT || (before === '' && /^\s*<!--/.test(line));
    if (isComment) open = line.includes('-->') ? '' : COMMENT;
    else open = fenceAfter(line, before);
    return before === '' && open === '' ? line : '';
  });
  return open === '' ? prose : [...prose.slice(0, from), ...lines.slice(from)];
}

const MERGE = /^Merge pull request #\d{1,9} from \S{1,300}\s*$/;

/** The first line of a message. The merge of a pull request has the title further below: add it. */
export function subjectOf(message: string): string {
  const [subject = '', ...body] = message.trimStart().split('\n');
  const title = MERGE.test(subject) ? body.find((line) => line.trim() !== '') : undefined;
  return title === undefined ? subject : `${subject.trimEnd()}: ${title}`;
}

/** `BREAKING CHANGE:`; people also write it as an item, in bold, or with a scope. */
const BREAKING =
  /^(?:[*+-] {1,3})?(?:\*\*|__)?BREAKING[ -]CHANGES?(?:\([^()]{1,100}\))? ?(?:(?:\*\*|__) ?:|:(?:\*\*|__)?)/;
/** A footer (`Refs: #3`), a heading, a comment. */
const NO_NOTE = /^(?:[A-Za-z][A-Za-z-]{0,40}(?:: | #\d)|#{1,6} |<!--)/;

/**
 * The texts after each `BREAKING CHANGE:` (conventionalcommits.org, 16), to the end of the paragraph or the next footer:
 * they are often wrapped, or stand below.
 */
export function breakingNote(text: string): string | null {
  if (!text.includes('BREAKING')) return null;
  const lines = linesOf(cutText(text, 50_000));
  const starts = [...proseOf(lines).entries()].flatMap(([index, line]) => (BREAKING.test(line) ? index : []));
  const notes = starts.map((start, index) => noteIn(lines.slice(start, starts[index + 1])));
  const all = [...new Set(notes)].filter((note) => note !== '').join('; ');
  return all === '' ? null : cutLine(all, MAX_NOTE_LENGTH);
}

/** The note at the beginning of some lines. */
function noteIn([first = '', ...others]: string[]): string {
  const rest = [first.replace(BREAKING, ''), ...others].map((line) => line.trim());
  const from = rest.findIndex((line) => line !== '');
  const paragraph = from === -1 ? [] : rest.slice(from);
  const end = paragraph.findIndex((line) => line === '' || BREAKING.test(line) || NO_NOTE.test(line));
  return paragraph.slice(0, end === -1 ? undefined : end).reduce(joinNote, '');
}

/** Types by the emoji or shortcode that a title begins with (gitmoji.dev): the few whose meaning is plain. */
const typeByMark = new Map([
  ['\u2728', 'feat'],
  ['sparkles', 'feat'],
  ['\u{1f41b}', 'fix'],
  ['bug', 'fix'],
  ['\u{1f512}', 'security'],
  ['lock', 'security'],
  ['\u{1f525}', 'remove'],
  ['fire', 'remove'],
  ['\u{1f4a5}', 'breaking'],
  ['boom', 'breaking'],
  ['\u26a1', 'perf'],
  ['zap', 'perf'],
  ['\u{1f691}', 'fix'],
  ['ambulance', 'fix'],
  ['\u{1fa79}', 'fix'],
  ['adhesive_bandage', 'fix'],
  ['\u{1f5d1}', 'deprecate'],
  ['wastebasket', 'deprecate'],
]);

/** An emoji with what may join it to others, or a shortcode such as `:bug:`. */
const MARK =
  /^(?:(\p{Extended_Pictographic})(?:\ufe0f|\p{Emoji_Modifier}|\u200d\p{Extended_Pictographic}){0,10}|:([a-z][a-z0-9_+-]{1,40}):)\s*/u;

/** `text` without the emojis that it begins with, and the type that the first known one stands for. */
export function takeEmojis(text: string): { rest: string; type: string | null } {
  let rest = text;
  let type: string | null = null;
  for (let count = 0; count < 8; count++) {
    const match = MARK.exec(rest);
    // A title of nothing but emojis stays what it is.
    if (match === null || match[0].length === rest.length) break;
    type ??= typeByMark.get(match[1] ?? match[2] ?? '') ?? null;
    rest = rest.slice(match[0].length);
  }
  return { rest, type };
}

const MAX_FURTHER = 50;
const TITLE =
  /^(?:(?:feat|fix|perf|revert|security|deprecate|remove)(?:\([^()]{1,100}\))?!?|[a-z]{1,20}(?:\([^()]{1,100}\))?!): ./;
const ANY_CASE = new RegExp(TITLE, 'i');
const ITEM = /^ {0,3}(?:[*+•-]|\d{1,3}[.)]) {1,3}/;

/** The title of a change, with or without the mark of a list item; nothing for another line. */
function titleIn(line: string): string | [] {
  const cut = line.slice(0, 1_000);
  const title = cut.replace(ITEM, '').trimEnd();
  const { rest, type } = takeEmojis(title);
  // A sentence may begin with "Fix: ".
  const isTitle = (title === cut.trimEnd() ? TITLE : ANY_CASE).test(rest);
  return type !== null || isTitle ? title : [];
}

/** Lines of the body that read as the title of a change: squashing keeps the messages of the commits there. */
export function furtherIn(message: string): { further?: string[] } {
  const [subject = '', ...body] = linesOf(message.trim());
  // The body of a merge has the title of its pull request.
  if (/^Merge /.test(subject)) return {};
  const subjects = new Set(proseOf(body).flatMap(titleIn));
  subjects.delete(subject.replace(/\s*\(#\d{1,9}\)\s*$/, ''));
  const further = [...subjects].slice(0, MAX_FURTHER).map((line) => cutLine(line, 300));
  return further.length > 0 ? { further } : {};
}

/** The parts of a message for a changelog: its blocks, and the kind that its trailer names. */
export function writtenIn(message: string): { blocks?: WrittenBlock[]; kind?: string } {
  const blocks = blocksIn(linesOf(message).join('\n'));
  const kind = changelogTrailer(message);
  return { ...(blocks.length > 0 && { blocks }), ...(kind !== null && { kind }) };
}

/** A title that takes something back, as git, code hosts and Conventional Commits write it. */
const TAKES_BACK = /^(?:(?:Revert|Reapply) "|revert(?:\([^()]{1,100}\))?!?: )/i;
/** Lines that git, GitHub and GitLab write below it. */
const TAKEN_COMMIT = /^This reverts commit ([0-9a-f]{7,64})\b/gm;
const TAKEN_REQUEST =
  /^(?:Reverts (?:[\w.-]{1,100}(?:\/[\w.-]{1,100}){1,9})?|This reverts merge request [\w./-]{0,300})[#!](\d{1,9})\b/gm;
/** The footer of Conventional Commits. */
const TAKEN_REFS = /^Refs?: ((?:[0-9a-f]{7,64}(?:, *|$))+)/gm;
const PICKED = /^\(cherry picked from commit ([0-9a-f]{7,64})\)/gm;

const MAX_TAKEN = 20;

/**
 * The changes that a change takes back: hashes of commits, and `#12` for pull requests; absent for none. `text`: its description, or the
 * rest of its message. A sentence in the middle of another change takes nothing back.
 */
export function revertsIn(title: string, text: string): { reverts?: string[] } {
  const body = text.trimStart().slice(0, 10_000).replaceAll('\r\n', '\n');
  const found = [
    ...Array.from(body.matchAll(TAKEN_COMMIT), ([line, sha = '']) => ({ line, name: sha })),
    ...Array.from(body.matchAll(TAKEN_REQUEST), ([line, number]) => ({ line, name: `#${number}` })),
  ];
  const isTitled = TAKES_BACK.test(title);
  if (!isTitled && !found.some(({ line }) => body.startsWith(line))) return {};
  const refs = isTitled
    ? Array.from(body.matchAll(TAKEN_REFS), ([, list = '']) => list.split(/, */)).flat()
    : [];
  const names = [...found.map(({ name }) => name), ...refs].filter((name) => name !== '');
  return names.length === 0 ? {} : { reverts: [...new Set(names)].slice(0, MAX_TAKEN) };
}

/** The same of a commit, and the commits that it is a copy of. */
export function takenIn(message: string): { reverts?: string[]; picked?: string[] } {
  const [title = '', ...rest] = message.split('\n');
  const picked = Array.from(message.matchAll(PICKED), ([, sha = '']) => sha).slice(0, MAX_TAKEN);
  return { ...revertsIn(title, rest.join('\n')), ...(picked.length > 0 && { picked }) };
}

/** The lines of a paragraph, or the items of a list, as one line. */
function joinNote(note: string, line: string): string {
  if (note.length > MAX_NOTE_LENGTH) return note;
  const item = line.replace(/^[-*] +/, '');
  return note === '' ? item : `${note}${item === line ? ' ' : '; '}${item}`;
}

/** The size and the start of a push whose payload does not name all of its commits. */
export function cutAt(named: number, total: number | undefined, before: string | null) {
  if (total === undefined || total <= named) return {};
  return { total, ...(before !== null && { before: NO_COMMIT.test(before) ? null : before }) };
}

/** In place of the commit of a branch that is not there before, or after. */
export const NO_COMMIT = /^0{40,64}$/;
