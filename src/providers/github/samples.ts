import {
  minutesBefore,
  type Payload,
  SAMPLE_REPOSITORY_ID,
  type SampleContext,
  type Samples,
} from '../provider.ts';

// GitHub's repositories, accounts, labels and milestones, for the samples.

/** The common parts of a repository's samples. */
type Scene = ReturnType<typeof sceneOf>;

export function sceneOf({ repository: fullName, now }: SampleContext) {
  const minutesAgo = (minutes: number) => minutesBefore(now, minutes);
  const [owner = '', name = ''] = fullName.split('/');
  const pageUrl = `https://github.com/${fullName}`;
  const apiUrl = `https://api.github.com/repos/${fullName}`;
  const repository = {
    id: SAMPLE_REPOSITORY_ID,
    node_id: nodeId('Repository', SAMPLE_REPOSITORY_ID),
    name,
    full_name: fullName,
    private: false,
    owner: sampleAccount(owner, 9_919_001),
    html_url: pageUrl,
    description: 'Launches rockets, quietly',
    url: apiUrl,
    ...Object.fromEntries(Object.entries(API_PATHS).map(([field, path]) => [field, apiUrl + path])),
    created_at: minutesAgo(600_000),
    updated_at: minutesAgo(90),
    pushed_at: minutesAgo(1),
    git_url: `git://github.com/${fullName}.git`,
    ssh_url: `git@github.com:${fullName}.git`,
    clone_url: `${pageUrl}.git`,
    svn_url: pageUrl,
    ...SETTINGS,
  };
  /** The last fields of every payload. */
  const common = { repository, sender: sampleAccount('ann', 583_231) };
  return { fullName, pageUrl, apiUrl, minutesAgo, common };
}

export function sampleAccount(login: string, id: number): Payload {
  const api = `https://api.github.com/users/${login}`;
  return {
    login,
    id,
    node_id: nodeId('User', id),
    avatar_url: `https://avatars.githubusercontent.com/u/${id}?v=4`,
    gravatar_id: '',
    url: api,
    html_url: `https://github.com/${login}`,
    followers_url: `${api}/followers`,
    following_url: `${api}/following{/other_user}`,
    gists_url: `${api}/gists{/gist_id}`,
    starred_url: `${api}/starred{/owner}{/repo}`,
    subscriptions_url: `${api}/subscriptions`,
    organizations_url: `${api}/orgs`,
    repos_url: `${api}/repos`,
    events_url: `${api}/events{/privacy}`,
    received_events_url: `${api}/received_events`,
    type: 'User',
    site_admin: false,
  };
}

/** GitHub's opaque ids: base64 of a kind and a number, in their older form. */
export function nodeId(kind: string, id: number): string {
  return btoa(`0${kind.length}:${kind}${id}`);
}

export function sampleLabel(apiUrl: string, name: string, color: string): Payload {
  const id = 3_900_100_000 + name.length;
  const url = `${apiUrl}/labels/${name}`;
  return { id, node_id: nodeId('Label', id), url, name, color, default: true, description: null };
}

function milestoneObject({ pageUrl, apiUrl, minutesAgo, common }: Scene, closedAt: string | null) {
  const id = 9_417_552;
  const self = `${apiUrl}/milestones/4`;
  return {
    url: self,
    html_url: `${pageUrl}/milestone/4`,
    labels_url: `${self}/labels`,
    id,
    node_id: nodeId('Milestone', id),
    number: 4,
    title: 'Quieter engines',
    description: 'What the neighbours asked for',
    creator: common.sender,
    open_issues: closedAt === null ? 2 : 0,
    closed_issues: 7,
    state: closedAt === null ? 'open' : 'closed',
    created_at: minutesAgo(50_000),
    updated_at: minutesAgo(1),
    due_on: minutesAgo(-10_000),
    closed_at: closedAt,
  };
}

/** Addresses under the repository's own, by the field that holds each. */
const API_PATHS = {
  forks_url: '/forks',
  keys_url: '/keys{/key_id}',
  collaborators_url: '/collaborators{/collaborator}',
  teams_url: '/teams',
  hooks_url: '/hooks',
  issue_events_url: '/issues/events{/number}',
  events_url: '/events',
  assignees_url: '/assignees{/user}',
  branches_url: '/branches{/branch}',
  tags_url: '/tags',
  blobs_url: '/git/blobs{/sha}',
  git_tags_url: '/git/tags{/sha}',
  git_refs_url: '/git/refs{/sha}',
  trees_url: '/git/trees{/sha}',
  statuses_url: '/statuses/{sha}',
  languages_url: '/languages',
  stargazers_url: '/stargazers',
  contributors_url: '/contributors',
  subscribers_url: '/subscribers',
  subscription_url: '/subscription',
  commits_url: '/commits{/sha}',
  git_commits_url: '/git/commits{/sha}',
  comments_url: '/comments{/number}',
  issue_comment_url: '/issues/comments{/number}',
  contents_url: '/contents/{+path}',
  compare_url: '/compare/{base}...{head}',
  merges_url: '/merges',
  archive_url: '/{archive_format}{/ref}',
  downloads_url: '/downloads',
  issues_url: '/issues{/number}',
  pulls_url: '/pulls{/number}',
  milestones_url: '/milestones{/number}',
  notifications_url: '/notifications{?since,all,participating}',
  labels_url: '/labels{/name}',
  releases_url: '/releases{/id}',
  deployments_url: '/deployments',
};

