import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { NONE } from '../../db/engine.ts';
import { DAY_MS, HOUR_MS } from '../lib/time.ts';
import type { Deps } from '../people/deps.ts';
import type { ProviderApi, RemoteAttempt } from '../providers/api.ts';
import { providerOf } from '../providers/index.ts';
import { findWebhookDelivery } from './deliveries/log-store.ts';
import { isTaken, renewClaim } from './deliveries/store.ts';
import { type RecoveringHook, type Recovery, updateRecovery } from './hook-store.ts';
import { findFailedAttempt, findFailedPing } from './hooks.ts';
import { readLog } from './missed.ts';
import { describeResponse, isProblem } from './words.ts';

// Tries the whole way from the provider to the log: DNS, TLS, proxy and firewall. With the provider's own ping, or where it
// has none, with a delivery that has arrived before.

export type Heartbeat = NonNullable<Recovery['heartbeat']>;

/** Reasons to try. */
export interface Occasion {
  /** When this process began to lead. */
  startedAt?: Date | undefined;
  /** The fingerprint of the certificate at `PUBLIC_URL`; null for none, or when it is unknown. */
  certificate?: string | null | undefined;
  /** How many pings may be requested at once. */
  pings?: { left: number };
}

/** How long a ping may take, in milliseconds. */
export const PING_MS = 60_000;
const WEEK_MS = 7 * DAY_MS;

/**
 * Asks for a ping after a start, a change of `PUBLIC_URL`, another certificate, and a week of silence, and looks whether it
 * arrived. Null when there is nothing to do. Throws `ProviderProblem`.
 */
export async function checkHeartbeat(
  deps: Deps,
  api: ProviderApi,
  hook: RecoveringHook,
  { startedAt, certificate = null, pings = { left: 1 } }: Occasion,
): Promise<Heartbeat | null> {
  const { placeId, remoteId, repositoryId, integrationId, recovery } = hook;
  if (api.pingHook === undefined && api.redeliver === undefined) return null;
  const now = deps.clock.now();
  const at = now.toISOString();
  const url = deps.publicUrl();
  const last = recovery?.heartbeat;
  // Setting up the webhook has waited for its first ping.
  if (last == null)
    return { askedAt: at, isWaiting: false, hasArrived: false, url, certificate, problem: null, since: null };
  const sinceMs = now.getTime() - Date.parse(last.askedAt);
  const hasDelivered = (since: string) =>
    deps.db.read((tx) => findWebhookDelivery(tx, integrationId, repositoryId, since));
  if (last.isWaiting || last.problem !== null) {
    if ((await hasDelivered(last.askedAt)) !== null)
      return { ...last, isWaiting: false, hasArrived: true, problem: null, since: null };
    if (last.isWaiting && sinceMs < PING_MS) return null;
    if (last.isWaiting) {
      const problem = await findReason(api, hook, last);
      return { ...last, isWaiting: false, problem, since: problem === null ? null : (last.since ?? at) };
    }
  }
  const isDue =
    (last.problem !== null && sinceMs >= HOUR_MS) ||
    last.url !== url ||
    (certificate !== null && last.certificate !== null && certificate !== last.certificate) ||
    (startedAt !== undefined && startedAt.getTime() - Date.parse(last.askedAt) >= HOUR_MS) ||
    (sinceMs >= WEEK_MS && (await hasDelivered(new Date(now.getTime() - WEEK_MS).toISOString())) === null);
  if (!isDue) return certificate === null || last.certificate !== null ? null : { ...last, certificate };
  if (pings.left-- <= 0) return null;
  const asked = { ...last, askedAt: at, url, certificate: certificate ?? last.certificate };
  try {
    if (api.pingHook !== undefined) {
      await api.pingHook(placeId, remoteId);
      return { ...asked, isWaiting: true };
    }
    const redelivered = await redeliverNewest(deps, api, hook, asked);
    return redelivered === null ? { ...asked, isWaiting: false } : { ...asked, isWaiting: true, redelivered };
  } catch (error) {
    if (!isProblem(error) || ['rate-limited', 'provider-failed', 'bad-token'].includes(error.kind))
      throw error;
    return { ...asked, isWaiting: false, problem: error.message, since: last.since ?? at };
  }
}

