import type { Clock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type ApiResponse, notTheApi } from '../../api-fetch.ts';
import { reasonIn } from '../../api-problems.ts';
import { type Subject, words } from './words.ts';

/** GitHub refused a request. Never leaves the client: the response may repeat a secret. */
export class Refused extends Error {
  constructor(readonly response: ApiResponse) {
    super(`GitHub answered ${response.status}`);
  }
}

/** `reason` is GitHub's own, without secrets, at most 300 characters. */
interface Refusal extends Pick<ApiResponse, 'status' | 'headers'> {
  reason: string;
}

/** A request, for the problem that it may end with. */
export interface Context extends Subject {
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** GitHub counts by the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** GitHub asks for this wait where it names no time. */
const DEFAULT_WAIT_SECONDS = 60;

/** The refusal behind an error; null for any other error. */
export function refusalOf(error: unknown, secrets: readonly string[]): Refusal | null {
  if (!(error instanceof Refused)) return null;
  const { status, headers, json } = error.response;
  return { status, headers, reason: reasonIn(textsIn(json), secrets) };
}

/** The problem behind a refusal. Any other error comes back as it is. */
export function problemOf(error: unknown, { secrets, clock, ...subject }: Context): unknown {
  const refusal = refusalOf(error, secrets);
  if (refusal === null) return error;
  const requestId = (refusal.headers.get('x-github-request-id') ?? 'unknown').slice(0, 100);
  const cause = new Error(`GitHub answered ${refusal.status}: ${refusal.reason} (request ${requestId})`);
  const retryAt = retryAtOf(refusal, clock);
  if (retryAt !== null) {
    return new ProviderProblem('rate-limited', words.rateLimited(subject, retryAt), { cause, retryAt });
  }
  if (refusal.status === 404 && subject.place === null) {
    return notTheApi(subject.service, 'it lists no repositories');
  }
  const [kind, message] = meaningOf(refusal, subject);
  return new ProviderProblem(kind, message, { cause });
}

function meaningOf({ status, headers, reason }: Refusal, subject: Subject): [ProblemKind, string] {
  if (status >= 500) return ['provider-failed', words.failed(subject, status)];
  if (status === 401) {
    const sentence = subject.token === null ? words.tokenRequired : words.badToken;
    return ['bad-token', sentence(subject)];
  }
  if (status === 404) return ['place-not-found', words.noPlace(subject)];
  if (status === 403) {
    const sso = headers.get('x-github-sso') ?? '';
    if (sso.startsWith('required') || /SAML enforcement/i.test(reason)) {
      return ['missing-permission', words.ssoRequired(subject)];
    }
    if (/not accessible by/i.test(reason)) return ['missing-permission', words.noPermission(subject)];
    if (/admin rights/i.test(reason)) return ['missing-permission', words.noAdmin(subject)];
  }
  if (status === 422) {
    if (/hook already exists/i.test(reason)) return ['hook-exists', words.hookExists(subject)];
    if (/cannot have more than \d+ hooks/i.test(reason)) {
      return ['too-many-hooks', words.tooManyHooks(subject, reason)];
    }
    if (/reachable over the public internet/i.test(reason)) {
      return ['unreachable-url', words.unreachableUrl(reason)];
    }
  }
  return ['refused', words.refused(status, reason)];
}

/** When GitHub accepts requests again, to the second and at most a day ahead; null unless a rate limit is the reason. */
function retryAtOf({ status, headers, reason }: Refusal, clock: Clock): Date | null {
  if (status !== 403 && status !== 429) return null;
  const nowSeconds = Math.ceil(clock.now().getTime() / 1000);
  const at = (seconds: number) => new Date(Math.min(seconds, nowSeconds + MAX_WAIT_SECONDS) * 1000);

  const after = Number(headers.get('retry-after') ?? Number.NaN);
  if (after >= 0) return at(nowSeconds + Math.ceil(after));
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  if (Number(headers.get('x-ratelimit-remaining') ?? Number.NaN) === 0 && reset > 0) return at(reset);
  const isLimit = status === 429 || /rate limit|abuse detection/i.test(reason);
  return isLimit ? at(nowSeconds + DEFAULT_WAIT_SECONDS) : null;
}

/** True for a classic token that has none of the scopes that GitHub accepts for the refused request. */
export function lacksScope({ headers }: Refusal): boolean {
  const scopes = headers.get('x-oauth-scopes');
  if (scopes === null) return false;
  const accepted = scopesIn(
    headers.get('x-accepted-oauth-scopes') ?? 'admin:repo_hook, write:repo_hook, repo',
  );
  return !scopesIn(scopes).some((scope) => accepted.includes(scope));
}

const scopesIn = (header: string) =>
  header
    .split(',')
    .map((scope) => scope.trim())
    .filter((scope) => scope !== '');

function textsIn(json: unknown): string[] {
  const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
  const details = (Array.isArray(errors) ? errors : []).map(detailOf).filter((detail) => detail !== '');
  if (details.length > 0) return details;
  return typeof message === 'string' ? [message] : [];
}

/** One of a refusal's errors. Leaves out its `value`, which repeats the request. */
function detailOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { message, field, code } = { ...(error as Record<string, unknown> | null) };
  if (typeof message === 'string' && message !== '') return message;
  return [field, code].filter((part) => typeof part === 'string').join(' ');
}
