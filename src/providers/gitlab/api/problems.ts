import type { Clock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type ApiResponse, notTheApi } from '../../api-fetch.ts';
import { type Subject, words } from './words.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject {
  /** The project's number, which survives renames; absent to ask by its name. */
  id?: number;
  /** Never shown in a problem: the token, the webhook's secret and its signing token. */
  secrets: readonly string[];
  clock: Clock;
}

/** GitLab counts by the minute or the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** The wait where GitLab names no time. */
const DEFAULT_WAIT_SECONDS = 60;

/** The problem behind a refusal. */
export function problemOf(response: ApiResponse, context: Context): ProviderProblem {
  const { status, json } = response;
  const reason = reasonOf(json, context.secrets);
  const cause = new Error(`GitLab answered ${status}: ${reason}`);
  if (status === 429) {
    const retryAt = retryAtOf(response.headers, context.clock);
    return new ProviderProblem('rate-limited', words.rateLimited(context, retryAt), { cause, retryAt });
  }
  if (status < 500 && json === undefined) {
    return notTheApi(context.service, `it sent no JSON with status ${status}`);
  }
  if (status === 404 && context.place === null) return notTheApi(context.service, 'it lists no projects');
  const [kind, message] = meaningOf(status, reason, context);
  return new ProviderProblem(kind, message, { cause });
}

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

/** When GitLab accepts requests again, to the second and at most a day ahead. */
function retryAtOf(headers: Headers, clock: Clock): Date {
  const nowSeconds = Math.ceil(clock.now().getTime() / 1000);
  const at = (seconds: number) => new Date(Math.min(seconds, nowSeconds + MAX_WAIT_SECONDS) * 1000);
  const after = numberIn(headers, 'retry-after');
  if (after !== null) return at(nowSeconds + after);
  const reset = numberIn(headers, 'ratelimit-reset');
  return at(reset !== null && reset > nowSeconds ? reset : nowSeconds + DEFAULT_WAIT_SECONDS);
}

/** A header that counts something; null for an absent or another one. */
export function numberIn(headers: Headers, name: string): number | null {
  const text = headers.get(name) ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}

/** GitLab's reason on one line, at most 300 characters and without secrets. */
export function reasonOf(json: unknown, secrets: readonly string[] = []): string {
  const { message, error, error_description: more } = { ...(json as Record<string, unknown> | null) };
  const text = [...textsIn(message), ...textsIn(error), ...textsIn(more)].join('; ') || 'no reason given';
  const hidden = secrets.reduce(
    (rest, secret) => (secret ? rest.replaceAll(secret, '********') : rest),
    text,
  );
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 300);
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
