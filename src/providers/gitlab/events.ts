import { type Static, Type } from '@sinclair/typebox';
import { count } from '../../lib/text.ts';
import { NO_COMMIT, subjectOf } from '../commit-text.ts';
import { PushedCommit, pullFacts, pushFacts, readCommits } from '../git-events.ts';
import {
  defineEvent,
  type EventHandler,
  ignored,
  isoTime,
  Maybe,
  maybe,
  type Payload,
  processed,
  read,
  versionOf,
} from '../provider.ts';

// docs.gitlab.com/user/project/integrations/webhook_events

const Project = Type.Object({
  id: Maybe.Number,
  // Null for an empty repository, which has no branch.
  default_branch: Maybe.Text,
  web_url: Maybe.Text,
});

/** A time without its fraction of a second, which the API tells and a webhook may not: both must give the same post. */
function timeOf(value: Maybe<string>): string | null {
  // Older versions of GitLab write `2026-11-20 12:00:00 UTC`.
  const time = isoTime(value?.replace(/ UTC$/, 'Z'));
  return time?.replace(/\.\d+Z$/, '.000Z') ?? null;
}

const Release = Type.Object({
  action: Type.String({ minLength: 1 }),
  id: Maybe.Number,
  tag: Type.String({ minLength: 1 }),
  name: Maybe.Text,
  description: Maybe.Text,
  released_at: Maybe.Text,
  created_at: Maybe.Text,
  url: Maybe.Text,
  project: Project,
});

function releaseData({ project, ...release }: Static<typeof Release>) {
  const name = read.line(release.name);
  return {
    id: release.id ?? null,
    tagName: read.text(release.tag),
    // The API repeats the tag where there is no name.
    name: name === read.line(release.tag) ? null : name,
    body: read.body(withUploads(release.description, project)),
    url: read.url(release.url),
    releasedAt: timeOf(release.released_at) ?? timeOf(release.created_at),
    defaultBranch: read.line(project.default_branch),
  };
}

/** An image that was uploaded to a description: of the group or project, on this page or below its old address. */
const UPLOAD = /(!\[[^\]\n]{0,500}\]\()([^\s()]{0,1000}?)(\/uploads\/[0-9a-f]{32}\/[^\s()]{1,500})/g;

/** Gives uploaded images their whole address. GitLab rewrites them in webhooks, and not in its API. */
function withUploads(text: Maybe<string>, { id, web_url: page }: Static<typeof Project>): Maybe<string> {
  const origin = URL.parse(page ?? '')?.origin;
  if (!text || !id || origin === undefined) return text;
  const own = new Set(['', origin, page, new URL(page ?? '').pathname, `/-/project/${id}`]);
  return text.replaceAll(UPLOAD, (whole, before: string, base: string, upload: string) =>
    own.has(base) || base === `${origin}/-/project/${id}`
      ? `${before}${origin}/-/project/${id}${upload}`
      : whole,
  );
}

const release = defineEvent(
  Release,
  (payload) => {
    const { action } = payload;
    const did = { create: 'published', update: 'edited' }[action];
    const title = `Release ${payload.tag} ${did ?? `${action}d`}`;
    if (did === undefined) {
      return ignored(title, `Only releases that are created or updated are processed, not ${action}`);
    }
    return processed(title, 'release', did, releaseData(payload));
  },
  (data: ReturnType<typeof releaseData>, action) => ({
    type: 'release',
    // GitLab does not let anybody edit the tag of a release, and its API gives no id.
    key: data.tagName,
    branch: data.defaultBranch ?? '',
    times: [data.releasedAt],
    // GitLab does not say when a release was edited.
    version: versionOf(null, action === 'edited' ? 1 : 0),
    data: {
      tag: data.tagName,
      name: data.name,
      notes: data.body,
      isPrerelease: false,
      // GitLab does not say who made it.
      author: null,
      url: data.url,
    },
  }),
);

