import { listLogged } from '../deliveries/log-store.ts';
import { type Delivery, isTaken } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../lib/app-error.ts';
import { DAY_MS } from '../lib/time.ts';
import { letOthersIn } from '../lib/turns.ts';
import {
  type ComparedDelivery,
  type Fate,
  type Hook,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
} from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { listHooks } from './hook-store.ts';
import { sayAnswer } from './say-answer.ts';
import { getIntegration, setMissedCheckedAt } from './store.ts';
import { requireApi } from './token.ts';

/** Providers list deliveries of so many milliseconds. */
export const TOLD_FOR_MS = 3 * DAY_MS;

/** How many deliveries are asked for again in one go. */
export const MAX_REDELIVERED = 500;

export interface Comparison {
  integrationId: string;
  /** What was compared: from then on. ISO 8601. */
  since: string;
  counts: Record<Fate, number>;
  /** What is not in the log as taken, oldest first. */
  missed: ComparedDelivery[];
  /** Whether the provider told only of the newest. */
  isCut: boolean;
  /** Places of which the provider told nothing, and why, such as a webhook that somebody deleted there. */
  untold: { place: string; reason: string }[];
}

type LookNeeds = Pick<Deps, 'db' | 'clock' | 'secrets' | 'openProviderApi'>;

type Logged = Pick<Delivery, 'id' | 'status' | 'reason'>;

interface Compared extends ComparedDelivery {
  hook: Hook;
  newestAttemptId: string;
}

/**
 * Compares what the provider says that it delivered in the last three days with the log. Pings do not count. Throws
 * `ProviderProblem`, and `AppError` 404, and 409 for an integration whose provider does not tell.
 */
export async function findMissed(deps: LookNeeds, integrationId: string): Promise<Comparison> {
  const found = await compareDeliveries(deps, integrationId);
  await setMissedCheckedAt(deps.db, integrationId, deps.clock.now());
  return found;
}

/** The same, without a note that somebody has looked: it changes nothing. */
export async function compareDeliveries(deps: LookNeeds, integrationId: string): Promise<Comparison> {
  const { since, compared, isCut, untold } = await compare(deps, integrationId);
  const counts = { arrived: 0, failed: 0, 'never-arrived': 0 };
  for (const { fate } of compared) counts[fate]++;
  const missed = compared
    .filter(({ fate }) => fate !== 'arrived')
    .map(({ hook: _, newestAttemptId: __, ...delivery }) => delivery);
  return { integrationId, since: since.toISOString(), counts, missed, isCut, untold };
}

export interface Redelivered {
  deliveryId: string;
  /** Whether the provider said that it will send it again. */
  isAsked: boolean;
  /** Why not, in words; null when it will. */
  problem: string | null;
}

/**
 * Asks the provider to send what was missed again: these deliveries, or all. What the log has as taken is never asked
 * for. Stops at the first failure that would befall the others too. Throws as `findMissed` does, and `AppError` 404 for
 * a delivery that is not among those that were missed.
 */
export async function redeliverMissed(
  deps: LookNeeds,
  integrationId: string,
  wanted: readonly string[] | 'all',
): Promise<Redelivered[]> {
  const { api, compared } = await compare(deps, integrationId);
  const missed = compared.filter(({ fate }) => fate !== 'arrived');
  const ids = new Set(wanted === 'all' ? [] : wanted);
  if (wanted !== 'all') {
    const known = new Set(missed.map(({ deliveryId }) => deliveryId));
    const unknown = wanted.find((id) => !known.has(id));
    if (unknown !== undefined) {
      throw new AppError(404, `Delivery ${unknown} is not among those that were missed: look again`);
    }
  }
  const chosen = missed.filter(({ deliveryId }) => wanted === 'all' || ids.has(deliveryId));
  const results: Redelivered[] = [];
  for (const { deliveryId, hook, newestAttemptId } of chosen.slice(0, MAX_REDELIVERED)) {
    const problem = await redeliver(api, hook, newestAttemptId);
    results.push({ deliveryId, isAsked: problem === null, problem: problem?.message ?? null });
    if (problem !== null && problem.kind !== 'refused') break;
  }
  return results;
}

async function redeliver(api: ProviderApi, hook: Hook, attemptId: string): Promise<ProviderProblem | null> {
  try {
    if (hook.remoteId !== null) await api.redeliver?.(hook.placeId, hook.remoteId, attemptId);
    return null;
  } catch (error) {
    if (error instanceof ProviderProblem) return error;
    throw error;
  }
}

