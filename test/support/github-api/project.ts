import type { Clock } from '../../../src/lib/time.ts';
import {
  addCommit,
  NO_COMMIT,
  type Person,
  rangeOf,
  resolveRef,
  type StoredActivity,
  type StoredCommit,
  type StoredPull,
  type StoredRelease,
} from './code.ts';
import { emailOf } from './code-views.ts';
import { type Delivery, deliver } from './deliver.ts';
import type { StoredAttempt, StoredRepository } from './state.ts';
import { pullDelivery, pushDelivery, releaseDelivery } from './webhooks.ts';

// A project at the stand-in that lives: each happening changes what the API serves, and has the deliveries that GitHub
// would send of it. A test sends them, keeps them, or repeats them.

/** A message alone, or more. */
type NewCommit = string | { message: string; author?: Partial<Person>; paths?: readonly string[] };

/** `at`: ISO 8601; now by default. `by`: a login; `ann` by default. */
export type Happening = { at?: string; by?: string } & (
  | {
      push: readonly NewCommit[];
      /** The default branch unless it is named. A branch that does not exist starts at the default one. */
      branch?: string;
      /** Drops this many commits of the branch first, with a forced push. */
      drop?: number;
    }
  | {
      merge: number;
      title: string;
      body?: string | null;
      labels?: readonly string[];
      author?: string;
      /** One by default, with the title. */
      commits?: readonly NewCommit[];
      /** `squash` by default. */
      how?: 'squash' | 'merge' | 'rebase';
      /** The default branch by default. */
      base?: string;
    }
  /** Closes a pull request without a merge. */
  | { close: number; title: string; body?: string | null; commits?: readonly NewCommit[] }
  /** A comment: its pull request has changed, and nothing of it that a draft shows. */
  | { comment: number }
  | {
      release: string;
      name?: string | null;
      notes?: string | null;
      isPrerelease?: boolean;
      /** Nobody but those who may write sees it, until `publish`. */
      isDraft?: boolean;
      /** The branch, or the number of a commit. The default branch by default. */
      target?: string;
    }
  | { publish: string }
  /** `tag`: the one that it gets. */
  | { edit: string; tag?: string; name?: string | null; notes?: string | null; isPrerelease?: boolean }
);

export interface Project {
  readonly repository: StoredRepository;
  /** Changes what the API serves. Returns the deliveries, which nobody has sent yet. */
  happen(happening: Happening): Delivery[];
  /** Sends each to every active hook that listens to it. */
  send(deliveries: readonly Delivery[]): Promise<StoredAttempt[]>;
}

/** A project in which all this has happened, and the deliveries of each happening. */
export function projectOf(
  repository: StoredRepository,
  clock: Clock,
  happenings: readonly Happening[] = [],
): Project & { past: Delivery[][] } {
  const project = startProject(repository, clock);
  return { ...project, past: happenings.map(project.happen) };
}

