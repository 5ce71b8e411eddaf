/** @jsxRuntime automatic @jsxImportSource preact */

import { listLogPage } from '../../../deliveries/log-store.ts';
import { type Delivery, isReplayable } from '../../../deliveries/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { type Page, post, redirect } from '../../page.ts';
import { filterNames, logPath, readFilter } from './filter.ts';

/** Deliveries that one form looks at, the newest first. */
const MAX_REPLAYED = 200;

/** Replays the deliveries that match the filters, oldest first. */
export const replayMany: Page = post(
  '/dashboard/:organizationId/deliveries/replay',
  'member',
  async ({ deps, organization, form, base }) => {
    const filter = readFilter(form, deps.clock.now());
    const { entries, integrations } = await deps.db.read(async (tx) => ({
      entries: (await listLogPage(tx, organization.id, filter, { limit: MAX_REPLAYED })).entries,
      integrations: await listIntegrations(tx, organization.id),
    }));
    const connected = new Set(integrations.map(({ id }) => id));
    const replayed = entries
      .filter((entry) => isReplayable(entry) && connected.has(entry.integrationId))
      .reverse();
    for (const delivery of replayed) await replayDelivery(deps, delivery);
    const notice =
      replayed.length === 0
        ? 'Nothing was replayed: only processed deliveries can be.'
        : `${replayed.length === 1 ? '1 delivery' : `${replayed.length} deliveries`} replayed. Existing drafts are updated, not duplicated.`;
    return redirect(logPath(base, form), notice);
  },
);

/** Nothing when none of the entries can be replayed. */
export function ReplayMany({
  base,
  query,
  entries,
}: {
  base: string;
  query: URLSearchParams;
  entries: readonly Delivery[];
}) {
  if (!entries.some(isReplayable)) return null;
  return (
    <details class="more">
      <summary>Replay these deliveries</summary>
      <p class="hint">
        Hands the processed ones of the newest {MAX_REPLAYED} deliveries that match these filters to the
        triggers again, for example after you created a trigger. Existing drafts are updated, not duplicated.
      </p>
      <form method="post" action={`${base}/deliveries/replay`}>
        {filterNames.map((name) =>
          query.get(name) ? <input type="hidden" name={name} value={query.get(name) ?? ''} /> : null,
        )}
        <button type="submit" class="button">
          Replay deliveries
        </button>
      </form>
    </details>
  );
}
