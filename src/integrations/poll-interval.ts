import { providerOf } from '../providers/index.ts';
import type { RequestBudget } from '../providers/reader.ts';
import type { Integration } from './model.ts';

// How often a repository is polled: with a token at least once a minute; without one as often as the provider's limit
// for requests without a token allows, which all such repositories of this server share with history.

/** A round asks for the releases, the merged pull requests, and the head of the default branch. */
export const REQUESTS_PER_ROUND = 3;

/** Less than a minute, because a round takes some seconds itself. */
const SHORTEST_MS = 50_000;

/** Leaves requests for history, and for the commits of pushes. */
const SHARE = 0.6;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export type Polled = Pick<Integration, 'type' | 'hasToken'>;

/** `sharing`: how many repositories share the limit, this one included. In milliseconds. */
export function pollEveryMs({ type, hasToken }: Polled, sharing: number): number {
  const perHour = hasToken ? null : (providerOf(type).reader?.anonymousPerHour ?? null);
  if (perHour === null) return SHORTEST_MS;
  return Math.max(SHORTEST_MS, Math.ceil((sharing * REQUESTS_PER_ROUND * HOUR_MS) / (perHour * SHARE)));
}

/** How long to wait after a round, in milliseconds: longer than usual when few requests are left of the limit. */
export function nextPollMs(polled: Polled, sharing: number, budget: RequestBudget, now: Date): number {
  const usual = Math.max(pollEveryMs(polled, sharing), Math.min(budget.pollMs ?? 0, HOUR_MS));
  const { remaining, resetAt } = budget;
  const untilReset = Math.min((resetAt?.getTime() ?? 0) - now.getTime(), HOUR_MS);
  if (remaining === null || untilReset <= 0) return usual;
  const rounds = Math.floor(remaining / (REQUESTS_PER_ROUND * sharing));
  return Math.max(usual, untilReset / Math.max(rounds, 1));
}

/** Says how often Tidings asks, and why not more often. */
export function describePollInterval(polled: Polled, sharing: number): string {
  const { name, reader, words } = providerOf(polled.type);
  const everyMs = pollEveryMs(polled, sharing);
  if (everyMs <= MINUTE_MS) return `Tidings asks ${name} at least once a minute.`;
  const minutes = Math.ceil(everyMs / MINUTE_MS);
  const shared = sharing > 1 ? ` for all ${sharing} ${words.place.many} that are polled without one` : '';
  return `Tidings asks every ${minutes} minutes, because ${name} answers ${reader?.anonymousPerHour?.toLocaleString('en')} requests an hour without a token${shared}. A token makes it every minute.`;
}

/** True where the repositories of a provider can be polled. */
export function isPollable(type: Integration['type']): boolean {
  return providerOf(type).reader !== null;
}

/** True where a repository is polled every minute without a token too. */
export function isPolledByTheMinute(type: Integration['type']): boolean {
  return pollEveryMs({ type, hasToken: false }, 1) <= MINUTE_MS;
}
