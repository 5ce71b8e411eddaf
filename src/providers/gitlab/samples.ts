import { minutesBefore, SAMPLE_REPOSITORY_ID, type SampleContext, type Samples } from '../provider.ts';

// Tests hold these payloads against the types of GitLab's client.

const SERVER = 'https://gitlab.example';
const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const HEAD = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';
const TAG = 'v2.4.0';

const user = (id: number, username: string, name: string) => ({
  id,
  name,
  username,
  avatar_url: `${SERVER}/uploads/-/system/user/avatar/${id}/avatar.png`,
  state: 'active',
  web_url: `${SERVER}/${username}`,
});

const ANN = user(1, 'ann', 'Ann');
const BEN = user(2, 'ben', 'Ben');

function project(fullName: string) {
  const git = { ssh: `git@gitlab.example:${fullName}.git`, http: `${SERVER}/${fullName}.git` };
  return {
    id: SAMPLE_REPOSITORY_ID,
    name: fullName.slice(fullName.lastIndexOf('/') + 1),
    description: 'Launches rockets, quietly',
    web_url: `${SERVER}/${fullName}`,
    avatar_url: null,
    git_ssh_url: git.ssh,
    git_http_url: git.http,
    namespace: fullName.slice(0, fullName.lastIndexOf('/')),
    visibility_level: 0,
    path_with_namespace: fullName,
    default_branch: 'main',
    homepage: `${SERVER}/${fullName}`,
    url: git.ssh,
    ssh_url: git.ssh,
    http_url: git.http,
  };
}

const COMMITS = [
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    title: 'feat(engine): start 40 % softer in quiet mode',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>\n',
    minutes: 30,
  },
  {
    id: HEAD,
    title: "Merge branch 'fix/gauge' into 'main'",
    message:
      "Merge branch 'fix/gauge' into 'main'\n\nfix(gauge): show today's value after midnight\n\nSee merge request acme/rocket!12\n",
    minutes: 1,
  },
];

const commit = ({ repository, now }: SampleContext, index: number) => {
  const { minutes, ...text } = COMMITS[index] ?? { id: '', title: '', message: '', minutes: 0 };
  return {
    ...text,
    timestamp: minutesBefore(now, minutes),
    url: `${SERVER}/${repository}/-/commit/${text.id}`,
    author: { name: 'Ann', email: '[REDACTED]' },
  };
};

const NOTES = `### Added
- Quiet mode: engines start 40 % softer

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

export const release = (context: SampleContext) => ({
  object_kind: 'release' as const,
  id: 9,
  created_at: minutesBefore(context.now, 1),
  description: NOTES,
  name: 'Rocket 2.4.0: quieter engines',
  released_at: minutesBefore(context.now, 1),
  tag: TAG,
  project: project(context.repository),
  url: `${SERVER}/${context.repository}/-/releases/${TAG}`,
  action: 'create',
  assets: {
    count: 1,
    links: [],
    sources: [{ format: 'zip', url: `${SERVER}/${context.repository}/-/archive/${TAG}/rocket-${TAG}.zip` }],
  },
  commit: commit(context, 1),
});

export const push = (context: SampleContext) => {
  const { namespace: _, ...about } = project(context.repository);
  return {
    object_kind: 'push' as const,
    event_name: 'push' as const,
    before: BEFORE,
    after: HEAD,
    ref: 'refs/heads/main',
    ref_protected: true,
    checkout_sha: HEAD,
    user_id: ANN.id,
    user_name: ANN.name,
    user_username: ANN.username,
    user_email: '',
    user_avatar: ANN.avatar_url,
    project_id: SAMPLE_REPOSITORY_ID,
    project: project(context.repository),
    repository: {
      name: about.name,
      url: about.url,
      description: about.description,
      homepage: about.homepage,
      git_http_url: about.git_http_url,
      git_ssh_url: about.git_ssh_url,
      visibility_level: about.visibility_level,
    },
    commits: COMMITS.map((_each, index) => ({
      ...commit(context, index),
      added: [],
      modified: ['README.md'],
      removed: [],
    })),
    total_commits_count: COMMITS.length,
  };
};

export const mergeRequest = (context: SampleContext) => ({
  object_kind: 'merge_request' as const,
  event_type: 'merge_request' as const,
  user: ANN,
  project: project(context.repository),
  object_attributes: {
    id: 31,
    iid: 12,
    target_branch: 'main',
    source_branch: 'fix/gauge',
    source_project_id: SAMPLE_REPOSITORY_ID,
    target_project_id: SAMPLE_REPOSITORY_ID,
    author_id: BEN.id,
    assignee_ids: [BEN.id],
    reviewer_ids: [ANN.id],
    title: "fix(gauge): show today's value after midnight",
    description: "The gauge kept yesterday's value until the next reading.",
    created_at: minutesBefore(context.now, 3000),
    updated_at: minutesBefore(context.now, 1),
    milestone_id: null,
    state_id: 3,
    state: 'merged',
    draft: false,
    work_in_progress: false,
    blocking_discussions_resolved: true,
    first_contribution: false,
    merge_commit_sha: HEAD,
    url: `${SERVER}/${context.repository}/-/merge_requests/12`,
    source: project(context.repository),
    target: project(context.repository),
    last_commit: { ...commit(context, 0), id: '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b' },
    action: 'merge',
    detailed_merge_status: 'not_open',
  },
  labels: [],
  assignees: [BEN],
  reviewers: [ANN],
});

/** As the button "Test" sends it: the newest commits, and the oldest of them as the one before. */
export const testPush = (context: SampleContext) => {
  const { commits, ...payload } = push(context);
  return { ...payload, before: COMMITS[0]?.id ?? '', commits: commits.toReversed() };
};

export const samples: Samples = {
  push,
  release,
  'release update': (context) => {
    const payload = release(context);
    return { ...payload, action: 'update', description: `${NOTES}- A crash when two pads shared a name\n` };
  },
  merge_request: mergeRequest,
};
