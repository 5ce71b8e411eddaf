import { commitIn, repositoryIn } from '../../read-payloads.ts';
import type { RangeCommit, ReadDelivery, RemoteRepository } from '../../reader.ts';
import type { Activity } from './responses.ts';

// Pushes to the default branch, as GitHub's webhooks send them.

/** `step`: what GitHub's list of activity has of it, if anything. */
export function pushOf(
  repository: RemoteRepository,
  before: string,
  commits: readonly RangeCommit[],
  step: Partial<Activity> = {},
): ReadDelivery {
  const { after = commits.at(-1)?.sha ?? before, timestamp, actor, activity_type: type } = step;
  return {
    event: 'push',
    payload: {
      ref: `refs/heads/${repository.defaultBranch}`,
      before,
      after,
      compare: compareUrl(before, after, commits),
      created: false,
      deleted: false,
      forced: type === 'force_push',
      ...(actor?.login && { pusher: { name: actor.login } }),
      commits: commits.map(commitIn),
      // Other payloads have it as text.
      repository: { ...repositoryIn(repository), ...(timestamp && { pushed_at: secondsOf(timestamp) }) },
    },
  };
}

function secondsOf(time: string): number | null {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? null : Math.floor(ms / 1000);
}

/** A commit's own address names the site, which an API's address does not always tell. */
function compareUrl(before: string, after: string, commits: readonly RangeCommit[]): string | null {
  if (/^0+$/.test(before)) return null;
  const [, repositoryUrl] = /^(.+)\/commit\/[0-9a-f]+$/.exec(commits.at(-1)?.url ?? '') ?? [];
  return repositoryUrl === undefined
    ? null
    : `${repositoryUrl}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`;
}
