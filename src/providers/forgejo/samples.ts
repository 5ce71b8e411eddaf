import { type Payload, SAMPLE_REPOSITORY_ID, type SampleContext } from '../provider.ts';

// Tests hold these payloads against the types of Forgejo's API.

const SERVER = 'https://forgejo.example';
const BEFORE = '4f1c0a9d2b7e83655aa0c1de9f3b4472c6d81e05';
const HEAD = 'c02f9a6e7d1b45830e6cfa9124d7b35fe8812a77';
const TAG = 'v2.4.0';

function timesOf(now: Date) {
  return (minutes: number) => `${new Date(now.getTime() - minutes * 60_000).toISOString().slice(0, 19)}Z`;
}

function user(login: string, id: number) {
  return {
    id,
    login,
    login_name: '',
    source_id: 0,
    full_name: '',
    email: `${login}@noreply.forgejo.example`,
    avatar_url: `${SERVER}/avatars/${login}`,
    html_url: `${SERVER}/${login}`,
    language: '',
    is_admin: false,
    last_login: '0001-01-01T00:00:00Z',
    created: '2024-01-31T12:00:00Z',
    restricted: false,
    active: false,
    prohibit_login: false,
    location: '',
    pronouns: '',
    website: '',
    description: '',
    visibility: 'public',
    followers_count: 0,
    following_count: 0,
    starred_repos_count: 0,
  };
}

function repositoryObject({ repository, now }: SampleContext) {
  const [owner = '', name = ''] = repository.split('/');
  return {
    id: SAMPLE_REPOSITORY_ID,
    owner: user(owner, 7),
    name,
    full_name: repository,
    description: 'Launches rockets, quietly',
    empty: false,
    private: false,
    fork: false,
    template: false,
    mirror: false,
    size: 2048,
    language: 'TypeScript',
    html_url: `${SERVER}/${repository}`,
    url: `${SERVER}/api/v1/repos/${repository}`,
    ssh_url: `git@forgejo.example:${repository}.git`,
    clone_url: `${SERVER}/${repository}.git`,
    website: '',
    stars_count: 42,
    forks_count: 3,
    watchers_count: 5,
    open_issues_count: 5,
    default_branch: 'main',
    archived: false,
    created_at: '2024-01-31T12:00:00Z',
    updated_at: timesOf(now)(1),
    has_issues: true,
    has_wiki: true,
    has_pull_requests: true,
    object_format_name: 'sha1' as const,
  };
}

const NOTES = `### Added
- Quiet mode: engines start 40 % softer

### Fixed
- The fuel gauge showed yesterday's value after midnight
`;

export function release(context: SampleContext) {
  const { repository, now } = context;
  const minutesAgo = timesOf(now);
  const api = `${SERVER}/api/v1/repos/${repository}/releases/9`;
  return {
    action: 'published',
    release: {
      id: 9,
      tag_name: TAG,
      target_commitish: 'main',
      name: 'Rocket 2.4.0: quieter engines',
      body: NOTES,
      url: api,
      html_url: `${SERVER}/${repository}/releases/tag/${TAG}`,
      tarball_url: `${SERVER}/${repository}/archive/${TAG}.tar.gz`,
      zipball_url: `${SERVER}/${repository}/archive/${TAG}.zip`,
      hide_archive_links: false,
      upload_url: `${api}/assets`,
      draft: false,
      prerelease: false,
      created_at: minutesAgo(25),
      published_at: minutesAgo(1),
      author: user('ann', 1),
      assets: [],
    },
    repository: repositoryObject(context),
    sender: user('ann', 1),
  };
}

/** Newest first, as Forgejo lists them. */
const COMMITS = [
  { id: HEAD, message: "fix(gauge): show today's value after midnight (#12)\n" },
  {
    id: '8d3e5b1f60a94c72be1d07f5a2c34e9988b0d6a1',
    message: 'feat(engine): start 40 % softer in quiet mode\n\nCo-authored-by: Ben <ben@acme.test>\n',
  },
];

export function push(context: SampleContext) {
  const { repository, now } = context;
  const person = { name: 'Ann', email: 'ann@acme.test', username: 'ann' };
  const commits = COMMITS.map(({ id, message }, index) => ({
    id,
    message,
    url: `${SERVER}/${repository}/commit/${id}`,
    author: person,
    committer: person,
    timestamp: timesOf(now)(20 + 10 * index),
    added: [],
    removed: [],
    modified: ['src/engine.ts'],
  }));
  return {
    ref: 'refs/heads/main',
    before: BEFORE,
    after: HEAD,
    compare_url: `${SERVER}/${repository}/compare/${BEFORE}...${HEAD}`,
    commits,
    total_commits: commits.length,
    head_commit: commits[0],
    repository: repositoryObject(context),
    pusher: user('ann', 1),
    sender: user('ann', 1),
  };
}

export function pullRequest(context: SampleContext) {
  const { repository, now } = context;
  const minutesAgo = timesOf(now);
  const page = `${SERVER}/${repository}/pulls/12`;
  const branch = (ref: string, sha: string) => ({
    label: ref,
    ref,
    sha,
    repo_id: SAMPLE_REPOSITORY_ID,
    repo: repositoryObject(context),
  });
  return {
    action: 'closed',
    number: 12,
    pull_request: {
      id: 31,
      url: page,
      number: 12,
      user: user('ben', 2),
      title: "Show today's value after midnight",
      body: "The gauge kept yesterday's value until the next reading.",
      labels: [
        {
          id: 3,
          name: 'bug',
          exclusive: false,
          is_archived: false,
          color: 'd73a4a',
          description: '',
          url: `${SERVER}/api/v1/repos/${repository}/labels/3`,
        },
      ],
      state: 'closed' as const,
      draft: false,
      is_locked: false,
      comments: 1,
      html_url: page,
      diff_url: `${page}.diff`,
      patch_url: `${page}.patch`,
      mergeable: true,
      merged: true,
      merged_at: minutesAgo(1),
      merge_commit_sha: HEAD,
      merged_by: user('ann', 1),
      base: branch('main', BEFORE),
      head: branch('fix/gauge', '5ac1e07b94d2f3860b7de51c8a93f4427e60d19b'),
      merge_base: BEFORE,
      created_at: minutesAgo(3000),
      updated_at: minutesAgo(1),
      closed_at: minutesAgo(1),
    },
    repository: repositoryObject(context),
    sender: user('ann', 1),
    commit_id: '',
  };
}

export const samples: Readonly<Record<string, (context: SampleContext) => Payload>> = {
  push,
  release,
  'release updated': (context) => {
    const payload = release(context);
    const edited = { ...payload.release, body: `${NOTES}- A crash when two pads shared a name\n` };
    return { ...payload, action: 'updated', release: edited };
  },
  pull_request: pullRequest,
};
