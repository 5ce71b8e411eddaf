import type { ReadTx } from '../../../../db/engine.ts';
import { countFailedDrafts } from '../../../drafting/triggers/results-store.ts';
import { countDays, type DayCounts } from '../../../integrations/deliveries/count-store.ts';

/** The deliveries of the last days with their results, oldest first; of one integration, or of all without an `id`. */
export async function readDays(
  tx: ReadTx,
  of: { id?: string | undefined; organizationId: string },
  now: Date,
  days: number,
): Promise<DayCounts[]> {
  const counted = await countDays(tx, of, now, days);
  const failed = await countFailedDrafts(tx, of, counted[0]?.day ?? '');
  return counted.map((each) => ({ ...each, failedDrafts: failed.get(each.day) ?? 0 }));
}