/** Oldest first. */
async function compare(deps: LookNeeds, integrationId: string) {
  const integration = await getIntegration(deps.db, integrationId);
  const api = await requireApi(deps, integration);
  if (api.listAttempts === undefined) {
    const { name, words } = providerOf(integration.type);
    throw new AppError(409, words.redelivery ?? `${name} has no list of its deliveries`);
  }
  const now = deps.clock.now().getTime();
  const since = new Date(Math.max(now - TOLD_FOR_MS, Date.parse(integration.createdAt)));
  const compared: Compared[] = [];
  let isCut = false;
  const problems: { place: string; problem: ProviderProblem }[] = [];
  const hooks = (await listHooks(deps.db, integrationId)).filter(({ remoteId }) => remoteId !== null);
  for (const hook of hooks) {
    const told = await listAttemptsOf(api, hook, since);
    if (told instanceof ProviderProblem) {
      problems.push({ place: hook.placeName, problem: told });
      continue;
    }
    isCut ||= told.isCut;
    const byDelivery = Map.groupBy(told.attempts, ({ deliveryId }) => deliveryId);
    const logged = await loggedOf(deps, integrationId, [...byDelivery.keys()]);
    for (const [deliveryId, attempts] of byDelivery) {
      const entry = logged.get(deliveryId);
      const [newest] = attempts;
      if (newest === undefined || newest.event === 'ping') continue;
      compared.push({
        ...describe(deliveryId, attempts, entry),
        hook,
        place: hook.placeName,
        newestAttemptId: newest.id,
      });
    }
  }
  const [first] = problems;
  if (first !== undefined && problems.length === hooks.length) throw first.problem;
  compared.sort((one, other) => (one.deliveredAt < other.deliveredAt ? -1 : 1));
  const untold = problems.map(({ place, problem }) => ({ place, reason: problem.message }));
  return { api, since, compared, isCut, untold };
}

/** What is wrong with one place, the others do not suffer for. Throws what would befall all of them. */
async function listAttemptsOf(api: ProviderApi, { placeId, remoteId }: Hook, since: Date) {
  try {
    return (await api.listAttempts?.(placeId, remoteId ?? '', since)) ?? { attempts: [], isCut: false };
  } catch (error) {
    const isOfPlace = ['hook-not-found', 'place-not-found', 'missing-permission'];
    if (error instanceof ProviderProblem && isOfPlace.includes(error.kind)) return error;
    throw error;
  }
}

/** How many deliveries are looked up before other work of the server has its turn: about a millisecond of them. */
const LOOKED_UP_PER_TURN = 200;

async function loggedOf({ db }: LookNeeds, integrationId: string, ids: readonly string[]) {
  const found: [string, Logged][] = [];
  for (let at = 0; at < ids.length; at += LOOKED_UP_PER_TURN) {
    found.push(...(await listLogged(db, integrationId, ids.slice(at, at + LOOKED_UP_PER_TURN))));
    await letOthersIn();
  }
  return new Map(found);
}

/** `attempts`: newest first, at least one. */
function describe(
  deliveryId: string,
  attempts: readonly RemoteAttempt[],
  entry: Logged | undefined,
): Omit<ComparedDelivery, 'place'> {
  const newest = attempts[0];
  const first = attempts.at(-1);
  const told = {
    deliveryId,
    event: newest?.event ?? '',
    action: newest?.action ?? null,
    deliveredAt: first?.deliveredAt ?? '',
    attempts: attempts.length,
  };
  if (entry !== undefined && isTaken(entry.status)) return { ...told, fate: 'arrived', reason: null };
  const answered = attempts.find(({ statusCode }) => statusCode !== null);
  if (entry !== undefined)
    return { ...told, fate: 'failed', reason: entry.reason ?? `It was ${entry.status}` };
  if (answered === undefined) return { ...told, fate: 'never-arrived', reason: newest?.status ?? null };
  const said = sayAnswer(answered.statusCode, answered.status);
  return {
    ...told,
    fate: 'failed',
    reason:
      (answered.statusCode ?? 0) < 300
        ? `It was answered with ${said}, and the log does not have it: something else answered, or the data was restored from a backup`
        : `It was answered with ${said}, and the log does not have its id: Tidings refused it, which another entry tells, or something before Tidings answered`,
  };
}
