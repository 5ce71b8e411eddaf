import type { Clock } from '../../../lib/time.ts';
import { type ProblemKind, ProviderProblem } from '../../api.ts';
import { type ApiResponse, notTheApi } from '../../api-fetch.ts';
import { type Subject, words } from './words.ts';

/** A request, for the problem that it may end with. */
export interface Context extends Subject {
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** Limits are those of a proxy in front of Forgejo. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** The wait where no time is named. */
const DEFAULT_WAIT_SECONDS = 60;

/** The problem behind a refusal. */
export function problemOf(response: ApiResponse, context: Context): ProviderProblem {
  const { status, json, headers } = response;
  const reason = reasonOf(json, context.secrets);
  const cause = new Error(`Forgejo answered ${status}: ${reason}`);
  if (status === 429) {
    const retryAt = retryAtOf(headers, context.clock);
    return new ProviderProblem('rate-limited', words.rateLimited(context, retryAt), { cause, retryAt });
  }
  if (status < 500 && json === undefined) {
    return notTheApi(context.service, `it sent no JSON with status ${status}`);
  }
  if (status === 404 && context.place === null) return notTheApi(context.service, 'it lists no repositories');
  const [kind, message] = meaningOf(status, reason, context);
  return new ProviderProblem(kind, message, { cause });
}

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

/** To the second, and at most a day ahead. */
function retryAtOf(headers: Headers, clock: Clock): Date {
  const after = headers.get('retry-after') ?? '';
  const seconds = /^\d{1,9}$/.test(after) ? Number(after) : DEFAULT_WAIT_SECONDS;
  const nowSeconds = Math.ceil(clock.now().getTime() / 1000);
  return new Date((nowSeconds + Math.min(seconds, MAX_WAIT_SECONDS)) * 1000);
}

/** Forgejo's reason on one line, at most 300 characters and without secrets. */
function reasonOf(json: unknown, secrets: readonly string[]): string {
  const { message, errors } = { ...(json as { message?: unknown; errors?: unknown } | null) };
  const texts = [message, ...(Array.isArray(errors) ? errors : [])].filter(
    (each) => typeof each === 'string',
  );
  const text = texts.filter((each) => each !== '').join('; ') || 'no reason given';
  const hidden = secrets.reduce(
    (rest, secret) => (secret ? rest.replaceAll(secret, '********') : rest),
    text,
  );
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 300);
}
