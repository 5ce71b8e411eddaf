import type { EventData } from '../../providers/events.ts';
import type { Shipped } from '../store.ts';
import { type Change, eachOnce, type GroupName, groupWhenBreaking, joinChanges } from './groups.ts';
import type { Entry } from './reached.ts';
import { changeOfTitle } from './titles.ts';

// Commits and pull requests that name the same issue are one change: the issue.

/** An issue's title tells of the problem, so its labels come first. */
export function changeOfIssue(issue: EventData['issue']): Change {
  const reference = { label: issue.identifier, url: issue.url };
  return changeOfTitle({ ...issue, breaking: null, reference, labelsFirst: true });
}

/**
 * Each entry as a change, in its order. Those whose first known issue is the same join at the place of the first. A title
 * of a commit or a pull request says what was done, and that of an issue what was asked for. So the issue's title wins
 * only over several of them, which each say a part, and over one that says nothing.
 */
export function joinIssues(entries: readonly Entry[], issues: readonly Shipped<'issue'>[]): Change[] {
  const changesOf = ({ change, written }: Entry) => written ?? [change];
  if (issues.length === 0) return entries.flatMap(changesOf);
  const known = new Map([
    ...issues.flatMap(({ data }) => (data.previousIdentifiers ?? []).map((each) => [each, data] as const)),
    ...issues.map(({ data }) => [data.identifier, data] as const),
  ]);
  const issuesOf = ({ identifiers }: Entry) => identifiers.flatMap((each) => known.get(each) ?? []);
  const keyOf = (entry: Entry) =>
    (entry.written === null ? issuesOf(entry)[0]?.identifier : undefined) ?? entry;
  const groups = Map.groupBy(entries, keyOf);
  return [...groups.values()].flatMap((group) => {
    const named = [...new Map(group.flatMap(issuesOf).map((issue) => [issue.identifier, issue])).values()];
    const [issue] = named;
    if (issue === undefined) return group.flatMap(changesOf);
    const [{ written = null } = {}] = group;
    return written?.map((change) => withIssues(change, named)) ?? joined(group, issue, named);
  });
}

type Issue = EventData['issue'];

/** Anything else must not become part of a pattern. */
const IDENTIFIER = /^[A-Z][A-Z0-9]{0,20}-\d{1,9}$/i;

function joined(entries: readonly Entry[], issue: Issue, named: readonly Issue[]): Change | [] {
  const identifiers = named
    .flatMap(({ identifier, previousIdentifiers = [] }) => [identifier, ...previousIdentifiers])
    .filter((each) => IDENTIFIER.test(each));
  const own = entries.map((entry) => {
    const title = withoutIdentifiers(entry.title, identifiers);
    const isTelling = title !== null && !isFromBranch(entry.title, identifiers);
    const change = title === null || title === entry.title ? entry.change : entry.withTitle(title);
    return { isTelling, change };
  });
  const [first] = own;
  if (first === undefined) return [];
  const ofIssue = changeOfIssue(issue);
  const changes = own.map(({ change }) => change);
  const all = joinChanges(first.change, changes.slice(1));
  const groups: GroupName[] = [...changes.map(({ group }) => group), ofIssue.group];
  const scopes = new Set(changes.map(({ scope }) => scope));
  return {
    ...withIssues(all, named),
    text: own.length === 1 && first.isTelling ? all.text : ofIssue.text,
    scope: scopes.size === 1 ? all.scope : null,
    group: groupWhenBreaking(groups.find((group) => group !== 'Other') ?? 'Other', all.isBreaking),
  };
}

function withIssues(change: Change, issues: readonly Issue[]): Change {
  const others = issues.map(changeOfIssue);
  return {
    ...change,
    references: eachOnce([...change.references, ...others.flatMap(({ references }) => references)]),
    authors: eachPerson([...change.authors, ...others.flatMap(({ authors }) => authors)]),
  };
}

/** A login and a name may differ in capitals alone. */
function eachPerson(names: readonly string[]): string[] {
  const byName = new Map(names.toReversed().map((name) => [name.toLowerCase(), name]));
  return names.filter(
    (name, index) => byName.get(name.toLowerCase()) === name && names.indexOf(name) === index,
  );
}

/** Words that say nothing of a change. */
const EMPTY = /^(?:wip|fix(?:e[sd])?|updates?|updated|changes?|misc|cleanup|review|done|merge)?[.!]?$/i;

/**
 * A title without the identifiers that stand before it, after it or in the place of its scope, because the references
 * have them; null when it says nothing else.
 */
function withoutIdentifiers(title: string, identifiers: readonly string[]): string | null {
  if (identifiers.length === 0) return title;
  const one = `(?:${identifiers.join('|')})`;
  const list = `${one}(?:(?:,? (?:and |& )?|, ?)${one}){0,20}`;
  const lead = '(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?|for|see)?:? ?';
  const rest = title
    .replace(new RegExp(`\\(${list}\\)(?=!?:)`, 'i'), '')
    .replace(new RegExp(`^ ?[[(]?${list}[\\])]?(?: ?[:–—|-] ?| (?=\\S)|$)`, 'i'), '')
    .replace(new RegExp(`(^\\p{L}+(?:\\([^()]{1,100}\\))?!?: )[[(]?${list}[\\])]?:? ?`, 'iu'), '$1')
    .replace(
      new RegExp(
        `[ ,;–—-]{1,3}(?:[[(] ?${lead}${list} ?[\\])]|${lead}${list})(?=\\.?$| \\(#\\d{1,9}\\)$)`,
        'i',
      ),
      '',
    )
    .trim();
  const words = rest.replace(/^\p{L}+(?:\([^()]{1,100}\))?!?: ?/u, '').replace(/ ?\(#\d{1,9}\)$/, '');
  return EMPTY.test(words) ? null : rest;
}

/** `Ann/eng 412 quiet mode`: code hosts make it of the name of a branch. */
function isFromBranch(title: string, identifiers: readonly string[]): boolean {
  return identifiers.some((each) =>
    new RegExp(`^(?:[\\w.-]{1,100}/)?${each.replace('-', ' ')}(?: |$)`, 'i').test(title),
  );
}
