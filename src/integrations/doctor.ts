import { isLocal } from '../lib/public-fetch.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderApi, RemoteHook } from '../providers/api.ts';
import { isAppApi } from '../providers/app.ts';
import { providerOf } from '../providers/index.ts';
import { findPing, listLogPage } from './deliveries/log-store.ts';
import { type Delivery, isTaken } from './deliveries/store.ts';
import { getWithHooks, type Hook, listEnabledTriggers } from './hook-store.ts';
import { eventsFor, urlOf } from './hooks.ts';
import { type ComparedDelivery, findMissed } from './missed.ts';
import { describePollInterval, listPolls, listSharing } from './poll-store.ts';
import { type Integration, listHistoryOnly } from './store.ts';
import { findApi } from './token.ts';
import { type Difference, type FindingCode, isProblem } from './words.ts';

type Status = 'ok' | 'warning' | 'failed';

/** The check, the status and the way to correct it, by code. */
const meanings = {
  enabled: ['enabled', 'ok'],
  disabled: ['enabled', 'failed', 'enable'],
  reachable: ['reachability', 'ok'],
  local_address: ['reachability', 'warning', 'set_public_url'],
  needs_https: ['reachability', 'warning', 'use_https'],
  no_response: ['reachability', 'failed', 'start_server'],
  redirect: ['reachability', 'failed', 'start_server'],
  other_server: ['reachability', 'failed', 'start_server'],
  no_connection: ['reachability', 'failed', 'start_server'],
  manual_hook: ['hook', 'warning'],
  token_missing: ['hook', 'warning', 'set_token'],
  history_only: ['hook', 'warning', 'set_token'],
  hook_not_created: ['hook', 'failed', 'repair'],
  hook_deleted: ['hook', 'failed', 'repair'],
  hook_correct: ['hook', 'ok'],
  hook_differs: ['hook', 'failed', 'repair'],
  hook_update_failed: ['hook', 'warning', 'repair'],
  hook_check_failed: ['hook', 'failed'],
  last_response: ['last-delivery', 'ok'],
  ping_arrived: ['ping', 'ok'],
  no_ping: ['ping', 'warning', 'repair'],
  secret_accepted: ['secret', 'ok'],
  secret_refused: ['secret', 'failed', 'rotate_secret'],
  secret_unproven: ['secret', 'warning', 'send_test'],
  other_repository: ['repository', 'warning'],
  deliveries_missed: ['missed', 'failed', 'redeliver'],
  none_missed: ['missed', 'ok'],
  only_pings: ['missed', 'ok'],
  partly_compared: ['missed', 'warning'],
  not_compared: ['missed', 'warning'],
  app_installed: ['installation', 'ok'],
  app_not_installed: ['installation', 'failed', 'install_app'],
  app_suspended: ['installation', 'failed', 'unsuspend_app'],
  app_unknown: ['installation', 'failed'],
  polled: ['polling', 'ok'],
  poll_waits: ['polling', 'warning', 'run_server'],
  poll_paused: ['polling', 'warning'],
  poll_failed: ['polling', 'failed'],
  poll_overdue: ['polling', 'failed', 'run_server'],
  webhook_awaited: ['polling', 'warning'],
} as const satisfies Record<FindingCode['code'], readonly [name: string, status: Status, fix?: string]>;

type Meaning = (typeof meanings)[FindingCode['code']];
export type Fix = Extract<Meaning, { length: 3 }>[2];

export type Finding = FindingCode & {
  name: Meaning[0];
  status: Status;
  fix?: Fix;
  /** The repository or team, if it is about one. */
  place?: string;
  /** The missing deliveries, for `missed`. */
  missed?: readonly ComparedDelivery[];
};

function found(finding: FindingCode & Partial<Finding>): Finding {
  const [name, status, fix] = meanings[finding.code];
  return { name, status, ...(fix !== undefined && { fix }), ...finding };
}

/** `ok`: nothing has failed; there may be warnings. */
export type Diagnosis = Awaited<ReturnType<typeof diagnose>>;

type Needs = Pick<Deps, 'db' | 'clock' | 'secrets' | 'fetch' | 'publicUrl' | 'openProviderApi'>;

/** The number of log entries to examine. */
const LOG_ENTRIES = 200;

const REACH_TIMEOUT_MS = 5_000;

/**
 * Checks everything that deliveries of an integration depend on: the public address, the hooks at the provider, the
 * secret, and missing deliveries. Changes nothing. Throws `IntegrationProblem` `integration_not_found`.
 */
