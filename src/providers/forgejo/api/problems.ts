import type { ProblemKind, ProviderProblem } from '../../api.ts';
import type { ApiResponse } from '../../api-fetch.ts';
import { type Asked, numberIn, problemWith, reasonIn } from '../../api-problems.ts';
import { type Subject, words } from './words.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject, Asked {}

/** The problem behind a refusal. */
export const problemOf = (response: ApiResponse, context: Context): ProviderProblem =>
  problemWith<Context>(
    { places: 'repositories', reasonOf, retrySecond, meaningOf, rateLimited: words.rateLimited },
    response,
    context,
  );

function meaningOf(status: number, reason: string, context: Context): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(context, status)];
  if (status === 404) return ['place-not-found', words.noPlace(context)];
  if (status === 401 || status === 403) {
    if (context.token === null) return ['bad-token', words.tokenRequired(context)];
    if (status === 401) return ['bad-token', words.badToken(context)];
    return meaningOfDenial(reason, context);
  }
  if (status === 409 && /empty/i.test(reason)) return ['refused', words.isEmpty(context)];
  if (status === 422 && /\burl\b/i.test(reason)) return ['unreachable-url', words.badUrl(reason)];
  return ['refused', words.refused(status, reason)];
}

function meaningOfDenial(reason: string, context: Context): [ProblemKind, string] {
  if (/webhooks disabled/i.test(reason)) return ['refused', words.noWebhooks(context)];
  if (/required scope/i.test(reason)) return ['missing-permission', words.noScope(context)];
  if (/limited to public/i.test(reason)) return ['missing-permission', words.publicOnly(context)];
  if (/collaborator with admin/i.test(reason)) return ['missing-permission', words.noAdmin(context)];
  return ['missing-permission', words.noAccess(context, reason)];
}

/** Limits are those of a proxy in front of Forgejo. */
function retrySecond(headers: Headers, nowSecond: number): number | null {
  const after = numberIn(headers, 'retry-after');
  return after === null ? null : nowSecond + after;
}

/** Forgejo's reason, without secrets. */
function reasonOf(json: unknown, secrets: readonly string[]): string {
  const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
  const texts = [message, ...(Array.isArray(errors) ? errors : [])];
  return reasonIn(
    texts.filter((each) => typeof each === 'string'),
    secrets,
  );
}
