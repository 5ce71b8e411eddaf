import { changing, NONE, THROTTLES, type WriteTx } from '../../../db/engine.ts';
import { findEvents } from '../../drafting/events.ts';
import { listEnabledTriggers } from '../../drafting/triggers/queue-store.ts';
import { findWebhookDelivery } from '../../integrations/deliveries/log-store.ts';
import { deleteHooks, listHooks, recordReading } from '../../integrations/hook-store.ts';
import { deleteWithHooks } from '../../integrations/hooks.ts';
import {
  findPoll,
  listDuePolls,
  listPolls,
  listSharing,
  MAX_WAIT_MS,
  nextPollMs,
  type Poll,
  type Pollable,
  postponePolls,
  REQUESTS_PER_ROUND,
  readEveryMs,
  restartPoll,
  updatePoll,
} from '../../integrations/poll-store.ts';
import { getIntegration, type Integration } from '../../integrations/store.ts';
import { findApi, openReaderOf } from '../../integrations/token.ts';
import { IntegrationProblem } from '../../integrations/words.ts';
import { AppError } from '../../lib/app-error.ts';
import { fullAgainAt, type RateLimit, waitMs } from '../../lib/bounded-map.ts';
import { count } from '../../lib/text.ts';
import { HOUR_MS } from '../../lib/time.ts';
import type { Deps } from '../../people/deps.ts';
import { findFullAt, saveThrottle } from '../../people/guard.ts';
import { ProviderProblem } from '../../providers/api.ts';
import { providerOf } from '../../providers/index.ts';
import type { RequestBudget } from '../../providers/reader.ts';
import { budgetOf } from './cursor.ts';
import { recordRound } from './record.ts';
import { readRound } from './round.ts';

// Requests without a token share one limit for the whole server. Rounds that people start get a part of it, and each
// organization half of that part, so that none uses it up. Kept in the database: the limits hold for all processes.

/** The part of the provider's limit. The schedule has `SHARE`; the rest is for history. */
const BY_HAND_SHARE = 0.2;

/** How far the clocks of two processes may differ. */
const MAX_SKEW_MS = HOUR_MS;

/** The rounds that people may start within an hour. */
interface Allowance {
  server: number;
  organization: number;
}

/** Null without a bound of ours: a token has its own limit. */
function allowanceOf({ type, hasToken }: Pollable): Allowance | null {
  const perHour = hasToken ? null : (providerOf(type).reader?.anonymousPerHour ?? null);
  if (perHour === null) return null;
  const server = Math.max(1, Math.floor((perHour * BY_HAND_SHARE) / REQUESTS_PER_ROUND));
  return { server, organization: Math.ceil(server / 2) };
}

/**
 * Takes up to `wanted` rounds from both allowances. Resolves to the number of rounds that may start now, and to when
 * the next one may.
 */
async function takeRounds(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  integration: Pick<Integration, 'type' | 'hasToken' | 'organizationId'>,
  wanted: number,
): Promise<{ granted: number; retryAt: Date | null }> {
  const allowance = allowanceOf(integration);
  if (allowance === null) return { granted: wanted, retryAt: null };
  const { type, organizationId } = integration;
  const buckets = [
    { key: keyOf(type, ''), limit: perHour(allowance.server) },
    { key: keyOf(type, organizationId), limit: perHour(allowance.organization) },
  ];
  const now = clock.now().getTime();
  const keys = buckets.map(({ key }) => key);
  const take = async (tx: WriteTx) => {
    const stored = await findFullAt(tx, keys);
    const present = buckets.map(({ key, limit }) => {
      return { key, limit, fullAt: fullAgainAt(stored.get(key), limit, now, MAX_SKEW_MS) };
    });
    const left = present.map(({ limit: { burst, everyMs }, fullAt }) =>
      Math.max(0, Math.floor(burst - (fullAt - now) / everyMs)),
    );
    const granted = Math.min(wanted, ...left);
    const taken = present.map(({ key, limit, fullAt }) => {
      return { key, limit, fullAt: Math.round(fullAt + granted * limit.everyMs) };
    });
    if (granted > 0) for (const { key, fullAt } of taken) await saveThrottle(tx, key, fullAt);
    const wait = Math.max(0, ...taken.map(({ limit, fullAt }) => waitMs(fullAt, limit, now)));
    return { granted, retryAt: new Date(now + Math.ceil(wait)) };
  };
  // The key under which all rows of the table are written.
  return db.write(take, changing(THROTTLES));
}

const perHour = (number: number): RateLimit => ({ burst: number, everyMs: HOUR_MS / number });

const keyOf = (type: string, organizationId: string) =>
  Bun.SHA256.hash(`poll by hand ${type} ${organizationId}`, 'base64url');

// The leader polls the repositories that are due. What a round reads, and where the next one goes on, are one
// transaction, so that nothing is lost or drafted twice, wherever a process ends.

/** How many repositories are polled at the same time. */
const AT_ONCE = 4;

/** How many due repositories one run of the job takes. */
const MAX_DUE = 20;

