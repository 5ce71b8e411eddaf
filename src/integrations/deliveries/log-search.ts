import type { Storage } from '../../../db/engine.ts';
import { type LogFilter, type LogPage, type LogPosition, listLogPage } from './log-store.ts';
import type { Delivery } from './store.ts';

/** Pages of the log that a search reads at most. Others get turns between two. */
export const MAX_STEPS = 20;

/**
 * The entries with `text`, as `listLogPage`; it may also be an id. `isCut`: the search ended at `next` before the page was
 * full.
 */
export async function searchLog(
  { read }: Pick<Storage, 'read'>,
  organizationId: string,
  { text, ...filter }: LogFilter & { text: string },
  { limit, before = null }: { limit: number; before?: LogPosition | null },
): Promise<LogPage> {
  const named = await read((tx) =>
    listLogPage(tx, organizationId, { ...filter, anyId: filter.anyId ?? text }, { limit, before }),
  );
  if (named.entries.length > 0) return named;
  const entries: Delivery[] = [];
  let from = before;
  for (let step = 1; ; step++) {
    const rest = { limit: limit - entries.length, before: from };
    const page = await read((tx) => listLogPage(tx, organizationId, { ...filter, text }, rest), {
      isLong: true,
    });
    entries.push(...page.entries);
    if (!page.isCut || step === MAX_STEPS) return { ...page, entries };
    from = page.next;
  }
}
