import { type Static, Type } from '@sinclair/typebox';
import { count, cutLine } from '../lib/text.ts';
import {
  breakingNote,
  cutAt,
  furtherIn,
  messageLengthFor,
  messageOf,
  revertsIn,
  subjectOf,
  takenIn,
  writtenIn,
} from './commit-text.ts';
import type { Commit, EventFacts } from './events.ts';
import { MaybeFiles, namesIn, pathCountFor, pathsOf, payloadField } from './paths.ts';
import {
  Action,
  defineEvent,
  ignored,
  isoTime,
  MalformedPayload,
  Maybe,
  maybe,
  type Payload,
  type Provider,
  parseJsonObject,
  processed,
  read,
  versionOf,
} from './provider.ts';
import { blocksIn } from './written.ts';

// GitHub, and the code hosts whose payloads follow GitHub's: releases, pushes and pull requests. Each one is checked,
// read into the data of the log, and mapped from there to an event. Times in the log are ISO 8601.

const MAX_SUBJECT_LENGTH = 300;

/** An account. Null where it was deleted (a "ghost"). */
export const Account = maybe(Type.Object({ login: Maybe.Text }), 'an account');
export const MaybeMilestone = maybe(Type.Object({ title: Maybe.Text }), 'a milestone');
const MaybeRepository = maybe(Type.Object({ default_branch: Maybe.Text }), 'a repository');

/** An action's name in plain words: `review_requested` is "review requested". */
export function words(action: string): string {
  return action.replaceAll('_', ' ');
}

const Release = Type.Object({
  action: Action,
  release: Type.Object({
    // Stays the same when the tag or the name is edited.
    id: Maybe.Number,
    tag_name: Type.String({ minLength: 1 }),
    // Null when it has no title but its tag.
    name: Maybe.Text,
    body: Maybe.Text,
    draft: Maybe.Boolean,
    prerelease: Maybe.Boolean,
    author: Account,
    html_url: Maybe.Text,
    published_at: Maybe.Text,
    updated_at: Maybe.Text,
    // The branch, or the commit, that the tag was made from.
    target_commitish: Maybe.Text,
  }),
  repository: MaybeRepository,
});

function releaseData({ release, repository }: Static<typeof Release>) {
  return {
    id: release.id ?? null,
    tagName: read.text(release.tag_name),
    name: read.line(release.name),
    body: read.body(release.body),
    isPrerelease: release.prerelease === true,
    isDraft: false,
    author: read.person(release.author?.login),
    url: read.url(release.html_url),
    publishedAt: read.line(release.published_at),
    updatedAt: read.line(release.updated_at),
    targetBranch: read.line(release.target_commitish),
    defaultBranch: read.line(repository?.default_branch),
  };
}

/**
 * GitHub sends `published` once for each release that becomes visible; `released` and `prereleased` repeat it.
 * Forgejo calls an edit `updated`.
 */
