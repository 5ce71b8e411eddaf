import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type Place, ProviderProblem, type RemoteAttempt, type RemoteHook } from '../../api.ts';
import { type Context, commonWords, untilTime } from '../../host.ts';
import { responseCheck } from '../../rest.ts';

const PERMISSIONS = {
  'for webhooks': 'the repository permission "Webhooks: read and write" (classic: the scope admin:repo_hook)',
  'for reading':
    'the repository permissions "Contents: read" and "Pull requests: read" (classic: the scope repo)',
  'of an App': 'the repository permissions "Contents: read" and "Pull requests: read"',
};

const permissionsFor = ({ token }: Context) => PERMISSIONS[token ?? 'for reading'];
const mayNot = ({ place, token }: Context) =>
  token === 'for webhooks'
    ? `The token can't manage the webhooks of ${place}`
    : `The token can't read ${place}`;
const hooksPage = ({ web, place }: Context) => `${web}/${place}/settings/hooks`;

/** The sentences of GitHub's problems: what happened, then what to do. */
export const words = {
  ...commonWords('GitHub', 'GITHUB_API_URL'),

  failed: ({ web }: Context, status: number) =>
    `GitHub failed with status ${status}. Try again later.${web === 'https://github.com' ? ' See https://www.githubstatus.com.' : ''}`,
  rateLimited: ({ token }: Context, retryAt: Date) =>
    token === null
      ? `GitHub accepts no more requests without a token until ${untilTime(retryAt)}. Try again then, or use a token.`
      : `GitHub accepts no more requests from this ${token === 'of an App' ? 'App' : 'token'} until ${untilTime(retryAt)}. Try again then.`,

  badKey: (slug: string) =>
    `GitHub rejected the private key of the App ${slug}: somebody deleted the key, or the clock of this server is wrong. Create a new key in the App's settings, and replace the old one here.`,
  notInstalled: (slug: string, web: string) =>
    `The App ${slug} is not installed. Install it at ${web}/apps/${slug}/installations/new.`,
  suspended: (slug: string) =>
    `Somebody suspended the App ${slug} at GitHub. Unsuspend it in the settings of the account, under GitHub Apps.`,
  badCode:
    'GitHub did not accept the code: it was used before, or is older than an hour. Delete the new App at GitHub, then create another one.',
  isGone: (slug: string) =>
    `GitHub has no App ${slug} any more. Disconnect the integration, then create a new App.`,
  badToken: (subject: Context) =>
    subject.token === 'of an App'
      ? "GitHub rejected a token of the App. Try again. If it happens again, check the App's installation at GitHub."
      : `GitHub rejected the token: it is unknown, revoked or expired. Create a new one at ${subject.web}/settings/personal-access-tokens with ${permissionsFor(subject)}.`,
  ssoRequired: ({ place, web }: Context) =>
    `${place === null ? 'An organization' : `The organization ${place.split('/')[0]}`} requires single sign-on for this token. Authorize the token for it at ${web}/settings/tokens ("Configure SSO"), then try again.`,
  noPermission: (subject: Context) =>
    subject.token === 'of an App'
      ? `The App needs ${permissionsFor(subject)}. Set them in the App's settings at GitHub, and accept them for the installation.`
      : subject.place === null
        ? `The token can't list repositories. Choose its repositories at ${subject.web}/settings/personal-access-tokens.`
        : `${mayNot(subject)}: it needs ${permissionsFor(subject)}. Change it at ${subject.web}/settings/personal-access-tokens.`,
  noScope: (subject: Context) =>
    `${mayNot(subject)}: it lacks the scope admin:repo_hook. Add it at ${subject.web}/settings/tokens.`,
  noAdmin: ({ place }: Context) =>
    `The token's owner does not have the role Admin in ${place}, which webhooks need. Ask for the role, or use the token of somebody who has it.`,

  noPlace: ({ place, token }: Context) =>
    token === null
      ? `GitHub has no public repository ${place}. Check the name; a private repository needs a token.`
      : token === 'of an App'
        ? `GitHub has no repository ${place} that the App can see. Check the name, and the repositories of the installation.`
        : `GitHub has no repository ${place} that the token can see. Check the name, and the repositories that the token may access.`,
  noRange: ({ place }: Context, base: string | null, head: string) =>
    base === null
      ? `${place} has no tag, branch or commit ${head}`
      : `GitHub cannot compare ${base} and ${head} of ${place}: one of them does not exist, or they share no history`,
  hookExists: (subject: Context) =>
    `${subject.place} has a webhook with this URL already. Delete it at ${hooksPage(subject)}, then try again.`,
  tooManyHooks: (subject: Context, reason: string) =>
    `GitHub rejected another webhook for ${subject.place}: ${reason}. Delete one that you do not need at ${hooksPage(subject)}, then try again.`,
  unreachableUrl: (reason: string) =>
    `GitHub rejected the webhook: ${reason}. Set PUBLIC_URL to an address that GitHub can reach.`,
};

