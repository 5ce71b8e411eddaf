import { cutLine, cutText } from '../lib/text.ts';

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

/** The first characters of a commit message, without the email addresses of its trailers. */
export function messageOf(message: string, maxLength: number): string {
  const anonymous = message.replaceAll(TRAILER, (_, trailer: string) => trailer.trimEnd());
  return cutText(anonymous, maxLength);
}

const MAX_NOTE_LENGTH = 500;

/** The lines of a message. `git merge --squash` indents those of each commit by four spaces. */
function linesOf(message: string): string[] {
  const lines = message.split('\n');
  if (!lines[0]?.startsWith('Squashed commit of the following:')) return lines;
  return lines.map((line) => line.replace(/^ {4}/, ''));
}

const MERGE = /^Merge pull request #\d{1,9} from \S{1,300}\s*$/;

/** The first line of a message. The merge of a pull request has the title further below: add it. */
export function subjectOf(message: string): string {
  const [subject = '', ...body] = message.trimStart().split('\n');
  const title = MERGE.test(subject) ? body.find((line) => line.trim() !== '') : undefined;
  return title === undefined ? subject : `${subject.trimEnd()}: ${title}`;
}

const BREAKING = /^BREAKING[ -]CHANGES?:/;
/** A footer (`Refs: #3`), a heading, a comment. */
const NO_NOTE = /^(?:[A-Za-z][A-Za-z-]{0,40}(?:: | #\d)|BREAKING[ -]CHANGES?:|#{1,6} |<!--)/;

/**
 * The texts after each `BREAKING CHANGE:` (conventionalcommits.org, 16), to the end of the paragraph or the next footer:
 * they are often wrapped, or stand below.
 */
export function breakingNote(text: string): string | null {
  if (!text.includes('BREAKING')) return null;
  const lines = linesOf(cutText(text, 50_000));
  const starts = [...lines.entries()].flatMap(([index, line]) => (BREAKING.test(line) ? index : []));
  const notes = starts.map((start, index) => noteIn(lines.slice(start, starts[index + 1])));
  const all = [...new Set(notes)].filter((note) => note !== '').join('; ');
  return all === '' ? null : cutLine(all, MAX_NOTE_LENGTH);
}

/** The note at the beginning of some lines. */
function noteIn([first = '', ...others]: string[]): string {
  const rest = [first.replace(BREAKING, ''), ...others].map((line) => line.trim());
  const from = rest.findIndex((line) => line !== '');
  const paragraph = from === -1 ? [] : rest.slice(from);
  const end = paragraph.findIndex((line) => line === '' || NO_NOTE.test(line));
  return paragraph.slice(0, end === -1 ? undefined : end).reduce(joinNote, '');
}

const MAX_FURTHER = 50;
const FURTHER =
  /^(?:[*-] {1,3})?((?:(?:feat|fix|perf|revert|security|deprecate|remove)(?:\([^()]{1,100}\))?!?|[a-z]{1,20}(?:\([^()]{1,100}\))?!): .*\S)/;

/** Lines of the body that read as the title of a change: squashing keeps the messages of the commits there. */
export function furtherIn(message: string): { further?: string[] } {
  const [subject = '', ...body] = linesOf(message.trim());
  // The body of a merge has the title of its pull request.
  if (/^Merge /.test(subject)) return {};
  const subjects = new Set(body.flatMap((line) => FURTHER.exec(line.slice(0, 1_000))?.[1] ?? []));
  subjects.delete(subject.replace(/\s*\(#\d{1,9}\)\s*$/, ''));
  const further = [...subjects].slice(0, MAX_FURTHER).map((line) => cutLine(line, 300));
  return further.length > 0 ? { further } : {};
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
