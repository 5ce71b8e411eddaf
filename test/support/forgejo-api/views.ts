import type {
  Branch,
  Commit,
  Hook,
  Milestone,
  PayloadCommit,
  Permission,
  PullRequest,
  Release,
  Repository,
  User,
} from 'forgejo-js';
import type {
  StoredCommit,
  StoredHook,
  StoredPull,
  StoredRelease,
  StoredRepository,
  World,
} from './state.ts';

// The stored state as Forgejo's API and its webhooks show it. The compiler holds the fields against the types that
// forgejo-js generates from Forgejo's OpenAPI document.

const idOf = (login: string) => 1 + (Bun.hash.crc32(login) % 10_000);

const userView = ({ web }: World, login: string): User => ({
  id: idOf(login),
  login,
  login_name: '',
  full_name: '',
  email: `${login}@noreply.forgejo.test`,
  avatar_url: `${web}/avatars/${idOf(login)}`,
  html_url: `${web}/${login}`,
});

export function repositoryView(
  world: World,
  repository: StoredRepository,
  permissions: Permission,
): Repository {
  const { id, path } = repository;
  const [owner = '', name = ''] = path.split('/');
  const html_url = `${world.web}/${path}`;
  return {
    id,
    owner: userView(world, owner),
    name,
    full_name: path,
    description: '',
    empty: repository.commits.length === 0,
    private: repository.isPrivate,
    archived: repository.isArchived,
    fork: false,
    html_url,
    url: `${world.web}/api/v1/repos/${path}`,
    clone_url: `${html_url}.git`,
    ssh_url: `git@forgejo.test:${path}.git`,
    default_branch: repository.defaultBranch,
    permissions,
    has_releases: repository.releases !== null,
    has_pull_requests: true,
  };
}

export function hookView({ web }: World, repository: StoredRepository, hook: StoredHook): Hook {
  return {
    id: hook.id,
    type: hook.type,
    branch_filter: '*',
    url: hook.url,
    config: { url: hook.url, content_type: hook.contentType },
    content_type: hook.contentType,
    events: hook.events,
    active: hook.isActive,
    authorization_header: '',
    metadata: `${web}/${repository.path}/settings/hooks/${hook.id}`,
  };
}

export function releaseView(world: World, repository: StoredRepository, release: StoredRelease): Release {
  const { id, tag } = release;
  const html_url = `${world.web}/${repository.path}/releases/tag/${encodeURIComponent(tag)}`;
  return {
    id,
    tag_name: tag,
    target_commitish: release.target,
    name: release.title,
    body: release.notes,
    url: `${world.web}/api/v1/repos/${repository.path}/releases/${id}`,
    html_url,
    draft: release.isDraft,
    prerelease: release.isPrerelease,
    created_at: release.createdAt,
    published_at: release.createdAt,
    author: userView(world, release.author),
    assets: [],
  };
}

export function pullView(world: World, repository: StoredRepository, pull: StoredPull): PullRequest {
  const html_url = `${world.web}/${repository.path}/pulls/${pull.number}`;
  const branch = (ref: string, sha: string) => ({
    label: ref,
    ref,
    sha,
    repo_id: repository.id,
    repo: repositoryView(world, repository, { admin: false, push: false, pull: true }),
  });
  return {
    id: 1_000 + pull.number,
    number: pull.number,
    user: userView(world, pull.author),
    title: pull.title,
    body: pull.body,
    labels: pull.labels.map((name, index) => ({ id: index + 1, name, color: 'd73a4a' })),
    milestone: (pull.milestone === null ? null : { id: 4, title: pull.milestone }) as Milestone,
    state: pull.isOpen ? 'open' : 'closed',
    draft: false,
    html_url,
    url: html_url,
    merged: pull.merged !== null,
    merged_at: pull.merged?.at as string,
    merge_commit_sha: pull.merged?.commit as string,
    merged_by: (pull.merged === null ? null : userView(world, pull.merged.by)) as User,
    base: branch(pull.base, repository.commits[0]?.sha ?? ''),
    head: branch(pull.head, pull.commits?.head ?? repository.commits[0]?.sha ?? ''),
    merge_base: pull.commits?.base ?? repository.commits[0]?.sha ?? '',
    closed_at: pull.merged?.at ?? pull.updatedAt,
    updated_at: pull.updatedAt,
  };
}

const commitUrl = ({ web }: World, { path }: StoredRepository, { sha }: StoredCommit) =>
  `${web}/${path}/commit/${sha}`;

export function commitView(world: World, repository: StoredRepository, commit: StoredCommit): Commit {
  const { commits } = repository;
  const { sha, message, login, name, authoredAt, committedAt } = commit;
  const parent = commits[commits.indexOf(commit) + 1];
  const email = `${name.toLowerCase()}@acme.test`;
  const user = (login === null ? null : userView(world, login)) as User;
  return {
    sha,
    html_url: commitUrl(world, repository, commit),
    created: committedAt,
    commit: {
      message,
      author: { name, email, date: authoredAt },
      committer: { name, email, date: committedAt },
    },
    author: user,
    committer: user,
    parents: parent === undefined ? [] : [{ sha: parent.sha }],
  };
}

function payloadCommit(world: World, repository: StoredRepository, commit: StoredCommit): PayloadCommit {
  const { sha, message, login, name, authoredAt } = commit;
  const person = { name, email: `${name.toLowerCase()}@acme.test`, username: login ?? '' };
  return {
    id: sha,
    message,
    url: commitUrl(world, repository, commit),
    author: person,
    committer: person,
    timestamp: authoredAt,
    added: [],
    removed: [],
    modified: commit.files,
  };
}

export const branchView = (world: World, repository: StoredRepository, head: StoredCommit): Branch => ({
  name: repository.defaultBranch,
  commit: payloadCommit(world, repository, head),
  protected: false,
});

const common = (world: World, repository: StoredRepository) => ({
  repository: repositoryView(world, repository, { admin: true, push: true, pull: true }),
  sender: userView(world, 'ann'),
});

export const releaseHook = (
  world: World,
  repository: StoredRepository,
  release: StoredRelease,
  action: 'published' | 'updated' | 'deleted' = 'published',
) => ({ action, release: releaseView(world, repository, release), ...common(world, repository) });

export const pullHook = (world: World, repository: StoredRepository, pull: StoredPull) => ({
  action: 'closed',
  number: pull.number,
  pull_request: pullView(world, repository, pull),
  requested_reviewer: null,
  ...common(world, repository),
  commit_id: '',
  review: null,
});

/** Forgejo sends no more unless its administrator raises `FEED_MAX_COMMIT_NUM`. */
const MAX_COMMITS = 5;

/** `commits`: newest first. */
export function pushHook(
  world: World,
  repository: StoredRepository,
  before: string,
  commits: readonly StoredCommit[],
) {
  const after = commits[0]?.sha ?? before;
  const sent = commits.slice(0, MAX_COMMITS).map((each) => payloadCommit(world, repository, each));
  return {
    ref: `refs/heads/${repository.defaultBranch}`,
    before,
    after,
    compare_url: `${world.web}/${repository.path}/compare/${before}...${after}`,
    commits: sent,
    total_commits: commits.length,
    head_commit: sent[0] ?? null,
    ...common(world, repository),
    pusher: userView(world, 'ann'),
  };
}

/** The delivery of the button "Test delivery", and of its API. */
export function testHook(world: World, repository: StoredRepository, head: StoredCommit) {
  return { ...pushHook(world, repository, head.sha, [head]), total_commits: 1 };
}
