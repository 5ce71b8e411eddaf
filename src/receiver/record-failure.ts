import { isLocked, isSystemFailure } from '../../db/client.ts';
import { countDelivery, type NewDelivery, recordDelivery } from '../deliveries/store.ts';
import type { Deps } from '../deps.ts';
import { derivedId } from '../lib/ids.ts';
import { Refusal } from './refusal.ts';

type Entry = Omit<NewDelivery, 'title' | 'status' | 'reason'>;

/**
 * Logs a delivery that was refused or failed. An unverified sender can store little: its deliveries to one integration
 * share an entry per minute, status and cause. Gives up after `giveUpMs` while another process writes.
 */
export async function recordFailure(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>,
  entry: Entry,
  error: unknown,
  giveUpMs: number,
): Promise<void> {
  const now = deps.clock.now();
  const failed = { ...entry, ...outcomeOf(entry, error) };
  const { deliveries, failedDeliveries } = deps.metrics;
  deliveries(entry.integrationType, failed.status).value++;
  // The headers are kept once the signature was verified.
  const isVerified = entry.headers !== null;
  // Readiness measures itself how long the database is locked.
  if (isVerified && isSystemFailure(error) && !isLocked(error)) {
    failedDeliveries.inARow++;
    failedDeliveries.lastAtMs = performance.now();
  }
  try {
    if (isVerified) return await recordDelivery(deps.db, failed, now, giveUpMs);
    const minute = entry.createdAt.slice(0, 16);
    const code = error instanceof Refusal ? error.code : 'failed';
    const id = derivedId('dlv', entry.integrationId, minute, String(failed.statusCode), code);
    await countDelivery(deps.db, { ...failed, id, repositoryId: null }, now, giveUpMs);
  } catch (failure) {
    deps.log.error(
      { err: failure, integrationId: entry.integrationId },
      'a refused delivery could not be logged',
    );
  }
}

function outcomeOf({ payload }: Entry, error: unknown) {
  if (error instanceof Refusal) {
    const { status: statusCode, title, reason, data } = error;
    return { status: 'rejected' as const, statusCode, title, reason, payload: { ...payload, data } };
  }
  const reason = `The delivery could not be processed: ${error instanceof Error ? error.message : error}`;
  return {
    status: 'failed' as const,
    statusCode: 500,
    title: `${payload.event ?? 'Delivery'} failed`,
    reason,
    payload,
  };
}
