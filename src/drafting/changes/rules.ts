import { fitsOne } from '../../lib/text.ts';
import { blockName, type WrittenBlock } from '../../providers/written.ts';
import type { Change, Reference } from './groups.ts';
import type { Entry } from './reached.ts';
import { changesWritten, parseTitle, type Titled } from './titles.ts';

// The rules for entries: words of the author for readers, and changes that a trigger leaves out.

/** The name of the blocks that Kubernetes and others use. */
export const RELEASE_NOTE = 'release-note';

/** The labels that leave a change out where a trigger names none. */
export const SKIP_LABELS: readonly string[] = ['skip-changelog', 'no-changelog'];

/** How a trigger reads what its drafts list. Names and patterns ignore case. */
export interface EntryRules {
  /** The name of the blocks in which people write for readers. Absent: `release-note`. */
  block?: string | undefined;
  /** Absent: `SKIP_LABELS`. */
  excludeLabel?: readonly string[] | undefined;
  excludeAuthor?: string[] | undefined;
  excludeBots?: boolean | undefined;
  /** Patterns with `*` of whole titles. */
  excludeTitle?: string[] | undefined;
  /** Types of conventional titles. */
  excludeType?: string[] | undefined;
}

/** The names of the rules. */
export const ENTRY_RULES = [
  'block',
  'excludeLabel',
  'excludeAuthor',
  'excludeBots',
  'excludeTitle',
  'excludeType',
] as const satisfies (keyof EntryRules)[];

export const isEntryRule = (name: string): name is keyof EntryRules =>
  (ENTRY_RULES as readonly string[]).includes(name);

/** The rules alone. */
export function entryRulesOf(given: EntryRules): EntryRules {
  return Object.fromEntries(
    ENTRY_RULES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
}

export interface LeftOut {
  /** Its title, and its page. */
  title: string;
  reference: Reference;
  reason: string;
}

/** The blocks of the first of these texts that has some with the name of the rules, and its number; null without any. */
export function findBlocks(
  { block = RELEASE_NOTE }: EntryRules,
  texts: readonly (readonly WrittenBlock[] | undefined)[],
): { blocks: WrittenBlock[]; at: number } | null {
  for (const [at, all = []] of texts.entries()) {
    const blocks = all.filter(({ name }) => name === blockName(block));
    if (blocks.length > 0) return { blocks, at };
  }
  return null;
}

/** The changes that the first of these texts with such a block has; null without one. */
export function writtenOf(
  titled: () => Titled,
  rules: EntryRules,
  ...texts: (readonly WrittenBlock[] | undefined)[]
): Change[] | null {
  const found = findBlocks(rules, texts);
  if (found === null) return null;
  const entries = new Map(found.blocks.flatMap((each) => each.entries).map((entry) => [entry.text, entry]));
  return changesWritten([...entries.values()], titled());
}

/** Names that code hosts and their users give to programs. */
const BOT =
  /\[bot\]$|[-_]bot$|^bot[-_]|^(?:project|group)_\d+_bot|^(?:dependabot|renovate|semantic-release)\b/i;

/**
 * Why a trigger leaves an entry out; null when it does not. A label or an author wins over what was written for readers. A
 * type or a title does not, and leaves out nothing that breaks or secures something.
 */
export function findReason(
  { change, written, labels, author, title }: Entry,
  rules: EntryRules,
): string | null {
  const { excludeAuthor = [], excludeBots, excludeTitle, excludeType = [] } = rules;
  const label = findLabel(labels, rules);
  if (label !== null) return label;
  if (author !== null && isAmong(excludeAuthor, author)) return `author ${author}`;
  if (author !== null && excludeBots === true && BOT.test(author)) return `bot ${author}`;
  if (written?.length === 0) return 'its author wrote that there is nothing to say';
  if (written !== null) return null;
  const { type } = parseTitle(title);
  const isKept = change.isBreaking || change.group === 'Security';
  if (type !== null && !isKept && isAmong(excludeType, type)) return `type ${type}`;
  const whole = title.toLowerCase();
  const pattern = excludeTitle?.find((each) => fitsOne([each.toLowerCase()], whole));
  return pattern === undefined ? null : `title ${pattern}`;
}

/** The label that leaves a change out, as a reason; null without one. */
export function findLabel(
  labels: readonly string[],
  { excludeLabel = SKIP_LABELS }: EntryRules,
): string | null {
  const label = labels.find((each) => isAmong(excludeLabel, each));
  return label === undefined ? null : `label ${label}`;
}

function isAmong(names: readonly string[], name: string): boolean {
  return names.some((each) => each.toLowerCase() === name.toLowerCase());
}
