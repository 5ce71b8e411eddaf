import { type Static, Type } from '@sinclair/typebox';
import { count, cutLine } from '../lib/text.ts';
import { breakingNote, messageLengthFor, messageOf, subjectOf } from './commit-text.ts';
import {
  bodyOf,
  isoTime,
  lineOf,
  MaybeBoolean,
  MaybeNames,
  MaybeNumber,
  MaybeText,
  maybe,
  namesOf,
  personOf,
  textOf,
  timeOf,
  urlOf,
  versionOf,
} from './fields.ts';
import { defineEvent, ignored, type Provider, processed } from './provider.ts';

// Releases, pushes and pull requests, for GitHub and the code hosts whose payloads follow GitHub's. Each one is
// checked, read into the data of the log, and mapped from there to an event.

const MAX_SUBJECT_LENGTH = 300;

/** An account. Null where it was deleted (a "ghost"). */
export const Account = maybe(Type.Object({ login: MaybeText }), 'an account');
export const MaybeMilestone = maybe(Type.Object({ title: MaybeText }), 'a milestone');
const MaybeRepository = maybe(Type.Object({ default_branch: MaybeText }), 'a repository');

/** An action's name in plain words: `review_requested` is "review requested". */
export function words(action: string): string {
  return action.replaceAll('_', ' ');
}

export function repositoryOf({ repository }: Record<string, unknown>) {
  const { id, full_name: fullName } = (repository ?? {}) as { id?: unknown; full_name?: unknown };
  return typeof id === 'number' && typeof fullName === 'string' ? { id, fullName } : null;
}

/** A published release, as the log holds it. Times are ISO 8601. */
interface ReleaseData {
  /** Stays the same when the tag or the name is edited. */
  id: number | null;
  tagName: string;
  /** Null when it has no title but its tag. */
  name: string | null;
  /** The notes, in Markdown. */
  body: string | null;
  isPrerelease: boolean;
  /** Always false: drafts are not processed. */
  isDraft: boolean;
  author: string | null;
  url: string | null;
  publishedAt: string | null;
  updatedAt: string | null;
  /** The branch, or the commit, that the tag was made from. */
  targetBranch: string | null;
  defaultBranch: string | null;
}

const Release = Type.Object({
  id: MaybeNumber,
  tag_name: Type.String({ minLength: 1 }),
  name: MaybeText,
  body: MaybeText,
  draft: MaybeBoolean,
  prerelease: MaybeBoolean,
  author: Account,
  html_url: MaybeText,
  published_at: MaybeText,
  updated_at: MaybeText,
  target_commitish: MaybeText,
});

/**
 * GitHub sends `published` once for each release that becomes visible; `released` and `prereleased` repeat it.
 * Forgejo calls an edit `updated`.
 */
export const release = defineEvent(
  Type.Object({ action: Type.String({ minLength: 1 }), release: Release, repository: MaybeRepository }),
  ({ action: sent, release, repository }) => {
    const action = sent === 'updated' ? 'edited' : sent;
    const kind = release.draft ? 'Draft release' : release.prerelease ? 'Pre-release' : 'Release';
    const title = `${kind} ${release.tag_name} ${words(action)}`;
    if (action !== 'published' && action !== 'edited') {
      return ignored(
        title,
        `Only releases that are published or edited are processed, not the action ${action}`,
      );
    }
    if (release.draft) return ignored(title, 'A draft is processed once it is published');
    const data: ReleaseData = {
      id: release.id ?? null,
      tagName: textOf(release.tag_name),
      name: lineOf(release.name),
      body: bodyOf(release.body),
      isPrerelease: release.prerelease === true,
      isDraft: false,
      author: personOf(release.author?.login),
      url: urlOf(release.html_url),
      publishedAt: lineOf(release.published_at),
      updatedAt: lineOf(release.updated_at),
      targetBranch: lineOf(release.target_commitish),
      defaultBranch: lineOf(repository?.default_branch),
    };
    return processed(title, { type: 'release', action, data });
  },
  (data: ReleaseData, action) => ({
    type: 'release',
    key: data.tagName,
    branch: branchOfRelease(data),
    times: [data.publishedAt],
    version: versionOf(data.updatedAt, action === 'edited' ? 1 : 0),
    data: {
      tag: data.tagName,
      name: data.name,
      notes: NO_NOTES.test(data.body ?? '') ? null : data.body,
      isPrerelease: data.isPrerelease,
      author: data.author,
      url: data.url,
    },
  }),
);

