import type {
  BranchSchema,
  CommitDiffSchema,
  CommitSchema,
  MergeRequestSchema,
  ProjectSchema,
  ReleaseSchema,
  SimpleUserSchema,
  WebhookMergeRequestEventSchema,
  WebhookProjectSchema,
  WebhookPushEventSchema,
  WebhookReleaseEventSchema,
} from '@gitbeaker/core';
import type {
  StoredAttempt,
  StoredCommit,
  StoredHook,
  StoredMergeRequest,
  StoredProject,
  StoredRelease,
  StoredUser,
  World,
} from './state.ts';

// The stored state as GitLab's API and its webhooks show it. The compiler holds the fields against GitLab's client.

type User = Pick<SimpleUserSchema, 'id' | 'name' | 'username' | 'state' | 'avatar_url' | 'web_url'>;
/** The fields that a schema names; those of its base are any. */
type Known<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] };
type PartOf<T> = Partial<Known<T>>;

function userView({ web }: World, { id, username }: StoredUser): User {
  const name = username.charAt(0).toUpperCase() + username.slice(1);
  const avatar_url = `${web}/uploads/-/system/user/avatar/${id}/avatar.png`;
  return { id, username, name, state: 'active', avatar_url, web_url: `${web}/${username}` };
}

export function projectView({ web }: World, project: StoredProject): PartOf<ProjectSchema> {
  const { id, path } = project;
  return {
    id,
    name: path.slice(path.lastIndexOf('/') + 1),
    path: path.slice(path.lastIndexOf('/') + 1),
    path_with_namespace: path,
    description: null,
    created_at: '2024-01-01T00:00:00.000Z',
    default_branch: project.defaultBranch as string,
    visibility: project.visibility,
    archived: project.isArchived,
    web_url: `${web}/${path}`,
    ssh_url_to_repo: `git@gitlab.test:${path}.git`,
    http_url_to_repo: `${web}/${path}.git`,
    empty_repo: project.defaultBranch === null,
  };
}

export function hookView({ canSign }: World, project: StoredProject, hook: StoredHook): object {
  return {
    id: hook.id,
    url: hook.url,
    name: null,
    description: null,
    project_id: project.id,
    created_at: hook.createdAt,
    ...hook.flags,
    enable_ssl_verification: true,
    alert_status: hook.alertStatus,
    disabled_until: null,
    url_variables: [],
    custom_headers: [],
    ...(canSign && {
      token_present: hook.token !== null,
      signing_token_present: hook.signingToken !== null,
    }),
  };
}

export const attemptView = (hook: StoredHook, attempt: StoredAttempt) => ({
  id: attempt.id,
  url: hook.url,
  trigger: attempt.trigger,
  request_headers: attempt.requestHeaders,
  request_data: attempt.payload,
  response_headers: attempt.responseHeaders,
  response_body: '',
  execution_duration: 0.01,
  response_status: attempt.status,
});

export function commitView(
  { web }: World,
  { path }: StoredProject,
  commit: StoredCommit,
): PartOf<CommitSchema> {
  const { id, message, author, committedAt } = commit;
  return {
    id,
    short_id: id.slice(0, 8),
    title: message.split('\n')[0] ?? '',
    message,
    author_name: author,
    author_email: `${author.toLowerCase()}@acme.test`,
    authored_date: committedAt,
    committer_name: author,
    committed_date: committedAt,
    created_at: committedAt,
    web_url: `${web}/${path}/-/commit/${id}`,
  };
}

export const diffView = (file: string): CommitDiffSchema => ({
  ...{ diff: '@@ -0,0 +1 @@\n+change\n', old_path: file, new_path: file, b_mode: '100644' },
  ...{ new_file: false, renamed_file: false, deleted_file: false },
});

export const branchView = (
  world: World,
  project: StoredProject,
  head: StoredCommit,
): PartOf<BranchSchema> => ({
  name: project.defaultBranch ?? '',
  default: true,
  merged: false,
  protected: true,
  can_push: false,
  web_url: `${world.web}/${project.path}/-/tree/${project.defaultBranch}`,
  commit: commitView(world, project, head) as BranchSchema['commit'],
});

const releasePage = ({ web }: World, { path }: StoredProject, { tag }: StoredRelease) =>
  `${web}/${path}/-/releases/${encodeURIComponent(tag)}`;

export function releaseView(
  world: World,
  project: StoredProject,
  release: StoredRelease,
): PartOf<ReleaseSchema> {
  const self = releasePage(world, project, release);
  return {
    tag_name: release.tag,
    // The API repeats the tag where there is no name.
    name: release.name ?? release.tag,
    description: release.description,
    created_at: release.createdAt,
    released_at: release.releasedAt,
    upcoming_release: release.isUpcoming,
    author: userView(world, { id: 1, username: 'ann' }),
    milestones: [],
    _links: { self, edit_url: `${self}/edit` } as ReleaseSchema['_links'],
  };
}

