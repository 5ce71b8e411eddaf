import { MAX_BODY_LENGTH } from '../../lib/text.ts';
import { MAX_ITEM_LENGTH, outlineOf } from '../../markdown/outline.ts';
import { toPlainText } from '../../markdown/plain-text.ts';
import { type Addresses, addressesIn, labelOfAddress } from '../links.ts';
import {
  type Change,
  eachOnce,
  type GroupName,
  groupOfType,
  groupOfWords,
  groupWhenBreaking,
  type Reference,
  wordsOf,
} from './groups.ts';
import { authorsOf, lineOf, readTitle, takeEmojis } from './titles.ts';

/** As many items of one release's notes are read. */
const MAX_ITEMS = 500;

const NO_SECTION: Section = { group: null, isBreaking: false, isOfChanges: true };

/** `**Breaking:** `, `[BREAKING] `, and the warning sign that changelogen puts there. */
const BREAKING_MARK =
  /^(?:\u26a0\ufe0f? *|\*\*\[?breaking(?: changes?)?\]?(?::\*\*|\*\*:?) +|\[breaking(?: changes?)?\]:? +)/i;
/** `**core:** `, of one word: more of them are the beginning of a sentence. */
const BOLD_SCOPE = /^\*\*([^*\s]{1,100}?)(?::\*\*|\*\*:) +/;

/**
 * The changes that release notes list, at most 500: the list items at the top level, by the first paragraph of
 * each. Their group is that of the heading they stand under; where that says none, of their own type, then of their
 * first words. Who contributed for the first time is no change. Reads the first 200,000 characters.
 */
export function changesOfNotes(markdown: string): Change[] {
  const notes = markdown.slice(0, MAX_BODY_LENGTH);
  const sections: { level: number; section: Section }[] = [];
  return outlineOf(notes, MAX_ITEMS).flatMap((part) => {
    const outer = () => sections.at(-1)?.section ?? NO_SECTION;
    if (part.kind === 'heading') {
      while ((sections.at(-1)?.level ?? 0) >= part.level) sections.pop();
      sections.push({ level: part.level, section: sectionOf(part.text) ?? outer() });
      return [];
    }
    return outer().isOfChanges ? changeOfItem(part.text, outer()) : [];
  });
}

function changeOfItem(item: string, section: Section): Change | [] {
  const { markdown, scope, isMarked } = takeMarks(item);
  const addresses = addressesIn(markdown);
  const plain = lineOf(withoutAddresses(toPlainText(markdown)), MAX_ITEM_LENGTH);
  if (plain === '') return [];
  const { text: words, references, authors } = takeCredits(plain, addresses);
  const title = readTitle(words, { isCode: markdown.startsWith('`') });
  const isBreaking = section.isBreaking || isMarked || title.isBreaking;
  const ownScope = scope ?? title.scope;
  const group = section.group ?? groupOfType(title.type, ownScope) ?? groupOfWords(title.description);
  return {
    text: title.text,
    scope: ownScope,
    group: groupWhenBreaking(group ?? 'Other', isBreaking),
    isBreaking,
    breakingNote: null,
    references,
    authors: authorsOf(...authors),
  };
}

/** Takes from the beginning of an item what is said of it rather than by it. */
function takeMarks(item: string): { markdown: string; scope: string | null; isMarked: boolean } {
  const unboxed = item.trim().replace(/^\[[ x]\] +/i, '');
  const first = unboxed.replace(BREAKING_MARK, '');
  const word = BOLD_SCOPE.exec(first);
  const unscoped = first.slice(word?.[0].length ?? 0);
  const markdown = unscoped.replace(BREAKING_MARK, '');
  return {
    markdown,
    scope: word === null ? null : lineOf(toPlainText(word[1] ?? ''), 50) || null,
    isMarked: first !== unboxed || markdown !== unscoped,
  };
}

/** The text of a link is enough in a list: its address, which plain text puts after it, goes. */
function withoutAddresses(text: string): string {
  return text.replaceAll(/\s\(https?:\/\/\S*\)/g, '');
}

/** A line without what it says of who did it and where to read on. */
interface Credited {
  text: string;
  references: Reference[];
  authors: string[];
}