/** GitHub's button "Generate release notes" writes this when there were no pull requests. */
const NO_NOTES = /^\s{0,10}(?:<!--[^<>]{0,500}-->\s{0,10})?\*\*Full Changelog\*\*: \S{1,500}\s{0,10}$/;

/** A tag that was put on a commit has no branch of its own: use the default one, which old log entries lack. */
function branchOfRelease({ targetBranch, defaultBranch }: ReleaseData): string {
  const isBranch = targetBranch !== null && !/^[0-9a-f]{40}$/.test(targetBranch);
  return (isBranch ? targetBranch : defaultBranch) ?? targetBranch ?? '';
}

/** Commits that reached the default branch, as the log holds them. */
interface PushData {
  branch: string;
  /** The commit that the branch was at before; 40 zeros for a new branch. */
  before: string | null;
  after: string | null;
  /** A page that shows the change as a whole. */
  compareUrl: string | null;
  /** True when history was rewritten. */
  isForced: boolean;
  /** ISO 8601. */
  pushedAt: string | null;
  pusher: string | null;
  /** Oldest first. GitHub sends at most 2048. */
  commits: PushedCommit[];
}

interface PushedCommit {
  id: string;
  /** The message, without the e-mail addresses of its trailers. */
  message: string;
  /** The author's name in Git. */
  author: string | null;
  /** The author's login, where the provider knows it. */
  authorLogin: string | null;
  url: string | null;
  /** ISO 8601, often with the author's own offset. */
  timestamp: string | null;
}

const Person = maybe(Type.Object({ name: MaybeText, login: MaybeText, username: MaybeText }), 'a person');

const Commit = Type.Object({
  id: Type.String(),
  message: Type.String(),
  author: Person,
  url: MaybeText,
  timestamp: MaybeText,
});

const Push = Type.Object({
  ref: Type.String(),
  before: MaybeText,
  after: MaybeText,
  // GitHub's name, and Forgejo's.
  compare: MaybeText,
  compare_url: MaybeText,
  deleted: MaybeBoolean,
  forced: MaybeBoolean,
  pusher: Person,
  commits: Type.Array(Commit),
  // Forgejo sends only some of the commits, and how many there are.
  total_commits: MaybeNumber,
  repository: Type.Object({
    default_branch: Type.String({ minLength: 1 }),
    // Seconds since 1970 in a push; other events have it as text.
    pushed_at: maybe(Type.Union([Type.Number(), Type.String()]), 'a time'),
  }),
});

