import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type Place, ProviderProblem, type RemoteHook } from '../../api.ts';
import { type Context, commonWords, untilTime } from '../../host.ts';
import { responseCheck } from '../../rest.ts';
import { isRepositoryName } from '../provider.ts';

const scopesFor = ({ token }: Context) =>
  token === 'for webhooks' ? 'the scopes write:repository and read:user' : 'the scope read:repository';
const tokensPage = ({ web }: Context) => `${web}/user/settings/applications`;

/** The sentences of Forgejo's problems: what happened, then what to do. */
export const words = {
  ...commonWords('Forgejo', 'FORGEJO_API_URL'),

  failed: ({ service }: Context, status: number) =>
    `Forgejo at ${service.address} failed with status ${status}. Try again later.`,
  rateLimited: ({ token }: Context, retryAt: Date) =>
    `Forgejo accepts no more requests ${token === null ? 'without a token' : 'from this token'} until ${untilTime(retryAt)}. Try again then.`,

  badToken: (subject: Context) =>
    `Forgejo rejected the token: it is unknown, revoked or expired. Create a new one with ${scopesFor(subject)} at ${tokensPage(subject)}.`,
  noScope: (subject: Context) =>
    `The token needs ${scopesFor(subject)}. Create a new one at ${tokensPage(subject)}.`,
  publicOnly: (subject: Context) =>
    `The token can see public repositories only. Create a new one for all repositories at ${tokensPage(subject)}.`,
  noAdmin: ({ place }: Context) =>
    `The token's owner does not administer ${place}, which webhooks need. Ask for administrator access, or use the token of somebody who has it.`,
  noAccess: ({ place }: Context, reason: string) =>
    `Forgejo denied access${place === null ? '' : ` to ${place}`}: ${reason}`,
  noWebhooks: ({ service }: Context) =>
    `The administrator of ${service.address} has disabled webhooks. Ask for them, or poll instead.`,

  noPlace: ({ place, token, service }: Context) =>
    token === null
      ? `The server at ${service.address} has no public repository ${place}. Check the name and FORGEJO_API_URL; a private repository needs a token.`
      : `The server at ${service.address} has no repository ${place} that the token can see. Check the name, FORGEJO_API_URL, and the access of the token's owner.`,
  noRange: ({ place }: Context, _base: string | null, head: string) =>
    `${place} has no tag, branch or commit ${head}`,
  isEmpty: ({ place }: Context) => `${place} has no commits yet`,
  badUrl: (reason: string) =>
    `Forgejo rejected the webhook's URL: ${reason}. Set PUBLIC_URL to an address that Forgejo can reach.`,
};

// The parts of Forgejo's responses that Tidings reads. Every function throws `ProviderProblem` for another shape.

const checked = responseCheck(words.otherShape);

const Id = Type.Integer({ minimum: 1 });
const Text = Type.String();
const Maybe = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));
const SHA = Type.String({ pattern: '^[0-9a-f]{40}([0-9a-f]{24})?$' });

const Repository = Type.Object({
  id: Id,
  full_name: Text,
  default_branch: Text,
  private: Type.Boolean(),
  archived: Maybe(Type.Boolean()),
  permissions: Maybe(Type.Object({ admin: Type.Boolean() })),
});
export type Repository = Static<typeof Repository>;

const Hook = Type.Object({
  id: Id,
  active: Type.Boolean(),
  events: Maybe(Type.Array(Text)),
  config: Type.Object({ url: Maybe(Text), content_type: Maybe(Text) }),
});

/** Each passes whole into a payload, which is checked as one from a webhook is. */
const Release = Type.Object({ draft: Type.Boolean(), created_at: Text });
const Pull = Type.Object({ number: Type.Integer(), merged: Type.Boolean(), updated_at: Text });

const OnePull = Type.Composite([
  Pull,
  Type.Object({
    title: Text,
    state: Text,
    merged_at: Maybe(Text),
    /** The commit at which its branch began. That of `base` moves on with the branch. */
    merge_base: SHA,
    head: Type.Object({ sha: SHA }),
  }),
]);

const Branch = Type.Object({ commit: Type.Object({ id: SHA }) });
const Commit = Type.Object({
  sha: SHA,
  html_url: Text,
  commit: Type.Object({
    message: Text,
    author: Maybe(Type.Object({ name: Maybe(Text), date: Maybe(Text) })),
  }),
  /** Null when Forgejo knows nobody with the address of the author. */
  author: Maybe(Type.Object({ login: Maybe(Text) })),
  parents: Maybe(Type.Array(Type.Object({ sha: SHA }))),
});
const Files = Type.Object({ files: Maybe(Type.Array(Type.Object({ filename: Text }))) });
export type Commit = Static<typeof Commit>;

export const releasesOf = (data: unknown) => checked(Type.Array(Release), data, 'releases');
export const pullsOf = (data: unknown) => checked(Type.Array(Pull), data, 'pull requests');
export const pullOf = (data: unknown) => checked(OnePull, data, 'a pull request');
export const headOf = (data: unknown): string => checked(Branch, data, 'a branch').commit.id;
export const commitsOf = (data: unknown): Commit[] => checked(Type.Array(Commit), data, 'commits');

export const filesOf = (data: unknown): string[] | null =>
  checked(Files, data, 'a commit').files?.map(({ filename }) => filename) ?? null;

export function repositoryOf(data: unknown): Repository {
  const repository = checked(Repository, data, 'a repository');
  // The name becomes part of routes, and is shown.
  if (isRepositoryName(repository.full_name)) return repository;
  throw new ProviderProblem('provider-failed', words.otherShape('a repository'));
}

export const repositoriesOf = (data: unknown): Repository[] => list(data, 'repositories').map(repositoryOf);
export const hookOf = (placeId: string, data: unknown): RemoteHook =>
  toHook(placeId, checked(Hook, data, 'a webhook'));
export const hooksOf = (placeId: string, data: unknown): RemoteHook[] =>
  list(data, 'webhooks').map((each) => hookOf(placeId, each));

const list = (data: unknown, expected: string) => checked(Type.Array(Type.Unknown()), data, expected);

/** An archived repository is read-only. */
export const toPlace = ({ id, full_name: name, archived, permissions }: Repository): Place => ({
  id: name,
  name,
  providerId: id,
  canAdminister: permissions?.admin === true && archived !== true,
});

/** Forgejo says neither whether a hook has a secret, nor how its last delivery went. */
function toHook(placeId: string, { id, active, events, config }: Static<typeof Hook>): RemoteHook {
  return {
    id: String(id),
    placeId,
    url: config.url ?? '',
    events: (events ?? []).toSorted(),
    isActive: active,
    isJson: config.content_type === 'json',
    hasSecret: null,
    lastResponse: null,
  };
}