const Push = Type.Object({
  ref: Type.String(),
  // The commit that the branch was at; 40 zeros for a new branch.
  before: Maybe.Text,
  // 40 zeros for a deleted branch.
  after: Maybe.Text,
  user_username: Maybe.Text,
  // The newest 20 at most, oldest first.
  commits: Type.Array(PushedCommit),
  total_commits_count: Maybe.Number,
  project: Project,
});

function pushData({ commits, project, ...push }: Static<typeof Push>) {
  return {
    branch: read.line(project.default_branch),
    before: read.line(push.before),
    after: read.line(push.after),
    compareUrl: compareUrlOf(project, push),
    pusher: read.person(push.user_username),
    commitCount: push.total_commits_count ?? commits.length,
    commits: readCommits(commits, push.after, { hasLogins: false, toTime: timeOf }),
  };
}

function compareUrlOf(
  { web_url: page }: Static<typeof Project>,
  { before, after }: Pick<Static<typeof Push>, 'before' | 'after'>,
): string | null {
  if (!page || !before || !after || NO_COMMIT.test(before)) return null;
  return read.url(`${page}/-/compare/${before}...${after}`);
}

/**
 * The button "Test" and the API send the last three commits as a push from the oldest of these: no real push contains
 * the commit that it started from.
 */
export function isTestPush({ before, after, commits }: Payload): boolean {
  if (typeof before !== 'string' || !Array.isArray(commits) || commits.length === 0) return false;
  return before === after || commits.some((commit: Payload | null) => commit?.id === before);
}

