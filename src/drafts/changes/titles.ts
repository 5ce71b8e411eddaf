import { type Change, groupWhenBreaking, type Reference } from './change.ts';
import { type ParsedTitle, parseTitle } from './conventional.ts';
import { groupOfLabels, hasBreakingLabel } from './labels.ts';
import { authorsOf, lineOf, scopeOf, textOf } from './line.ts';
import { groupOfType } from './types.ts';
import { groupOfWords, isNewVersion } from './words.ts';

const VERBS: Record<string, string | undefined> = { revert: 'Revert', reapply: 'Reapply' };

/** Types that change what the words after them are about: `docs: search` brings no search. */
const PLACES: Record<string, string | undefined> = {
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
  /** What a `BREAKING CHANGE:` footer says; empty when it says nothing more. */
  breaking: string | null;
  author: string | null;
  reference: Reference;
  /** Absent: the title's type. An issue's title tells of the problem, so that its labels know better. */
  goesFirst?: 'type' | 'labels';
}

/**
 * The change that a title tells of. Its group: a security label wins; then the conventional type of the title (or
 * its scope `security`), but for new versions of dependencies; then the labels; then the first words of the title;
 * else Other. What breaks something and would be Other is Changed.
 */
export function changeOfTitle({ title, labels, breaking, author, reference, goesFirst }: Titled): Change {
  const { text, scope, isBreaking: isMarked, type, description } = readTitle(title);
  const isBreaking = isMarked || breaking !== null || hasBreakingLabel(labels);
  const byLabels = groupOfLabels(labels);
  // Bots call a new version of what a program is built on a fix, so that it is released.
  const isDependency = /^deps\b/i.test(scope ?? '') && isNewVersion(description);
  const byType = isDependency ? 'Other' : groupOfType(type, scope);
  const labelsFirst = byLabels === 'Security' || goesFirst === 'labels';
  const group = (labelsFirst ? (byLabels ?? byType) : (byType ?? byLabels)) ?? groupOfWords(description);
  return {
    text,
    scope,
    group: groupWhenBreaking(group ?? 'Other', isBreaking),
    isBreaking,
    breakingNote: lineOf(breaking ?? '') || null,
    references: [reference],
    authors: authorsOf(author),
  };
}

/** A parsed title with the text and the scope as a change has them. */
export function readTitle(title: string, options?: { isCode?: boolean }) {
  const parsed = parseTitle(title);
  const text = textOf(parsed.description, options) || textOf(title) || 'Untitled';
  const verb = parsed.type === null ? undefined : VERBS[parsed.type];
  if (verb === undefined) return { ...parsed, text, scope: scopeOf(placeOf(parsed)) };
  // A list of changes reads on its own: what was taken back must not look like what was done. What takes back a
  // taking back stays as it is written.
  const reverted = parseTitle(parsed.description);
  const isTwice = reverted.type !== null && reverted.type in VERBS;
  return {
    ...parsed,
    text: textOf(`${verb}: ${isTwice ? parsed.description : reverted.description}`),
    scope: scopeOf(parsed.scope ?? placeOf(reverted)),
  };
}

/** The part of the product that a title is about, with what of it: `engine tests`. */
function placeOf({ type, scope }: ParsedTitle): string | null {
  const place = type === null ? undefined : PLACES[type];
  if (place === undefined || scope?.toLowerCase() === place.toLowerCase()) return scope;
  return scope === null ? place : `${scope} ${place}`;
}
