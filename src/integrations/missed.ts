import { listLogged } from '../deliveries/log-store.ts';
import { type Delivery, isTaken } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import { DAY_MS, letOthersIn } from '../lib/time.ts';
import type { ProviderApi, ProviderProblem, RemoteAttempt } from '../providers/api.ts';
import { getWithHooks } from './hook-store.ts';
import type { Hook } from './model.ts';
import { IntegrationProblem, isProblem } from './problems.ts';
import { updateIntegration } from './store.ts';
import { requireApi } from './token.ts';
import type { MissedCause } from './words.ts';

/** Providers keep their list of deliveries that long, in milliseconds. */
export const COMPARED_MS = 3 * DAY_MS;

/** The maximum number of redeliveries in one request. */
export const MAX_REDELIVERED = 500;

/** The result of a delivery, by the provider's list and the log together. */
type Fate =
  /** The log has it as taken. */
  | 'arrived'
  /** The endpoint responded, and the log does not have it as taken. */
  | 'failed'
  /** Nothing responded. */
  | 'never-arrived';

export interface ComparedDelivery {
  deliveryId: string;
  place: string;
  event: string;
  action: string | null;
  /** The provider's first attempt. ISO 8601. */
  deliveredAt: string;
  fate: Fate;
  attempts: number;
  /** Null when it arrived. */
  cause: MissedCause | null;
}

