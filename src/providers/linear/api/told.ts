import type { LinearError } from '@linear/sdk';

/** Longer words of Linear's are cut. */
const MAX_WORDS_LENGTH = 200;

/** Linear's own words, by which it is told apart what went wrong: not every error has a code. */
export interface Told {
  type: string;
  code: string;
  message: string;
  presentable: string;
}

/** The first of the errors that were answered; null when there is none. */
export function toldBy(error: LinearError): Told | null {
  const [first] = error.raw?.response?.errors ?? [];
  if (typeof first !== 'object' || first === null) return null;
  const extensions: { type?: unknown; code?: unknown; userPresentableMessage?: unknown } = {
    ...first.extensions,
  };
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return {
    type: text(extensions.type),
    code: text(extensions.code),
    message: text(first.message),
    presentable: text(extensions.userPresentableMessage),
  };
}

/** What Linear says, on one line, in bounds and without secrets: GraphQL's own errors quote the variables. */
export function quoted({ presentable, message }: Told, secrets: readonly string[]): string {
  let words = presentable || message;
  for (const secret of secrets) words = words.replaceAll(secret, '…');
  words = words.replaceAll(/\s+/g, ' ').trim();
  if (words.length > MAX_WORDS_LENGTH) words = `${words.slice(0, MAX_WORDS_LENGTH)}…`;
  return words === '' ? 'nothing' : `"${words.replace(/\.$/, '')}"`;
}
