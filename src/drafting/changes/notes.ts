import { MAX_ITEM_LENGTH, outlineOf } from '../../lib/markdown/outline.ts';
import { toPlainText } from '../../lib/markdown/plain-text.ts';
import { MAX_BODY_LENGTH } from '../../lib/text.ts';
import { takeEmojis } from '../../providers/commit-text.ts';
import { type Addresses, addressesIn, labelOfAddress } from '../links.ts';
import {
  type Change,
  eachOnce,
  type GroupName,
  groupOfType,
  groupOfWords,
  groupsByWord,
  groupWhenBreaking,
  type Reference,
  wordsOf,
} from './groups.ts';
import { authorsOf, lineOf, readTitle } from './titles.ts';

/** `**Breaking:** `, `[BREAKING] `, and the warning sign that changelogen puts there. */
const BREAKING_MARK =
  /^(?:\u26a0\ufe0f? *|\*\*\[?breaking(?: changes?)?\]?(?::\*\*|\*\*:?) +|\[breaking(?: changes?)?\]:? +)/i;
/** `**core:** `, of one word: several begin a sentence. */
const BOLD_SCOPE = /^\*\*([^*\s]{1,100}?)(?::\*\*|\*\*:) +/;

/** The words of a footnote stand in brackets after what they explain. */
const FOOTNOTE = /\[(1)\]([\s\S]*)\n\n\[\1\] ([^\n]+)$/;

/**
 * The changes that release notes list: the first 500 list items at the top level, by the first paragraph of each, in the
 * first 200,000 characters. The group is that of the heading above; without one, of the item's type or its first word.
 */
export function changesOfNotes(markdown: string): Change[] {
  const sections: { level: number; section: Section }[] = [];
  return outlineOf(markdown.slice(0, MAX_BODY_LENGTH), 500).flatMap((part) => {
    if (part.kind === 'heading') while ((sections.at(-1)?.level ?? 0) >= part.level) sections.pop();
    const outer = sections.at(-1)?.section ?? { group: null, isBreaking: false, isOfChanges: true };
    if (part.kind === 'heading') {
      sections.push({ level: part.level, section: sectionOf(part.text) ?? outer });
      return [];
    }
    return outer.isOfChanges ? changeOfItem(part.text, outer) : [];
  });
}