export function mergeRequestView(
  world: World,
  { id, path }: StoredProject,
  request: StoredMergeRequest,
): PartOf<MergeRequestSchema> & { merge_user: User } {
  const user = (each: StoredUser) => userView(world, each);
  const isMerged = request.state === undefined;
  const mergedBy = (isMerged ? user(request.mergedBy) : null) as User;
  return {
    id: 1000 + request.iid,
    iid: request.iid,
    project_id: id,
    title: request.title,
    description: request.description,
    state: request.state ?? 'merged',
    created_at: request.mergedAt,
    updated_at: request.updatedAt,
    merged_at: (isMerged ? request.mergedAt : null) as string,
    merged_by: mergedBy,
    merge_user: mergedBy,
    target_branch: request.targetBranch,
    source_branch: request.sourceBranch,
    author: user(request.author),
    assignees: request.assignees.map(user),
    reviewers: request.reviewers.map(user),
    labels: request.labels,
    draft: false,
    merge_commit_sha: isMerged ? request.mergeCommitSha : null,
    squash_commit_sha: null,
    sha: request.sha,
    web_url: `${world.web}/${path}/-/merge_requests/${request.iid}`,
  };
}

/** Webhooks write times without fractions of a second. */
const hookTime = (time: string) => `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;

function hookProject({ web }: World, { id, path, defaultBranch }: StoredProject): WebhookProjectSchema {
  const slash = path.lastIndexOf('/');
  const page = `${web}/${path}`;
  const [ssh, http] = [`git@gitlab.test:${path}.git`, `${page}.git`];
  return {
    id,
    name: path.slice(slash + 1),
    description: '',
    web_url: page,
    avatar_url: null,
    git_ssh_url: ssh,
    git_http_url: http,
    namespace: path.slice(0, slash),
    visibility_level: 0,
    path_with_namespace: path,
    default_branch: defaultBranch as string,
    homepage: page,
    url: ssh,
    ssh_url: ssh,
    http_url: http,
  };
}

const hookCommit = (
  { web }: World,
  { path }: StoredProject,
  { id, message, author, committedAt }: StoredCommit,
) => ({
  id,
  message,
  title: message.split('\n')[0] ?? '',
  timestamp: committedAt.replace(/\.\d+Z$/, 'Z'),
  url: `${web}/${path}/-/commit/${id}`,
  author: { name: author, email: '[REDACTED]' },
});

export function releaseHook(
  world: World,
  project: StoredProject,
  release: StoredRelease,
  action: 'create' | 'update' | 'delete',
): PartOf<WebhookReleaseEventSchema> {
  return {
    object_kind: 'release',
    id: release.id,
    created_at: hookTime(release.createdAt),
    // GitLab makes the addresses of uploads absolute, here and not in its API.
    description: release.description?.replaceAll(
      '](/uploads/',
      `](${world.web}/-/project/${project.id}/uploads/`,
    ) as string,
    name: release.name as string,
    released_at: hookTime(release.releasedAt),
    tag: release.tag,
    project: hookProject(world, project),
    url: releasePage(world, project, release),
    action,
  };
}

/** `commits`: oldest first. */
export function pushHook(
  world: World,
  project: StoredProject,
  before: string,
  commits: readonly StoredCommit[],
): PartOf<WebhookPushEventSchema> {
  const after = commits.at(-1)?.id ?? before;
  return {
    object_kind: 'push',
    event_name: 'push',
    before,
    after,
    ref: `refs/heads/${project.defaultBranch}`,
    checkout_sha: after,
    user_id: 1,
    user_name: 'Ann',
    user_username: 'ann',
    project_id: project.id,
    project: hookProject(world, project),
    commits: commits
      .slice(-20)
      .map((each) => ({ ...hookCommit(world, project, each), added: [], modified: each.files, removed: [] })),
    total_commits_count: commits.length,
  };
}

/** The newest three commits, newest first, and the oldest of them as the one before. */
export function testPushHook(world: World, project: StoredProject): PartOf<WebhookPushEventSchema> {
  const newest = project.commits.slice(0, 3);
  const payload = pushHook(world, project, newest.at(-1)?.id ?? '', newest);
  return { ...payload, after: newest[0]?.id ?? '', checkout_sha: newest[0]?.id ?? '' };
}

type MergeHook = Omit<PartOf<WebhookMergeRequestEventSchema>, 'object_attributes' | 'labels'> & {
  object_attributes: PartOf<WebhookMergeRequestEventSchema['object_attributes']>;
  labels: { title: string }[];
  assignees: User[];
  reviewers: User[];
};

/** `action` null: a test. */
export function mergeRequestHook(
  world: World,
  project: StoredProject,
  request: StoredMergeRequest,
  action: string | null = 'merge',
): MergeHook {
  const user = (each: StoredUser) => userView(world, each);
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: user(request.mergedBy),
    project: hookProject(world, project),
    object_attributes: {
      id: 1000 + request.iid,
      iid: request.iid,
      title: request.title,
      description: request.description as string,
      author_id: request.author.id,
      source_branch: request.sourceBranch,
      target_branch: request.targetBranch,
      updated_at: hookTime(request.updatedAt),
      merge_commit_sha: request.mergeCommitSha as string,
      last_commit: hookCommit(world, project, {
        id: request.sha,
        message: request.title,
        author: request.author.username,
        committedAt: request.mergedAt,
        files: [],
      }),
      url: `${world.web}/${project.path}/-/merge_requests/${request.iid}`,
      state: 'merged',
      ...(action !== null && { action }),
    },
    labels: request.labels.map((title) => ({ title })),
    assignees: request.assignees.map(user),
    reviewers: request.reviewers.map(user),
  };
}
