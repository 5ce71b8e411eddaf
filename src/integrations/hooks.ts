import { toSettle } from '../../db/checked.ts';
import { changing, integration as integrationKey, type WriteTx } from '../../db/engine.ts';
import { AccessEnded } from '../lib/app-error.ts';
import { withdrawAudit } from '../people/audit.ts';
import type { Deps } from '../people/deps.ts';
import {
  type HookChange,
  type Place,
  type ProviderApi,
  ProviderProblem,
  type RemoteAttempt,
} from '../providers/api.ts';
import { hookEventsFor, providerOf } from '../providers/index.ts';
import { findPing } from './deliveries/log-store.ts';
import {
  type Hook,
  listEnabledTriggers,
  listHooks,
  type MadeHook,
  recordMade,
  restoreHook,
  updateHook,
} from './hook-store.ts';
import { changeIntegration, getSealedIntegration, type Integration, openSecret } from './store.ts';
import {
  type ConnectedPlace,
  changeFailed,
  describeResponse,
  IntegrationProblem,
  type IntegrationType,
  isProblem,
  type Outcome,
  webhookUrl,
} from './words.ts';

/** For work on the hooks of one integration at its provider. */
export interface HookWork extends Deps {
  api: ProviderApi;
  integration: Pick<Integration, 'id' | 'type' | 'organizationId'> & { app?: Integration['app'] };
}

/** A manual change pauses the background job for the hook that long, in milliseconds. */
export const HANDS_OFF_MS = 120_000;

/** A hook to be created at the provider by a change that started at `startedAt`. */
export function newHook(
  integrationId: string,
  { id: placeId, name: placeName }: Pick<Place, 'id' | 'name'>,
  repositoryId: string | null,
  startedAt: Date,
): Hook {
  const retryAt = startedAt.getTime() + HANDS_OFF_MS;
  return {
    ...{ integrationId, placeId, placeName, repositoryId, remoteId: null, events: [] },
    ...{ hasPresentSecret: false, problem: null, retryAt, attempts: 0 },
  };
}

/** The place, by its name or id. Throws `ProviderProblem` `missing-permission` if the token cannot make hooks there. */
export async function getAdministrable(api: ProviderApi, name: string): Promise<Place> {
  const place = await api.getPlace(name);
  if (place.canAdminister) return place;
  const words = providerOf(api.type).api?.words;
  throw new ProviderProblem('missing-permission', words?.noPermission(place.name) ?? '');
}

export function urlOf(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  integration: HookWork['integration'],
  { repositoryId }: Pick<Hook, 'repositoryId'>,
): string {
  return webhookUrl(publicUrl(), integration, repositoryId);
}

/**
 * The provider's events that the triggers of this hook need, sorted. Without a trigger: the events of every kind of
 * trigger, so that one created later can be rehearsed.
 */
export function eventsFor(
  type: IntegrationType,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
  triggers: Awaited<ReturnType<typeof listEnabledTriggers>>,
): readonly string[] {
  const own = triggers.filter((each) => each.repositoryId === null || each.repositoryId === repositoryId);
  const events = own.map(({ event }) => event);
  return hookEventsFor(providerOf(type), events);
}

/**
 * Brings the provider's hook to the desired state: creates a missing one, takes over one with its URL, changes an
 * existing one. `keepsSecret`: trusts the record that the provider has the current secret. Throws `ProviderProblem`; the
 * database has the provider's state by then. Throws `IntegrationProblem` if the place was disconnected meanwhile, and
 * `AccessEnded`; then no new hook is left there.
 */
export async function makeHook(work: HookWork, hook: Hook, { keepsSecret = false } = {}): Promise<Hook> {
  const { db, api, integration } = work;
  const { stored, triggers, known } = await db.read(async (tx) => ({
    stored: await getSealedIntegration(tx, integration.id),
    triggers: await listEnabledTriggers(tx, integration.id),
    known: (await listHooks(tx, integration.id)).find(({ placeId }) => placeId === hook.placeId),
  }));
  const desired: HookChange = {
    url: urlOf(work, integration, hook),
    secret: openSecret(work, stored),
    events: eventsFor(integration.type, hook, triggers),
    hasSecret: keepsSecret && known?.hasPresentSecret === true,
  };
  const { remoteId, isNew } = await putHook(api, hook, desired);
  const set = { remoteId, events: desired.events, secret: stored.secret };
  const { api: settling } = toSettle(work);
  const made = await db
    .write((tx) => recordMade(tx, hook, set), changing(integrationKey(integration.id)))
    .catch(async (error: unknown) => {
      if (isNew && error instanceof AccessEnded) {
        await settling.deleteHook(hook.placeId, remoteId).catch((failure) => leftAt(work, hook, failure));
      }
      throw error;
    });
  if (made !== null) return made;
  await settling.deleteHook(hook.placeId, remoteId);
  throw new IntegrationProblem({ code: 'disconnected_meanwhile', place: hook.placeName });
}

