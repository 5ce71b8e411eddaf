import { SAMPLE_REPOSITORY_ID, type SampleContext } from '../provider.ts';

// GitHub's repositories, accounts, labels and milestones, for the samples.

/** The repository and the clock of a sample. */
export interface Scene {
  /** `owner/name`. */
  fullName: string;
  /** The repository's page and its address in GitHub's API, without a slash at the end. */
  pageUrl: string;
  apiUrl: string;
  /** So many minutes before now, as GitHub writes times: without milliseconds. */
  minutesAgo(minutes: number): string;
  /** The last fields of every payload. */
  common: { repository: Record<string, unknown>; sender: Record<string, unknown> };
}

export function sceneOf({ repository: fullName, now }: SampleContext): Scene {
  const minutesAgo = (minutes: number) =>
    `${new Date(now.getTime() - minutes * 60_000).toISOString().slice(0, 19)}Z`;
  return {
    fullName,
    pageUrl: `https://github.com/${fullName}`,
    apiUrl: `https://api.github.com/repos/${fullName}`,
    minutesAgo,
    common: {
      repository: sampleRepository(fullName, minutesAgo),
      sender: sampleAccount('ann', 583_231),
    },
  };
}

/** GitHub's account object. */
export function sampleAccount(login: string, id: number): Record<string, unknown> {
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

/** A label, as issues and pull requests hold it. */
export function sampleLabel(apiUrl: string, name: string, color: string): Record<string, unknown> {
  const id = 3_900_100_000 + name.length;
  return {
    id,
    node_id: nodeId('Label', id),
    url: `${apiUrl}/labels/${name}`,
    name,
    color,
    default: true,
    description: null,
  };
}

const MILESTONE_ID = 9_417_552;
const MILESTONE_NUMBER = 4;

export function milestoneObject(
  { pageUrl, apiUrl, minutesAgo, common }: Scene,
  { state, closedAt }: { state: 'open' | 'closed'; closedAt: string | null },
): Record<string, unknown> {
  return {
    url: `${apiUrl}/milestones/${MILESTONE_NUMBER}`,
    html_url: `${pageUrl}/milestone/${MILESTONE_NUMBER}`,
    labels_url: `${apiUrl}/milestones/${MILESTONE_NUMBER}/labels`,
    id: MILESTONE_ID,
    node_id: nodeId('Milestone', MILESTONE_ID),
    number: MILESTONE_NUMBER,
    title: 'Quieter engines',
    description: 'What the neighbours asked for',
    creator: common.sender,
    open_issues: state === 'open' ? 2 : 0,
    closed_issues: 7,
    state,
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

const COUNTS_AND_SWITCHES = {
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
  allow_forking: true,
  is_template: false,
  web_commit_signoff_required: false,
};

/** GitHub's repository object; its default branch is `main`. */
function sampleRepository(
  fullName: string,
  minutesAgo: (minutes: number) => string,
): Record<string, unknown> {
  const [owner = '', name = ''] = fullName.split('/');
  const page = `https://github.com/${fullName}`;
  const api = `https://api.github.com/repos/${fullName}`;
  return {
    id: SAMPLE_REPOSITORY_ID,
    node_id: nodeId('Repository', SAMPLE_REPOSITORY_ID),
    name,
    full_name: fullName,
    private: false,
    owner: sampleAccount(owner, 9_919_001),
    html_url: page,
    description: 'Launches rockets, quietly',
    fork: false,
    url: api,
    ...Object.fromEntries(Object.entries(API_PATHS).map(([field, path]) => [field, api + path])),
    created_at: minutesAgo(600_000),
    updated_at: minutesAgo(90),
    pushed_at: minutesAgo(1),
    git_url: `git://github.com/${fullName}.git`,
    ssh_url: `git@github.com:${fullName}.git`,
    clone_url: `${page}.git`,
    svn_url: page,
    homepage: null,
    language: 'TypeScript',
    mirror_url: null,
    license: null,
    topics: [],
    visibility: 'public',
    default_branch: 'main',
    ...COUNTS_AND_SWITCHES,
  };
}
