import { takeEmojis } from './emoji.ts';
import { lineOf } from './line.ts';
import { isType } from './types.ts';

/** What the title of a commit or a pull request says. */
export interface ParsedTitle {
  /** In lower case, of those that `isType` knows: an emoji counts as the type that it stands for. */
  type: string | null;
  scope: string | null;
  isBreaking: boolean;
  /** The rest, as it was written. Of `Revert "…"` and `Reapply "…"` what is in the quotes. */
  description: string;
  /** Of the pull request that the title ends with: `(#12)`. */
  number: number | null;
}

/** As much of a title as is looked at, in characters. */
const MAX_TITLE_LENGTH = 1000;

/** What Git writes when a commit is taken back and, since 2.43, when that is taken back. */
const TAKEN_BACK = /^(?:Revert|(Reapply)) "/;

const FIXUP = /^(?:(?:fixup|squash|amend)! ){1,20}/;

/** `type(scope)!: `, with the spaces, the capitals and the wide colon that people write. */
const PREFIX =
  /^(breaking[ -]changes?|\p{L}[\p{L}\p{N}_-]{0,30}) {0,5}(!?) {0,5}(?:\(([^()]{0,100})\) {0,5})?(!?) {0,5}[:\uff1a](?!:|\/\/) */iu;

/** The form that the specification gives, in which any word may be a type. */
const STRICT_BREAKING = /^[\w-]{1,30}(?:\([^()]{1,100}\))?!: /;

/**
 * Reads a title by Conventional Commits 1.0.0, and by what people write instead. A word with a colon that is no
 * known type stays in the description, as it may be a part of the product (`engine: start softer`).
 */
export function parseTitle(title: string): ParsedTitle {
  const { rest, number } = takeNumber(lineOf(title, Number.MAX_SAFE_INTEGER));
  const { rest: line, type: emojiType } = takeEmojis(withoutFixup(lineOf(rest, MAX_TITLE_LENGTH)));
  const [taken, again] = TAKEN_BACK.exec(line) ?? [];
  if (taken !== undefined) {
    const description = line.slice(taken.length).replace(/"$/, '');
    return { type: again ? 'reapply' : 'revert', scope: null, isBreaking: false, description, number };
  }
  const [prefix, word = '', early, scope, late] = PREFIX.exec(line) ?? [''];
  const type = /^breaking/i.test(word) ? 'breaking' : word.toLowerCase();
  const { rest: description } = takeEmojis(line.slice(prefix.length));
  if (!isType(type) || description === '') {
    const isBreaking = emojiType === 'breaking' || STRICT_BREAKING.test(line);
    return { type: emojiType, scope: null, isBreaking, description: line, number };
  }
  const isBreaking = type === 'breaking' || emojiType === 'breaking' || Boolean(early || late);
  return { type, scope: scope?.trim() || null, isBreaking, description, number };
}

/** Whether a subject is that of a commit which mends an earlier one (`git commit --fixup`). */
export function isFixup(subject: string): boolean {
  return FIXUP.test(subject);
}

function withoutFixup(subject: string): string {
  return subject.replace(FIXUP, '').trimStart();
}

/** Takes `(#12)` from the end; of several the last number is the pull request that brought it here. */
function takeNumber(text: string): { rest: string; number: number | null } {
  let rest = text;
  let number: number | null = null;
  for (;;) {
    const match = /\(#(\d{1,9})\)\.?$/.exec(rest.slice(-14));
    if (match === null) return { rest, number };
    number ??= Number(match[1]);
    rest = rest.slice(0, -match[0].length).trimEnd();
  }
}