/**
 * Requests a redelivery of the newest delivery that the log has, which arrives as a duplicate and changes nothing. Missing
 * ones are left to the recovery. Null when the provider lists none.
 */
async function redeliverNewest(
  deps: Deps,
  api: ProviderApi,
  hook: RecoveringHook,
  asked: Heartbeat,
): Promise<NonNullable<Heartbeat['redelivered']> | null> {
  const { placeId, remoteId, integrationId } = hook;
  const newest = await findNewest(deps, api, hook);
  if (newest === null) return null;
  const { id: attemptId, deliveryId, deliveredAt } = newest;
  const redelivered = { attemptId, deliveryId, deliveredAt, requestedAt: asked.askedAt };
  const heartbeat = { ...(hook.recovery?.heartbeat ?? asked), redelivered };
  // Stored first, because it may arrive before the response does.
  await deps.db.write(async (tx) => {
    await renewClaim(tx, { integrationId, referenceId: deliveryId }, deps.elapsed.nowMs());
    await updateRecovery(tx, hook, { recovery: { heartbeat } });
  }, NONE);
  await api.redeliver?.(placeId, remoteId, attemptId);
  return redelivered;
}

/** The newest attempt of a delivery that the log has as taken. Tries the last hour first, whose list is short. */
async function findNewest(
  deps: Deps,
  api: ProviderApi,
  { placeId, remoteId, integrationId }: RecoveringHook,
): Promise<RemoteAttempt | null> {
  const { keptMs = 0 } = providerOf(api.type).api?.redelivery ?? {};
  for (const ms of [HOUR_MS, keptMs]) {
    const since = new Date(deps.clock.now().getTime() - ms);
    const { attempts = [] } = (await api.listAttempts?.(placeId, remoteId, since)) ?? {};
    const logged = await readLog(deps, integrationId, [
      ...new Set(attempts.map(({ deliveryId }) => deliveryId)),
    ]);
    const newest = attempts.find(({ deliveryId }) => isTaken(logged.get(deliveryId)?.status ?? 'failed'));
    if (newest !== undefined) return newest;
  }
  return null;
}

/** Why the ping did not arrive, as the provider says; null when it may not have sent one. */
async function findReason(
  api: ProviderApi,
  hook: RecoveringHook,
  { askedAt, hasArrived, redelivered }: Heartbeat,
): Promise<string | null> {
  if (api.listAttempts === undefined) return hasArrived ? 'it did not arrive within a minute' : null;
  const isRedelivered = ({ id, deliveryId }: RemoteAttempt) =>
    deliveryId === redelivered?.deliveryId && id !== redelivered.attemptId;
  const failed = await (redelivered == null
    ? findFailedPing(api, hook, new Date(askedAt))
    : findFailedAttempt(api, hook, new Date(redelivered.deliveredAt), isRedelivered));
  return failed && describeResponse(failed);
}

const CONNECT_MS = 5_000;

/** The fingerprint of the certificate that a server shows; null over plain http, and when it does not answer. */
export function certificateOf(publicUrl: string): Promise<string | null> {
  const { protocol, hostname, port } = new URL(publicUrl);
  if (protocol !== 'https:') return Promise.resolve(null);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const host = hostname.replace(/^\[|\]$/g, '');
  // An expired certificate is another one, too. TLS has no names for addresses.
  const options = {
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: false,
  };
  const socket = connect(options, () => {
    resolve(socket.getPeerCertificate().fingerprint256 ?? null);
    socket.destroy();
  });
  socket.setTimeout(CONNECT_MS, () => socket.destroy());
  socket.on('error', () => resolve(null));
  socket.on('close', () => resolve(null));
  return promise;
}