/** Pushes of branches and of tags. */
export const push = defineEvent(
  Push,
  (payload) => {
    const { ref, commits } = payload;
    const branch = payload.repository.default_branch;
    if (ref.startsWith('refs/tags/')) {
      return ignored(
        `Tag ${ref.slice('refs/tags/'.length)} ${payload.deleted ? 'deleted' : 'pushed'}`,
        'Only pushes to branches are processed; a new tag is processed when the event create tells of it',
      );
    }
    const name = ref.replace(/^refs\/heads\//, '');
    if (payload.deleted)
      return ignored(`Branch ${name} deleted`, 'The push deleted the branch and brought no commits');
    if (ref !== `refs/heads/${branch}`) {
      return ignored(
        'Push to a side branch',
        `Only pushes to ${branch}, the default branch, are processed; this one went to ${name}`,
      );
    }
    if (commits.length === 0)
      return ignored(`Push to ${branch} without commits`, 'The push brought no commits');
    return processed(`${count(payload.total_commits ?? commits.length, 'commit')} pushed to ${branch}`, {
      type: 'push',
      action: 'pushed',
      data: pushData(payload),
    });
  },
  ({ after: pushed, branch, pushedAt, compareUrl, commits }: PushData) => {
    const head = commits.at(-1);
    const after = pushed ?? head?.id ?? '';
    // A clock may be wrong, and a provider may deliver a push late; but no push is older than its newest commit.
    const times = [isoTime(pushedAt), isoTime(head?.timestamp)].filter((time) => time !== null).sort();
    return {
      type: 'push',
      key: after,
      branch,
      times: times.reverse(),
      version: '',
      data: {
        after,
        compareUrl,
        commits: commits.map(({ id, message, author, authorLogin, url }) => ({
          sha: id,
          subject: cutLine(subjectOf(message), MAX_SUBJECT_LENGTH),
          breaking: breakingNote(message),
          author: authorLogin ?? author,
          url,
        })),
      },
    };
  },
);

function pushData({ commits, repository, ...push }: Static<typeof Push>): PushData {
  // Forgejo lists the newest commit first.
  const oldestFirst = commits[0]?.id === push.after ? commits.toReversed() : commits;
  const maxLength = messageLengthFor(commits.length);
  return {
    branch: repository.default_branch,
    before: lineOf(push.before),
    after: lineOf(push.after),
    compareUrl: urlOf(push.compare ?? push.compare_url),
    isForced: push.forced === true,
    pushedAt: timeOf(repository.pushed_at),
    pusher: personOf(push.pusher?.name ?? push.pusher?.login),
    commits: oldestFirst.map(({ id, message, author, url, timestamp }) => ({
      id: textOf(id),
      message: messageOf(message, maxLength),
      author: personOf(author?.name),
      authorLogin: personOf(author?.username),
      url: urlOf(url),
      timestamp: lineOf(timestamp),
    })),
  };
}

/** A merged pull request, as the log holds it. Times are ISO 8601. */
interface PullRequestData {
  number: number;
  title: string;
  /** Its description, in Markdown. */
  body: string | null;
  author: string | null;
  mergedBy: string | null;
  labels: string[];
  milestone: string | null;
  /** The branch that it was merged into. */
  baseBranch: string | null;
  headBranch: string | null;
  defaultBranch: string | null;
  mergedAt: string | null;
  updatedAt: string | null;
  /** The commit on the base branch, also named by the push that the merge makes. */
  mergeCommitSha: string | null;
  url: string | null;
}

const Branch = maybe(Type.Object({ ref: MaybeText }), 'a branch');

const PullRequest = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  merged: Type.Boolean(),
  body: MaybeText,
  user: Account,
  merged_by: Account,
  labels: MaybeNames,
  milestone: MaybeMilestone,
  base: Branch,
  head: Branch,
  merged_at: MaybeText,
  updated_at: MaybeText,
  merge_commit_sha: MaybeText,
  html_url: MaybeText,
});

export const pullRequest = defineEvent(
  Type.Object({
    action: Type.String({ minLength: 1 }),
    pull_request: PullRequest,
    repository: MaybeRepository,
  }),
  ({ action, pull_request: pull, repository }) => {
    const titled = (happened: string) => `Pull request #${pull.number} ${happened}: ${pull.title}`;
    if (action !== 'closed') {
      return ignored(
        titled(words(action)),
        `Only pull requests that are merged are processed, not the action ${action}`,
      );
    }
    if (!pull.merged) {
      return ignored(
        titled('closed without a merge'),
        'Only pull requests that are merged are processed; this one was closed without it',
      );
    }
    const data: PullRequestData = {
      number: pull.number,
      title: textOf(pull.title),
      body: bodyOf(pull.body),
      author: personOf(pull.user?.login),
      mergedBy: personOf(pull.merged_by?.login),
      labels: namesOf(pull.labels),
      milestone: lineOf(pull.milestone?.title),
      baseBranch: lineOf(pull.base?.ref),
      headBranch: lineOf(pull.head?.ref),
      defaultBranch: lineOf(repository?.default_branch),
      mergedAt: lineOf(pull.merged_at),
      updatedAt: lineOf(pull.updated_at),
      mergeCommitSha: lineOf(pull.merge_commit_sha),
      url: urlOf(pull.html_url),
    };
    return processed(titled('merged'), { type: 'pull_request', action: 'merged', data });
  },
  ({ baseBranch, defaultBranch, ...pull }: PullRequestData) => ({
    type: 'pull_request',
    key: String(pull.number),
    branch: baseBranch ?? defaultBranch ?? '',
    times: [pull.mergedAt],
    version: versionOf(pull.updatedAt),
    data: {
      number: pull.number,
      title: cutLine(pull.title, MAX_SUBJECT_LENGTH),
      breaking: breakingNote(pull.body ?? ''),
      labels: pull.labels,
      author: pull.author,
      isDefaultBranch: baseBranch === null || defaultBranch === null ? null : baseBranch === defaultBranch,
      mergeCommitSha: pull.mergeCommitSha,
      url: pull.url,
    },
  }),
);

/** The hook events that triggers on a code host need. */
export const triggerEvents: Provider['triggerEvents'] = {
  release: ['pull_request', 'push', 'release'],
  push: ['pull_request', 'push', 'release'],
  pull_request: ['pull_request', 'release'],
};
