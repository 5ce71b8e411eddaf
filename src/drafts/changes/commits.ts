import type { Commit, EventData } from '../../events/model.ts';
import type { Change, Reference } from './change.ts';
import { parseTitle } from './conventional.ts';
import { changeOfTitle } from './titles.ts';

const MERGED = /^Merge pull request #(\d{1,9})(?: from ([^\s:]{1,300})(?:: (.*\S))?)?/;

const COMMIT_ADDRESS = /^(https?:\/\/[^/?#]+\/[^/?#]+\/[^/?#]+)\/commit\/[0-9a-f]+$/i;

/** The number of the pull request that a commit brought to the branch, as far as its subject tells. */
export function numberOfCommit(subject: string): number | null {
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