/** The wait after the first, second, … failure of the provider, in milliseconds; the last repeats. */
const BACK_OFF_MS = [60_000, 120_000, 300_000, 900_000];

/** As `BACK_OFF_MS`, after a failure that a person has to mend. */
const REFUSED_MS = [300_000, 900_000, 3_600_000];

/** The wait for a limit that names no time, and for a disabled integration, in milliseconds. */
const WAIT_MS = 60_000;

/** Polls the repositories that are due. `signal` ends it early, and aborts requests. */
export async function pollDue(deps: Deps, signal?: AbortSignal): Promise<void> {
  const due = await deps.db.read((tx) => listDuePolls(tx, deps.clock.now(), MAX_DUE));
  async function pollAgain({ repositoryId }: Poll): Promise<void> {
    // Another round of this run may have postponed it since.
    const poll = await deps.db.read((tx) => findPoll(tx, repositoryId, deps.clock.now()));
    if (poll !== null) await pollRepository(deps, poll, signal);
  }
  for (let at = 0; at < due.length && signal?.aborted !== true; at += AT_ONCE) {
    await Promise.all(due.slice(at, at + AT_ONCE).map(pollAgain));
  }
}

/** The outcome of polling a repository now. */
export interface Polled {
  repository: string;
  /** How many events were new. */
  news: number;
  /** Null when nothing went wrong. */
  problem: string | null;
}

/**
 * Polls all repositories of an integration at once, whenever they are due. Without a token, polls as many as the share
 * of the organization allows, and starts with the ones polled longest ago. Throws `AppError` 409 for one that is not
 * polled or disabled, and 429 when none may be polled now.
 */
export async function pollNow(deps: Deps, integrationId: string): Promise<Polled[]> {
  const { integration, polls } = await deps.db.read(async (tx) => ({
    integration: await getIntegration(tx, integrationId),
    polls: await listPolls(tx, integrationId),
  }));
  requirePolled(integration);
  const disabled = `Integration ${integrationId} is disabled. Enable it first.`;
  if (!integration.enabled) throw new AppError(409, disabled, { code: 'integration_disabled' });
  const { granted, retryAt } = await takeRounds(deps, integration, polls.length);
  const problem = retryAt === null ? '' : describeLimit(integration, retryAt, deps.clock.now());
  if (granted === 0 && polls.length > 0 && retryAt !== null) {
    const seconds = Math.ceil((retryAt.getTime() - deps.clock.now().getTime()) / 1000);
    throw new AppError(429, problem, {
      code: 'poll_limit',
      details: { retryAt: retryAt.toISOString() },
      headers: { 'retry-after': String(seconds) },
    });
  }
  const timeOf = ({ polledAt }: Poll) => (polledAt === null ? 0 : Date.parse(polledAt));
  const oldestFirst = polls.toSorted((a, b) => timeOf(a) - timeOf(b));
  const chosen = new Set(oldestFirst.slice(0, granted).map(({ repositoryId }) => repositoryId));
  const polled: Polled[] = [];
  for (const poll of polls) {
    const result = chosen.has(poll.repositoryId) ? await pollRepository(deps, poll) : { news: 0, problem };
    polled.push({ repository: poll.fullName, ...result });
  }
  return polled;
}

/** Why a round without a token cannot start now, and what to do. */
function describeLimit(integration: Integration, retryAt: Date, now: Date): string {
  const { name, reader } = providerOf(integration.type);
  const rounds = allowanceOf(integration)?.organization ?? 0;
  const minutes = Math.max(1, Math.ceil((retryAt.getTime() - now.getTime()) / 60_000));
  const perHour = reader?.anonymousPerHour?.toLocaleString('en');
  return `${name} answers ${perHour} requests an hour without a token for the whole server, so an organization can poll ${rounds.toLocaleString('en')} repositories an hour by hand. Try again in ${count(minutes, 'minute')}, or add a token. The schedule continues.`;
}

/** Throws `AppError` 409 `not_polled`. */
export function requirePolled({ id, isPolled }: Pick<Integration, 'id' | 'isPolled'>): void {
  const message = `Integration ${id} is not polled: a webhook delivers its events.`;
  if (!isPolled) throw new AppError(409, message, { code: 'not_polled' });
}

type Result = Omit<Polled, 'repository'>;

/** One round. Records a failure of the provider with the repository. */
async function pollRepository(deps: Deps, poll: Poll, signal?: AbortSignal): Promise<Result> {
  const { db, clock, metrics, log } = deps;
  const { integration, sharing } = await db.read(async (tx) => {
    const integration = await getIntegration(tx, poll.integrationId);
    return { integration, sharing: await listSharing(tx, integration) };
  });
  const { type, enabled } = integration;
  if (!enabled) {
    // Starts anew when the integration is enabled: events of the time before are not drafted.
    await db.write((tx) => restartPoll(tx, poll, clock.now().getTime() + WAIT_MS), NONE);
    return { news: 0, problem: null };
  }
  try {
    const news = await pollOnce(deps, poll, integration, sharing.length, signal);
    metrics.polls(type, news === 0 ? 'unchanged' : 'news').value++;
    return { news, problem: null };
  } catch (error) {
    if (signal?.aborted) throw error;
    if (!(error instanceof ProviderProblem) && !(error instanceof IntegrationProblem)) throw error;
    metrics.polls(type, 'failed').value++;
    const { repositoryId, integrationId } = poll;
    log.warn({ err: error, integrationId, repositoryId }, 'could not poll a repository');
    await recordFailure(deps, poll, integration, sharing, error, clock.now());
    return { news: 0, problem: error.message };
  }
}

