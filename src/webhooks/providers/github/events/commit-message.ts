import { cutText, MAX_MESSAGE_LENGTH } from '../../../text.ts';

/** `Co-authored-by: Ann <ann@acme.test>`: Git writes people's addresses into a message's trailers. */
const TRAILER = /^([A-Za-z][A-Za-z-]*-by:[^<\n]*)<[^<>\s@]+@[^<>\s@]+>/gm;

/** A commit message to keep: bounded, the names in its trailers without their e-mail addresses. */
export function messageOf(message: string): string {
  const anonymous = message.replaceAll(TRAILER, (_, trailer: string) => trailer.trimEnd());
  return cutText(anonymous, MAX_MESSAGE_LENGTH);
}
