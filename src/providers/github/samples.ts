import type { Payload, SampleContext } from '../provider.ts';
import {
  milestoneObject,
  nodeId,
  type Scene,
  sampleAccount,
  sampleLabel,
  sceneOf,
} from './sample-objects.ts';

// One payload for each event, of the release of a rocket. Complete: tests hold them against GitHub's own schemas.

const RELEASE_ID = 174_902_318;
const TAG = 'v2.4.0';

const NOTES = `### Added
- Quiet mode: engines start 40 % softer
- \`rocket status --json\`

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

const EDITED_NOTES = `${NOTES}- A crash when two pads shared a name
`;

/** A release that was just published. */
function release(context: Scene): Record<string, unknown> {
  return { action: 'published', release: releaseObject(context, NOTES), ...context.common };
}

/** The same release, its notes edited a moment later. */
function releaseEdited(context: Scene): Record<string, unknown> {
  const edited = { ...releaseObject(context, EDITED_NOTES), updated_at: context.minutesAgo(0) };
  const changes = { body: { from: NOTES.replaceAll('\n', '\r\n') } };
  return { action: 'edited', changes, release: edited, ...context.common };
}

function releaseObject(
  { pageUrl, apiUrl, minutesAgo, common }: Scene,
  notes: string,
): Record<string, unknown> {
  return {
    url: `${apiUrl}/releases/${RELEASE_ID}`,
    assets_url: `${apiUrl}/releases/${RELEASE_ID}/assets`,
    upload_url: `${apiUrl.replace('//api.', '//uploads.')}/releases/${RELEASE_ID}/assets{?name,label}`,
    html_url: `${pageUrl}/releases/tag/${TAG}`,
    id: RELEASE_ID,
    node_id: nodeId('Release', RELEASE_ID),
    tag_name: TAG,
    target_commitish: 'main',
    name: 'Rocket 2.4.0: quieter engines',
    draft: false,
    immutable: false,
    prerelease: false,
    author: common.sender,
    created_at: minutesAgo(25),
    updated_at: minutesAgo(1),
    published_at: minutesAgo(1),
    assets: [],
    tarball_url: `${apiUrl}/tarball/${TAG}`,
    zipball_url: `${apiUrl}/zipball/${TAG}`,
    body: notes.replaceAll('\n', '\r\n'),
  };
}

const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';

const COMMITS = [
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    tree: '1b7a5f0c93de48261f0b9a7c55e2d38846af9e10',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>',
    file: 'src/engine.ts',
  },
  {
    id: 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77',
    tree: '6e02c4d89b1f47a5a3de10fb27c96485d03b7f21',
    message: "fix(gauge): show today's value after midnight (#12)",
    file: 'src/gauge.ts',
  },
  {
    id: '27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8',
    tree: 'd95c7e3380ab4f1296ce0b74a1f852d36e9b04c7',
    message: 'docs: tell the neighbours about quiet mode',
    file: 'docs/quiet-mode.md',
  },
];

/** Three commits that reach the default branch. */
function push({ pageUrl, minutesAgo, common }: Scene): Record<string, unknown> {
  const commits = COMMITS.map(({ id, tree, message, file }, index) => {
    const person = { name: 'Ann', email: 'ann@acme.test', username: 'ann' };
    return {
      id,
      tree_id: tree,
      distinct: true,
      message,
      timestamp: minutesAgo(30 - 10 * index),
      url: `${pageUrl}/commit/${id}`,
      author: person,
      committer: person,
      added: [],
      removed: [],
      modified: [file],
    };
  });
  const head = commits.at(-1);
  const after = head?.id ?? BEFORE;
  return {
    ref: 'refs/heads/main',
    before: BEFORE,
    after,
    ...common,
    pusher: { name: 'ann', email: 'ann@acme.test' },
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: `${pageUrl}/compare/${BEFORE.slice(0, 12)}...${after.slice(0, 12)}`,
    commits,
    head_commit: head,
  };
}

const PULL_ID = 1_402_877_115;
const PULL_NUMBER = 12;
const HEAD = '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b';
const BASE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const MERGE = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';

/** A pull request that was just merged. */
function pullRequest(context: Scene): Record<string, unknown> {
  const { common } = context;
  return { action: 'closed', number: PULL_NUMBER, pull_request: pullRequestObject(context), ...common };
}

function pullRequestObject(context: Scene): Record<string, unknown> {
  const { pageUrl, apiUrl, minutesAgo, common } = context;
  const links = linksOf(apiUrl);
  const page = `${pageUrl}/pull/${PULL_NUMBER}`;
  return {
    id: PULL_ID,
    node_id: nodeId('PullRequest', PULL_ID),
    number: PULL_NUMBER,
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
  const self = `${apiUrl}/pulls/${PULL_NUMBER}`;
  const issue = `${apiUrl}/issues/${PULL_NUMBER}`;
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

function branch({ fullName, common }: Scene, ref: string, sha: string): Record<string, unknown> {
  const { repository } = common;
  return { label: `${fullName.split('/')[0]}:${ref}`, ref, sha, user: repository.owner, repo: repository };
}

const ISSUE_ID = 2_318_640_027;
const ISSUE_NUMBER = 34;

/** An issue that was just closed, as completed. */
function issues(context: Scene): Record<string, unknown> {
  const { pageUrl, apiUrl, minutesAgo, common } = context;
  const self = `${apiUrl}/issues/${ISSUE_NUMBER}`;
  const issue = {
    url: self,
    repository_url: apiUrl,
    labels_url: `${self}/labels{/name}`,
    comments_url: `${self}/comments`,
    events_url: `${self}/events`,
    timeline_url: `${self}/timeline`,
    html_url: `${pageUrl}/issues/${ISSUE_NUMBER}`,
    id: ISSUE_ID,
    node_id: nodeId('Issue', ISSUE_ID),
    number: ISSUE_NUMBER,
    title: 'The fuel gauge lives in the past',
    user: sampleAccount('cleo', 583_233),
    labels: [sampleLabel(apiUrl, 'bug', 'd73a4a')],
    state: 'closed',
    locked: false,
    assignee: null,
    assignees: [],
    milestone: milestoneObject(context, { state: 'open', closedAt: null }),
    comments: 2,
    created_at: minutesAgo(9000),
    updated_at: minutesAgo(1),
    closed_at: minutesAgo(1),
    author_association: 'NONE',
    active_lock_reason: null,
    body: "After midnight the gauge still shows yesterday's value.",
    reactions: { url: `${self}/reactions`, ...REACTIONS },
    performed_via_github_app: null,
    state_reason: 'completed',
  };
  return { action: 'closed', issue, ...common };
}

const REACTIONS = {
  total_count: 1,
  '+1': 1,
  '-1': 0,
  laugh: 0,
  hooray: 0,
  confused: 0,
  heart: 0,
  rocket: 0,
  eyes: 0,
};

/** A milestone that was just closed. */
function milestone(context: Scene): Record<string, unknown> {
  const closed = milestoneObject(context, { state: 'closed', closedAt: context.minutesAgo(1) });
  return { action: 'closed', milestone: closed, ...context.common };
}

const HOOK_ID = 470_118_305;

/** GitHub sends it when a webhook is set up. */
function ping({ apiUrl, minutesAgo, common }: Scene): Record<string, unknown> {
  const self = `${apiUrl}/hooks/${HOOK_ID}`;
  return {
    zen: 'Keep it logically awesome.',
    hook_id: HOOK_ID,
    hook: {
      type: 'Repository',
      id: HOOK_ID,
      name: 'web',
      active: true,
      events: ['push', 'release', 'pull_request', 'create', 'issues', 'milestone', 'star'],
      config: {
        content_type: 'json',
        insecure_ssl: '0',
        secret: '********',
        url: 'https://tidings.example/api/webhooks/github',
      },
      updated_at: minutesAgo(1),
      created_at: minutesAgo(1),
      url: self,
      test_url: `${self}/test`,
      ping_url: `${self}/pings`,
      deliveries_url: `${self}/deliveries`,
      last_response: { code: null, status: 'unused', message: null },
    },
    ...common,
  };
}

const at =
  (build: (scene: Scene) => Payload) =>
  (context: SampleContext): Payload =>
    build(sceneOf(context));

export const samples: Readonly<Record<string, (context: SampleContext) => Payload>> = {
  ping: at(ping),
  push: at(push),
  release: at(release),
  'release edited': at(releaseEdited),
  pull_request: at(pullRequest),
  create: at(({ common }) => ({
    ref: 'v2.4.0',
    ref_type: 'tag',
    master_branch: 'main',
    description: 'Launches rockets, quietly',
    pusher_type: 'user',
    ...common,
  })),
  issues: at(issues),
  milestone: at(milestone),
  star: at(({ minutesAgo, common }) => ({ action: 'created', starred_at: minutesAgo(1), ...common })),
};