export async function diagnose(deps: Needs, integrationId: string) {
  const known = await deps.db.read(async (tx) => {
    const { integration, hooks } = await getWithHooks(tx, integrationId);
    const { organizationId } = integration;
    const { entries } = await listLogPage(tx, organizationId, { integrationId }, { limit: LOG_ENTRIES });
    const triggers = await listEnabledTriggers(tx, integrationId);
    const isHistoryOnly = (await listHistoryOnly(tx, [integration])).size > 0;
    return { integration, hooks, isHistoryOnly, triggers, entries };
  });
  const { integration, hooks, entries } = known;
  const { type, enabled, isPolled } = integration;
  // A polled one has webhooks too while it changes to a webhook or back.
  const receives = !isPolled || hooks.length > 0;
  const api = receives ? await findApi(deps, integration) : null;
  const findings = [
    found({ code: enabled ? 'enabled' : 'disabled' }),
    ...(await checkPolling(deps, integration)),
    ...(receives ? [await checkReach(deps, integration)] : []),
    ...(await checkInstallation(api)),
    ...(receives ? await checkHooks(deps, api, known) : []),
    ...(isPolled ? [] : [checkSecret(entries)]),
    ...checkRepository(entries),
    ...(isPolled ? [] : await checkMissed(deps, api, integration)),
  ];
  return { integrationId, type, ok: findings.every(({ status }) => status !== 'failed'), findings };
}

/** Checks that `PUBLIC_URL` is an address that a provider can use, and responds from here. */
async function checkReach({ publicUrl, fetch }: Needs, { type }: Integration): Promise<Finding> {
  const url = publicUrl();
  try {
    const response = await fetch(
      new Request(`${url}/ping`, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS) }),
    );
    // Another server may respond with anything: read no more than a pong.
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const text = new TextDecoder().decode(value?.subarray(0, 100));
    const location = response.headers.get('location');
    if (!response.ok && location !== null) return found({ code: 'redirect', url, location });
    if (!response.ok || text !== 'pong') {
      return found({ code: 'other_server', url, statusCode: response.status });
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      return found({ code: 'no_response', url, seconds: REACH_TIMEOUT_MS / 1000 });
    }
    const systemCode = error instanceof Error && 'code' in error ? error.code : error;
    return found({ code: 'no_connection', url, systemCode: String(systemCode) });
  }
  if (isLocal(url)) return found({ code: 'local_address', url });
  const isInsecure = providerOf(type).requiresHttps && !url.startsWith('https:');
  return found(isInsecure ? { code: 'needs_https', url, type } : { code: 'reachable', url });
}

/** A round that is late by more than this, in milliseconds, will not come. */
const LATE_MS = 300_000;

/** The last round of each repository. A polled integration alone has any. */
async function checkPolling({ db, clock }: Needs, integration: Integration): Promise<Finding[]> {
  if (!integration.isPolled) return [];
  const { polls, sharing } = await db.read(async (tx) => ({
    polls: await listPolls(tx, integration.id),
    sharing: await listSharing(tx, integration),
  }));
  const interval = describePollInterval(integration, sharing.length);
  return polls.flatMap(({ fullName: place, polledAt: at, problem, attempts, dueAt, cursor }) => {
    const isLate = integration.enabled && clock.now().getTime() - dueAt > LATE_MS;
    const since = cursor?.webhookSince ?? null;
    return [
      problem !== null && attempts === 0 && found({ code: 'poll_paused', problem, place }),
      problem !== null && attempts > 0 && found({ code: 'poll_failed', problem, place }),
      problem === null && at === null && found({ code: 'poll_waits', interval, place }),
      problem === null && at !== null && isLate && found({ code: 'poll_overdue', at, place }),
      problem === null && at !== null && !isLate && found({ code: 'polled', at, interval, place }),
      since !== null && found({ code: 'webhook_awaited', since, place }),
    ].filter((finding) => finding !== false);
  });
}

interface Known {
  integration: Integration;
  hooks: Hook[];
  isHistoryOnly: boolean;
  triggers: Awaited<ReturnType<typeof listEnabledTriggers>>;
}

async function checkInstallation(api: ProviderApi | null): Promise<Finding[]> {
  if (api === null || !isAppApi(api)) return [];
  const { type } = api;
  try {
    const installation = await api.findInstallation();
    if (installation === null) return [found({ code: 'app_not_installed', type })];
    const { suspendedAt: at } = installation;
    return [found(at === null ? { code: 'app_installed', type } : { code: 'app_suspended', type, at })];
  } catch (error) {
    if (!isProblem(error)) throw error;
    return [found({ code: 'app_unknown', problem: error })];
  }
}

async function checkHooks(deps: Needs, api: ProviderApi | null, known: Known): Promise<Finding[]> {
  const { type } = known.integration;
  if (known.isHistoryOnly) return [found({ code: 'history_only' })];
  if (api === null)
    return [found({ code: providerOf(type).api === null ? 'manual_hook' : 'token_missing', type })];
  const findings: Finding[] = [];
  for (const hook of known.hooks) {
    try {
      findings.push(...(await checkHook(deps, api, known, hook)));
    } catch (error) {
      if (!isProblem(error)) throw error;
      findings.push(found({ code: 'hook_check_failed', problem: error, place: hook.placeName }));
      // The others would have the same problem.
      if (isProblem(error, 'bad-token', 'rate-limited', 'provider-failed')) break;
    }
  }
  return findings;
}