// The parts of GitHub's responses that Tidings reads. Every function throws `ProviderProblem` for another shape.

export const checked = responseCheck(words.otherShape);

/** Digits where a number is too small, as for attempts. */
const Id = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d{1,30}$' })]);
const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const Repository = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  /** Becomes part of routes, and is shown. */
  full_name: Type.String({ pattern: '^[\\w.-]{1,100}/[\\w.-]{1,100}$' }),
  default_branch: Type.Optional(Type.String()),
  private: Type.Optional(Type.Boolean()),
  archived: Type.Optional(Type.Boolean()),
  permissions: Type.Optional(Type.Object({ admin: Type.Boolean() })),
});

export type Repository = Static<typeof Repository>;

const Hook = Type.Object({
  id: Id,
  active: Type.Boolean(),
  events: Type.Array(Type.String()),
  config: Type.Object({
    url: Type.Optional(Type.String()),
    content_type: Type.Optional(Type.String()),
    secret: Type.Optional(Type.String()),
  }),
  last_response: Type.Optional(
    Nullable(
      Type.Object({
        code: Nullable(Type.Integer()),
        status: Nullable(Type.String()),
        message: Nullable(Type.String()),
      }),
    ),
  ),
});

const Attempt = Type.Object({
  id: Id,
  guid: Type.String({ minLength: 1, maxLength: 200 }),
  delivered_at: Type.String({ maxLength: 40 }),
  event: Type.String({ maxLength: 100 }),
  action: Nullable(Type.String({ maxLength: 100 })),
  status: Type.String(),
  status_code: Nullable(Type.Integer()),
});

const Text = Type.String();
const SHA = Type.String({ pattern: '^[0-9a-f]{40}([0-9a-f]{24})?$' });

/** Each passes whole into a payload, which is checked as one from a webhook is. */
const Release = Type.Object({ draft: Type.Boolean(), created_at: Text });
const Pull = Type.Object({ number: Type.Integer(), merged_at: Nullable(Text), updated_at: Text });

const OnePull = Type.Composite([
  Pull,
  Type.Object({
    state: Text,
    merge_commit_sha: Type.Optional(Nullable(Text)),
    base: Type.Object({ sha: SHA }),
    head: Type.Object({ sha: SHA }),
  }),
]);

const Ref = Type.Object({ object: Type.Object({ sha: SHA }) });
const Signature = Type.Object({ name: Type.Optional(Text), date: Type.Optional(Text) });
const Commit = Type.Object({
  sha: SHA,
  html_url: Text,
  commit: Type.Object({ message: Text, author: Nullable(Signature), committer: Nullable(Signature) }),
  /** Null, or without a login, when GitHub knows nobody with the address of the author. */
  author: Type.Optional(Nullable(Type.Object({ login: Type.Optional(Text) }))),
  parents: Type.Array(Type.Object({ sha: SHA })),
});
/** Of a renamed file also the former name. */
const Files = Type.Object({
  files: Type.Optional(Type.Array(Type.Object({ filename: Text, previous_filename: Type.Optional(Text) }))),
});
const Comparison = Type.Object({
  total_commits: Type.Integer({ minimum: 0 }),
  behind_by: Type.Integer({ minimum: 0 }),
  commits: Type.Array(Commit),
});

