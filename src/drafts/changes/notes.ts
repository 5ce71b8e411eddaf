import { MAX_BODY_LENGTH } from '../../lib/text.ts';
import { MAX_ITEM_LENGTH, outlineOf } from '../../markdown/outline.ts';
import { toPlainText } from '../../markdown/plain-text.ts';
import { addressesIn } from '../links.ts';
import { type Change, groupWhenBreaking } from './change.ts';
import { takeCredits } from './credits.ts';
import { type Section, sectionOf } from './headings.ts';
import { authorsOf, lineOf } from './line.ts';
import { readTitle } from './titles.ts';
import { groupOfType } from './types.ts';
import { groupOfWords } from './words.ts';

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
