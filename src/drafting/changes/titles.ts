import { toPlainText } from '../../lib/markdown/plain-text.ts';
import { cutLine } from '../../lib/text.ts';
import { takeEmojis } from '../../providers/commit-text.ts';
import type { WrittenEntry } from '../../providers/written.ts';
import {
  type Change,
  type GroupName,
  groupOfKind,
  groupOfLabels,
  groupOfType,
  groupOfWords,
  groupWhenBreaking,
  hasBreakingLabel,
  isNewVersion,
  isType,
  type Reference,
} from './groups.ts';

/** Of a text that somebody wrote for readers, in characters. */
const MAX_WRITTEN = 1_000;

const VERBS: Partial<Record<string, string>> = { revert: 'Revert', reapply: 'Reapply' };

/** Types that change what the words after them are about: `docs: search` brings no search. */
const PLACES: Partial<Record<string, string>> = {
  doc: 'docs',
  docs: 'docs',
  documentation: 'docs',
  test: 'tests',
  tests: 'tests',
  bench: 'benchmarks',
  ci: 'CI',
  style: 'style',
  styles: 'style',
  wip: 'WIP',
};

/** A title with what is known beside it. */
export interface Titled {
  title: string;
  labels: string[];
  /** The text of a `BREAKING CHANGE:` footer; empty without one. */
  breaking: string | null;
  author: string | null;
  reference: Reference;
  /** The labels win over the title's type. */
  labelsFirst?: true;
  /** The kind that the trailer of its commit names. It wins over all else. */
  kind?: string | undefined;
}

export function changeOfTitle(titled: Titled): Change {
  const { labels, breaking, author, reference } = titled;
  const title = readTitle(titled.title);
  const isBreaking = title.isBreaking || breaking !== null || hasBreakingLabel(labels);
  const group = groupBeside(titled, title)?.group ?? groupOfWords(title.description);
  return {
    text: title.text,
    scope: title.scope,
    group: groupWhenBreaking(group ?? 'Other', isBreaking),
    isBreaking,
    breakingNote: lineOf(breaking ?? '') || null,
    references: [reference],
    authors: authorsOf(author),
  };
}

/**
 * The group of a title by what stands beside its words: the kind of a trailer or a security label wins; then the
 * conventional type or the scope `security`, but for new versions of dependencies; then the labels.
 */
function groupBeside(
  { labels, kind, ...options }: Pick<Titled, 'labels' | 'kind' | 'labelsFirst'>,
  { type, scope, description }: ReturnType<typeof readTitle>,
): { group: GroupName; why: string } | null {
  const found = (group: GroupName | null, why: string) => group && { group, why };
  const byKind = found(groupOfKind(kind), `trailer Changelog: ${kind}`);
  const ofLabels = groupOfLabels(labels);
  const byLabels = found(ofLabels, `label ${labels.find((label) => groupOfLabels([label]) === ofLabels)}`);
  // Bots call a new version of what a program is built on a fix, so that it is released.
  const isDependency = /^deps\b/i.test(scope ?? '') && isNewVersion(description);
  const byType = found(isDependency ? 'Other' : groupOfType(type, scope), `type ${type}`);
  const labelsFirst = options.labelsFirst || byLabels?.group === 'Security';
  return byKind ?? (labelsFirst ? (byLabels ?? byType) : (byType ?? byLabels));
}

/** Explains the group of a title, or of the entries in its place, to a person who asks why. */
export function whyGroup(
  titled: Pick<Titled, 'title' | 'labels' | 'kind'>,
  entries: readonly WrittenEntry[],
): string {
  const isNamed = groupOfKind(titled.kind) === null && entries.some((entry) => readEntry(entry).named);
  if (isNamed) return 'block';
  const words = entries.length > 0 ? 'entry' : 'title';
  return groupBeside(titled, readTitle(titled.title))?.why ?? `first word of the ${words}`;
}

/** `[Action required] `, `**Breaking change:** `. */
const SAYS_BREAKING =
  /^[*_]{0,2}(?:\[(?:action[ -]required|breaking(?:[ -]changes?)?)\]|(?:action[ -]required|breaking(?:[ -]changes?)?)[*_]{0,2}:)/i;
