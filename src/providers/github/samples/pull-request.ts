import { nodeId, sampleAccount } from './account.ts';
import type { SampleContext } from './context.ts';
import { sampleLabel } from './label.ts';
import { milestoneObject } from './milestone.ts';

const ID = 1_402_877_115;
const NUMBER = 12;
const HEAD = '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b';
const BASE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const MERGE = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';

/** A pull request that was just merged. */
export function pullRequest(context: SampleContext): Record<string, unknown> {
  const { common } = context;
  return { action: 'closed', number: NUMBER, pull_request: pullRequestObject(context), ...common };
}

function pullRequestObject(context: SampleContext): Record<string, unknown> {
  const { pageUrl, apiUrl, minutesAgo, common } = context;
  const links = linksOf(apiUrl);
  const page = `${pageUrl}/pull/${NUMBER}`;
  return {
    id: ID,
    node_id: nodeId('PullRequest', ID),
    number: NUMBER,
    state: 'closed',
    locked: false,
    title: "Show today's value after midnight",
    body: "The gauge kept yesterday's value until the next reading.\r\n\r\nCloses #34",
    user: sampleAccount('ben', 583_232),
    labels: [sampleLabel(apiUrl, 'bug', 'd73a4a')],
    milestone: milestoneObject(context, { state: 'open', closedAt: null }),
    url: links.self,
    html_url: page,
    diff_url: `${page}.diff`,
    patch_url: `${page}.patch`,
    issue_url: links.issue,
    commits_url: links.commits,
    review_comments_url: links.review_comments,
    review_comment_url: links.review_comment,
    comments_url: links.comments,
    statuses_url: links.statuses,
    _links: Object.fromEntries(
      Object.entries({ ...links, html: page }).map(([name, href]) => [name, { href }]),
    ),
    created_at: minutesAgo(3000),
    updated_at: minutesAgo(1),
    closed_at: minutesAgo(1),
    merged_at: minutesAgo(1),
    merge_commit_sha: MERGE,
    merged: true,
    merged_by: common.sender,
    head: branch(context, 'fix/gauge', HEAD),
    base: branch(context, 'main', BASE),
    ...SETTLED,
  };
}

const SETTLED = {
  active_lock_reason: null,
  assignee: null,
  assignees: [],
  requested_reviewers: [],
  requested_teams: [],
  author_association: 'CONTRIBUTOR',
  auto_merge: null,
  draft: false,
  mergeable: null,
  rebaseable: null,
  mergeable_state: 'unknown',
  maintainer_can_modify: false,
  comments: 1,
  review_comments: 0,
  commits: 2,
  additions: 18,
  deletions: 4,
  changed_files: 2,
};

function linksOf(apiUrl: string) {
  const self = `${apiUrl}/pulls/${NUMBER}`;
  const issue = `${apiUrl}/issues/${NUMBER}`;
  return {
    self,
    issue,
    comments: `${issue}/comments`,
    review_comments: `${self}/comments`,
    review_comment: `${apiUrl}/pulls/comments{/number}`,
    commits: `${self}/commits`,
    statuses: `${apiUrl}/statuses/${HEAD}`,
  };
}

function branch({ fullName, common }: SampleContext, ref: string, sha: string): Record<string, unknown> {
  const { repository } = common;
  return { label: `${fullName.split('/')[0]}:${ref}`, ref, sha, user: repository.owner, repo: repository };
}
