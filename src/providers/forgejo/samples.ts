import { minutesBefore, SAMPLE_REPOSITORY_ID, type SampleContext, type Samples } from '../provider.ts';

// Tests hold these payloads against the types of Forgejo's API.

const SERVER = 'https://forgejo.example';
const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const HEAD = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';
const TAG = 'v2.4.0';

const user = (id: number, login: string) => ({
  id,
  login,
  email: `${login}@noreply.forgejo.example`,
  html_url: `${SERVER}/${login}`,
});

/** The last fields of every payload. */
const common = (fullName: string) => ({
  repository: {
    id: SAMPLE_REPOSITORY_ID,
    owner: user(7, fullName.split('/')[0] ?? ''),
    name: fullName.split('/')[1] ?? '',
    full_name: fullName,
    html_url: `${SERVER}/${fullName}`,
    default_branch: 'main',
  },
  sender: user(1, 'ann'),
});

const NOTES = `### Added
- Quiet mode: engines start 40 % softer

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

const release = ({ repository, now }: SampleContext) => ({
  action: 'published',
  release: {
    id: 9,
    tag_name: TAG,
    target_commitish: 'main',
    name: 'Rocket 2.4.0: quieter engines',
    body: NOTES,
    html_url: `${SERVER}/${repository}/releases/tag/${TAG}`,
    draft: false,
    prerelease: false,
    created_at: minutesBefore(now, 25),
    published_at: minutesBefore(now, 1),
    author: user(1, 'ann'),
    assets: [],
  },
  ...common(repository),
});

/** Newest first, as Forgejo lists them. */
const COMMITS = [
  { id: HEAD, message: "fix(gauge): show today's value after midnight (#12)\n" },
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>\n',
  },
];

const push = ({ repository, now }: SampleContext) => ({
  ref: 'refs/heads/main',
  before: BEFORE,
  after: HEAD,
  compare_url: `${SERVER}/${repository}/compare/${BEFORE}...${HEAD}`,
  commits: COMMITS.map((commit, index) => ({
    ...commit,
    url: `${SERVER}/${repository}/commit/${commit.id}`,
    author: { name: 'Ann', email: 'ann@acme.test', username: 'ann' },
    timestamp: minutesBefore(now, 20 + 10 * index),
  })),
  total_commits: COMMITS.length,
  pusher: user(1, 'ann'),
  ...common(repository),
});

const pullRequest = ({ repository, now }: SampleContext) => ({
  action: 'closed',
  number: 12,
  pull_request: {
    id: 31,
    number: 12,
    user: user(2, 'ben'),
    title: "Show today's value after midnight",
    body: "The gauge kept yesterday's value until the next reading.",
    labels: [{ id: 3, name: 'bug', color: 'd73a4a' }],
    state: 'closed' as const,
    html_url: `${SERVER}/${repository}/pulls/12`,
    merged: true,
    merged_at: minutesBefore(now, 1),
    merge_commit_sha: HEAD,
    merged_by: user(1, 'ann'),
    base: { label: 'main', ref: 'main', sha: BEFORE },
    head: { label: 'fix/gauge', ref: 'fix/gauge', sha: '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b' },
    updated_at: minutesBefore(now, 1),
  },
  ...common(repository),
});

export const samples: Samples = {
  push,
  release,
  'release updated': (context) => {
    const payload = release(context);
    const edited = { ...payload.release, body: `${NOTES}- A crash when two pads shared a name\n` };
    return { ...payload, action: 'updated', release: edited };
  },
  pull_request: pullRequest,
};