/** In capitals without a colon too. A sentence may begin with "Breaking". */
const SHOUTS_BREAKING = /^[*_]{0,2}(?:ACTION[ -]REQUIRED|BREAKING)\b/;

/** `fix(engine): `. */
const TYPED = /^([a-z]{1,30})(?:\(([^()]{1,50})\))?(!?): +/;

/** The changes that somebody wrote for readers in place of this title. */
export function changesWritten(entries: readonly WrittenEntry[], titled: Titled): Change[] {
  const change = changeOfTitle(titled);
  const beside = groupBeside(titled, readTitle(titled.title))?.group;
  const read = entries.map(readEntry);
  // The author marked some, or the change as a whole.
  const isMarked = read.some((each) => each.isMarked);
  return read.map(({ markdown, scope, named, ...each }, index) => {
    const plain = toPlainText(markdown, '-', { keepsShortcodes: true }).replaceAll(
      /\s\(https?:\/\/\S*\)/g,
      '',
    );
    const text = lineOf(plain, MAX_WRITTEN) || change.text;
    const isBreaking = isMarked ? each.isMarked : change.isBreaking;
    const group = groupOfKind(titled.kind) ?? named ?? beside ?? groupOfWords(text) ?? 'Other';
    return {
      ...change,
      text,
      markdown,
      scope,
      group: groupWhenBreaking(group, isBreaking),
      isBreaking,
      breakingNote: index === 0 ? change.breakingNote : null,
    };
  });
}

function readEntry({ text, kind }: WrittenEntry) {
  const [prefix = '', type = '', scope, mark] = TYPED.exec(text) ?? [];
  const isTyped = isType(type);
  const markdown = lineOf(isTyped ? text.slice(prefix.length) : text, MAX_WRITTEN);
  return {
    markdown,
    scope: isTyped ? scopeOf(scope ?? null) : null,
    isMarked:
      SAYS_BREAKING.test(markdown) ||
      SHOUTS_BREAKING.test(markdown) ||
      (isTyped && mark === '!') ||
      /^(?:breaking|action[ -]required)\b/i.test(kind ?? ''),
    /** The group that the entry names itself. */
    named: groupOfKind(kind) ?? (isTyped ? groupOfType(type, scope ?? null) : null),
  };
}

export function readTitle(title: string, { isCode = false } = {}) {
  const parsed = parseTitle(title);
  const verb = VERBS[parsed.type ?? ''];
  if (verb === undefined) {
    const text = textOf(parsed.description, isCode) || textOf(title) || 'Untitled';
    return { ...parsed, text, scope: scopeOf(placeOf(parsed)) };
  }
  // A list of changes must not show a reverted change as done. The revert of a revert stays as it is written.
  const reverted = parseTitle(parsed.description);
  const isTwice = (reverted.type ?? '') in VERBS;
  return {
    ...parsed,
    text: textOf(`${verb}: ${isTwice ? parsed.description : reverted.description}`),
    scope: scopeOf(parsed.scope ?? placeOf(reverted)),
  };
}

/** The part of the product that a title is about: `engine tests`. */
function placeOf({ type, scope }: ParsedTitle): string | null {
  const place = PLACES[type ?? ''];
  if (place === undefined || scope?.toLowerCase() === place.toLowerCase()) return scope;
  return scope === null ? place : `${scope} ${place}`;
}

interface ParsedTitle {
  /** In lower case, one that `isType` knows; also from an emoji. */
  type: string | null;
  scope: string | null;
  isBreaking: boolean;
  /** The rest as written. Of `Revert "…"` and `Reapply "…"` the quoted title. */
  description: string;
  /** Of the pull request that the title ends with: `(#12)`. */
  number: number | null;
}

/** Git's subjects of a revert and, since 2.43, of the revert of a revert. */
const TAKEN_BACK = /^(?:Revert|(Reapply)) "/;

/** The mark of a commit of `git commit --fixup`. */
export const FIXUP = /^(?:(?:fixup|squash|amend)! ){1,20}/;