/** Compares the provider's hook with the desired state. Throws `ProviderProblem`. */
async function checkHook(deps: Needs, api: ProviderApi, { integration, triggers }: Known, hook: Hook) {
  const { type } = integration;
  const { placeName: place, problem, remoteId: hookId } = hook;
  const update = problem === null ? [] : [found({ code: 'hook_update_failed', problem, place })];
  if (hookId === null) return [found({ code: 'hook_not_created', place }), ...update];
  const remote = await api.findHook(hook.placeId, hookId);
  if (remote === null) return [found({ code: 'hook_deleted', hookId, place })];
  const needed = eventsFor(type, hook, triggers);
  const differences = compareHook(remote, hook, urlOf(deps, integration, hook), needed);
  const findings = [
    differences.length === 0
      ? found({ code: 'hook_correct', hookId, events: remote.events, place })
      : found({ code: 'hook_differs', hookId, differences, place }),
    ...update,
  ];
  const { lastResponse: response } = remote;
  if (response !== null) {
    const isOk = response.statusCode !== null && response.statusCode < 300;
    findings.push(found({ code: 'last_response', type, response, place, status: isOk ? 'ok' : 'failed' }));
  }
  if (api.pingHook === undefined) return findings;
  const ping = await deps.db.read((tx) => findPing(tx, integration.id, hook.repositoryId, new Date(0)));
  const pinged: FindingCode =
    ping === null ? { code: 'no_ping' } : { code: 'ping_arrived', at: ping.createdAt };
  return [...findings, found({ ...pinged, place })];
}

function compareHook(remote: RemoteHook, hook: Hook, url: string, needed: readonly string[]): Difference[] {
  const events = remote.events.includes('*') ? [] : needed.filter((each) => !remote.events.includes(each));
  const differences: (Difference | false)[] = [
    !remote.isActive && { code: 'inactive' },
    remote.url !== url && { code: 'other_url', actual: remote.url, desired: url },
    events.length > 0 && { code: 'missing_events', events },
    remote.isJson === false && { code: 'not_json' },
    remote.hasSecret === false && { code: 'no_secret' },
    !hook.hasPresentSecret && { code: 'old_secret' },
  ];
  return differences.filter((difference) => difference !== false);
}

/** True if the sender proved to have the secret. Entries of older versions have no headers. */
function isVerified({ headers, status, isPolled }: Delivery): boolean {
  return !isPolled && (headers !== null || isTaken(status));
}

/** Checks that the newest delivery was signed with the right secret. */
function checkSecret(entries: readonly Delivery[]): Finding {
  const verified = entries.find(isVerified);
  const refused = entries.find(({ statusCode }) => statusCode === 401);
  if (refused !== undefined && (verified === undefined || refused.createdAt > verified.createdAt)) {
    return found({ code: 'secret_refused', at: refused.createdAt, reason: refused.reason });
  }
  if (verified === undefined) return found({ code: 'secret_unproven' });
  return found({ code: 'secret_accepted', at: verified.createdAt });
}

/** The newest delivery that was refused because its repository is not that of its URL. */
function checkRepository(entries: readonly Delivery[]): Finding[] {
  const refused = entries.find(
    ({ status, statusCode, payload }) =>
      status === 'rejected' && statusCode === 403 && payload.data?.repository !== undefined,
  );
  if (refused === undefined) return [];
  const { repositoryId, createdAt: at, reason } = refused;
  const newest = entries.find((entry) => entry.repositoryId === repositoryId && isVerified(entry));
  return [found({ code: 'other_repository', at, reason, status: newest === refused ? 'failed' : 'warning' })];
}

async function checkMissed(deps: Needs, api: ProviderApi | null, { id, type }: Integration) {
  if (api?.listAttempts === undefined) return [];
  try {
    const { counts, missed, since, unknown } = await findMissed(deps, id);
    const { arrived, failed, 'never-arrived': neverArrived } = counts;
    const compared = { arrived, failed, neverArrived, since };
    if (missed.length > 0) return [found({ code: 'deliveries_missed', ...compared, missed })];
    const places = unknown.map(({ place }) => place);
    if (places.length > 0) return [found({ code: 'partly_compared', places })];
    return [
      found(arrived === 0 ? { code: 'only_pings', type, since } : { code: 'none_missed', ...compared }),
    ];
  } catch (error) {
    if (!isProblem(error)) throw error;
    return [found({ code: 'not_compared', problem: error })];
  }
}
