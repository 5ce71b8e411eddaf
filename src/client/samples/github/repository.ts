import { nodeId, sampleAccount } from './account.ts';

const ID = 512_408_771;

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
export function sampleRepository(
  fullName: string,
  minutesAgo: (minutes: number) => string,
): Record<string, unknown> {
  const [owner = '', name = ''] = fullName.split('/');
  const page = `https://github.com/${fullName}`;
  const api = `https://api.github.com/repos/${fullName}`;
  return {
    id: ID,
    node_id: nodeId('Repository', ID),
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
