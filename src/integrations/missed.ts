import { letOthersIn } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderApi, ProviderProblem, RemoteAttempt } from '../providers/api.ts';
import { isNeeded, providerOf } from '../providers/index.ts';
import { listLogged } from './deliveries/log-store.ts';
import { type Delivery, isTaken } from './deliveries/store.ts';
import { getWithHooks, type Hook, type MadeHook } from './hook-store.ts';
import { requireApi } from './token.ts';
import { IntegrationProblem, type IntegrationType, isProblem, type MissedCause } from './words.ts';

// Deliveries of the provider, beside the log. The job `recovery` uses it every few minutes, and people whenever they like.

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

/** `attemptId`: the newest attempt, for a redelivery. */
interface Compared {
  delivery: ComparedDelivery;
  attemptId: string;
}

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'openProviderApi'>;

/** `missed`: the log does not have them as taken; oldest first. `isCut`: the provider listed only the newest. */
export type Comparison = Awaited<ReturnType<typeof findMissed>>;

/**
 * Compares the deliveries that the provider keeps, and that drafts may be made of, with the log. Throws
 * `ProviderProblem`, and `IntegrationProblem` `integration_not_found`, `no_token` and `no_delivery_list`.
 */
export async function findMissed(deps: Needs, integrationId: string) {
  const { since, compared, isCut, unknown } = await compareAll(deps, integrationId);
  const counts = { arrived: 0, failed: 0, 'never-arrived': 0 };
  for (const { delivery } of compared) counts[delivery.fate]++;
  const missed = compared.filter(isMissed).map(({ delivery }) => delivery);
  return { integrationId, since: since.toISOString(), counts, missed, isCut, unknown };
}

export const isMissed = ({ delivery }: Compared) => delivery.fate !== 'arrived';

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
  const { compared } = await compareAll(deps, integrationId);
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

/** How the provider redelivers. Throws `IntegrationProblem` `no_delivery_list`. */
function requireList(type: IntegrationType) {
  const redelivery = providerOf(type).api?.redelivery ?? null;
  if (redelivery === null) throw new IntegrationProblem({ code: 'no_delivery_list', type });
  return redelivery;
}

/** Oldest first. A problem of one place does not affect the others. */
async function compareAll(deps: Needs, integrationId: string) {
  const { integration, hooks } = await deps.db.read((tx) => getWithHooks(tx, integrationId));
  const api = await requireApi(deps, integration);
  const { keptMs } = requireList(integration.type);
  const now = deps.clock.now().getTime();
  const since = new Date(Math.max(now - keptMs, Date.parse(integration.createdAt)));
  const compared: (Compared & { redeliver: () => Promise<void> })[] = [];
  const unknown: { place: string; problem: ProviderProblem }[] = [];
  let isCut = false;
  const made = hooks.filter(isMade);
  for (const hook of made) {
    try {
      const listed = await compareHook(deps, api, hook, since);
      isCut ||= listed.isCut;
      for (const each of listed.compared) {
        const redeliver = async () => api.redeliver?.(hook.placeId, hook.remoteId, each.attemptId);
        compared.push({ ...each, redeliver });
      }
    } catch (error) {
      if (!isProblem(error, 'hook-not-found', 'place-not-found', 'missing-permission')) throw error;
      unknown.push({ place: hook.placeName, problem: error });
    }
  }
  const [first] = unknown;
  if (first !== undefined && unknown.length === made.length) throw first.problem;
  compared.sort(byTime);
  return { since, compared, isCut, unknown };
}

const byTime = ({ delivery: one }: Compared, { delivery: other }: Compared) =>
  one.deliveredAt === other.deliveredAt ? 0 : one.deliveredAt < other.deliveredAt ? -1 : 1;

const isMade = (hook: Hook): hook is MadeHook => hook.remoteId !== null;

/**
 * Compares the deliveries of one hook since then, oldest first. `etag`: of an earlier list, whose deliveries had all
 * arrived. Throws `ProviderProblem`, and `IntegrationProblem` `no_delivery_list`.
 */
export async function compareHook(
  deps: Needs,
  api: ProviderApi,
  { integrationId, placeId, placeName: place, remoteId }: MadeHook,
  since: Date,
  known: string | null = null,
) {
  requireList(api.type);
  const listed = await api.listAttempts?.(placeId, remoteId, since, known);
  const { attempts = [], ...list } = listed ?? { isCut: false, etag: null, isUnchanged: false };
  const provider = providerOf(api.type);
  const needed = attempts.filter(({ event, action }) => isNeeded(provider, event, action));
  const byDelivery = Map.groupBy(needed, ({ deliveryId }) => deliveryId);
  const logged = await readLog(deps, integrationId, [...byDelivery.keys()]);
  const compared: Compared[] = [];
  for (const [deliveryId, own] of byDelivery) {
    const [newest] = own;
    if (newest === undefined) continue;
    const delivery = { place, ...compareOne(own, newest, logged.get(deliveryId)) };
    compared.push({ delivery, attemptId: newest.id });
  }
  return { ...list, compared: compared.reverse().sort(byTime) };
}

/** Lookups in one turn of the event loop: about a millisecond. */
const LOOKUPS_PER_TURN = 200;

type Logged = Pick<Delivery, 'status' | 'reason'>;

export async function readLog({ db }: Pick<Deps, 'db'>, integrationId: string, ids: readonly string[]) {
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
