import { cutText } from '../../../lib/text.ts';

/** Longest commit message that is kept, in characters, and how much all of a push may hold. */
const MAX_MESSAGE_LENGTH = 10_000;
const MAX_MESSAGES_LENGTH = 1_000_000;

/** A push brings up to 2048 commits, and its data goes into the log: the more of them, the shorter each message. */
export function messageLengthFor(commitCount: number): number {
  return Math.min(MAX_MESSAGE_LENGTH, Math.floor(MAX_MESSAGES_LENGTH / Math.max(1, commitCount)));
}

/** `Co-authored-by: Ann <ann@acme.test>`: Git writes people's addresses into a message's trailers. */
const TRAILER = /^([A-Za-z][A-Za-z-]*-by:[^<\n]*)<[^<>\s@]+@[^<>\s@]+>/gm;

/** A commit message to keep: its first characters, the names in its trailers without their e-mail addresses. */
export function messageOf(message: string, maxLength: number): string {
  const anonymous = message.replaceAll(TRAILER, (_, trailer: string) => trailer.trimEnd());
  return cutText(anonymous, maxLength);
}
