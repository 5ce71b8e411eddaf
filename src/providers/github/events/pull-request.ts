import { type Static, Type } from '@sinclair/typebox';
import {
  bodyOf,
  lineOf,
  MaybeNames,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  textOf,
  urlOf,
} from '../../fields.ts';
import { defineEvent } from '../../provider.ts';
import { ignored, processed, words } from '../../results.ts';
import { Account, MaybeMilestone, MaybeRepository } from './fields.ts';

/** A pull request that was merged, into whatever branch. */
export interface PullRequestData {
  number: number;
  title: string;
  /** Its description, in Markdown, at most 200,000 characters; null when there is none. */
  body: string | null;
  /** The login of whoever opened it; bots end in `[bot]`. */
  author: string | null;
  mergedBy: string | null;
  /** Names of labels, such as `bug`. */
  labels: string[];
  /** The title of its milestone. */
  milestone: string | null;
  /** The branch that it was merged into. */
  baseBranch: string | null;
  /** The branch that it came from. */
  headBranch: string | null;
  /** The repository's default branch, to tell a merge there from one into a side branch. */
  defaultBranch: string | null;
  /** ISO 8601. */
  mergedAt: string | null;
  /** ISO 8601. */
  updatedAt: string | null;
  /** The commit on the base branch, also named by the push that the merge makes. */
  mergeCommitSha: string | null;
  url: string | null;
}

const Branch = maybe(Type.Object({ ref: MaybeText }), 'a branch');

const PullRequest = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  merged: Type.Boolean(),
  body: MaybeText,
  user: Account,
  merged_by: Account,
  labels: MaybeNames,
  milestone: MaybeMilestone,
  base: Branch,
  head: Branch,
  merged_at: MaybeText,
  updated_at: MaybeText,
  merge_commit_sha: MaybeText,
  html_url: MaybeText,
});

/** docs.github.com/webhooks/webhook-events-and-payloads#pull_request. */
export const pullRequest = defineEvent(
  Type.Object({
    action: Type.String({ minLength: 1 }),
    pull_request: PullRequest,
    repository: MaybeRepository,
  }),
  ({ action, pull_request: pull, repository }) => {
    const titled = (happened: string) => `Pull request #${pull.number} ${happened}: ${pull.title}`;
    if (action !== 'closed') {
      return ignored(
        titled(words(action)),
        `Only pull requests that are merged are processed, not the action ${action}`,
      );
    }
    if (!pull.merged) {
      return ignored(
        titled('closed without a merge'),
        'Only pull requests that are merged are processed; this one was closed without it',
      );
    }
    const data = toData(pull, lineOf(repository?.default_branch));
    return processed(titled('merged'), { type: 'pull_request', action: 'merged', data });
  },
);

function toData(pull: Static<typeof PullRequest>, defaultBranch: string | null): PullRequestData {
  return {
    number: pull.number,
    title: textOf(pull.title),
    body: bodyOf(pull.body),
    author: personOf(pull.user?.login),
    mergedBy: personOf(pull.merged_by?.login),
    labels: namesOf(pull.labels),
    milestone: lineOf(pull.milestone?.title),
    baseBranch: lineOf(pull.base?.ref),
    headBranch: lineOf(pull.head?.ref),
    defaultBranch,
    mergedAt: lineOf(pull.merged_at),
    updatedAt: lineOf(pull.updated_at),
    mergeCommitSha: lineOf(pull.merge_commit_sha),
    url: urlOf(pull.html_url),
  };
}
