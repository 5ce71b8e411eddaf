import type { Commit, Event, EventData, EventType } from '../../providers/events.ts';
import { NO_ENTRY, type WrittenBlock } from '../../providers/written.ts';
import { labelOfAddress } from '../links.ts';
import type { Shipped } from '../store.ts';
import { type Change, joinChanges, type Reference } from './groups.ts';
import { joinIssues } from './issues.ts';
import { inEffect } from './reverts.ts';
import { type EntryRules, findReason, type LeftOut, writtenOf } from './rules.ts';
import { changeOfTitle, FIXUP, lineOf, parseTitle, type Titled } from './titles.ts';

/** An event as far as this needs it. */
type Reached<Type extends EventType> = Pick<Shipped<Type>, 'occurredAt' | 'key' | 'data'>;

type Timed = Pick<Event, 'occurredAt' | 'key'>;

/** A commit or a pull request on the way to a change. */
export interface Entry extends Timed {
  change: Change;
  /** The words of its author for readers in place of the title; null without any. */
  written: Change[] | null;
  isFixup: boolean;
  labels: readonly string[];
  author: string | null;
  /** The hashes of its commits, and `#12` of a pull request, by which another change may name it as a whole. */
  names: readonly string[];
  /** Those that it takes back, and those that it is a copy of. */
  reverts: readonly string[];
  picked: readonly string[];
  /** The name of the change whose message names this one too. */
  partOf: string | null;
  /** The issues that it names. */
  identifiers: readonly string[];
  /** Its change with another title. */
  withTitle(title: string): Change;
  title: string;
}

/** Such a commit brings nothing of its own: the commits that it merges count. */
const BRANCH_MERGE =
  /^Merge (?:branch|branches|remote-tracking branch|remote-tracking branches|tag|commit) '/;

const REQUEST_MERGE = /^Merge pull request #\d+ /;

/**
 * All that reached a branch of a repository, each thing once, oldest first, whatever the order and the repetitions of
 * the events. A pull request stands for the push that merged it and for the commits that name it; a commit that mends an
 * earlier one (`fixup! x`) joins it.
 */
export function changesOf(
  events: {
    pushes: Reached<'push'>[];
    pullRequests: Reached<'pull_request'>[];
    /** The completed issues that they name. */
    linked?: Shipped<'issue'>[];
  },
  rules: EntryRules = {},
): { changes: Change[]; leftOut: LeftOut[] } {
  const pullRequests = inOrder(events.pullRequests);
  // The last of several events about one counts.
  const requests = new Map(pullRequests.map((each) => [each.data.number, each]));
  const pushes = inOrder(events.pushes);
  const brought = commitsOfRequests(pushes, pullRequests);
  const ofRequests = Array.from(requests.values(), (request) =>
    entryOfRequest(request, brought.get(request.data.number) ?? [], rules),
  );
  const noted = new Set(ofRequests.flatMap(({ names, written }) => (written === null ? [] : names)));
  const ofCommits = commitsOf(pushes, requests, rules, noted);
  const { kept, vanished } = inEffect(withFixups([...ofRequests, ...ofCommits].sort(byTime)));
  const judged = kept.map((entry) => ({ entry, reason: findReason(entry, rules) }));
  const listed = judged.flatMap(({ entry, reason }) => (reason === null ? entry : []));
  const leftOut = [
    ...judged.flatMap(({ entry, reason }) => (reason === null ? [] : { entry, reason })),
    ...vanished.map(({ entry, by }) => ({ entry, reason: `taken back by ${labelOf(by)}` })),
  ];
  return {
    changes: joinIssues(listed, events.linked ?? []),
    leftOut: leftOut.flatMap(({ entry: { change, title }, reason }) => {
      const [reference] = change.references;
      return reference === undefined ? [] : { title: lineOf(title), reference, reason };
    }),
  };
}

const labelOf = ({ change }: Entry) => change.references[0]?.label ?? change.text;

/** The kind that the last trailer of some commits names. */
export const kindOf = (commits: readonly Commit[]): string | undefined =>
  commits.findLast(({ kind }) => kind !== undefined && kind !== NO_ENTRY)?.kind;

/** The statement of the trailers on changes that nobody described: `[]` if all say that there is nothing to tell readers. */
const unwritten = (commits: readonly Commit[]): Change[] | null =>
  commits.length > 0 && commits.every(({ kind }) => kind === NO_ENTRY) ? [] : null;

export const blocksOf = (commits: readonly Commit[]): WrittenBlock[] =>
  commits.flatMap((each) => each.blocks ?? []);