function changeOfItem(item: string, section: Section): Change | [] {
  const { markdown, scope, isMarked } = takeMarks(item);
  const addresses = addressesIn(markdown);
  // The text of a link is enough: plain text puts its address in brackets after it.
  const listed = toPlainText(markdown, '-', { keepsShortcodes: true })
    .replace(FOOTNOTE, ' ($3)$2')
    .replaceAll(/\s\(https?:\/\/\S*\)/g, '');
  const plain = lineOf(listed, MAX_ITEM_LENGTH);
  if (plain === '') return [];
  const { text: words, references, authors } = takeCredits(plain, addresses);
  // Also behind a type: "Fix: `x` is kept".
  const title = readTitle(words, { isCode: /^(?:[^`]{1,150}: {0,3})?`/.test(markdown) });
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

/** A word that names an author, or a reference. */
type Mark = string | Reference;

// Words before marks, and between them.
const AUTHOR_LEADS = new Set(['by', 'thanks', 'thank', 'to', 'you', '-', '–', '—']);
const LEADS = new Set(['see', 'closes', 'fixes', 'fixed', 'resolves', 'refs', 'ref', 'via', '-', '–', '—']);
const NOUNS = new Set(['issue', 'issues', 'pull', 'request', 'requests', 'pr', 'prs']);
const BETWEEN = new Set(['and', '&', 'with', 'in', '+', ',', '·', '|']);

/**
 * Takes from the end what generators of release notes put there, such as `by @ann in https://…/pull/12`,
 * `(#12) (c02f9a6), closes #9` and `See #12`; and from the beginning what Changesets puts there.
 */
function takeCredits(line: string, addresses: Addresses) {
  const words = line.split(' ');
  const marks = words.map((word) => markOf(word, addresses));
  const start = headEnd(words, marks);
  let end = words.length;
  for (let tail: number | null = end; tail !== null; tail = tailStart(words, marks, start, end)) end = tail;
  const taken = [...marks.slice(0, start), ...marks.slice(end)].filter((mark) => mark !== null);
  const kept = words.slice(start, end).join(' ');
  // Separators before a credit go. A colon leads to a bare one: it is no part of `:tada:`, or of the words before `(#12)`.
  const isBare = marks[end] != null && !words[end]?.startsWith('(');
  const untied = isBare ? kept.replace(/(?<!:[\w+-]{1,50}):$/, '') : kept;
  // Changesets keeps the heading of a description.
  const text = (end === words.length ? kept : untied.replace(/[\s,;(–—-]{1,20}$/, '')).replace(
    /^#{1,6} +/,
    '',
  );
  return {
    text: text || line,
    references: eachOnce(taken.filter((mark) => typeof mark !== 'string')),
    authors: taken.filter((mark) => typeof mark === 'string'),
  };
}

/** Index of the last phrase between `from` and `to` that holds only marks; null when other words stand at the end. */
function tailStart(words: string[], marks: (Mark | null)[], from: number, to: number): number | null {
  let start = to;
  for (let at = to - 1; at >= from; at--) {
    if (marks[at] !== null) start = at;
    else if (start === to || !BETWEEN.has(bare(words[at]))) break;
  }
  const [first, ...others] = marks.slice(start, to).filter((mark) => mark !== null);
  if (first === undefined) return null;
  const before = (at: number) => (at > from ? (words[at - 1] ?? '') : '');
  const lead = leadStart(before, start, typeof first, words[start] ?? '');
  // Without brackets or a word that leads there it may be what the sentence is about: `Revert #12`, `Greet @ann`.
  const isApart =
    lead < start ||
    /[.!?]$/.test(before(lead)) ||
    words[start]?.startsWith('(') ||
    others.some((mark) => typeof mark !== typeof first) ||
    (start > from + 1 && [first, ...others].some((mark) => typeof mark !== 'string' && mark.url !== null));
  return isApart ? lead : null;
}

/** Index of the first word that leads to a mark. */
function leadStart(before: (at: number) => string, start: number, kind: string, mark: string): number {
  const isReference = kind === 'object';
  let noun = start;
  while (isReference && NOUNS.has(bare(before(noun)))) noun--;
  let lead = noun;
  while ((isReference ? LEADS : AUTHOR_LEADS).has(bare(before(lead)))) lead--;
  // `Fix issue #12` has a noun and no lead: a sentence of its own, unless one ended before it.
  if (lead < noun || /[.!?]$/.test(before(noun))) return lead;
  return bare(before(start)) === 'in' && /^https?:/.test(mark) ? start - 1 : start;
}

/** How many words `#12 c02f9a6 Thanks @ann! - ` or `c02f9a6: ` has; 0 for another beginning. */
function headEnd(words: string[], marks: (Mark | null)[]): number {
  let hasMark = false;
  for (const [index, word] of words.slice(0, 12).entries()) {
    const isMark = marks[index] !== null;
    if (hasMark && (/^[-–—]$/.test(word) || (isMark && word.endsWith(':')))) return index + 1;
    if (index === 0 && isMark && /^[0-9a-f]{7,40}:$/.test(word)) return 1;
    if (!isMark && !AUTHOR_LEADS.has(bare(word)) && !BETWEEN.has(bare(word))) return 0;
    hasMark ||= isMark;
  }
  return 0;
}

function markOf(word: string, addresses: Addresses): Mark | null {
  const name = word.replace(/^[([]{1,3}/, '').replace(/(?<!\[bot)[)\],.;:!]{1,5}$/, '');
  const author = /^@([\w-]{1,39}(?:\[bot\])?)$/.exec(name)?.[1];
  if (author !== undefined) return author;
  const label = labelOf(name, word, addresses);
  return label === null ? null : { label, url: addresses.get(label) ?? null };
}

function labelOf(name: string, word: string, addresses: Addresses): string | null {
  if (/^[#!]\d{1,9}$/.test(name)) return name;
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

/** The meaning of a heading for the items under it. */
interface Section {
  /** Null when each item decides. */
  group: GroupName | null;
  isBreaking: boolean;
  /** False when its items are people. */
  isOfChanges: boolean;
}

const groupByHeading = groupsByWord({
  Added: 'added addition additions feature features enhancement enhancements feat',
  Changed: 'improvement improvements improved performance perf',
  Deprecated: 'deprecated deprecation deprecations',
  Removed: 'removed removal removals',
  Fixed: 'fix fixes fixed bug bugs bugfix bugfixes hotfix hotfixes',
  Security: 'security vulnerability vulnerabilities',
  Other:
    'dependency dependencies deps chore chores doc docs documentation internal internals contributors thanks ' +
    'credits refactor refactors refactoring tests ci build maintenance housekeeping style styles misc',
});

/** Only alone: `What's Changed` and `New in 2.0` stand over everything. */
const groupOfWhole = groupsByWord({ Added: 'new', Changed: 'changed updated' });

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
        .flatMap((word) => groupByHeading.get(word) ?? [])
        .slice(0, 1),
    ),
  );
  const [group = null] = groups;
  return groups.size === 1 ? group : null;
}
