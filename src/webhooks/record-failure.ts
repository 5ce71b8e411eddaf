import type { Deps } from '../deps.ts';
import { derivedId } from '../lib/ids.ts';
import { Refusal, WrongSignature } from './refusal.ts';
import { countDelivery, type NewDelivery, recordDelivery } from './store.ts';

/**
 * What was refused or failed. An unverified sender can make us store little: refusals of one integration that end
 * alike within a minute share an entry, wrong signatures those of one cause.
 */
export async function recordFailure(
  deps: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>,
  entry: Omit<NewDelivery, 'title' | 'status' | 'reason'>,
  error: unknown,
): Promise<void> {
  const now = deps.clock.now();
  const outcome = error instanceof Refusal ? 'rejected' : 'failed';
  deps.metrics.deliveries(entry.integrationType, outcome).value++;
  try {
    if (!(error instanceof Refusal)) {
      const reason = `The delivery could not be processed: ${error instanceof Error ? error.message : error}`;
      const title = `${entry.payload.event ?? 'Delivery'} failed`;
      await recordDelivery(deps.db, { ...entry, statusCode: 500, status: 'failed', title, reason }, now);
      return;
    }
    const { title, reason, status: statusCode } = error;
    const refused = { ...entry, statusCode, status: 'rejected' as const, title, reason };
    if (error.isVerified) return await recordDelivery(deps.db, refused, now);
    const minute = entry.createdAt.slice(0, 16);
    const told = error instanceof WrongSignature ? error.told : null;
    const cause = told === null ? [] : [told.signature];
    const id = derivedId('dlv', entry.integrationId, minute, String(statusCode), ...cause);
    const payload = { ...entry.payload, data: told };
    await countDelivery(deps.db, { ...refused, id, repositoryId: null, payload }, now);
  } catch (failure) {
    deps.log.error(
      { err: failure, integrationId: entry.integrationId },
      'a refused delivery could not be logged',
    );
  }
}