function entryOfRequest(
  { occurredAt, key, data }: Reached<'pull_request'>,
  commits: readonly Commit[],
  rules: EntryRules,
): Entry {
  const { number, title, labels, author, mergeCommitSha, identifiers = [], reverts } = data;
  const kind = kindOf(commits);
  const own = commits.filter(({ subject }) => !REQUEST_MERGE.test(subject));
  const [only, ...others] = own;
  const wholes = own.filter(({ subject }) => others.length === 0 || numberOfCommit(subject) === number);
  const isRevert = own.every((each) => each.reverts !== undefined);
  return {
    ...{ occurredAt, key, title, labels, author, isFixup: false, partOf: null },
    change: changeOfPullRequest(data, kind),
    written:
      writtenOf(() => titledOfRequest(data, kind), rules, data.blocks, blocksOf(commits)) ?? unwritten(own),
    names: [
      `#${number}`,
      ...(mergeCommitSha === null ? [] : [mergeCommitSha]),
      ...wholes.map(({ sha }) => sha),
    ],
    reverts: reverts ?? (isRevert ? own.flatMap((each) => each.reverts ?? []) : []),
    picked: others.length === 0 ? (only?.picked ?? []) : [],
    identifiers: [...new Set([...identifiers, ...commits.flatMap((each) => each.identifiers ?? [])])],
    withTitle: (other) => changeOfPullRequest({ ...data, title: other }, kind),
  };
}

/** The commits of pull requests by number, oldest first. */
function commitsOfRequests(
  pushes: Reached<'push'>[],
  pullRequests: Reached<'pull_request'>[],
): ReadonlyMap<number, Commit[]> {
  const merges = new Map(pullRequests.map(({ data }) => [data.mergeCommitSha, data.number]));
  const brought = new Map<number, Commit[]>();
  for (const { data } of pushes) {
    const own = new Set(commitsOfRequest(data, merges));
    for (const commit of data.commits) {
      const { sha, subject } = commit;
      const number = own.has(sha) ? merges.get(data.after) : (merges.get(sha) ?? numberOfCommit(subject));
      if (number == null) continue;
      const commits = brought.get(number);
      if (commits === undefined) brought.set(number, [commit]);
      else commits.push(commit);
    }
  }
  return brought;
}

/** The commits that are no part of a known pull request. `noted`: names of those whose authors wrote for readers. */
function commitsOf(
  pushes: Reached<'push'>[],
  requests: ReadonlyMap<number, Reached<'pull_request'>>,
  rules: EntryRules,
  noted: ReadonlySet<string>,
): Entry[] {
  const merges = new Map([...requests].map(([number, { data }]) => [data.mergeCommitSha, number]));
  const seen = new Set(pushes.flatMap(({ data }) => commitsOfRequest(data, merges)));
  const squashed = new Set<string>();
  return pushes.flatMap(({ occurredAt, key, data }) =>
    data.commits.flatMap((commit) => {
      const { sha, subject, author } = commit;
      const number = numberOfCommit(subject);
      const request = requests.get(merges.get(sha) ?? number ?? -1);
      const isOwn = number === null ? !BRANCH_MERGE.test(subject) : !requests.has(number);
      const isOfRequest = merges.has(sha) || (number !== null && !isOwn);
      const written = writtenOf(() => titledOfCommit(commit), rules, commit.blocks) ?? unwritten([commit]);
      const isNoted = written !== null || noted.has(sha) || noted.has(`#${request?.data.number}`);
      const further =
        isNoted || squashed.has(sha) || (seen.has(sha) && !isOfRequest) ? [] : (commit.further ?? []);
      squashed.add(sha);
      const about = {
        ...{ occurredAt, key, author, labels: request?.data.labels ?? [], partOf: null },
        ...{ names: [], reverts: [], picked: [] },
      };
      const rest = further.map((title): Entry => {
        const withTitle = (other: string) => changeOfFurther(commit, other);
        const change = withTitle(title);
        return {
          ...about,
          title,
          change,
          withTitle,
          written: null,
          isFixup: false,
          identifiers: [],
          partOf: sha,
        };
      });
      if (seen.has(sha) || merges.has(sha) || !isOwn) return rest;
      seen.add(sha);
      const { identifiers = [], reverts = [], picked = [] } = commit;
      const own: Entry = {
        ...{ ...about, title: subject, isFixup: FIXUP.test(subject), identifiers, reverts, picked },
        names: number === null ? [sha] : [sha, `#${number}`],
        change: changeOfCommit(commit),
        written,
        withTitle: (other) => changeOfCommit({ ...commit, subject: other }),
      };
      return [own, ...rest];
    }),
  );
}