/** Resolves to the number of news. Throws `ProviderProblem`, and `IntegrationProblem` `name_reused`. */
async function pollOnce(
  deps: Deps,
  poll: Poll,
  integration: Integration,
  sharing: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { db, clock, log } = deps;
  const subject = integration.repositories.find(({ id }) => id === poll.repositoryId);
  if (subject === undefined) return 0;
  const startedAt = performance.now();
  const { seen = null, webhookSince: since = null, hasOldHook = false } = poll.cursor ?? {};
  // Asked before the round: it then reads all that happened before the webhook delivered.
  const { id: integrationId } = integration;
  const { id: repositoryId } = subject;
  const isLast =
    since !== null &&
    (await db.read((tx) => findWebhookDelivery(tx, integrationId, repositoryId, since))) !== null;
  const triggers = await db.read((tx) => listEnabledTriggers(tx, integrationId, repositoryId));
  const needsFiles = triggers.some(({ filters }) => filters.path !== undefined);
  const reader = await openReaderOf(deps, integration, signal);
  const findPushes = (keys: readonly string[]) =>
    db.read((tx) => findEvents(tx, { integrationId, repositoryId }, 'push', keys));
  const reading = { reader, log, now: clock.now(), needsFiles, findPushes };
  const round = await readRound(reading, subject, seen);
  const now = clock.now();
  const budget: RequestBudget = reader.budget;
  const besideMs = integration.isPolled ? 0 : readEveryMs(integration.type);
  const changes = {
    cursor: { seen: round.seen, webhookSince: since, hasOldHook, budget: budgetOf(budget) },
    dueAt: now.getTime() + Math.max(besideMs, Math.round(nextPollMs(integration, sharing, budget, now))),
    polledAt: now.toISOString(),
    problem: null,
    attempts: 0,
  };
  const durationMs = Math.round(performance.now() - startedAt);
  const news = await recordRound(deps, poll, round, changes, { isLast, durationMs });
  if (news !== null && !integration.isPolled)
    await db.write((tx) => recordReading(tx, poll, { news }, clock.now()), NONE);
  if (news !== null && hasOldHook) await deleteOldHook(deps, integration, repositoryId);
  return news ?? 0;
}

async function recordFailure(
  { db }: Deps,
  poll: Poll,
  { type, isPolled }: Integration,
  sharing: readonly string[],
  error: ProviderProblem | IntegrationProblem,
  now: Date,
): Promise<void> {
  const { repositoryId, attempts } = poll;
  const problem = error.message;
  if (error instanceof ProviderProblem && error.kind === 'rate-limited') {
    const retryAt = error.retryAt?.getTime() ?? now.getTime() + WAIT_MS;
    const dueAt = Math.min(Math.max(retryAt, now.getTime() + 1_000), now.getTime() + MAX_WAIT_MS);
    // Alone, because it changes rows of many integrations.
    await db.write(async (tx) => {
      await updatePoll(tx, repositoryId, { dueAt, problem });
      // The provider would refuse the others too.
      await postponePolls(tx, sharing, { dueAt, problem });
    });
    return;
  }
  const isOutage = error instanceof ProviderProblem && error.kind === 'provider-failed';
  // Beside a webhook, a token that may not read does no harm.
  const waits = isOutage ? BACK_OFF_MS : isPolled ? REFUSED_MS : [readEveryMs(type)];
  const dueAt = now.getTime() + (waits[Math.min(attempts, waits.length - 1)] ?? 0);
  await db.write(async (tx) => {
    await updatePoll(tx, repositoryId, { dueAt, problem, attempts: attempts + 1 });
    if (!isPolled && !isOutage) await recordReading(tx, poll, { problem }, now);
  }, NONE);
}

/**
 * Deletes the webhook that polling has replaced, at the provider and here. Throws `ChangeFailed`; the next round tries
 * again.
 */
async function deleteOldHook(deps: Deps, integration: Integration, repositoryId: string): Promise<void> {
  const all = await deps.db.read((tx) => listHooks(tx, integration.id));
  const hooks = all.filter((hook) => hook.repositoryId === repositoryId);
  await deleteWithHooks(deps, await findApi(deps, integration), integration, hooks, {
    force: false,
    outcome: () => ({ code: 'old_hook_left' }),
    async forget(tx) {
      const deleted = await Promise.all(hooks.map(({ placeId }) => deleteHooks(tx, integration.id, placeId)));
      const poll = await findPoll(tx, repositoryId);
      await updatePoll(tx, repositoryId, { cursor: { ...poll?.cursor, hasOldHook: false } });
      return deleted.flat();
    },
  });
}
