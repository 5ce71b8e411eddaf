import { BlockList, isIP } from 'node:net';
import { findPing, listLogPage } from '../deliveries/log-store.ts';
import { type Delivery, isTaken } from '../deliveries/model.ts';
import type { Deps } from '../deps.ts';
import type { ProviderApi, RemoteHook } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { getWithHooks, type Hook, listEnabledTriggers } from './hook-store.ts';
import { eventsFor, urlOf } from './hooks.ts';
import { type ComparedDelivery, compareDeliveries } from './missed.ts';
import { isProblem } from './problems.ts';
import type { Integration } from './store.ts';
import { findApi } from './token.ts';
import type { Difference, FindingCode } from './words.ts';

/** The way to correct a finding. */
export type Fix =
  | 'enable'
  | 'start_server'
  | 'set_public_url'
  | 'use_https'
  | 'set_token'
  | 'repair'
  | 'rotate_secret'
  | 'send_test'
  | 'redeliver';

export type Finding = FindingCode & {
  name: 'enabled' | 'reachability' | 'hook' | 'last-delivery' | 'ping' | 'secret' | 'repository' | 'missed';
  status: 'ok' | 'warning' | 'failed';
  /** The repository or team, if it is about one. */
  place?: string;
  fix?: Fix;
  /** The missing deliveries, for `missed`. */
  missed?: readonly ComparedDelivery[];
};

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
    return { integration, hooks, triggers: await listEnabledTriggers(tx, integrationId), entries };
  });
  const { integration, entries } = known;
  const { type, enabled } = integration;
  const api = await findApi(deps, integration);
  const findings: Finding[] = [
    enabled
      ? { name: 'enabled', code: 'enabled', status: 'ok' }
      : { name: 'enabled', code: 'disabled', status: 'failed', fix: 'enable' },
    await checkReach(deps, integration),
    ...(await checkHooks(deps, api, known)),
    checkSecret(entries),
    ...checkRepository(entries),
    ...(await checkMissed(deps, api, integration)),
  ];
  return { integrationId, type, ok: findings.every(({ status }) => status !== 'failed'), findings };
}

/** Checks that `PUBLIC_URL` is an address that a provider can use, and responds from here. */
async function checkReach({ publicUrl, fetch }: Needs, { type }: Integration): Promise<Finding> {
  const url = publicUrl();
  const about = { name: 'reachability', url } as const;
  const unreachable = { ...about, status: 'failed', fix: 'start_server' } as const;
  try {
    const response = await fetch(
      new Request(`${url}/ping`, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS) }),
    );
    // Another server may respond with anything: read no more than a pong.
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    await reader?.cancel();
    const text = new TextDecoder().decode(value?.subarray(0, 100));
    if (!response.ok || text !== 'pong') {
      const location = response.headers.get('location');
      return location === null
        ? { ...unreachable, code: 'other_server', statusCode: response.status }
        : { ...unreachable, code: 'redirect', location };
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      return { ...unreachable, code: 'no_response', seconds: REACH_TIMEOUT_MS / 1000 };
    }
    const systemCode = error instanceof Error && 'code' in error ? error.code : error;
    return { ...unreachable, code: 'no_connection', systemCode: String(systemCode) };
  }
  if (isLocal(url)) return { ...about, code: 'local_address', status: 'warning', fix: 'set_public_url' };
  if (providerOf(type).requiresHttps && !url.startsWith('https:')) {
    return { ...about, code: 'needs_https', type, status: 'warning', fix: 'use_https' };
  }
  return { ...about, code: 'reachable', status: 'ok' };
}

const privateAddresses = new BlockList();
for (const [network, prefix, family] of [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
] as const) {
  privateAddresses.addSubnet(network, prefix, family);
}

/** True if only this machine or network can reach the host. */
export function isLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  if (family === 0) return /^localhost$|\.(localhost|local|internal)$/.test(host);
  return privateAddresses.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

interface Known {
  integration: Integration;
  hooks: Hook[];
  triggers: Awaited<ReturnType<typeof listEnabledTriggers>>;
}

