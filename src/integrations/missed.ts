import { NONE } from '../../db/engine.ts';
import { DAY_MS, letOthersIn } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderProblem, RemoteAttempt } from '../providers/api.ts';
import { listLogged } from './deliveries/log-store.ts';
import { type Delivery, isTaken } from './deliveries/store.ts';
import { getWithHooks } from './hook-store.ts';
import { updateIntegration } from './store.ts';
import { requireApi } from './token.ts';
import { IntegrationProblem, isProblem, type MissedCause } from './words.ts';

/** Providers keep their list of deliveries that long, in milliseconds. */
export const COMPARED_MS = 3 * DAY_MS;

/** The maximum number of redeliveries in one request. */
export const MAX_REDELIVERED = 500;

export interface ComparedDelivery {
  deliveryId: string;
  place: string;
  event: string;
  action: string | null;
  /** The provider's first attempt. ISO 8601. */
  deliveredAt: string;
  attempts: number;
  /** Failed: the endpoint responded, and the log does not have it as taken. Never arrived: nothing responded. */
  fate: 'arrived' | 'failed' | 'never-arrived';
  /** Null when it arrived. */
  cause: MissedCause | null;
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'openProviderApi'>;

/**
 * Compares the provider's deliveries of the last three days, without pings, with the log, and records the check. Throws
 * `ProviderProblem`, and `IntegrationProblem` `integration_not_found`, `no_token` and `no_delivery_list`.
 */
export async function findMissed(deps: Needs, integrationId: string): Promise<Comparison> {
  const comparison = await compareDeliveries(deps, integrationId);
  const missedCheckedAt = deps.clock.now().toISOString();
  await deps.db.write((tx) => updateIntegration(tx, integrationId, { missedCheckedAt }), NONE);
  return comparison;
}

/** `missed`: the log does not have them as taken; oldest first. `isCut`: the provider listed only the newest. */
export type Comparison = Awaited<ReturnType<typeof compareDeliveries>>;

/** `findMissed` without recording the check. */
export async function compareDeliveries(deps: Needs, integrationId: string) {
  const { since, compared, isCut, unknown } = await compare(deps, integrationId);
  const counts = { arrived: 0, failed: 0, 'never-arrived': 0 };
  for (const { delivery } of compared) counts[delivery.fate]++;
  const missed = compared.filter(isMissed).map(({ delivery }) => delivery);
  return { integrationId, since: since.toISOString(), counts, missed, isCut, unknown };
}

const isMissed = ({ delivery }: { delivery: ComparedDelivery }) => delivery.fate !== 'arrived';

/** `problem` null: the provider agreed to send it again. */
export type Redelivered = { deliveryId: string; problem: ProviderProblem | null };

/**
 * Requests redelivery of missed deliveries: these, or all. Never of one that the log has as taken. Stops at the first
 * failure that affects the others too. Throws as `findMissed` does, and `IntegrationProblem` `delivery_not_missed`.
 */
export async function redeliverMissed(
  deps: Needs,
  integrationId: string,
  wanted: readonly string[] | 'all',
): Promise<Redelivered[]> {
  const { compared } = await compare(deps, integrationId);
  const missed = new Map(compared.filter(isMissed).map((each) => [each.delivery.deliveryId, each]));
  const chosen = new Set(wanted === 'all' ? missed.keys() : wanted);
  for (const deliveryId of chosen) {
    if (!missed.has(deliveryId)) throw new IntegrationProblem({ code: 'delivery_not_missed', deliveryId });
  }
  const results: Redelivered[] = [];
  for (const [deliveryId, { redeliver }] of missed) {
    if (!chosen.has(deliveryId)) continue;
    const problem = await redeliver().then(
      () => null,
      (error: unknown) => {
        if (isProblem(error)) return error;
        throw error;
      },
    );
    results.push({ deliveryId, problem });
    const isOver = results.length === MAX_REDELIVERED;
    if (isOver || (problem !== null && problem.kind !== 'refused')) break;
  }
  return results;
}

/** Oldest first. A problem of one place does not affect the others. */
async function compare(deps: Needs, integrationId: string) {
  const { integration, hooks } = await deps.db.read((tx) => getWithHooks(tx, integrationId));
  const api = await requireApi(deps, integration);
  if (api.listAttempts === undefined) {
    throw new IntegrationProblem({ code: 'no_delivery_list', type: integration.type });
  }
  const now = deps.clock.now().getTime();
  const since = new Date(Math.max(now - COMPARED_MS, Date.parse(integration.createdAt)));
  const compared: { delivery: ComparedDelivery; redeliver: () => Promise<void> }[] = [];
  const unknown: { place: string; problem: ProviderProblem }[] = [];
  let isCut = false;
  for (const { placeId, placeName: place, remoteId } of hooks) {
    if (remoteId === null) continue;
    try {
      const listed = await api.listAttempts(placeId, remoteId, since);
      isCut ||= listed.isCut;
      const byDelivery = Map.groupBy(listed.attempts, ({ deliveryId }) => deliveryId);
      const logged = await readLog(deps, integrationId, [...byDelivery.keys()]);
      for (const [deliveryId, attempts] of byDelivery) {
        const [newest] = attempts;
        if (newest === undefined || newest.event === 'ping') continue;
        compared.push({
          delivery: { place, ...compareOne(attempts, newest, logged.get(deliveryId)) },
          redeliver: async () => api.redeliver?.(placeId, remoteId, newest.id),
        });
      }
    } catch (error) {
      if (!isProblem(error, 'hook-not-found', 'place-not-found', 'missing-permission')) throw error;
      unknown.push({ place, problem: error });
    }
  }
  const [first] = unknown;
  const made = hooks.filter(({ remoteId }) => remoteId !== null);
  if (first !== undefined && unknown.length === made.length) throw first.problem;
  compared.sort((one, other) => (one.delivery.deliveredAt < other.delivery.deliveredAt ? -1 : 1));
  return { since, compared, isCut, unknown };
}

/** Lookups in one turn of the event loop: about a millisecond. */
const LOOKUPS_PER_TURN = 200;

type Logged = Pick<Delivery, 'status' | 'reason'>;

async function readLog({ db }: Needs, integrationId: string, ids: readonly string[]) {
  const logged = new Map<string, Logged>();
  for (let at = 0; at < ids.length; at += LOOKUPS_PER_TURN) {
    const some = ids.slice(at, at + LOOKUPS_PER_TURN);
    const found = await db.read((tx) => listLogged(tx, integrationId, some));
    for (const [id, entry] of found) logged.set(id, entry);
    await letOthersIn();
  }
  return logged;
}

/** `attempts`: newest first. */
function compareOne(
  attempts: readonly RemoteAttempt[],
  { deliveryId, event, action, ...newest }: RemoteAttempt,
  entry: Logged | undefined,
) {
  const deliveredAt = attempts.at(-1)?.deliveredAt ?? newest.deliveredAt;
  const result = fateOf(attempts.find(({ statusCode }) => statusCode !== null) ?? newest, entry);
  return { deliveryId, event, action, deliveredAt, attempts: attempts.length, ...result };
}

/** `attempt`: the newest that was answered, or else the newest. */
function fateOf(
  { statusCode, status: message }: Pick<RemoteAttempt, 'statusCode' | 'status'>,
  entry: Logged | undefined,
): Pick<ComparedDelivery, 'fate' | 'cause'> {
  if (entry !== undefined) {
    const { status, reason } = entry;
    if (isTaken(status)) return { fate: 'arrived', cause: null };
    if (reason !== null) return { fate: 'failed', cause: { code: 'logged', reason } };
    return { fate: 'failed', cause: { code: 'logged_without_reason', status } };
  }
  const response = { statusCode, message };
  if (statusCode === null) return { fate: 'never-arrived', cause: { code: 'no_response', response } };
  return { fate: 'failed', cause: { code: statusCode < 300 ? 'answered_by_other' : 'refused', response } };
}