/** `type(scope)!: `, with the spaces, the capitals and the wide colon that people write. ` :` begins a shortcode, or `:hover`. */
const PREFIX =
  /^(breaking[ -]changes?|\p{L}[\p{L}\p{N}_-]{0,30}) {0,5}(!?) {0,5}(?:\(([^()]{0,100})\) {0,5})?(!?) {0,5}(?:(?<! ):|:(?= )|\uff1a)(?!:|\/\/) */iu;

/** The form that the specification gives, in which any word may be a type. */
const STRICT_BREAKING = /^[\w-]{1,30}(?:\([^()]{1,100}\))?!: /;

/** `[meta] `, `[Dev Deps]: `. */
const BRACKET = /^\[([^[\]]{1,30})\]:? +(?=\S)/;

/** Words that people write in brackets instead of a type. */
const BRACKETED: Partial<Record<string, string>> = {
  actions: 'ci',
  workflow: 'ci',
  workflows: 'ci',
  'dev deps': 'deps',
  'dev dependencies': 'deps',
  devdeps: 'deps',
  readme: 'docs',
  eslint: 'lint',
};

/** Null for a word that may be a part of the product. */
function typeOfBracket(words: string): string | null {
  const name = words.trim().toLowerCase();
  const type = Object.hasOwn(BRACKETED, name) ? (BRACKETED[name] ?? '') : name;
  return isType(type) ? type : null;
}

/**
 * Reads a title by Conventional Commits 1.0.0, and by what people write instead. A word that is no known type stays in
 * the description: it may be a part of the product (`engine: start softer`).
 */
export function parseTitle(title: string): ParsedTitle {
  const { rest, number } = takeNumber(lineOf(title, Number.MAX_SAFE_INTEGER));
  const { rest: line, type: emojiType } = takeEmojis(lineOf(rest, 1000).replace(FIXUP, '').trimStart());
  const [taken, again] = TAKEN_BACK.exec(line) ?? [];
  if (taken !== undefined) {
    const description = line.slice(taken.length).replace(/"$/, '');
    return { type: again ? 'reapply' : 'revert', scope: null, isBreaking: false, description, number };
  }
  const [bracket, named = ''] = BRACKET.exec(line) ?? [''];
  const bracketType = typeOfBracket(named);
  if (bracketType !== null) {
    const isBreaking = bracketType === 'breaking' || emojiType === 'breaking';
    const { rest: description } = takeEmojis(line.slice(bracket.length));
    return { type: bracketType, scope: null, isBreaking, description, number };
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

// They reverse the direction of all that follows on the page.
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** A dot, a slash, an underscore, a bracket, or a capital within a word: a name of code rather than a word. */
const CODE_WORD = /[._/\\()=<>$@]|\p{Ll}\p{Lu}/u;

/** One line of well-formed text without controls of direction, at most `maxLength` characters. */
export function lineOf(text: string, maxLength = 300): string {
  return cutLine(text.replaceAll(BIDI_CONTROLS, '').trim().toWellFormed(), maxLength);
}

/** A change's text: capitalised unless it begins with code, without its final full stop. */
function textOf(words: string, isCode = false): string {
  const line = lineOf(words);
  const text = /[^.。][.。]$/u.test(line.slice(-2)) ? line.slice(0, -1).trimEnd() : line;
  return isCode ? text : capitalise(text);
}

/** A scope as one short line, or null when nothing is left of it. */
function scopeOf(scope: string | null): string | null {
  return lineOf(scope ?? '', 50) || null;
}

/** Names as short lines, each once. */
export function authorsOf(...names: (string | null)[]): string[] {
  return [...new Set(names.map((name) => lineOf(name ?? '', 100)).filter(Boolean))];
}

function capitalise(text: string): string {
  const [word = ''] = text.split(' ', 1);
  if (word.startsWith('`') || CODE_WORD.test(word.replace(/[.,:;!?…]+$/, ''))) return text;
  const [first = ''] = text;
  const upper = first.toUpperCase();
  // Some letters have no capital of their own and become two.
  return upper.length === first.length ? upper + text.slice(first.length) : text;
}
