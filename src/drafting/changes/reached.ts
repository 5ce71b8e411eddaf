import type { Commit, Event, EventData, EventType } from '../../providers/events.ts';
import { labelOfAddress } from '../links.ts';
import type { Shipped } from '../store.ts';
import { type Change, joinChanges, type Reference } from './groups.ts';
import { joinIssues } from './issues.ts';
import { changeOfTitle, FIXUP, parseTitle } from './titles.ts';

/** An event as far as this needs it. */
type Reached<Type extends EventType> = Pick<Shipped<Type>, 'occurredAt' | 'key' | 'data'>;

type Timed = Pick<Event, 'occurredAt' | 'key'>;

/** A commit or a pull request on the way to a change. */
export interface Entry extends Timed {
  change: Change;
  isFixup: boolean;
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
export function changesOf(events: {
  pushes: Reached<'push'>[];
  pullRequests: Reached<'pull_request'>[];
  /** The completed issues that they name. */
  linked?: Shipped<'issue'>[];
}): Change[] {
  const pullRequests = inOrder(events.pullRequests);
  // The last of several events about one counts.
  const requests = [...new Map(pullRequests.map((each) => [each.data.number, each])).values()];
  const pushes = inOrder(events.pushes);
  const named = identifiersOfRequests(pushes, pullRequests);
  const ofRequests = requests.map(({ occurredAt, key, data }): Entry => {
    const { number, title, identifiers = [] } = data;
    return {
      ...{ occurredAt, key, title, isFixup: false },
      change: changeOfPullRequest(data),
      identifiers: [...new Set([...identifiers, ...(named.get(number) ?? [])])],
      withTitle: (other) => changeOfPullRequest({ ...data, title: other }),
    };
  });
  const ofCommits = commitsOf(pushes, pullRequests);
  return joinIssues(withFixups([...ofRequests, ...ofCommits].sort(byTime)), events.linked ?? []);
}

/** The issues that the commits of pull requests name, by number. */
function identifiersOfRequests(
  pushes: Reached<'push'>[],
  pullRequests: Reached<'pull_request'>[],
): ReadonlyMap<number, string[]> {
  const merges = new Map(pullRequests.map(({ data }) => [data.mergeCommitSha, data.number]));
  const named = new Map<number, string[]>();
  for (const { data } of pushes) {
    const own = new Set(commitsOfRequest(data, merges));
    for (const { sha, subject, identifiers = [] } of data.commits) {
      const number = own.has(sha) ? merges.get(data.after) : (merges.get(sha) ?? numberOfCommit(subject));
      if (number != null) named.set(number, [...(named.get(number) ?? []), ...identifiers]);
    }
  }
  return named;
}

/** The commits that are no part of a known pull request. */
function commitsOf(pushes: Reached<'push'>[], pullRequests: Reached<'pull_request'>[]): Entry[] {
  const numbers = new Set(pullRequests.map(({ data }) => data.number));
  const merges = new Map(pullRequests.map(({ data }) => [data.mergeCommitSha, data.number]));
  const seen = new Set(pushes.flatMap(({ data }) => commitsOfRequest(data, merges)));
  const squashed = new Set<string>();
  return pushes.flatMap(({ occurredAt, key, data }) =>
    data.commits.flatMap((commit) => {
      const { sha, subject } = commit;
      const number = numberOfCommit(subject);
      const isOwn = number === null ? !BRANCH_MERGE.test(subject) : !numbers.has(number);
      const isOfRequest = merges.has(sha) || (number !== null && !isOwn);
      const further = squashed.has(sha) || (seen.has(sha) && !isOfRequest) ? [] : (commit.further ?? []);
      squashed.add(sha);
      const rest = further.map((title): Entry => {
        const withTitle = (other: string) => changeOfFurther(commit, other);
        return {
          occurredAt,
          key,
          title,
          isFixup: false,
          change: withTitle(title),
          identifiers: [],
          withTitle,
        };
      });
      if (seen.has(sha) || merges.has(sha) || !isOwn) return rest;
      seen.add(sha);
      const own: Entry = {
        ...{ occurredAt, key, title: subject, isFixup: FIXUP.test(subject) },
        change: changeOfCommit(commit),
        identifiers: commit.identifiers ?? [],
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
function commitsOfRequest(
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
export function changeOfCommit(commit: Commit): Change {
  const { subject, breaking, author } = commit;
  const [, , branch, merged] = MERGED.exec(subject) ?? [];
  const title = merged ?? (branch === undefined ? subject : `Merge ${branch}`);
  return changeOfTitle({ title, labels: [], breaking, author, reference: referenceOf(commit) });
}

/** A change that only the body of a commit names. */
function changeOfFurther(commit: Commit, title: string): Change {
  const { author } = commit;
  return changeOfTitle({ title, labels: [], breaking: null, author, reference: referenceOf(commit) });
}

export function changeOfPullRequest(request: EventData['pull_request']): Change {
  const { number, url } = request;
  const label = labelOfAddress(url ?? '') ?? `#${number}`;
  return changeOfTitle({ ...request, reference: { label, url } });
}

function referenceOf({ sha, subject, url, pullPath = 'pull' }: Commit): Reference {
  const number = numberOfCommit(subject);
  if (number === null) return { label: sha.slice(0, 7), url };
  const [, repository, dash] = COMMIT_ADDRESS.exec(url ?? '') ?? [];
  if (repository === undefined) return { label: `#${number}`, url: null };
  if (dash === undefined) return { label: `#${number}`, url: `${repository}/${pullPath}/${number}` };
  return { label: `!${number}`, url: `${repository}/-/merge_requests/${number}` };
}