const SETTINGS = {
  homepage: null,
  language: 'TypeScript',
  mirror_url: null,
  license: null,
  topics: [],
  visibility: 'public',
  default_branch: 'main',
  fork: false,
  size: 2048,
  stargazers_count: 42,
  watchers_count: 42,
  watchers: 42,
  forks_count: 3,
  forks: 3,
  open_issues_count: 5,
  open_issues: 5,
  has_issues: true,
  has_projects: true,
  has_downloads: true,
  has_wiki: true,
  has_pages: false,
  has_discussions: false,
  archived: false,
  disabled: false,
};

// One payload for each event, of the release of a rocket. Complete: tests hold them against GitHub's own schemas.

const TAG = 'v2.4.0';

const NOTES = `### Added
- Quiet mode: engines start 40 % softer
- \`rocket status --json\`

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

/** A release that was just published; with `more` in its notes, edited a moment later. */
function release({ pageUrl, apiUrl, minutesAgo, common }: Scene, more = '') {
  const id = 174_902_318;
  const self = `${apiUrl}/releases/${id}`;
  const body = (notes: string) => notes.replaceAll('\n', '\r\n');
  return {
    action: more === '' ? 'published' : 'edited',
    ...(more !== '' && { changes: { body: { from: body(NOTES) } } }),
    release: {
      url: self,
      assets_url: `${self}/assets`,
      upload_url: `${self.replace('//api.', '//uploads.')}/assets{?name,label}`,
      html_url: `${pageUrl}/releases/tag/${TAG}`,
      id,
      node_id: nodeId('Release', id),
      tag_name: TAG,
      target_commitish: 'main',
      name: 'Rocket 2.4.0: quieter engines',
      draft: false,
      immutable: false,
      prerelease: false,
      author: common.sender,
      created_at: minutesAgo(25),
      updated_at: minutesAgo(more === '' ? 1 : 0),
      published_at: minutesAgo(1),
      assets: [],
      tarball_url: `${apiUrl}/tarball/${TAG}`,
      zipball_url: `${apiUrl}/zipball/${TAG}`,
      body: body(NOTES + more),
    },
    ...common,
  };
}

const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const MERGE = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';
const AFTER = '27be04c8f95d4a1e93b0d6c7185f2ae4609dc3f8';

const COMMITS = [
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    tree_id: '1b7a5f0c93de48261f0b9a7c55e2d38846af9e10',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>',
  },
  {
    id: MERGE,
    tree_id: '6e02c4d89b1f47a5a3de10fb27c96485d03b7f21',
    message: "fix(gauge): show today's value after midnight (#12)",
  },
  {
    id: AFTER,
    tree_id: 'd95c7e3380ab4f1296ce0b74a1f852d36e9b04c7',
    message: 'docs: tell the neighbours about quiet mode',
  },
];

/** Three commits that reach the default branch. */
function push({ pageUrl, minutesAgo, common }: Scene) {
  const person = { name: 'Ann', email: 'ann@acme.test', username: 'ann' };
  const commits = COMMITS.map((commit, index) => ({
    ...commit,
    distinct: true,
    timestamp: minutesAgo(30 - 10 * index),
    url: `${pageUrl}/commit/${commit.id}`,
    author: person,
    committer: person,
  }));
  return {
    ref: 'refs/heads/main',
    before: BEFORE,
    after: AFTER,
    ...common,
    pusher: { name: 'ann', email: 'ann@acme.test' },
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: `${pageUrl}/compare/${BEFORE.slice(0, 12)}...${AFTER.slice(0, 12)}`,
    commits,
    head_commit: commits.at(-1),
  };
}

const HEAD = '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b';

/** A pull request that was just merged. */
function pullRequest(scene: Scene) {
  const { fullName, pageUrl, apiUrl, minutesAgo, common } = scene;
  const { repository } = common;
  const id = 1_402_877_115;
  const number = 12;
  const page = `${pageUrl}/pull/${number}`;
  const self = `${apiUrl}/pulls/${number}`;
  const issue = `${apiUrl}/issues/${number}`;
  const links = {
    comments: `${issue}/comments`,
    review_comments: `${self}/comments`,
    review_comment: `${apiUrl}/pulls/comments{/number}`,
    commits: `${self}/commits`,
    statuses: `${apiUrl}/statuses/${HEAD}`,
  };
  const branch = (ref: string, sha: string) => ({
    label: `${fullName.split('/')[0]}:${ref}`,
    ref,
    sha,
    user: repository.owner,
    repo: repository,
  });
  return {
    action: 'closed',
    number,
    pull_request: {
      id,
      node_id: nodeId('PullRequest', id),
      number,
      state: 'closed',
      locked: false,
      title: "Show today's value after midnight",
      body: "The gauge kept yesterday's value until the next reading.\r\n\r\nCloses #34",
      user: sampleAccount('ben', 583_232),
      labels: [sampleLabel(apiUrl, 'bug', 'd73a4a')],
      milestone: milestoneObject(scene, null),
      url: self,
      html_url: page,
      diff_url: `${page}.diff`,
      patch_url: `${page}.patch`,
      issue_url: issue,
      ...Object.fromEntries(Object.entries(links).map(([name, href]) => [`${name}_url`, href])),
      _links: Object.fromEntries(
        Object.entries({ ...links, self, issue, html: page }).map(([name, href]) => [name, { href }]),
      ),
      created_at: minutesAgo(3000),
      updated_at: minutesAgo(1),
      closed_at: minutesAgo(1),
      merged_at: minutesAgo(1),
      merge_commit_sha: MERGE,
      merged: true,
      merged_by: common.sender,
      head: branch('fix/gauge', HEAD),
      base: branch('main', BEFORE),
      assignee: null,
      author_association: 'CONTRIBUTOR',
      auto_merge: null,
      mergeable: null,
      mergeable_state: 'unknown',
      maintainer_can_modify: false,
      comments: 1,
      review_comments: 0,
      commits: 2,
      additions: 18,
      deletions: 4,
      changed_files: 2,
    },
    ...common,
  };
}

const REACTIONS = { '-1': 0, laugh: 0, hooray: 0, confused: 0, heart: 0, rocket: 0, eyes: 0 };

/** An issue that was just closed, as completed. */
function issues(scene: Scene) {
  const { pageUrl, apiUrl, minutesAgo, common } = scene;
  const id = 2_318_640_027;
  const number = 34;
  const self = `${apiUrl}/issues/${number}`;
  const issue = {
    url: self,
    repository_url: apiUrl,
    labels_url: `${self}/labels{/name}`,
    comments_url: `${self}/comments`,
    events_url: `${self}/events`,
    html_url: `${pageUrl}/issues/${number}`,
    id,
    node_id: nodeId('Issue', id),
    number,
    title: 'The fuel gauge lives in the past',
    user: sampleAccount('cleo', 583_233),
    labels: [sampleLabel(apiUrl, 'bug', 'd73a4a')],
    state: 'closed',
    assignees: [],
    milestone: milestoneObject(scene, null),
    comments: 2,
    created_at: minutesAgo(9000),
    updated_at: minutesAgo(1),
    closed_at: minutesAgo(1),
    author_association: 'NONE',
    active_lock_reason: null,
    body: "After midnight the gauge still shows yesterday's value.",
    reactions: { url: `${self}/reactions`, total_count: 1, '+1': 1, ...REACTIONS },
    state_reason: 'completed',
  };
  return { action: 'closed', issue, ...common };
}

const at =
  (build: (scene: Scene) => Record<string, unknown>) =>
  (context: SampleContext): Record<string, unknown> =>
    build(sceneOf(context));

export const samples: Samples = {
  ping: at(({ common }) => ({ zen: 'Keep it logically awesome.', hook_id: 470_118_305, ...common })),
  push: at(push),
  release: at(release),
  'release edited': at((scene) => release(scene, '- A crash when two pads shared a name\n')),
  pull_request: at(pullRequest),
  create: at(({ common }) => ({
    ref: TAG,
    ref_type: 'tag',
    master_branch: 'main',
    description: 'Launches rockets, quietly',
    pusher_type: 'user',
    ...common,
  })),
  issues: at(issues),
  milestone: at((scene) => ({
    action: 'closed',
    milestone: milestoneObject(scene, scene.minutesAgo(1)),
    ...scene.common,
  })),
  star: at(({ minutesAgo, common }) => ({ action: 'created', starred_at: minutesAgo(1), ...common })),
};
