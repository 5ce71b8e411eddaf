import type { RangeCommit, ReadDelivery, RemoteRepository } from './reader.ts';

// Turns the responses of an API into the payloads that webhooks send.

/** The repository as payloads of GitHub and Forgejo name it. */
export const repositoryIn = ({ providerId, fullName, defaultBranch }: RemoteRepository) => ({
  id: providerId,
  full_name: fullName,
  default_branch: defaultBranch,
});

/** A page of releases of GitHub or Forgejo, without drafts, and the times that it is sorted by. */
export function releasesIn(
  repository: RemoteRepository,
  releases: readonly { draft: boolean; created_at: string }[],
): { items: ReadDelivery[]; times: string[] } {
  const published = releases.filter(({ draft }) => !draft);
  return {
    items: published.map((release) => ({
      event: 'release',
      payload: { action: 'published', release, repository: repositoryIn(repository) },
    })),
    times: releases.map(({ created_at }) => created_at),
  };
}

/** The merge of a pull request of GitHub or Forgejo. */
export const mergeIn = (
  repository: RemoteRepository,
  pull: { number: number; merged?: boolean },
): ReadDelivery => ({
  event: 'pull_request',
  payload: {
    action: 'closed',
    number: pull.number,
    pull_request: pull,
    repository: repositoryIn(repository),
  },
});

/** A commit of a push. */
export const commitIn = ({ sha, message, author, url, committedAt }: RangeCommit) => ({
  id: sha,
  message,
  author: { name: author },
  url,
  timestamp: committedAt,
});

/** The page that `next` of the page before names. */
export function pageNumber(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 1;
  if (!/^[1-9]\d{0,5}$/.test(cursor)) throw new Error(`${cursor.slice(0, 100)} is not the number of a page`);
  return Number(cursor);
}