const push = defineEvent(
  Push,
  (payload) => {
    const { ref, commits, after, project, total_commits_count: total } = payload;
    const branch = project.default_branch ?? '';
    const name = ref.replace(/^refs\/heads\//, '');
    if (isTestPush(payload)) return { outcome: 'ping', title: 'Test push: the webhook is configured' };
    if (NO_COMMIT.test(after ?? '')) {
      return ignored(`Branch ${name} deleted`, 'The push deleted the branch and brought no commits');
    }
    if (branch === '' || ref !== `refs/heads/${branch}`) {
      return ignored(
        'Push to a side branch',
        `Only pushes to ${branch}, the default branch, are processed; this one went to ${name}`,
      );
    }
    if (commits.length === 0) {
      return ignored(`Push to ${branch} without commits`, 'The push brought no commits');
    }
    const isCut = (total ?? 0) > commits.length;
    const cut = isCut ? `, of which GitLab sent the newest ${commits.length}` : '';
    const title = `${count(total ?? commits.length, 'commit')} pushed to ${branch}${cut}`;
    return processed(title, 'push', 'pushed', pushData(payload));
  },
  // GitLab does not say when it was pushed.
  (data: ReturnType<typeof pushData>) => pushFacts(data, [data.commits.at(-1)?.timestamp], asGithubSubject),
);

const MERGE = /^Merge branch '([^'\s]{1,300})' into '[^'\n]{1,300}'\s*$/;
const REQUEST = /^See merge request \S{0,1000}!(\d{1,9})\s*$/;

/** The parts of the message of a merge. Line by line: one pattern for all of it could take seconds. */
function mergeIn(message: string) {
  const lines = message.trimStart().split('\n');
  const branch = MERGE.exec(lines[0] ?? '')?.[1];
  const end = branch === undefined ? -1 : lines.findLastIndex((line) => REQUEST.test(line));
  const number = REQUEST.exec(lines[end] ?? '')?.[1];
  return { branch, number, body: lines.slice(1, end).join('\n').trim() };
}

/**
 * The subject of a commit as GitHub writes it, from which drafts read the number of the merge request and its title. A
 * squash may end with `(!12)`. `(#12)` is an issue here, so it loses the parentheses that mean the merge request.
 */
function asGithubSubject(message: string): string {
  const { branch, body, number } = mergeIn(message);
  if (number !== undefined) return subjectOf(`Merge pull request #${number} from ${branch}\n\n${body}`);
  return subjectOf(message)
    .replace(/\((#\d{1,9})\)\s*$/, '$1')
    .replace(/\(!(\d{1,9})\)\s*$/, '(#$1)');
}

/** A tag, alone or with a release: the release brings the post. */
const tagPush = defineEvent(Type.Object({ ref: Type.String(), after: Maybe.Text }), ({ ref, after }) => {
  const name = ref.replace(/^refs\/tags\//, '');
  const did = NO_COMMIT.test(after ?? '') ? 'deleted' : 'pushed';
  return ignored(`Tag ${name} ${did}`, 'Only releases of tags are processed');
});

const Person = Type.Object({ id: Maybe.Number, username: Maybe.Text });
const People = maybe(Type.Array(Person), 'a list of people');

const MergeRequest = Type.Object({
  user: maybe(Person, 'a person'),
  // Only of one that was read alone through the API.
  author: maybe(Person, 'a person'),
  assignees: People,
  reviewers: People,
  labels: maybe(Type.Array(Type.Object({ title: Maybe.Text })), 'a list of labels'),
  project: Project,
  object_attributes: Type.Object({
    iid: Type.Integer(),
    title: Type.String(),
    description: Maybe.Text,
    // Absent in the samples that the button "Test" sends.
    action: Maybe.Text,
    state: Maybe.Text,
    author_id: Maybe.Number,
    source_branch: Maybe.Text,
    target_branch: Maybe.Text,
    updated_at: Maybe.Text,
    merged_at: Maybe.Text,
    // Null for a merge by fast-forward.
    merge_commit_sha: Maybe.Text,
    last_commit: maybe(Type.Object({ id: Maybe.Text }), 'a commit'),
    url: Maybe.Text,
  }),
});

function mergeRequestData(payload: Static<typeof MergeRequest>) {
  const { user, labels, project, object_attributes: request } = payload;
  // A webhook has only a number for the author.
  const people = [payload.author, user, ...(payload.assignees ?? []), ...(payload.reviewers ?? [])];
  const author = request.author_id ? people.find((each) => each?.id === request.author_id) : undefined;
  return {
    number: request.iid,
    title: read.text(request.title),
    body: read.body(request.description),
    author: read.person(author?.username),
    mergedBy: read.person(user?.username),
    labels: read.names(labels?.map(({ title }) => ({ name: title ?? null }))),
    baseBranch: read.line(request.target_branch),
    headBranch: read.line(request.source_branch),
    defaultBranch: read.line(project.default_branch),
    // An edit does not say when it was merged.
    mergedAt: timeOf(request.merged_at) ?? (request.action === 'merge' ? timeOf(request.updated_at) : null),
    updatedAt: timeOf(request.updated_at),
    mergeCommitSha: read.line(request.merge_commit_sha) ?? read.line(request.last_commit?.id),
    url: read.url(request.url),
  };
}

const mergeRequest = defineEvent(
  MergeRequest,
  (payload) => {
    const { iid, title, action, state } = payload.object_attributes;
    const titled = (happened: string) => `Merge request !${iid} ${happened}: ${title}`;
    const rule = 'Only merge requests that are merged are processed';
    if (!action) return ignored(titled('sent as a test'), `${rule}; this one is a test of the webhook`);
    if (action === 'update' && state === 'merged')
      return processed(titled('edited'), 'merge_request', 'edited', mergeRequestData(payload));
    if (action !== 'merge') return ignored(titled(action), `${rule}, not the action ${action}`);
    return processed(titled('merged'), 'merge_request', 'merged', mergeRequestData(payload));
  },
  pullFacts,
);

/** GitLab's events, by the words of `X-Gitlab-Event` before "Hook". */
export const events: Readonly<Record<string, EventHandler>> = {
  push,
  tag_push: tagPush,
  release: { ...release, actions: ['create', 'update'] },
  merge_request: { ...mergeRequest, actions: ['merge'] },
};