const Activity = Type.Object({
  before: SHA,
  after: SHA,
  timestamp: Text,
  activity_type: Text,
  actor: Type.Optional(Nullable(Type.Object({ login: Type.Optional(Text) }))),
});

export type Commit = Static<typeof Commit>;
export type Activity = Static<typeof Activity>;

export const releasesOf = (data: unknown) => checked(Type.Array(Release), data, 'releases');
export const pullsOf = (data: unknown) => checked(Type.Array(Pull), data, 'pull requests');
export const pullOf = (data: unknown) => checked(OnePull, data, 'a pull request');
export const headOf = (data: unknown) => checked(Ref, data, 'a branch').object.sha;
export const commitsOf = (data: unknown) => checked(Type.Array(Commit), data, 'commits');
export const activityOf = (data: unknown) => checked(Type.Array(Activity), data, 'activity');
export function comparisonOf(data: unknown): { commits: Commit[]; total: number; isAncestor: boolean } {
  const { commits, total_commits, behind_by } = checked(Comparison, data, 'a comparison');
  return { commits, total: total_commits, isAncestor: behind_by === 0 };
}

export const filesOf = (data: unknown): string[] | null =>
  checked(Files, data, 'a commit').files?.flatMap(({ filename, previous_filename: previous }) =>
    previous === undefined ? filename : [filename, previous],
  ) ?? null;

export const repositoryOf = (data: unknown) => checked(Repository, data, 'a repository');
export const repositoriesOf = (data: unknown) => checked(Type.Array(Repository), data, 'repositories');
export const hookOf = (placeId: string, data: unknown) => toHook(placeId, checked(Hook, data, 'a webhook'));
export const hooksOf = (placeId: string, data: unknown) =>
  checked(Type.Array(Hook), data, 'webhooks').map((hook) => toHook(placeId, hook));
export const attemptsOf = (data: unknown) => checked(Type.Array(Attempt), data, 'deliveries').map(toAttempt);

/**
 * The right is that of the token's owner: GitHub reports the permission "Webhooks" of a fine-grained token only when
 * the token uses it. An archived repository is read-only.
 */
export function toPlace({ id, full_name, archived, permissions }: Repository): Place {
  return {
    id: full_name,
    name: full_name,
    providerId: id,
    canAdminister: permissions?.admin === true && archived !== true,
  };
}

function toHook(placeId: string, hook: Static<typeof Hook>): RemoteHook {
  const { id, active, events, config, last_response: last } = hook;
  const message = (last?.message ?? last?.status ?? '').slice(0, 300);
  const isUnused = !last || (last.code === null && last.status === 'unused');
  return {
    id: String(id),
    placeId,
    url: config.url ?? '',
    events: events.toSorted(),
    isActive: active,
    isJson: config.content_type === 'json',
    hasSecret: (config.secret ?? '') !== '',
    lastResponse: isUnused ? null : { statusCode: receivedStatus(last.code, message), message },
  };
}

function toAttempt(attempt: Static<typeof Attempt>): RemoteAttempt {
  const { id, guid, delivered_at, event, action, status, status_code } = attempt;
  const deliveredAt = new Date(delivered_at);
  if (Number.isNaN(deliveredAt.getTime()))
    throw new ProviderProblem('provider-failed', words.otherShape('a time of delivery'));
  return {
    id: String(id),
    deliveryId: guid,
    deliveredAt: deliveredAt.toISOString(),
    event,
    action,
    statusCode: receivedStatus(status_code, status),
    status: status.slice(0, 300),
  };
}

/**
 * The status that GitHub received; null when it received none. GitHub writes 502 (`failed to connect to host`) and 504
 * (`timed out`) for no response at all, and 422 for any failure, whose status is in `Invalid HTTP Response: 404`.
 */
function receivedStatus(code: number | null, status: string): number | null {
  const received = /^invalid http response: (\d{3})\b/i.exec(status)?.[1];
  if (received !== undefined) return Number(received);
  return code === 0 || code === 502 || code === 504 ? null : code;
}