export interface Comparison {
  integrationId: string;
  /** The start of the compared time. ISO 8601. */
  since: string;
  counts: Record<Fate, number>;
  /** Deliveries that the log does not have as taken, oldest first. */
  missed: ComparedDelivery[];
  /** True if the provider listed only the newest deliveries. */
  isCut: boolean;
  /** Places whose deliveries the provider did not list, for example after somebody deleted the hook there. */
  unknown: { place: string; problem: ProviderProblem }[];
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'openProviderApi'>;

interface Compared {
  delivery: ComparedDelivery;
  hook: Hook;
  newestAttemptId: string;
}

/**
 * Compares the provider's deliveries of the last three days, without pings, with the log, and records the check. Throws
 * `ProviderProblem`, and `IntegrationProblem` `integration_not_found`, `no_token` and `no_delivery_list`.
 */
export async function findMissed(deps: Needs, integrationId: string): Promise<Comparison> {
  const comparison = await compareDeliveries(deps, integrationId);
  const missedCheckedAt = deps.clock.now().toISOString();
  await deps.db.write((tx) => updateIntegration(tx, integrationId, { missedCheckedAt }));
  return comparison;
}

/** `findMissed` without recording the check. */
export async function compareDeliveries(deps: Needs, integrationId: string): Promise<Comparison> {
  const { since, compared, isCut, unknown } = await compare(deps, integrationId);
  const counts = { arrived: 0, failed: 0, 'never-arrived': 0 };
  for (const { delivery } of compared) counts[delivery.fate]++;
  const missed = compared.filter(isMissed).map(({ delivery }) => delivery);
  return { integrationId, since: since.toISOString(), counts, missed, isCut, unknown };
}

const isMissed = ({ delivery }: Compared) => delivery.fate !== 'arrived';

export interface Redelivered {
  deliveryId: string;
  /** Null if the provider agreed to send it again. */
  problem: ProviderProblem | null;
}

/**
 * Requests redelivery of missed deliveries: these, or all. Never of one that the log has as taken. Stops at the first
 * failure that affects the others too. Throws as `findMissed` does, and `IntegrationProblem` `delivery_not_missed`.
 */
export async function redeliverMissed(
  deps: Needs,
  integrationId: string,
  wanted: readonly string[] | 'all',
): Promise<Redelivered[]> {
  const { api, compared } = await compare(deps, integrationId);
  const missed = compared.filter(isMissed);
  const ids = new Set(wanted === 'all' ? missed.map(({ delivery }) => delivery.deliveryId) : wanted);
  const chosen = missed.filter(({ delivery }) => ids.has(delivery.deliveryId));
  const known = new Set(chosen.map(({ delivery }) => delivery.deliveryId));
  for (const deliveryId of ids) {
    if (!known.has(deliveryId)) throw new IntegrationProblem({ code: 'delivery_not_missed', deliveryId });
  }
  const results: Redelivered[] = [];
  for (const { delivery, hook, newestAttemptId } of chosen.slice(0, MAX_REDELIVERED)) {
    const problem = await redeliver(api, hook, newestAttemptId);
    results.push({ deliveryId: delivery.deliveryId, problem });
    if (problem !== null && problem.kind !== 'refused') break;
  }
  return results;
}

async function redeliver(api: ProviderApi, hook: Hook, attemptId: string): Promise<ProviderProblem | null> {
  try {
    if (hook.remoteId !== null) await api.redeliver?.(hook.placeId, hook.remoteId, attemptId);
    return null;
  } catch (error) {
    if (isProblem(error)) return error;
    throw error;
  }
}

/** Oldest first. */
async function compare(deps: Needs, integrationId: string) {
  const { integration, hooks: all } = await deps.db.read((tx) => getWithHooks(tx, integrationId));
  const hooks = all.filter(({ remoteId }) => remoteId !== null);
  const api = await requireApi(deps, integration);
  if (api.listAttempts === undefined) {
    throw new IntegrationProblem({ code: 'no_delivery_list', type: integration.type });
  }
  const now = deps.clock.now().getTime();
  const since = new Date(Math.max(now - COMPARED_MS, Date.parse(integration.createdAt)));
  const compared: Compared[] = [];
  let isCut = false;
  const unknown: Comparison['unknown'] = [];
  for (const hook of hooks) {
    let listed: Awaited<ReturnType<typeof api.listAttempts>>;
    try {
      listed = await api.listAttempts(hook.placeId, hook.remoteId ?? '', since);
    } catch (error) {
      // A problem of one place does not affect the others.
      if (!isProblem(error, 'hook-not-found', 'place-not-found', 'missing-permission')) throw error;
      unknown.push({ place: hook.placeName, problem: error });
      continue;
    }
    isCut ||= listed.isCut;
    const byDelivery = Map.groupBy(listed.attempts, ({ deliveryId }) => deliveryId);
    const logged = await readLog(deps, integrationId, [...byDelivery.keys()]);
    for (const [deliveryId, attempts] of byDelivery) {
      const [newest] = attempts;
      if (newest === undefined || newest.event === 'ping') continue;
      const delivery = compareOne(hook, attempts, newest, logged.get(deliveryId));
      compared.push({ delivery, hook, newestAttemptId: newest.id });
    }
  }
  const [first] = unknown;
  if (first !== undefined && unknown.length === hooks.length) throw first.problem;
  compared.sort((one, other) => (one.delivery.deliveredAt < other.delivery.deliveredAt ? -1 : 1));
  return { api, since, compared, isCut, unknown };
}

/** Lookups in one turn of the event loop: about a millisecond. */
const LOOKUPS_PER_TURN = 200;

type Logged = Pick<Delivery, 'id' | 'status' | 'reason'>;

async function readLog({ db }: Needs, integrationId: string, ids: readonly string[]) {
  const logged = new Map<string, Logged>();
  for (let at = 0; at < ids.length; at += LOOKUPS_PER_TURN) {
    const some = ids.slice(at, at + LOOKUPS_PER_TURN);
    for (const [id, entry] of await db.read((tx) => listLogged(tx, integrationId, some)))
      logged.set(id, entry);
    await letOthersIn();
  }
  return logged;
}

/** `attempts`: newest first. */
function compareOne(
  { placeName }: Hook,
  attempts: readonly RemoteAttempt[],
  newest: RemoteAttempt,
  entry: Logged | undefined,
): ComparedDelivery {
  const { deliveryId, event, action } = newest;
  return {
    deliveryId,
    event,
    action,
    deliveredAt: attempts.at(-1)?.deliveredAt ?? newest.deliveredAt,
    attempts: attempts.length,
    ...fateOf(attempts, newest, entry),
    place: placeName,
  };
}

function fateOf(
  attempts: readonly RemoteAttempt[],
  newest: RemoteAttempt,
  entry: Logged | undefined,
): { fate: Fate; cause: MissedCause | null } {
  if (entry !== undefined) {
    const { status, reason } = entry;
    if (isTaken(status)) return { fate: 'arrived', cause: null };
    const cause: MissedCause =
      reason === null ? { code: 'logged_without_reason', status } : { code: 'logged', reason };
    return { fate: 'failed', cause };
  }
  const { statusCode, status: message } = attempts.find((attempt) => attempt.statusCode !== null) ?? newest;
  const response = { statusCode, message };
  if (statusCode === null) return { fate: 'never-arrived', cause: { code: 'no_response', response } };
  return { fate: 'failed', cause: { code: statusCode < 300 ? 'answered_by_other' : 'refused', response } };
}