/**
 * The commits that the push of a merge brought from the branch of its pull request. A merge queue may push several at
 * once: what names another pull request is not of this one, and a squash brings nothing but itself.
 */
export function commitsOfRequest(
  { after, commits }: EventData['push'],
  merges: ReadonlyMap<string | null, number>,
): string[] {
  const merged = merges.get(after);
  if (merged === undefined) return [];
  const head = commits.at(-1)?.subject ?? '';
  if (numberOfCommit(head) === merged && !REQUEST_MERGE.test(head)) return [after];
  return commits
    .filter(({ subject }) => !REQUEST_MERGE.test(subject) || numberOfCommit(subject) === merged)
    .map(({ sha }) => sha);
}

/** True if a commit only merges a branch. */
export function isBranchMerge({ subject }: Commit): boolean {
  return BRANCH_MERGE.test(subject);
}

/** Joins each mending commit to what it mends, or to the first other one that mends the same. */
function withFixups(entries: Entry[]): Entry[] {
  const textOf = ({ change }: Entry) => JSON.stringify([change.scope, change.text]);
  const targets = new Map<string, { entry: Entry; fixups: Change[] }>();
  for (const entry of [
    ...entries.filter((each) => !each.isFixup),
    ...entries.filter((each) => each.isFixup),
  ]) {
    const target = targets.get(textOf(entry));
    if (target === undefined) targets.set(textOf(entry), { entry, fixups: [] });
    else if (entry.isFixup) target.fixups.push(entry.change);
  }
  return entries.flatMap((entry) => {
    const target = targets.get(textOf(entry));
    if (target?.entry === entry) return { ...entry, change: joinChanges(entry.change, target.fixups) };
    return entry.isFixup ? [] : entry;
  });
}

function inOrder<Each extends Timed & { data: object }>(events: Each[]): Each[] {
  return events.toSorted((a, b) => byTime(a, b) || compare(JSON.stringify(a.data), JSON.stringify(b.data)));
}

/** Oldest first. */
export function byTime(a: Timed, b: Timed): number {
  return compare(a.occurredAt, b.occurredAt) || compare(a.key, b.key);
}

/** How many items pass, where all that do come first. By binary search. */
export function countFirst<Item>(items: readonly Item[], passes: (item: Item) => boolean): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(items[middle] as Item)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const MERGED = /^Merge pull request #(\d{1,9})(?: from ([^\s:]{1,300})(?:: (.*\S))?)?/;

const COMMIT_ADDRESS = /^(https?:\/\/[^/?#]+\/[^/?#]+\/[^?#]{1,500}?)(\/-)?\/commit\/[0-9a-f]+$/i;

/** The number of the pull request that a commit brought to the branch, as far as its subject tells. */
function numberOfCommit(subject: string): number | null {
  const merged = MERGED.exec(subject)?.[1];
  return merged === undefined ? parseTitle(subject).number : Number(merged);
}

/** Reads the subject alone. Refers to the pull request that the subject names, else to the commit. */
export const changeOfCommit = (commit: Commit): Change => changeOfTitle(titledOfCommit(commit));

function titledOfCommit(commit: Commit): Titled {
  const { subject, breaking, author, kind } = commit;
  const [, , branch, merged] = MERGED.exec(subject) ?? [];
  const title = merged ?? (branch === undefined ? subject : `Merge ${branch}`);
  return { title, labels: [], breaking, author, kind, reference: referenceOf(commit) };
}

/** A change that only the body of a commit names. */
function changeOfFurther(commit: Commit, title: string): Change {
  const { author } = commit;
  return changeOfTitle({ title, labels: [], breaking: null, author, reference: referenceOf(commit) });
}

/** `kind`: that its commits name. */
export const changeOfPullRequest = (request: EventData['pull_request'], kind?: string): Change =>
  changeOfTitle(titledOfRequest(request, kind));

function titledOfRequest(request: EventData['pull_request'], kind: string | undefined): Titled {
  const { number, url } = request;
  const label = labelOfAddress(url ?? '') ?? `#${number}`;
  return { ...request, kind, reference: { label, url } };
}

function referenceOf({ sha, subject, url, pullPath = 'pull' }: Commit): Reference {
  const number = numberOfCommit(subject);
  if (number === null) return { label: sha.slice(0, 7), url };
  const [, repository, dash] = COMMIT_ADDRESS.exec(url ?? '') ?? [];
  if (repository === undefined) return { label: `#${number}`, url: null };
  if (dash === undefined) return { label: `#${number}`, url: `${repository}/${pullPath}/${number}` };
  return { label: `!${number}`, url: `${repository}/-/merge_requests/${number}` };
}