const release = defineEvent(
  Release,
  (payload) => {
    const { tag_name: tag, draft, prerelease } = payload.release;
    const action = payload.action === 'updated' ? 'edited' : payload.action;
    const title = `${draft ? 'Draft release' : prerelease ? 'Pre-release' : 'Release'} ${tag} ${words(action)}`;
    if (action !== 'published' && action !== 'edited') {
      return ignored(title, `Tidings processes published and edited releases, not the action ${action}`);
    }
    if (draft) return ignored(title, 'Tidings processes a draft once it is published');
    return processed(title, 'release', action, releaseData(payload));
  },
  (data: ReturnType<typeof releaseData>, action) => ({
    type: 'release',
    key: data.tagName,
    ...(data.id !== null && { releaseId: String(data.id) }),
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
function branchOfRelease({ targetBranch, defaultBranch }: ReturnType<typeof releaseData>): string {
  const isBranch = targetBranch !== null && !/^[0-9a-f]{40}$/.test(targetBranch);
  return (isBranch ? targetBranch : defaultBranch) ?? targetBranch ?? '';
}

const Person = maybe(Type.Object({ name: Maybe.Text, login: Maybe.Text, username: Maybe.Text }), 'a person');

export const PushedCommit = Type.Object({
  id: Type.String(),
  message: Type.String(),
  author: Person,
  url: Maybe.Text,
  timestamp: Maybe.Text,
  added: MaybeFiles,
  modified: MaybeFiles,
  removed: MaybeFiles,
});

/** The commits of a push as the log keeps them, oldest first. `after`: the newest of them. */
export function readCommits(
  commits: readonly Static<typeof PushedCommit>[],
  after: Maybe<string>,
  { hasLogins, toTime }: { hasLogins: boolean; toTime: (timestamp: Maybe<string>) => string | null },
) {
  const maxLength = messageLengthFor(commits.length);
  const oldestFirst = commits[0]?.id === after ? commits.toReversed() : commits;
  return oldestFirst.map(({ id, message, author, url, timestamp, ...files }) => ({
    id: read.text(id),
    message: messageOf(message, maxLength),
    author: read.person(author?.name),
    ...(hasLogins && { authorLogin: read.person(author?.username) }),
    url: read.url(url),
    timestamp: toTime(timestamp),
    ...pathsOf(files, pathCountFor(commits.length)),
  }));
}

const Push = Type.Object({
  ref: Type.String(),
  // The commit that the branch was at; 40 zeros for a new branch.
  before: Maybe.Text,
  after: Maybe.Text,
  // A page that shows the change as a whole: GitHub's name, and Forgejo's.
  compare: Maybe.Text,
  compare_url: Maybe.Text,
  deleted: Maybe.Boolean,
  forced: Maybe.Boolean,
  pusher: Person,
  // GitHub sends at most 2048, oldest first; Forgejo the newest first, and only some of `total_commits`.
  commits: Type.Array(PushedCommit),
  total_commits: Maybe.Number,
  size: Maybe.Number,
  repository: Type.Object({
    default_branch: Type.String({ minLength: 1 }),
    // Seconds since 1970 in a push; other events have it as text.
    pushed_at: maybe(Type.Union([Type.Number(), Type.String()]), 'a time'),
  }),
});

/** How many commits a push has, by its own count or by its list. */
const sizeOf = ({ commits, total_commits, size }: Static<typeof Push>) =>
  Math.max(total_commits ?? size ?? 0, commits.length);

function pushData(payload: Static<typeof Push>) {
  const { commits, repository, ...push } = payload;
  const size = sizeOf(payload);
  return {
    branch: repository.default_branch,
    before: read.line(push.before),
    after: read.line(push.after),
    compareUrl: read.url(push.compare ?? push.compare_url),
    isForced: push.forced === true,
    pushedAt: timeOf(repository.pushed_at),
    pusher: read.person(push.pusher?.name ?? push.pusher?.login),
    ...(size > commits.length && { commitCount: size }),
    commits: readCommits(commits, push.after, { hasLogins: true, toTime: read.line }),
  };
}

function timeOf(value: Maybe<string | number>): string | null {
  if (typeof value !== 'number') return isoTime(value);
  const time = new Date(value * 1000);
  return Number.isNaN(time.getTime()) ? null : isoTime(time.toISOString());
}

const push = defineEvent(
  Push,
  (payload) => {
    const { ref, commits, deleted } = payload;
    const branch = payload.repository.default_branch;
    if (ref.startsWith('refs/tags/')) {
      return ignored(
        `Tag ${ref.slice('refs/tags/'.length)} ${deleted ? 'deleted' : 'pushed'}`,
        'Tidings processes pushes to branches only',
      );
    }
    const name = ref.replace(/^refs\/heads\//, '');
    if (deleted) {
      return ignored(`Branch ${name} deleted`, 'The push deleted the branch');
    }
    if (ref !== `refs/heads/${branch}`) {
      return ignored(
        'Push to a side branch',
        `Tidings processes pushes to the default branch ${branch}; this one went to ${name}`,
      );
    }
    if (commits.length === 0) {
      return ignored(`Push to ${branch} without commits`, 'The push has no commits');
    }
    const total = sizeOf(payload);
    const cut = total > commits.length ? `, of which the payload has ${commits.length}` : '';
    const title = `${count(total, 'commit')} pushed to ${branch}${cut}`;
    return processed(title, 'push', 'pushed', pushData(payload));
  },
  (data: ReturnType<typeof pushData>) => {
    // A clock may be wrong, and a provider may deliver a push late; but no push is older than its newest commit.
    const times = [isoTime(data.pushedAt), isoTime(data.commits.at(-1)?.timestamp)];
    const known = times.filter((time) => time !== null).sort();
    return pushFacts(data, known.reverse());
  },
);

/** `toSubject`: the subject of a commit, in which drafts look for the number of a pull request. */
export function pushFacts(
  { before, after: pushed, branch, compareUrl, commits, commitCount }: PushData,
  times: (string | null | undefined)[],
  toSubject: (message: string) => string = subjectOf,
): EventFacts {
  const after = pushed ?? commits.at(-1)?.id ?? '';
  const commitOf = ({ id, message, author, authorLogin, url, paths }: LoggedCommit): Commit => {
    const subject = cutLine(toSubject(message), MAX_SUBJECT_LENGTH);
    return {
      sha: id,
      subject,
      breaking: breakingNote(message),
      author: authorLogin ?? author,
      url,
      ...furtherIn(message),
      ...writtenIn(message),
      ...takenIn(message),
      ...namesIn({ title: subject, text: message }),
      ...(paths !== undefined && { paths }),
    };
  };
  const data = { after, compareUrl, commits: commits.map(commitOf) };
  const rest = cutAt(commits.length, commitCount, before);
  return { type: 'push', key: after, branch: branch ?? '', times, version: '', data: { ...data, ...rest } };
}

type PushData = {
  branch: string | null;
  before: string | null;
  after: string | null;
  compareUrl: string | null;
  commits: LoggedCommit[];
  commitCount?: number;
};
type LoggedCommit = ReturnType<typeof readCommits>[number];

const Branch = maybe(Type.Object({ ref: Maybe.Text }), 'a branch');

const PullRequest = Type.Object({
  action: Action,
  pull_request: Type.Object({
    number: Type.Integer(),
    title: Type.String(),
    merged: Type.Boolean(),
    body: Maybe.Text,
    user: Account,
    merged_by: Account,
    labels: Maybe.Names,
    milestone: MaybeMilestone,
    base: Branch,
    head: Branch,
    merged_at: Maybe.Text,
    updated_at: Maybe.Text,
    // The commit on the base branch, also named by the push that the merge makes.
    merge_commit_sha: Maybe.Text,
    html_url: Maybe.Text,
  }),
  repository: MaybeRepository,
});

function pullRequestData({ pull_request: pull, repository }: Static<typeof PullRequest>) {
  return {
    number: pull.number,
    title: read.text(pull.title),
    body: read.body(pull.body),
    author: read.person(pull.user?.login),
    mergedBy: read.person(pull.merged_by?.login),
    labels: read.names(pull.labels),
    milestone: read.line(pull.milestone?.title),
    baseBranch: read.line(pull.base?.ref),
    headBranch: read.line(pull.head?.ref),
    defaultBranch: read.line(repository?.default_branch),
    mergedAt: read.line(pull.merged_at),
    updatedAt: read.line(pull.updated_at),
    mergeCommitSha: read.line(pull.merge_commit_sha),
    url: read.url(pull.html_url),
  };
}

/** Actions of GitHub and Forgejo that change what an entry says, or its group. */
const EDITS = new Set(['edited', 'labeled', 'unlabeled', 'label_updated', 'label_cleared']);

const pullRequest = defineEvent(
  PullRequest,
  (payload) => {
    const { action, pull_request: pull } = payload;
    const titled = (happened: string) => `Pull request #${pull.number} ${happened}: ${pull.title}`;
    if (pull.merged && EDITS.has(action))
      return processed(titled(words(action)), 'pull_request', 'edited', pullRequestData(payload));
    const rule = 'Tidings processes merged pull requests only';
    if (action !== 'closed') return ignored(titled(words(action)), `${rule}, not the action ${action}`);
    if (!pull.merged) {
      return ignored(titled('closed without a merge'), `${rule}; this one was closed without a merge`);
    }
    return processed(titled('merged'), 'pull_request', 'merged', pullRequestData(payload));
  },
  pullFacts,
);

export function pullFacts({
  baseBranch,
  defaultBranch,
  ...pull
}: Omit<ReturnType<typeof pullRequestData>, 'milestone'>): EventFacts {
  const blocks = blocksIn(pull.body ?? '');
  return {
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
      ...(blocks.length > 0 && { blocks }),
      ...revertsIn(pull.title, pull.body ?? ''),
      ...namesIn({ branch: pull.headBranch, title: pull.title, text: pull.body }),
    },
  };
}

export const gitEvents = {
  push,
  release: { ...release, actions: ['published', 'edited', 'updated'] },
  pull_request: { ...pullRequest, actions: ['closed'] },
};

export const codeHost = {
  hasRepositories: true,
  sendsForms: true,
  requiresHttps: false,
  triggerEvents: {
    release: ['pull_request', 'push', 'release'],
    push: ['pull_request', 'push', 'release'],
    pull_request: ['pull_request', 'release'],
  },
  exampleEvent: 'release',
  isRepositoryName: (name) =>
    /^(?!\.{1,2}\/)[A-Za-z0-9_.-]{1,100}\/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}$/.test(name),

  /** A hook with the content type "form" sends the JSON in one field. */
  async readPayload(body, contentType) {
    if (!contentType?.toLowerCase().startsWith('application/x-www-form-urlencoded')) {
      return parseJsonObject(body);
    }
    const payload = payloadField(body);
    if (payload === null) throw new MalformedPayload('the form has no field payload');
    return parseJsonObject(payload);
  },

  repositoryOf({ repository }) {
    const { id, full_name: fullName } = (repository ?? {}) as Payload;
    return typeof id === 'number' && typeof fullName === 'string' ? { id, fullName } : null;
  },
} satisfies Partial<Provider>;
