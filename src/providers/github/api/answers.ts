import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Place, RemoteAttempt, RemoteHook } from '../../api.ts';
import { NoAnswer } from './fetch.ts';

// What is read of GitHub's answers, and what it means to us. All else that they hold is left alone.

/** Octokit reads numbers as bigint when they are too large for JavaScript; the ids of attempts are. */
const Id = Type.Union([Type.Integer(), Type.BigInt()]);
const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const Repository = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  /** It becomes part of routes, and is shown. */
  full_name: Type.String({ pattern: '^[\\w.-]{1,100}/[\\w.-]{1,100}$' }),
  archived: Type.Optional(Type.Boolean()),
  permissions: Type.Optional(Type.Object({ admin: Type.Boolean() })),
});

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

/** Throws `NoAnswer` for an answer of another shape. */
export const repositoryOf = (data: unknown) => checked(Repository, data, 'a repository');
export const repositoriesOf = (data: unknown) => checked(Type.Array(Repository), data, 'repositories');
export const hookOf = (placeId: string, data: unknown) => toHook(placeId, checked(Hook, data, 'a webhook'));
export const hooksOf = (placeId: string, data: unknown) =>
  checked(Type.Array(Hook), data, 'webhooks').map((hook) => toHook(placeId, hook));
export const attemptsOf = (data: unknown) => checked(Type.Array(Attempt), data, 'deliveries').map(toAttempt);

function checked<T extends TSchema>(schema: T, data: unknown, what: string): Static<T> {
  if (Value.Check(schema, data)) return data;
  throw new NoAnswer(`GitHub answered with something else than ${what}. Check GITHUB_API_URL.`);
}

/**
 * The right is the person's: whether a fine-grained token also has the permission "Webhooks", GitHub says only when it
 * is used. Nothing can be changed at an archived repository.
 */
export function toPlace({ id, full_name, archived, permissions }: Static<typeof Repository>): Place {
  return {
    id: full_name,
    name: full_name,
    providerId: id,
    canAdminister: permissions?.admin === true && archived !== true,
  };
}

function toHook(
  placeId: string,
  { id, active, events, config, last_response }: Static<typeof Hook>,
): RemoteHook {
  return {
    id: String(id),
    placeId,
    url: config.url ?? '',
    events: events.toSorted(),
    isActive: active,
    isJson: config.content_type === 'json',
    hasSecret: (config.secret ?? '') !== '',
    lastResponse: lastResponseOf(last_response),
  };
}

/** A hook that never delivered has the status `unused` and no code. */
function lastResponseOf(response: Static<typeof Hook>['last_response']): RemoteHook['lastResponse'] {
  if (!response || (response.code === null && response.status === 'unused')) return null;
  const message = (response.message ?? response.status ?? '').slice(0, 300);
  return { statusCode: answeredWith(response.code, message), message };
}

function toAttempt({
  id,
  guid,
  delivered_at,
  event,
  action,
  ...outcome
}: Static<typeof Attempt>): RemoteAttempt {
  const deliveredAt = new Date(delivered_at);
  if (Number.isNaN(deliveredAt.getTime())) {
    throw new NoAnswer('GitHub answered with a delivery without a time. Check GITHUB_API_URL.');
  }
  return {
    id: String(id),
    deliveryId: guid,
    deliveredAt: deliveredAt.toISOString(),
    event,
    action,
    statusCode: answeredWith(outcome.status_code, outcome.status),
    status: outcome.status.slice(0, 300),
  };
}

/**
 * GitHub writes 502 (`failed to connect to host`) and 504 (`timed out`) also where nobody answered, and 422 where
 * somebody answered with another failure: what was really answered stands in `Invalid HTTP Response: 404`.
 */
function answeredWith(code: number | null, words: string): number | null {
  const answered = /^invalid http response: (\d{3})\b/i.exec(words)?.[1];
  if (answered !== undefined) return Number(answered);
  return code === 0 || code === 502 || code === 504 ? null : code;
}
