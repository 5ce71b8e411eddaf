import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { ProviderProblem, type RemoteAttempt, type RemoteHook } from '../../api.ts';
import { type Context, commonWords, untilTime } from '../../host.ts';
import { isoTime } from '../../provider.ts';
import { responseCheck } from '../../rest.ts';
import { isTestPush } from '../events.ts';
import { eventNamed, isProjectName } from '../provider.ts';

const scopeFor = ({ token }: Context) => (token === 'for webhooks' ? 'api' : 'read_api');
const hooksPage = ({ web, place }: Context) => `${web}/${place}/-/hooks`;
const tokensPage = ({ web }: Context) => `${web}/-/user_settings/personal_access_tokens`;

/** As Git writes the commits that `head` has and `base` lacks. */
export const rangeOf = (base: string | null, head: string) => (base === null ? head : `${base}..${head}`);

/** The sentences of GitLab's problems: what happened, then what to do. */
export const words = {
  ...commonWords('GitLab', 'GITLAB_API_URL'),

  failed: ({ web }: Context, status: number) =>
    `GitLab failed with status ${status}. Try again later.${web === 'https://gitlab.com' ? ' See https://status.gitlab.com.' : ''}`,
  rateLimited: ({ token }: Context, retryAt: Date) =>
    token === null
      ? `GitLab accepts no more requests without a token until ${untilTime(retryAt)}. Try again then, or use a token.`
      : `GitLab accepts no more requests from this token until ${untilTime(retryAt)}. Try again then.`,

  badToken: (subject: Context) =>
    `GitLab rejected the token: it is unknown, revoked or expired. Create a new one with the scope ${scopeFor(subject)} at ${tokensPage(subject)}.`,
  noScope: (subject: Context) =>
    `The token lacks the scope ${scopeFor(subject)}. Create a new one with it at ${tokensPage(subject)}.`,
  noAccess: ({ place, token }: Context) => {
    if (place === null) return "The token can't list projects.";
    return token === 'for webhooks'
      ? `The token's owner does not have the role Maintainer in ${place}, which webhooks need. Ask for the role, or use the token of somebody who has it.`
      : `The token can't read ${place}. Its owner needs the role Reporter there.`;
  },

  badName: ({ place }: Context) =>
    `A project has the form GROUP/NAME, such as acme/rocket, not ${String(place).slice(0, 200)}`,
  noPlace: ({ place, token }: Context) =>
    token === null
      ? `GitLab has no public project ${place}. Check the name; a private project needs a token.`
      : `GitLab has no project ${place} that the token can see. Check the name, and the projects that the token may access.`,
  noBranch: ({ place }: Context, branch: string) =>
    `${place} at GitLab has no branch ${branch}. Check its default branch.`,
  isEmpty: (place: string) => `${place} at GitLab has no branch that can be read. Push a commit first.`,
  noRange: ({ place }: Context, base: string | null, head: string) =>
    `GitLab cannot compare ${rangeOf(base, head)} in ${place}: one of them no longer exists.`,
  noAttempts: (place: string) => `GitLab lists no deliveries of ${place}: that needs GitLab 17.3 or later.`,
  stillDisabled: (subject: Context) =>
    `GitLab disabled the webhook of ${subject.place} after failed deliveries, and sends no test that would enable it. Test it at ${hooksPage(subject)}.`,
  tooManyHooks: (subject: Context, reason: string) =>
    `GitLab rejected another webhook for ${subject.place}: ${reason}. Delete one that you do not need at ${hooksPage(subject)}, then try again.`,
  unreachableUrl: (reason: string) =>
    `GitLab rejected the webhook's URL: ${reason}. Set PUBLIC_URL to an address that GitLab can reach. For one in your own network, an administrator of GitLab adds it under Settings, Network, Outbound requests.`,
};

// The parts of GitLab's responses that Tidings reads. Every function throws `ProviderProblem` for another shape.

const checked = responseCheck(words.otherShape);

const Id = Type.Integer({ minimum: 1 });
const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const Maybe = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema));