/** Returns the provider's id of the hook, and whether this created it. */
async function putHook(api: ProviderApi, { placeId, remoteId }: Hook, desired: HookChange) {
  const known = remoteId ?? (await findByUrl(api, placeId, desired.url));
  if (known !== null) {
    try {
      const remoteId = (await api.changeHook(placeId, known, desired)) ?? known;
      return { remoteId, isNew: false };
    } catch (error) {
      // Somebody deleted it at the provider: create it again.
      if (!isProblem(error, 'hook-not-found')) throw error;
    }
  }
  try {
    return { remoteId: (await api.createHook(placeId, desired)).id, isNew: true };
  } catch (error) {
    const existing = isProblem(error, 'hook-exists') ? await findByUrl(api, placeId, desired.url) : null;
    if (existing === null) throw error;
    return { remoteId: (await api.changeHook(placeId, existing, desired)) ?? existing, isNew: false };
  }
}

async function findByUrl(api: ProviderApi, placeId: string, url: string): Promise<string | null> {
  return (await api.listHooks(placeId)).find((hook) => hook.url === url)?.id ?? null;
}

/** Deletes the provider's hook, even if its id was never recorded. Throws `ProviderProblem`. */
async function unmakeHook(work: HookWork, hook: Hook): Promise<void> {
  const { api, integration } = work;
  const { placeId, remoteId } = hook;
  const id = remoteId ?? (await findByUrl(api, placeId, urlOf(work, integration, hook)));
  if (id === null) return;
  try {
    await api.deleteHook(placeId, id);
  } catch (error) {
    if (!isProblem(error, 'provider-failed')) throw error;
    // The provider may have deleted it nevertheless.
    const left = await api.listHooks(placeId).catch(() => null);
    if (left?.every((each) => each.id !== id) !== true) throw error;
  }
}

