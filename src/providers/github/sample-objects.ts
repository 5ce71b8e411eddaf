import { minutesBefore, type Payload, SAMPLE_REPOSITORY_ID, type SampleContext } from '../provider.ts';

// GitHub's repositories, accounts, labels and milestones, for the samples.

/** The common parts of a repository's samples. */
export type Scene = ReturnType<typeof sceneOf>;

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

export function milestoneObject({ pageUrl, apiUrl, minutesAgo, common }: Scene, closedAt: string | null) {
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
