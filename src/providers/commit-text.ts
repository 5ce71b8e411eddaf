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

const MERGE = /^Merge pull request #\d{1,9} from \S{1,300}\s*$/;

/** The first line of a message. The merge of a pull request has the title further below: add it. */
export function subjectOf(message: string): string {
  const [subject = '', ...body] = message.trimStart().split('\n');
  const title = MERGE.test(subject) ? body.find((line) => line.trim() !== '') : undefined;
  return title === undefined ? subject : `${subject.trimEnd()}: ${title}`;
}

const BREAKING = /^BREAKING[ -]CHANGE:/;
/** A footer (`Refs: #3`), a heading, a comment. */
const NO_NOTE = /^(?:[A-Za-z][A-Za-z-]{0,40}(?:: | #\d)|BREAKING[ -]CHANGE:|#{1,6} |<!--)/;

/**
 * The text after `BREAKING CHANGE:` (conventionalcommits.org, 16), to the end of the paragraph or the next footer: it
 * is often wrapped, or stands below.
 */
export function breakingNote(text: string): string | null {
  if (!text.includes('BREAKING')) return null;
  const lines = cutText(text, 50_000).split('\n');
  const start = lines.findIndex((line) => BREAKING.test(line));
  if (start === -1) return null;
  const rest = [lines[start]?.replace(BREAKING, '') ?? '', ...lines.slice(start + 1)].map((line) =>
    line.trim(),
  );
  const from = rest.findIndex((line) => line !== '');
  const paragraph = from === -1 ? [] : rest.slice(from);
  const end = paragraph.findIndex((line) => line === '' || NO_NOTE.test(line));
  const note = paragraph.slice(0, end === -1 ? undefined : end).reduce(joinNote, '');
  return note === '' ? null : cutLine(note, MAX_NOTE_LENGTH);
}

/** The lines of a paragraph, or the items of a list, as one line. */
function joinNote(note: string, line: string): string {
  if (note.length > MAX_NOTE_LENGTH) return note;
  const item = line.replace(/^[-*] +/, '');
  return note === '' ? item : `${note}${item === line ? ' ' : '; '}${item}`;
}