/** Makes the hooks, one after the other, then waits for their pings. */
export async function makeAndPing(
  work: HookWork,
  hooks: readonly Hook[],
  startedAt: Date,
): Promise<ConnectedPlace[]> {
  const made: Hook[] = [];
  for (const hook of hooks) made.push(await makeHook(work, hook));
  const pinged = await Promise.allSettled(
    made.map(async (hook) => {
      const webhookUrl = urlOf(work, work.integration, hook);
      return {
        place: hook.placeName,
        ...(hook.repositoryId === null ? {} : { repositoryId: hook.repositoryId }),
        webhookUrl,
        hookId: hook.remoteId ?? '',
        hasPinged: await pingAndWait(work, hook, webhookUrl, startedAt),
      };
    }),
  );
  // All pings are over by now, so the caller may delete the hooks.
  return pinged.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** The wait for a ping, in milliseconds. */
const PING_TIMEOUT_MS = 8_000;
const LOG_POLL_MS = 50;
/** The provider lists an attempt a moment after it. */
const PROVIDER_POLL_MS = 1_000;

/**
 * Requests a ping and waits for one after `since` in the log; some providers also send one for each new hook. Resolves
 * to false after a timeout, and to null if the provider has no pings. Throws `ProviderProblem` `unreachable-url` if the
 * provider reports a failed ping.
 */
async function pingAndWait(
  { db, api }: HookWork,
  { placeId, remoteId, integrationId, repositoryId }: Hook,
  url: string,
  since: Date,
): Promise<boolean | null> {
  if (api.pingHook === undefined || remoteId === null) return null;
  await api.pingHook(placeId, remoteId);

  const startedAt = performance.now();
  let polledAt = startedAt;
  for (;;) {
    const arrived = await db.read((tx) => findPing(tx, integrationId, repositoryId, since));
    if (arrived !== null) return true;
    const isOver = performance.now() - startedAt > PING_TIMEOUT_MS;
    if (isOver || performance.now() - polledAt > PROVIDER_POLL_MS) {
      polledAt = performance.now();
      const failed = await findFailedPing(api, { placeId, remoteId }, since);
      if (failed !== null) {
        const response = describeResponse(failed);
        throw new ProviderProblem(
          'unreachable-url',
          `The provider's ping to ${url} did not arrive: ${response}. Check that the server runs, that PUBLIC_URL (${new URL(url).origin}) is its public address, and that no other server answers there.`,
        );
      }
    }
    if (isOver) return false;
    await Bun.sleep(LOG_POLL_MS);
  }
}

/** The response to the newest ping since then, if it failed. The provider's clock may be behind by a minute. */
export const findFailedPing = (api: ProviderApi, hook: Pick<MadeHook, 'placeId' | 'remoteId'>, since: Date) =>
  findFailedAttempt(api, hook, new Date(since.getTime() - 60_000), ({ event }) => event === 'ping');

/** The response to the newest such attempt since then, if it failed, as the provider lists it. */
export async function findFailedAttempt(
  api: ProviderApi,
  { placeId, remoteId }: Pick<MadeHook, 'placeId' | 'remoteId'>,
  since: Date,
  isWanted: (attempt: RemoteAttempt) => boolean,
) {
  const listed = await api.listAttempts?.(placeId, remoteId, since);
  const newest = listed?.attempts.find(isWanted);
  if (newest === undefined || (newest.statusCode !== null && newest.statusCode < 300)) return null;
  return { statusCode: newest.statusCode, message: newest.status };
}

/** A change that added hooks, and how to take it back here. */
interface UndoableChange {
  auditId: number;
  undo: (tx: WriteTx) => Promise<void>;
}

/**
 * Makes and pings the hooks that a change added. If one fails, deletes them at the provider, even those whose response
 * was lost, undoes the change with its audit event, and throws `ChangeFailed`; `AccessEnded` as it is.
 */
export async function makeOrUndo(
  work: HookWork,
  hooks: readonly Hook[],
  change: UndoableChange & { code: Extract<Outcome, { left: unknown }>['code']; startedAt: Date },
): Promise<ConnectedPlace[]> {
  try {
    return await makeAndPing(work, hooks, change.startedAt);
  } catch (error) {
    throw changeFailed(error, { code: change.code, left: await undoHooks(work, hooks, error, change) });
  }
}

/** Takes back the hooks and the change that failed. Resolves to the names of the places where a hook may remain. */
export async function undoHooks(
  given: HookWork,
  hooks: readonly Hook[],
  error: unknown,
  change: UndoableChange,
): Promise<string[]> {
  const work = toSettle(given);
  const { db, integration } = work;
  const left: string[] = [];
  for (const hook of await db.read((tx) => listHooks(tx, integration.id))) {
    const isNew = hooks.some(({ placeId }) => placeId === hook.placeId);
    const mayExist = hook.remoteId !== null || isProblem(error, 'provider-failed');
    if (!isNew || !mayExist) continue;
    await unmakeHook(work, hook).catch((failure) => left.push(leftAt(work, hook, failure)));
  }
  await changeIntegration(db, integration.id, async (tx) => {
    await change.undo(tx);
    await withdrawAudit(tx, work, change.auditId);
  });
  return left;
}

/**
 * Deletes hooks at the provider, one after the other, then calls `forget`, which returns the hooks that it deleted here.
 * Resolves to the names of the places where a hook may remain. The first failure without `force` keeps everything: the
 * job sets the hooks again that are, or may be, gone at the provider.
 */
export async function deleteWithHooks(
  deps: Deps,
  api: ProviderApi | null,
  integration: Integration,
  hooks: readonly Hook[],
  change: {
    force: boolean;
    outcome: (deleted: string[], mayBeGone: string | null) => Outcome;
    forget: (tx: WriteTx) => Promise<Hook[]>;
  },
): Promise<string[]> {
  const { db, clock } = deps;
  const work = api === null ? null : { ...deps, api, integration };
  const order = changing(integrationKey(integration.id));
  const left: string[] = [];
  const settling = toSettle(work ?? { ...deps, integration });
  /** The first so many are, or may be, gone at the provider. */
  const keep = (changed: number) =>
    settling.db.write(async (tx) => {
      for (const [at, hook] of hooks.entries()) {
        await (at < changed ? updateHook(tx, hook, { retryAt: null }) : restoreHook(tx, hook));
      }
    }, order);
  const retryAt = clock.now().getTime() + HANDS_OFF_MS;
  await db.write(async (tx) => {
    for (const hook of hooks) await updateHook(tx, hook, { hasPresentSecret: false, retryAt });
  }, order);
  for (const [index, hook] of hooks.entries()) {
    try {
      if (work !== null) await unmakeHook(work, hook);
      else if (hook.remoteId !== null) left.push(hook.placeName);
    } catch (error) {
      // A hook that was never made, at a place that is gone, needs no force.
      if (hook.remoteId === null && isProblem(error, 'place-not-found')) continue;
      if (change.force && !(error instanceof AccessEnded)) {
        left.push(leftAt(deps, hook, error));
        continue;
      }
      const mayBeGone = isProblem(error, 'provider-failed') ? hook.placeName : null;
      await keep(mayBeGone === null ? index : index + 1);
      const deleted = hooks.slice(0, index).map(({ placeName }) => placeName);
      throw changeFailed(error, change.outcome(deleted, mayBeGone));
    }
  }
  const known = new Set(hooks.map(({ remoteId }) => remoteId));
  const forgotten = await db.write(change.forget, order).catch(async (error: unknown) => {
    if (error instanceof AccessEnded) await keep(hooks.length);
    throw error;
  });
  for (const hook of forgotten) {
    // The job created it meanwhile.
    const isNew = hook.remoteId !== null && !known.has(hook.remoteId);
    if (!('api' in settling) || !isNew) continue;
    await unmakeHook(settling, hook).catch((error) => left.push(leftAt(deps, hook, error)));
  }
  return left;
}

/** Logs that a hook may be left at the provider. Returns the name of its place. */
function leftAt({ log }: Deps, { integrationId, placeId, placeName }: Hook, error: unknown): string {
  log.warn({ err: error, integrationId, placeId }, 'a hook may be left at the provider');
  return placeName;
}