const Project = Type.Object({
  id: Id,
  path_with_namespace: Type.String(),
  default_branch: Maybe(Type.String()),
  visibility: Maybe(Type.String()),
});
export type Project = Static<typeof Project>;

/** The flag of each event that Tidings can subscribe to, and then those of all others. */
export const EVENT_FLAGS = {
  merge_request: 'merge_requests_events',
  push: 'push_events',
  release: 'releases_events',
} as const;
export const OTHER_FLAGS = [
  'tag_push_events',
  'issues_events',
  'confidential_issues_events',
  'note_events',
  'confidential_note_events',
  'job_events',
  'pipeline_events',
  'wiki_page_events',
  'deployment_events',
  'feature_flag_events',
  'resource_access_token_events',
] as const;

const Hook = Type.Object({
  id: Id,
  url: Type.String(),
  push_events: Maybe(Type.Boolean()),
  merge_requests_events: Maybe(Type.Boolean()),
  releases_events: Maybe(Type.Boolean()),
  /** `executable`, `temporarily_disabled`, or `disabled` after too many failures. */
  alert_status: Maybe(Type.String()),
  /** Both since GitLab 19.0. */
  token_present: Maybe(Type.Boolean()),
  signing_token_present: Maybe(Type.Boolean()),
});
export type Hook = Static<typeof Hook>;

const Attempt = Type.Object({
  id: Id,
  trigger: Maybe(Type.String()),
  request_headers: Maybe(Type.Record(Type.String(), Type.Unknown())),
  request_data: Maybe(Type.Record(Type.String(), Type.Unknown())),
  response_headers: Maybe(Type.Record(Type.String(), Type.Unknown())),
  /** `200`, or words such as `internal error`. */
  response_status: Maybe(Type.String()),
});

const Person = Type.Object({ id: Type.Integer(), username: Type.String() });

const Release = Type.Object({
  /** Absent for a release whose tag the token may not see. */
  tag_name: Maybe(Type.String()),
  name: Maybe(Type.String()),
  description: Maybe(Type.String()),
  created_at: Maybe(Type.String()),
  released_at: Maybe(Type.String()),
  upcoming_release: Maybe(Type.Boolean()),
  _links: Maybe(Type.Object({ self: Maybe(Type.String()) })),
});
export type Release = Static<typeof Release>;

const MergeRequest = Type.Object({
  iid: Id,
  title: Type.String(),
  description: Maybe(Type.String()),
  author: Maybe(Person),
  merge_user: Maybe(Person),
  /** Of GitLab before 14.7. */
  merged_by: Maybe(Person),
  assignees: Maybe(Type.Array(Person)),
  reviewers: Maybe(Type.Array(Person)),
  labels: Maybe(Type.Array(Type.String())),
  source_branch: Maybe(Type.String()),
  target_branch: Maybe(Type.String()),
  updated_at: Type.String(),
  merged_at: Maybe(Type.String()),
  merge_commit_sha: Maybe(Type.String()),
  sha: Maybe(Type.String()),
  web_url: Maybe(Type.String()),
});
export type MergeRequest = Static<typeof MergeRequest>;

const OneMergeRequest = Type.Composite([
  MergeRequest,
  Type.Object({
    /** `opened`, `closed`, `merged`, or `locked` during the merge. */
    state: Type.String(),
    /** Null until GitLab has compared the branches. */
    diff_refs: Maybe(Type.Object({ base_sha: Maybe(Type.String()) })),
  }),
]);

const Commit = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{40,64}$' }),
  message: Maybe(Type.String()),
  title: Maybe(Type.String()),
  author_name: Maybe(Type.String()),
  committed_date: Maybe(Type.String()),
  web_url: Maybe(Type.String()),
  parent_ids: Maybe(Type.Array(Type.String())),
});
export type Commit = Static<typeof Commit>;

const Diffs = Type.Array(Type.Object({ old_path: Type.String(), new_path: Type.String() }));

const Branch = Type.Object({ commit: Type.Object({ id: Commit.properties.id }) });

