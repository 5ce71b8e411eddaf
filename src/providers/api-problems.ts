import type { Clock } from '../lib/time.ts';
import { type ProblemKind, ProviderProblem } from './api.ts';
import { type ApiResponse, type ApiService, notTheApi } from './api-fetch.ts';

// The problem that a refusal of a provider's API is. Each provider adds what its refusals mean.

/** A request, for the problem that it may end with. */
export interface Asked {
  service: ApiService;
  /** The repository or project; null for a request about none. */
  place: string | null;
  /** Never shown in a problem: the token, the webhook's secret. */
  secrets: readonly string[];
  clock: Clock;
}

/** What one provider's refusals mean. */
interface Meanings<Context extends Asked> {
  /** The places that the API lists. */
  places: string;
  reasonOf(json: unknown, secrets: readonly string[]): string;
  /** The second, since 1970, from which it accepts requests again; null where it does not say. */
  retrySecond(headers: Headers, nowSecond: number): number | null;
  rateLimited(context: Context, retryAt: Date): string;
  meaningOf(status: number, reason: string, context: Context): [ProblemKind, string];
}

/** Providers count by the minute or the hour. A longer wait is a mistake, or one of the clocks is wrong. */
const MAX_WAIT_SECONDS = 86_400;

/** The wait where no time is named. */
const DEFAULT_WAIT_SECONDS = 60;

const MAX_REASON_LENGTH = 300;

/** The problem behind a refusal. */
export function problemWith<Context extends Asked>(
  { places, reasonOf, retrySecond, rateLimited, meaningOf }: Meanings<Context>,
  { status, json, headers }: ApiResponse,
  context: Context,
): ProviderProblem {
  const { service, secrets, place, clock } = context;
  const reason = reasonOf(json, secrets);
  const cause = new Error(`${service.name} answered ${status}: ${reason}`);
  if (status === 429) {
    const now = Math.ceil(clock.now().getTime() / 1000);
    const second = retrySecond(headers, now) ?? now + DEFAULT_WAIT_SECONDS;
    const retryAt = new Date(Math.min(second, now + MAX_WAIT_SECONDS) * 1000);
    return new ProviderProblem('rate-limited', rateLimited(context, retryAt), { cause, retryAt });
  }
  if (status < 500 && json === undefined) return notTheApi(service, `it sent no JSON with status ${status}`);
  if (status === 404 && place === null) return notTheApi(service, `it lists no ${places}`);
  const [kind, message] = meaningOf(status, reason, context);
  return new ProviderProblem(kind, message, { cause });
}

/** The reason in these texts on one line, without secrets. */
export function reasonIn(texts: readonly string[], secrets: readonly string[]): string {
  const text = texts.filter((each) => each !== '').join('; ') || 'no reason given';
  const hidden = secrets.reduce(
    (rest, secret) => (secret ? rest.replaceAll(secret, '********') : rest),
    text,
  );
  return hidden.replaceAll(/\p{Cc}+/gu, ' ').slice(0, MAX_REASON_LENGTH);
}

/** A header that counts something; null for an absent or another one. */
export function numberIn(headers: Headers, name: string): number | null {
  const text = headers.get(name) ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) : null;
}