async function checkHooks(deps: Needs, api: ProviderApi | null, known: Known): Promise<Finding[]> {
  const { type } = known.integration;
  if (api === null) {
    const fix = providerOf(type).api === null ? {} : { fix: 'set_token' as const };
    return [{ name: 'hook', code: 'manual_hook', type, status: 'warning', ...fix }];
  }
  const findings: Finding[] = [];
  for (const hook of known.hooks) {
    const place = hook.placeName;
    try {
      findings.push(...(await checkHook(deps, api, known, hook)));
    } catch (error) {
      if (!isProblem(error)) throw error;
      findings.push({ name: 'hook', code: 'hook_check_failed', problem: error, place, status: 'failed' });
      // The others would have the same problem.
      if (isProblem(error, 'bad-token', 'rate-limited', 'provider-failed')) break;
    }
  }
  return findings;
}

/** Compares the provider's hook with the desired state. Throws `ProviderProblem`. */
async function checkHook(
  deps: Needs,
  api: ProviderApi,
  { integration, triggers }: Known,
  hook: Hook,
): Promise<Finding[]> {
  const { type } = integration;
  const { placeName: place, problem, remoteId: hookId } = hook;
  const about = { name: 'hook', place } as const;
  const broken = { ...about, status: 'failed', fix: 'repair' } as const;
  const update: Finding[] =
    problem === null
      ? []
      : [{ ...about, code: 'hook_update_failed', problem, status: 'warning', fix: 'repair' }];
  if (hookId === null) return [{ ...broken, code: 'hook_not_created' }, ...update];
  const remote = await api.findHook(hook.placeId, hookId);
  if (remote === null) return [{ ...broken, code: 'hook_deleted', hookId }];
  const needed = eventsFor(type, hook, triggers);
  const differences = compareHook(remote, hook, urlOf(deps, integration, hook), needed);
  const findings: Finding[] = [
    differences.length === 0
      ? { ...about, code: 'hook_correct', hookId, events: remote.events, status: 'ok' }
      : { ...broken, code: 'hook_differs', hookId, differences },
    ...update,
  ];
  const { lastResponse: response } = remote;
  if (response !== null) {
    const isOk = response.statusCode !== null && response.statusCode < 300;
    const last = { name: 'last-delivery', code: 'last_response', type, response, place } as const;
    findings.push({ ...last, status: isOk ? 'ok' : 'failed' });
  }
  if (api.pingHook === undefined) return findings;
  const ping = await deps.db.read((tx) => findPing(tx, integration.id, hook.repositoryId, new Date(0)));
  findings.push(
    ping === null
      ? { name: 'ping', code: 'no_ping', place, status: 'warning', fix: 'repair' }
      : { name: 'ping', code: 'ping_arrived', at: ping.createdAt, place, status: 'ok' },
  );
  return findings;
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
function isVerified({ headers, status }: Delivery): boolean {
  return headers !== null || isTaken(status);
}

/** True if the newest delivery was signed with the right secret. */
function checkSecret(entries: readonly Delivery[]): Finding {
  const verified = entries.find(isVerified);
  const refused = entries.find(({ statusCode }) => statusCode === 401);
  if (refused !== undefined && (verified === undefined || refused.createdAt > verified.createdAt)) {
    const { createdAt: at, reason } = refused;
    return { name: 'secret', code: 'secret_refused', at, reason, status: 'failed', fix: 'rotate_secret' };
  }
  if (verified === undefined) {
    return { name: 'secret', code: 'secret_unproven', status: 'warning', fix: 'send_test' };
  }
  return { name: 'secret', code: 'secret_accepted', at: verified.createdAt, status: 'ok' };
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
  const status = newest === refused ? 'failed' : 'warning';
  return [{ name: 'repository', code: 'other_repository', at, reason, status }];
}

async function checkMissed(
  deps: Needs,
  api: ProviderApi | null,
  { id, type }: Integration,
): Promise<Finding[]> {
  if (api?.listAttempts === undefined) return [];
  const about = { name: 'missed' } as const;
  try {
    const { counts, missed, since, unknown } = await compareDeliveries(deps, id);
    const { arrived, failed, 'never-arrived': neverArrived } = counts;
    const compared = { ...about, arrived, failed, neverArrived, since };
    if (missed.length > 0) {
      return [{ ...compared, code: 'deliveries_missed', status: 'failed', fix: 'redeliver', missed }];
    }
    if (unknown.length > 0) {
      const places = unknown.map(({ place }) => place);
      return [{ ...about, code: 'partly_compared', places, status: 'warning' }];
    }
    return arrived === 0
      ? [{ ...about, code: 'only_pings', type, since, status: 'ok' }]
      : [{ ...compared, code: 'none_missed', status: 'ok' }];
  } catch (error) {
    if (!isProblem(error)) throw error;
    return [{ ...about, code: 'not_compared', problem: error, status: 'warning' }];
  }
}
