/** @jsxRuntime automatic @jsxImportSource preact */

import { listLogPage } from '../../../deliveries/log-store.ts';
import type { Delivery } from '../../../deliveries/model.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { replayDelivery } from '../../../receiver/replay.ts';
import { type Page, post, redirect } from '../../page.ts';
import { filterNames, logPath, readFilter } from './filter.ts';

/** How many deliveries one form runs again: the newest that fit. */
const MAX_REPLAYED = 200;

/** Runs the deliveries that fit the filters again, oldest first. */
export const replayMany: Page = post(
  '/dashboard/:organizationId/deliveries/replay',
  'member',
  async ({ deps, organization, form, base }) => {
    const filter = readFilter(form, deps.clock.now());
    const { entries } = await listLogPage(deps.db, organization.id, filter, { limit: MAX_REPLAYED });
    const connected = new Set((await listIntegrations(deps.db, organization.id)).map(({ id }) => id));
    const replayed = entries
      .filter((entry) => canReplay(entry) && connected.has(entry.integrationId))
      .reverse();
    for (const delivery of replayed) await replayDelivery(deps, delivery);
    return redirect(logPath(base, form), whatWasDone(replayed.length));
  },
);

/** Whether a delivery told of something, and is none that only ran another one again. */
function canReplay({ status, payload, replayOf }: Delivery): boolean {
  return status === 'processed' && payload.data !== null && replayOf === null;
}

function whatWasDone(count: number): string {
  if (count === 0) return 'Nothing here can be run again: only what was processed can.';
  return `${count === 1 ? 'One delivery was' : `${count} deliveries were`} run again. What they made already is brought up to date, not doubled.`;
}

/** The way to run again what the log shows; nothing where none of it can be. */
export function ReplayMany({
  base,
  query,
  entries,
}: {
  base: string;
  query: URLSearchParams;
  entries: readonly Delivery[];
}) {
  if (!entries.some(canReplay)) return null;
  return (
    <details class="more">
      <summary>Replay what is listed</summary>
      <p class="hint">
        Hands the processed ones of the newest {MAX_REPLAYED} deliveries that fit these filters to the
        triggers once more, for example after a trigger was made. What they made already is brought up to
        date, not doubled.
      </p>
      <form method="post" action={`${base}/deliveries/replay`}>
        {filterNames.map((name) =>
          query.get(name) ? <input type="hidden" name={name} value={query.get(name) ?? ''} /> : null,
        )}
        <button type="submit" class="button">
          Replay them
        </button>
      </form>
    </details>
  );
}