function startProject(repository: StoredRepository, clock: Clock): Project {
  const { code } = repository;
  let lastId = 0;

  /** Moves a branch, and tells of it. */
  function move(ref: string, after: string, { at, by }: Moment, type: StoredActivity['type']): Delivery {
    const before = code.branches.get(ref) ?? NO_COMMIT;
    code.branches.set(ref, after);
    const id = code.activity.length + 1;
    const activity = { id, before, after, ref: `refs/heads/${ref}`, at, type, actor: by };
    code.activity.push(activity);
    const commits = rangeOf(code, before === NO_COMMIT ? null : before, after);
    return pushDelivery(repository, activity, commits);
  }

  function commitAll(parent: string | undefined, commits: readonly NewCommit[], { at, by }: Moment): string {
    let head = parent;
    for (const each of commits) {
      const { message, author, paths } = typeof each === 'string' ? { message: each } : each;
      const person = { ...personOf(by), ...author };
      const parents = head === undefined ? [] : [head];
      const committer = personOf(by);
      head = addCommit(code, { parents, message, author: person, committer, committedAt: at, paths }).sha;
    }
    if (head === undefined) throw new Error('a branch needs a commit');
    return head;
  }

  function pushTo(branch: string, commits: readonly NewCommit[], drop: number, moment: Moment): Delivery[] {
    const known = code.branches.get(branch);
    let parent = known ?? code.branches.get(repository.defaultBranch);
    for (let left = drop; left > 0 && parent !== undefined; left--) {
      parent = code.commits.get(parent)?.parents[0];
    }
    const type = known === undefined ? 'branch_creation' : drop > 0 ? 'force_push' : 'push';
    return [move(branch, commitAll(parent, commits, moment), moment, type)];
  }

  function merge(happening: Extract<Happening, { merge: number }>, moment: Moment): Delivery[] {
    const { merge: number, title, body = null, labels = [], how = 'squash' } = happening;
    const { base = repository.defaultBranch, author = moment.by, commits = [title] } = happening;
    const baseSha = code.branches.get(base);
    if (baseSha === undefined) throw new Error(`there is no branch ${base}`);
    const headBranch = `change-${number}`;
    const headSha = commitAll(baseSha, commits, { ...moment, by: author });
    const commit = mergeCommit();
    const merged = { at: moment.at, by: moment.by, commit };
    const branches = { baseBranch: base, headBranch, baseSha, headSha };
    const pull = addPull({ number, title, body, labels, author, ...branches, merged }, moment);
    return [pullDelivery(repository, pull, moment), move(base, commit, moment, 'pr_merge')];

    function mergeCommit(): string {
      if (how === 'rebase') return commitAll(baseSha, commits, { ...moment, by: author });
      const owner = repository.name.split('/')[0];
      const isSquash = how === 'squash';
      const message = isSquash
        ? `${title} (#${number})`
        : `Merge pull request #${number} from ${owner}/${headBranch}\n\n${title}`;
      return addCommit(code, {
        parents: isSquash ? [baseSha ?? ''] : [baseSha ?? '', headSha],
        message,
        author: personOf(isSquash ? author : moment.by),
        committer: personOf('web-flow'),
        committedAt: moment.at,
        paths: isSquash
          ? commits.flatMap((each) => (typeof each === 'string' ? [] : (each.paths ?? [])))
          : [],
      }).sha;
    }
  }

  function addPull(
    pull: Omit<StoredPull, 'id' | 'createdAt' | 'updatedAt' | 'closedAt'>,
    { at }: Moment,
  ): StoredPull {
    const stored = { id: ++lastId, ...pull, createdAt: at, updatedAt: at, closedAt: at };
    code.pulls.push(stored);
    return stored;
  }

  function close(
    { close: number, title, body = null, commits = [] }: Extract<Happening, { close: number }>,
    moment: Moment,
  ): Delivery[] {
    const baseSha = code.branches.get(repository.defaultBranch) ?? NO_COMMIT;
    const headSha = commits.length === 0 ? baseSha : commitAll(baseSha, commits, moment);
    const branches = { baseBranch: repository.defaultBranch, headBranch: 'idea', baseSha, headSha };
    const pull = addPull(
      { number, title, body, labels: [], author: moment.by, ...branches, merged: null },
      moment,
    );
    return [pullDelivery(repository, pull, moment)];
  }

  function release(happening: Extract<Happening, { release: string }>, moment: Moment): Delivery[] {
    const { release: tag, name = null, notes = null, isPrerelease = false, isDraft = false } = happening;
    const { target = repository.defaultBranch } = happening;
    const commit = requireCommit(target);
    const stored: StoredRelease = {
      id: ++lastId,
      ...{ tag, name, notes, isDraft, isPrerelease, target },
      author: moment.by,
      createdAt: commit.committedAt,
      publishedAt: isDraft ? null : moment.at,
      updatedAt: moment.at,
    };
    code.releases.push(stored);
    if (isDraft) return [releaseDelivery(repository, stored, 'created', moment)];
    code.tags.set(tag, commit.sha);
    return publicDeliveries(stored, moment);
  }

  function publicDeliveries(stored: StoredRelease, moment: Moment): Delivery[] {
    const actions = ['created', 'published', stored.isPrerelease ? 'prereleased' : 'released'];
    return actions.map((action) => releaseDelivery(repository, stored, action, moment));
  }

  function publish(tag: string, moment: Moment): Delivery[] {
    const stored = requireRelease(tag);
    Object.assign(stored, { isDraft: false, publishedAt: moment.at, updatedAt: moment.at });
    code.tags.set(tag, requireCommit(stored.target).sha);
    return publicDeliveries(stored, moment).slice(1);
  }

  function edit(
    { edit: tag, ...happening }: Extract<Happening, { edit: string }>,
    moment: Moment,
  ): Delivery[] {
    const stored = requireRelease(tag);
    const { name = stored.name, notes = stored.notes, isPrerelease = stored.isPrerelease } = happening;
    const { tag: newTag = tag } = happening;
    code.tags.set(newTag, code.tags.get(tag) ?? requireCommit(stored.target).sha);
    Object.assign(stored, { tag: newTag, name, notes, isPrerelease, updatedAt: moment.at });
    return [releaseDelivery(repository, stored, 'edited', moment)];
  }

  function requireCommit(ref: string): StoredCommit {
    const found = resolveRef(code, ref);
    if (found === undefined) throw new Error(`there is no ${ref}`);
    return found;
  }

  function requireRelease(tag: string): StoredRelease {
    const found = code.releases.find((each) => each.tag === tag);
    if (found === undefined) throw new Error(`there is no release ${tag}`);
    return found;
  }

  return {
    repository,
    happen(happening) {
      const { at = clock.now().toISOString(), by = 'ann' } = happening;
      const moment = { at, by };
      if ('push' in happening) {
        const { push, branch = repository.defaultBranch, drop = 0 } = happening;
        return pushTo(branch, push, drop, moment);
      }
      if ('merge' in happening) return merge(happening, moment);
      if ('close' in happening) return close(happening, moment);
      if ('release' in happening) return release(happening, moment);
      if ('publish' in happening) return publish(happening.publish, moment);
      if ('edit' in happening) return edit(happening, moment);
      const pull = code.pulls.find(({ number }) => number === happening.comment);
      if (pull === undefined) throw new Error(`there is no pull request ${happening.comment}`);
      pull.updatedAt = at;
      return [];
    },
    async send(deliveries) {
      const attempts: StoredAttempt[] = [];
      for (const delivery of deliveries) {
        const hooks = repository.hooks.filter(
          ({ isActive, events }) => isActive && (events.includes(delivery.event) || events.includes('*')),
        );
        for (const hook of hooks) attempts.push(await deliver(repository, hook, delivery, clock));
      }
      return attempts;
    },
  };
}

/** When something happens, and who does it. */
export interface Moment {
  at: string;
  by: string;
}

/** Everybody's full name differs from the login, as most people's do. */
const personOf = (login: string): Person => ({
  name: `${login} of Acme`,
  email: emailOf(login),
  login,
});