export function projectOf(data: unknown): Project {
  const project = checked(Project, data, 'a project');
  // The name becomes part of routes, and is shown.
  if (isProjectName(project.path_with_namespace)) return project;
  throw new ProviderProblem('provider-failed', words.otherShape('a project'));
}

const AccessToken = Type.Object({ expires_at: Type.Optional(Nullable(Type.String({ maxLength: 40 }))) });

/** A token ends at the beginning of its last day in UTC. */
export const expiryOf = (data: unknown): string | null => {
  const { expires_at: day } = checked(AccessToken, data, 'a token');
  return isoTime(day && `${day}T00:00:00Z`);
};

export const projectsOf = (data: unknown): Project[] => list(data, 'projects').map(projectOf);
export const hookOf = (data: unknown): Hook => checked(Hook, data, 'a webhook');
export const hooksOf = (data: unknown): Hook[] => list(data, 'webhooks').map(hookOf);
export const releasesOf = (data: unknown) => checked(Type.Array(Release), data, 'releases');
export const mergeRequestsOf = (data: unknown) => checked(Type.Array(MergeRequest), data, 'merge requests');
export const mergeRequestOf = (data: unknown) => checked(OneMergeRequest, data, 'a merge request');
export const commitsOf = (data: unknown) => checked(Type.Array(Commit), data, 'commits');
export const filesOf = (data: unknown): string[] =>
  checked(Diffs, data, 'the files of a commit').flatMap(({ old_path, new_path }) => [old_path, new_path]);
export const headOf = (data: unknown): string => checked(Branch, data, 'a branch').commit.id;

const list = (data: unknown, expected: string) => checked(Type.Array(Type.Unknown()), data, expected);

export function toHook(placeId: string, hook: Hook): RemoteHook {
  const { token_present: token, signing_token_present: signing } = hook;
  const events = Object.entries(EVENT_FLAGS).filter(([, flag]) => hook[flag] === true);
  return {
    id: String(hook.id),
    placeId,
    url: hook.url,
    events: events.map(([event]) => event),
    isActive: (hook.alert_status ?? 'executable') === 'executable',
    isJson: null,
    hasSecret: token == null && signing == null ? null : token === true || signing === true,
    lastResponse: null,
  };
}

/**
 * A page of attempts, newest first. GitLab says when an attempt was made only by the headers of the request or of the
 * response; the time of any other is that of the next newer one, `newerAt`.
 */
export function attemptsOf(data: unknown, newerAt: string): RemoteAttempt[] {
  let at = newerAt;
  return checked(Type.Array(Attempt), data, 'deliveries').map((attempt) => {
    const sent = lowerCased(attempt.request_headers);
    const answered = lowerCased(attempt.response_headers);
    at = timeOf(Number(sent['webhook-timestamp']) * 1000) ?? timeOf(Date.parse(answered.date ?? '')) ?? at;
    const payload = attempt.request_data ?? {};
    const status = attempt.response_status ?? '';
    const isAnswered = /^\d{3}$/.test(status);
    return {
      id: String(attempt.id),
      deliveryId: sent['idempotency-key'] ?? sent['x-gitlab-webhook-uuid'] ?? `attempt-${attempt.id}`,
      deliveredAt: at,
      event: isTestPush(payload)
        ? 'ping'
        : (eventNamed(sent['x-gitlab-event'] ?? null) ?? attempt.trigger ?? 'unknown').slice(0, 100),
      action: actionOf(payload),
      statusCode: isAnswered ? Number(status) : null,
      status: (isAnswered ? `HTTP ${status}` : status || 'no response').slice(0, 300),
    };
  });
}

function actionOf({ action, object_attributes: attributes }: Record<string, unknown>): string | null {
  const inner = { ...(attributes as { action?: unknown } | null) }.action;
  const found = [action, inner].find((each) => typeof each === 'string') as string | undefined;
  return found?.slice(0, 100) ?? null;
}

const lowerCased = (headers: Record<string, unknown> | null | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).slice(0, 200)]),
  );

function timeOf(ms: number): string | null {
  return ms > 0 && ms < 8.64e15 ? new Date(ms).toISOString() : null;
}
