import type { ProblemKind, ProviderProblem } from '../../api.ts';
import type { ApiResponse } from '../../api-fetch.ts';
import { type Asked, numberIn, problemWith, reasonIn } from '../../api-problems.ts';
import { type Subject, words } from './words.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject, Asked {
  /** The project's number, which survives renames; absent to ask by its name. */
  id?: number;
}

/** The problem behind a refusal. */
export const problemOf = (response: ApiResponse, context: Context): ProviderProblem =>
  problemWith<Context>(
    { places: 'projects', reasonOf, retrySecond, meaningOf, rateLimited: words.rateLimited },
    response,
    context,
  );

function meaningOf(status: number, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['place-not-found', words.noPlace(context)];
    if (/insufficient.scope|higher privileges/i.test(reason)) {
      return ['missing-permission', words.noScope(context)];
    }
    return status === 401
      ? ['bad-token', words.badToken(context)]
      : ['missing-permission', words.noAccess(context)];
  }
  if (status === 400 || status === 422) {
    if (/maximum number of .*hooks/i.test(reason)) {
      return ['too-many-hooks', words.tooManyHooks(context, reason)];
    }
    if (/\burl\b/i.test(reason)) return ['unreachable-url', words.unreachableUrl(reason)];
  }
  return ['refused', words.refused(status, reason)];
}

function retrySecond(headers: Headers, nowSecond: number): number | null {
  const after = numberIn(headers, 'retry-after');
  if (after !== null) return nowSecond + after;
  const reset = numberIn(headers, 'ratelimit-reset');
  return reset !== null && reset > nowSecond ? reset : null;
}

/** GitLab's reason, without secrets. */
export function reasonOf(json: unknown, secrets: readonly string[] = []): string {
  const { message, error, error_description: more } = { ...(json as Record<string, unknown> | null) };
  return reasonIn([...textsIn(message), ...textsIn(error), ...textsIn(more)], secrets);
}

/** The texts of a message, which may be a text, a list, or lists by field: `{"url":["is blocked"]}`. */
function textsIn(value: unknown, field = ''): string[] {
  if (typeof value === 'string') return [field === '' ? value : `${field} ${value}`];
  if (Array.isArray(value)) return value.flatMap((each) => textsIn(each, field));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    textsIn(inner, name === 'base' || name === 'error' ? '' : name),
  );
}
