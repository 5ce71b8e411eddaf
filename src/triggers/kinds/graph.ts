import type { Shipped } from '../../drafts/model.ts';
import type { EventReader } from '../../events/model.ts';
import type { RangeCommit } from '../range-store.ts';
import { dayAfter, dayBefore, type Window } from './windows.ts';

/**
 * The changes of a release by the commit graph; null when it is unknown. They are the same however much of it arrived as
 * pushes, and in which order.
 */
export async function graphChanges(
  events: EventReader,
  { commits, after, until }: Window,
  release: Shipped<'release'>,
): Promise<{ pushes: Shipped<'push'>[]; pullRequests: Shipped<'pull_request'>[] } | null> {
  if (commits === null) return null;
  const shas = new Set(commits.map(({ sha }) => sha));
  const times = commits.flatMap(({ at }) => at ?? []).sort();
  const [first, last] = [times[0], times.at(-1)];
  // A pull request of a release may have reached another branch.
  const merged = await events.list(['pull_request'], {
    after: first === undefined ? after : dayBefore(first),
    until: last === undefined ? until : dayAfter(last),
  });
  const unnamed = await events.list(['pull_request'], {
    ...(release.branch !== null && { branch: release.branch }),
    after,
    until,
  });
  const pullRequests = merged.filter((event) => event.type === 'pull_request');
  return {
    pushes: pushesOf(commits, release),
    pullRequests: [
      ...pullRequests.filter(({ data }) => shas.has(data.mergeCommitSha ?? '')),
      // Nobody told the commit of some.
      ...unnamed
        .filter((event) => event.type === 'pull_request')
        .filter((each) => each.data.mergeCommitSha === null),
    ],
  };
}

/** The steps of the main line as pushes. */
function pushesOf(commits: readonly RangeCommit[], release: Shipped<'release'>): Shipped<'push'>[] {
  const { branch, repository, deliveryId } = release;
  const steps = Map.groupBy(commits, ({ sha, broughtBy }) => broughtBy ?? sha);
  return [...steps].map(([after, own]) => ({
    type: 'push',
    key: after,
    branch,
    occurredAt: own.at(-1)?.at ?? release.occurredAt,
    version: '',
    repository,
    deliveryId,
    data: { after, compareUrl: null, commits: own.map(({ at: _, broughtBy: __, ...commit }) => commit) },
  }));
}
