import type { Commit, EventData } from '../../events/model.ts';
import { type Change, joinChanges, type Reference } from './groups.ts';
import { changeOfTitle, FIXUP, parseTitle } from './titles.ts';

/** An event as far as this needs it. */
interface Told<Data> {
  /** ISO 8601, UTC. */
  occurredAt: string;
  /** The subject, the same in every delivery about it. */
  key: string;
  data: Data;
}

type Push = Told<EventData['push']>;
type PullRequest = Told<EventData['pull_request']>;

interface Entry {
  occurredAt: string;
  key: string;
  change: Change;
  isFixup: boolean;
}

/** It brings nothing of its own to the branch: what it merges is told of by its own commits. */
const BRANCH_MERGE =
  /^Merge (?:branch|branches|remote-tracking branch|remote-tracking branches|tag|commit) '/;

const REQUEST_MERGE = /^Merge pull request #\d+ /;

/**
 * All that reached a branch of a repository, each thing once, in the order in which it happened. The order and the
 * repetitions of what is given do not matter. A pull request stands for the push that merged it and for the commits
 * that name it; a commit that mends an earlier one (`fixup! x`) joins it.
 */
export function changesOf(events: { pushes: Push[]; pullRequests: PullRequest[] }): Change[] {
  const pullRequests = inOrder(events.pullRequests);
  // Of several tellings of one the last holds.
  const requests = new Map(pullRequests.map((each) => [each.data.number, each])).values();
  const entries = [
    ...Array.from(requests, ({ occurredAt, key, data }) => ({
      occurredAt,
      key,
      change: changeOfPullRequest(data),
      isFixup: false,
    })),
    ...commitsOf(inOrder(events.pushes), pullRequests),
  ].sort(byTime);
  return withFixups(entries);
}

/** The commits that are no part of a known pull request. */
function commitsOf(pushes: Push[], pullRequests: PullRequest[]): Entry[] {
  const numbers = new Set(pullRequests.map(({ data }) => data.number));
  const merges = new Map(pullRequests.map(({ data }) => [data.mergeCommitSha, data.number]));
  const seen = new Set(pushes.flatMap((push) => commitsOfRequest(push, merges)));
  return pushes.flatMap(({ occurredAt, key, data }) =>
    data.commits
      .filter((commit) => {
        const isNew = !seen.has(commit.sha) && !merges.has(commit.sha);
        seen.add(commit.sha);
        return isNew && isOwn(commit, numbers);
      })
      .map((commit) => ({
        occurredAt,
        key,
        change: changeOfCommit(commit),
        isFixup: FIXUP.test(commit.subject),
      })),
  );
}

/**
 * The commits that the push of a merge brought from the branch of its pull request. A merge queue may push several at
 * once: what names another pull request is not of this one, and a squash brings nothing but itself.
 */
function commitsOfRequest({ data }: Push, merges: ReadonlyMap<string | null, number>): string[] {
  const merged = merges.get(data.after);
  if (merged === undefined) return [];
  const head = data.commits.at(-1)?.subject ?? '';
  if (numberOfCommit(head) === merged && !REQUEST_MERGE.test(head)) return [data.after];
  return data.commits
    .filter(({ subject }) => !REQUEST_MERGE.test(subject) || numberOfCommit(subject) === merged)
    .map(({ sha }) => sha);
}

/** True if a commit only merges a branch. */
export function isBranchMerge({ subject }: Commit): boolean {
  return BRANCH_MERGE.test(subject);
}

function isOwn({ subject }: Commit, known: ReadonlySet<number>): boolean {
  const number = numberOfCommit(subject);
  return number === null ? !BRANCH_MERGE.test(subject) : !known.has(number);
}

/** Joins each mending commit to what it mends, or to the first other one that mends the same. */
function withFixups(entries: Entry[]): Change[] {
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
    if (target?.entry === entry) return joinChanges(entry.change, target.fixups);
    return entry.isFixup ? [] : entry.change;
  });
}

function inOrder<Event extends Told<unknown>>(events: Event[]): Event[] {
  return events.toSorted((a, b) => byTime(a, b) || compare(JSON.stringify(a.data), JSON.stringify(b.data)));
}

function byTime(a: Omit<Told<unknown>, 'data'>, b: Omit<Told<unknown>, 'data'>): number {
  return compare(a.occurredAt, b.occurredAt) || compare(a.key, b.key);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const MERGED = /^Merge pull request #(\d{1,9})(?: from ([^\s:]{1,300})(?:: (.*\S))?)?/;

const COMMIT_ADDRESS = /^(https?:\/\/[^/?#]+\/[^/?#]+\/[^/?#]+)\/commit\/[0-9a-f]+$/i;

/** The number of the pull request that a commit brought to the branch, as far as its subject tells. */
function numberOfCommit(subject: string): number | null {
  const merged = MERGED.exec(subject)?.[1];
  return merged === undefined ? parseTitle(subject).number : Number(merged);
}

/**
 * The change that a commit tells of, by its subject alone. It refers to the pull request that the subject names,
 * else to the commit.
 */
export function changeOfCommit(commit: Commit): Change {
  const { subject, breaking, author } = commit;
  const [, , branch, merged] = MERGED.exec(subject) ?? [];
  const title = merged ?? (branch === undefined ? subject : `Merge ${branch}`);
  return changeOfTitle({ title, labels: [], breaking, author, reference: referenceOf(commit) });
}

/** The change that a merged pull request tells of. */
export function changeOfPullRequest(request: EventData['pull_request']): Change {
  const { number, url } = request;
  return changeOfTitle({ ...request, reference: { label: `#${number}`, url } });
}

/** The change that a completed issue tells of: its labels tell the group, then its title. */
export function changeOfIssue(issue: EventData['issue']): Change {
  const { identifier, url } = issue;
  return changeOfTitle({
    ...issue,
    breaking: null,
    reference: { label: identifier, url },
    goesFirst: 'labels',
  });
}

function referenceOf({ sha, subject, url }: Commit): Reference {
  const number = numberOfCommit(subject);
  if (number === null) return { label: sha.slice(0, 7), url };
  const repository = COMMIT_ADDRESS.exec(url ?? '')?.[1];
  return { label: `#${number}`, url: repository === undefined ? null : `${repository}/pull/${number}` };
}
