import { findPing } from '../deliveries/log-store.ts';
import type { Deps } from '../deps.ts';
import { type HookSettings, type Place, type ProviderApi, ProviderProblem } from '../providers/api.ts';
import { hookEventsFor, providerOf } from '../providers/index.ts';
import { listEnabledTriggers, recordMade } from './hook-store.ts';
import {
  type ConnectedPlace,
  type EnabledTrigger,
  type Hook,
  type Integration,
  type IntegrationType,
  webhookUrl,
} from './model.ts';
import { IntegrationProblem, isProblem } from './problems.ts';
import { openSecret } from './secrets.ts';
import { getReceivingIntegration } from './store.ts';
import { describeResponse } from './words.ts';

export type HookNeeds = Pick<
  Deps,
  'db' | 'clock' | 'ids' | 'log' | 'actor' | 'secrets' | 'publicUrl' | 'openProviderApi'
>;

/** A manual change pauses the background job for the hook that long, in milliseconds. */
export const HANDS_OFF_MS = 120_000;

/** A hook to be created at the provider. The job skips it until `retryAt`, in milliseconds since 1970. */
export function newHook(
  integrationId: string,
  place: Pick<Place, 'id' | 'name'>,
  repositoryId: string | null,
  retryAt: number,
): Hook {
  return {
    integrationId,
    placeId: place.id,
    placeName: place.name,
    repositoryId,
    remoteId: null,
    events: [],
    hasPresentSecret: false,
    problem: null,
    retryAt,
    attempts: 0,
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
  { id, type, organizationId }: Pick<Integration, 'id' | 'type' | 'organizationId'>,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
): string {
  return webhookUrl(publicUrl(), type, organizationId, id, repositoryId ?? undefined);
}

/**
 * The provider's events that the triggers of this hook need, sorted. Without a trigger: the events of every kind of
 * trigger, so that one created later can be rehearsed.
 */
export function eventsFor(
  type: IntegrationType,
  { repositoryId }: Pick<Hook, 'repositoryId'>,
  triggers: readonly Pick<EnabledTrigger, 'event' | 'repositoryId'>[],
): readonly string[] {
  const own = triggers.filter(
    (trigger) => trigger.repositoryId === null || trigger.repositoryId === repositoryId,
  );
  return hookEventsFor(
    providerOf(type),
    own.map(({ event }) => event),
  );
}

/**
 * Brings the provider's hook to the desired state: creates a missing one, takes over one with its URL, changes an
 * existing one. Throws `ProviderProblem`; the database has the provider's state by then. Throws `IntegrationProblem` if
 * the place was disconnected meanwhile; then no hook is left there.
 */
export async function makeHook(
  deps: Pick<Deps, 'db' | 'secrets' | 'publicUrl'>,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<Hook> {
  const { stored, triggers } = await deps.db.read(async (tx) => ({
    stored: await getReceivingIntegration(tx, integration.id),
    triggers: await listEnabledTriggers(tx, integration.id),
  }));
  const desired: HookSettings = {
    url: urlOf(deps, integration, hook),
    secret: openSecret(deps, stored),
    events: eventsFor(integration.type, hook, triggers),
  };
  const remoteId = await putHook(api, hook, desired);
  const set = { remoteId, events: desired.events, secret: stored.secret };
  const made = await deps.db.write((tx) => recordMade(tx, hook, set));
  if (made !== null) return made;
  await api.deleteHook(hook.placeId, remoteId);
  throw new IntegrationProblem({ code: 'disconnected_meanwhile', place: hook.placeName });
}

/** Returns the provider's id of the hook. */
async function putHook(
  api: ProviderApi,
  { placeId, remoteId }: Hook,
  desired: HookSettings,
): Promise<string> {
  const known = remoteId ?? (await findByUrl(api, placeId, desired.url));
  if (known !== null) {
    try {
      await api.changeHook(placeId, known, desired);
      return known;
    } catch (error) {
      // Somebody deleted it at the provider: create it again.
      if (!isProblem(error, 'hook-not-found')) throw error;
    }
  }
  try {
    return (await api.createHook(placeId, desired)).id;
  } catch (error) {
    const existing = isProblem(error, 'hook-exists') ? await findByUrl(api, placeId, desired.url) : null;
    if (existing === null) throw error;
    await api.changeHook(placeId, existing, desired);
    return existing;
  }
}

async function findByUrl(api: ProviderApi, placeId: string, url: string): Promise<string | null> {
  return (await api.listHooks(placeId)).find((hook) => hook.url === url)?.id ?? null;
}

/** Deletes the provider's hook, even if its id was never recorded. Throws `ProviderProblem`. */
export async function unmakeHook(
  deps: Pick<Deps, 'publicUrl'>,
  api: ProviderApi,
  integration: Integration,
  hook: Hook,
): Promise<void> {
  const { placeId, remoteId } = hook;
  const id = remoteId ?? (await findByUrl(api, placeId, urlOf(deps, integration, hook)));
  if (id === null) return;
  try {
    await api.deleteHook(placeId, id);
  } catch (error) {
    // A provider that fails may have deleted it nevertheless.
    if (!isProblem(error, 'provider-failed') || !(await isGone(api, placeId, id))) throw error;
  }
}

/** False also if the provider fails again. */
async function isGone(api: ProviderApi, placeId: string, id: string): Promise<boolean> {
  const hooks = await api.listHooks(placeId).catch(() => null);
  return hooks?.every((hook) => hook.id !== id) ?? false;
}

/** Makes the hooks, one after the other, then waits for their pings. */
export async function makeAndPing(
  deps: HookNeeds,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
  startedAt: Date,
): Promise<ConnectedPlace[]> {
  const made: Hook[] = [];
  for (const hook of hooks) made.push(await makeHook(deps, api, integration, hook));
  const pinged = await Promise.allSettled(
    made.map(async (hook) => {
      const webhookUrl = urlOf(deps, integration, hook);
      return {
        place: hook.placeName,
        ...(hook.repositoryId === null ? {} : { repositoryId: hook.repositoryId }),
        webhookUrl,
        hookId: hook.remoteId ?? '',
        hasPinged: await pingAndWait(deps, api, hook, webhookUrl, startedAt),
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
  { db }: Pick<Deps, 'db'>,
  api: ProviderApi,
  hook: Hook,
  url: string,
  since: Date,
): Promise<boolean | null> {
  const { placeId, remoteId, integrationId, repositoryId } = hook;
  if (api.pingHook === undefined || remoteId === null) return null;
  await api.pingHook(placeId, remoteId);

  const startedAt = performance.now();
  let polledAt = startedAt;
  for (;;) {
    const ping = await db.read((tx) => findPing(tx, integrationId, repositoryId, since));
    if (ping !== null) return true;
    const isOver = performance.now() - startedAt > PING_TIMEOUT_MS;
    if (isOver || performance.now() - polledAt > PROVIDER_POLL_MS) {
      polledAt = performance.now();
      await requireNotRefused(api, placeId, remoteId, url, since);
    }
    if (isOver) return false;
    await Bun.sleep(LOG_POLL_MS);
  }
}

/** Throws if the provider's last ping failed. */
async function requireNotRefused(
  api: ProviderApi,
  placeId: string,
  hookId: string,
  url: string,
  since: Date,
): Promise<void> {
  // The provider's clock may be behind by a minute.
  const listed = await api.listAttempts?.(placeId, hookId, new Date(since.getTime() - 60_000));
  const ping = listed?.attempts.find(({ event }) => event === 'ping');
  if (ping === undefined || (ping.statusCode !== null && ping.statusCode < 300)) return;
  const response = describeResponse({ statusCode: ping.statusCode, message: ping.status });
  throw new ProviderProblem(
    'unreachable-url',
    `The provider's ping to ${url} did not arrive: ${response}. Check that the server runs, that PUBLIC_URL (${new URL(url).origin}) is its public address, and that no other server answers there.`,
  );
}

/**
 * Deletes hooks at the provider after `error` interrupted their creation, even those whose response was lost. Returns
 * the names of the places where one may remain.
 */
export async function takeBack(
  deps: HookNeeds,
  api: ProviderApi,
  integration: Integration,
  hooks: readonly Hook[],
  error: unknown,
): Promise<string[]> {
  const left: string[] = [];
  for (const hook of hooks) {
    try {
      const mayExist = hook.remoteId !== null || isProblem(error, 'provider-failed');
      if (mayExist) await unmakeHook(deps, api, integration, hook);
    } catch (failure) {
      logLeft(deps, hook, failure);
      left.push(hook.placeName);
    }
  }
  return left;
}

export function logLeft({ log }: Pick<Deps, 'log'>, { integrationId, placeId }: Hook, error: unknown): void {
  log.warn({ err: error, integrationId, placeId }, 'a hook may be left at the provider');
}
