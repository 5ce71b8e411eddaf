import type { StoredActivity, StoredCommit, StoredPull, StoredRelease } from './code.ts';
import { NO_COMMIT } from './code.ts';
import { accountView, emailOf, pageUrlOf, pullView, pushedCommitView, releaseView } from './code-views.ts';
import type { Delivery } from './deliver.ts';
import { sampleRepository } from './objects.ts';
import type { Moment } from './project.ts';
import type { StoredRepository } from './state.ts';

// Deliveries of GitHub about releases, pull requests and pushes.

/** GitHub sends at most this many commits of a push. */
const MAX_PUSHED = 2048;

export function releaseDelivery(
  repository: StoredRepository,
  release: StoredRelease,
  action: string,
  moment: Moment,
): Delivery {
  const changes = action === 'edited' && { changes: { body: { from: '' } } };
  return deliveryOf('release', {
    action,
    ...changes,
    release: releaseView(repository, release),
    ...common(repository, moment),
  });
}

export function pullDelivery(repository: StoredRepository, pull: StoredPull, moment: Moment): Delivery {
  const view = repositoryIn(repository, moment.at);
  return deliveryOf('pull_request', {
    action: 'closed',
    number: pull.number,
    pull_request: {
      ...pullView(repository, pull, view),
      merged: pull.merged !== null,
      merged_by: pull.merged && accountView(pull.merged.by),
      mergeable: null,
      mergeable_state: 'unknown',
      rebaseable: null,
      maintainer_can_modify: false,
      comments: 0,
      review_comments: 0,
      commits: 1,
      additions: 18,
      deletions: 4,
      changed_files: 2,
    },
    ...common(repository, moment),
  });
}

export function pushDelivery(
  repository: StoredRepository,
  { before, after, ref, at, type, actor }: StoredActivity,
  commits: readonly StoredCommit[],
): Delivery {
  const pushed = commits.slice(-MAX_PUSHED).map((each) => pushedCommitView(repository, each));
  const { repository: view, sender } = common(repository, { at, by: actor });
  return deliveryOf('push', {
    ref,
    before,
    after,
    repository: {
      ...view,
      created_at: Date.parse(String(view.created_at)) / 1000,
      pushed_at: Math.floor(Date.parse(at) / 1000),
      master_branch: repository.defaultBranch,
      stargazers: 42,
    },
    pusher: { name: actor, email: emailOf(actor) },
    sender,
    created: before === NO_COMMIT,
    deleted: false,
    forced: type === 'force_push',
    base_ref: null,
    compare: compareUrl(repository, before, after),
    commits: pushed,
    head_commit: pushed.at(-1) ?? null,
  });
}

function compareUrl(repository: StoredRepository, before: string, after: string): string {
  const end = after.slice(0, 12);
  const range = before === NO_COMMIT ? end : `${before.slice(0, 12)}...${end}`;
  return `${pageUrlOf(repository)}/compare/${range}`;
}

function deliveryOf(event: string, payload: Record<string, unknown>): Delivery {
  return { event, payload, guid: crypto.randomUUID(), isRedelivery: false };
}

function common(repository: StoredRepository, { at, by }: Moment) {
  return { repository: repositoryIn(repository, at), sender: accountView(by) };
}

function repositoryIn(repository: StoredRepository, at: string): Record<string, unknown> {
  const { id, name, isPrivate, isArchived, defaultBranch } = repository;
  return {
    ...sampleRepository(name, new Date(at)),
    id,
    private: isPrivate,
    visibility: isPrivate ? 'private' : 'public',
    archived: isArchived,
    default_branch: defaultBranch,
  };
}