/** A word that stands for something, without what is around it. */
type Mark = { kind: 'author'; name: string } | { kind: 'reference'; reference: Reference };

// Words that lead to such marks, those between the two, and those that stand between marks.
const LEADS = {
  author: new Set(['by', 'thanks', 'thank', 'to', 'you', '-', '–', '—']),
  reference: new Set(['see', 'closes', 'fixes', 'fixed', 'resolves', 'refs', 'ref', 'via', '-', '–', '—']),
};
const NOUNS = new Set(['issue', 'issues', 'pull', 'request', 'requests', 'pr', 'prs']);
const BETWEEN = new Set(['and', '&', 'with', 'in', '+', ',', '·', '|']);

/**
 * Takes from the end what generators of release notes put there, such as `by @ann in https://…/pull/12`,
 * `(#12) (c02f9a6), closes #9` and `See #12`; and from the beginning what Changesets put there.
 */
function takeCredits(line: string, addresses: Addresses): Credited {
  const words = line.split(' ');
  const found: Mark[] = [];
  const start = headEnd(words, addresses, found);
  let end = words.length;
  for (;;) {
    const phrase = tailStart(words.slice(start, end), addresses);
    if (phrase === null) break;
    end = start + phrase;
  }
  found.push(...words.slice(end).flatMap((word) => markOf(word, addresses) ?? []));
  const text = words
    .slice(start, end)
    .join(' ')
    .replace(/[\s,;:(–—-]{1,20}$/, '');
  return {
    text: text === '' ? line : text,
    references: eachOnce(found.flatMap((mark) => (mark.kind === 'reference' ? mark.reference : []))),
    authors: [...new Set(found.flatMap((mark) => (mark.kind === 'author' ? mark.name : [])))],
  };
}

/** Index of the trailing phrase that holds only marks; null when the line ends in other words. */
function tailStart(words: string[], addresses: Addresses): number | null {
  const marks: Mark[] = [];
  let start = words.length;
  for (let at = words.length - 1; at >= 0; at--) {
    const mark = markOf(words[at] ?? '', addresses);
    if (mark === null && (marks.length === 0 || !BETWEEN.has(bare(words[at])))) break;
    if (mark === null) continue;
    start = at;
    marks.unshift(mark);
  }
  const [first] = marks;
  if (first === undefined) return null;
  const lead = leadStart(words, start, first.kind);
  // Without brackets or a word that leads there it may be what the sentence is about: `Revert #12`, `Greet @ann`.
  const isApart =
    lead < start ||
    /[.!?]$/.test(words[lead - 1] ?? '') ||
    words[start]?.startsWith('(') ||
    marks.some(({ kind }) => kind !== first.kind) ||
    (start > 1 && marks.some((mark) => mark.kind === 'reference' && mark.reference.url !== null));
  return isApart ? lead : null;
}

/** Index of the first word that leads to a mark. */
function leadStart(words: string[], start: number, kind: Mark['kind']): number {
  let noun = start;
  while (kind === 'reference' && noun > 0 && NOUNS.has(bare(words[noun - 1]))) noun--;
  let lead = noun;
  while (lead > 0 && LEADS[kind].has(bare(words[lead - 1]))) lead--;
  // `Fix issue #12` has a noun and no lead: a sentence of its own, unless one ended before it.
  if (lead < noun || /[.!?]$/.test(words[noun - 1] ?? '')) return lead;
  return bare(words[start - 1]) === 'in' && /^https?:/.test(words[start] ?? '') ? start - 1 : start;
}

/** `#12 c02f9a6 Thanks @ann! - `, or `c02f9a6: `: how many words of it there are; its marks go to `found`. */
function headEnd(words: string[], addresses: Addresses, found: Mark[]): number {
  const marks: Mark[] = [];
  for (const [index, word] of words.slice(0, 12).entries()) {
    const mark = markOf(word, addresses);
    const isEnd = marks.length > 0 && (/^[-–—]$/.test(word) || (mark !== null && word.endsWith(':')));
    if (mark !== null) marks.push(mark);
    if (isEnd || (index === 0 && /^[0-9a-f]{7,40}:$/.test(word) && mark !== null)) {
      found.push(...marks);
      return index + 1;
    }
    if (mark === null && !LEADS.author.has(bare(word)) && !BETWEEN.has(bare(word))) return 0;
  }
  return 0;
}

function markOf(word: string, addresses: Addresses): Mark | null {
  const name = word.replace(/^[([]{1,3}/, '').replace(/(?<!\[bot)[)\],.;:!]{1,5}$/, '');
  const author = /^@([\w-]{1,39}(?:\[bot\])?)$/.exec(name)?.[1];
  if (author !== undefined) return { kind: 'author', name: author };
  const label = labelOf(name, word, addresses);
  return label === null
    ? null
    : { kind: 'reference', reference: { label, url: addresses.get(label) ?? null } };
}

function labelOf(name: string, word: string, addresses: Addresses): string | null {
  if (/^#\d{1,9}$/.test(name)) return name;
  if (/^https?:/.test(name)) return labelOfAddress(name);
  if (/^[A-Z][A-Z0-9]{0,9}-\d{1,9}$/.test(name)) return addresses.has(name) ? name : null;
  const sha = /^[0-9a-f]{5,40}$/.test(name) ? name.slice(0, 7) : null;
  if (sha === null) return null;
  // A number, or a word such as `facade`, is none unless it has a page.
  const known = addresses.has(sha) ? sha : [...addresses.keys()].find((label) => label.startsWith(sha));
  const isBetweenMarks = /^\([^()]*\)/.test(word) || word.endsWith(':');
  return known ?? (isBetweenMarks && /\d/.test(sha) && /[a-f]/.test(sha) && name.length >= 7 ? sha : null);
}

function bare(word = ''): string {
  return word.replaceAll(/[()[\],.;:!]/g, '').toLowerCase() || word;
}

/** The meaning of a list's heading for its items. */
interface Section {
  /** Null when each item decides. */
  group: GroupName | null;
  isBreaking: boolean;
  /** False when its items are people rather than changes. */
  isOfChanges: boolean;
}

const wordsByGroup: Record<GroupName, string> = {
  Added: 'added addition additions feature features enhancement enhancements feat',
  Changed: 'improvement improvements improved performance perf',
  Deprecated: 'deprecated deprecation deprecations',
  Removed: 'removed removal removals',
  Fixed: 'fix fixes fixed bug bugs bugfix bugfixes hotfix hotfixes',
  Security: 'security vulnerability vulnerabilities',
  Other:
    'dependency dependencies deps chore chores doc docs documentation internal internals contributors thanks ' +
    'credits refactor refactors refactoring tests ci build maintenance housekeeping style styles misc',
};

const groupByWord = new Map(
  Object.entries(wordsByGroup).flatMap(([group, words]) =>
    words.split(' ').map((word): [string, GroupName] => [word, group as GroupName]),
  ),
);

// Only alone: `What's Changed` and `New in 2.0` stand over everything.
const groupOfWhole = new Map<string, GroupName>([
  ['new', 'Added'],
  ['changed', 'Changed'],
  ['updated', 'Changed'],
]);

/** Reads a heading, in Markdown; null when it says nothing about the items under it. */
function sectionOf(heading: string): Section | null {
  const line = heading
    .slice(0, 200)
    .replaceAll(/\]\([^()\s]*\)/g, ']')
    .trim();
  const words = wordsOf(line);
  const isOfChanges = !/\bnew contributors\b/.test(words);
  // A letter after it lets an emoji alone be read too.
  const { type } = takeEmojis(`${line}x`);
  const isBreaking =
    type === 'breaking' ||
    /^breaking\b|\bbreaking changes?$|^(?:semver )?major changes$|^backwards? incompatible\b/.test(words);
  const group = groupOfWhole.get(words) ?? groupOfParts(line) ?? groupOfType(type, null);
  return group === null && !isBreaking && isOfChanges ? null : { group, isBreaking, isOfChanges };
}

/** Null for headings of several groups, such as `Fixes & improvements`. */
function groupOfParts(line: string): GroupName | null {
  const groups = new Set(
    line.split(/[&,/+]|\band\b/i).flatMap((part) =>
      wordsOf(part)
        .split(' ')
        .flatMap((word) => groupByWord.get(word) ?? [])
        .slice(0, 1),
    ),
  );
  const [group = null] = groups;
  return groups.size === 1 ? group : null;
}
