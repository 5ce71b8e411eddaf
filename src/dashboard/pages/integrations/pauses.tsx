/** @jsxRuntime automatic @jsxImportSource preact */
import type { Deps } from '../../../deps.ts';
import { COMPARED_MS } from '../../../integrations/missed.ts';
import type { Integration } from '../../../integrations/model.ts';
import { findMissedCheckedAt } from '../../../integrations/store.ts';
import { findPause, type Pause } from '../../../operate/uptime.ts';
import { providerOf } from '../../../providers/index.ts';
import { LinkButton } from '../../view/elements.tsx';
import { exactTime } from './words.ts';

/** The newest pause of the server, for each integration that was not checked for missed deliveries since. */
export async function findPauses(
  deps: Pick<Deps, 'db' | 'clock'>,
  integrations: readonly Integration[],
): Promise<Map<string, Pause>> {
  const pauses = new Map<string, Pause>();
  const compared = integrations.filter(
    ({ type, isManaged, isPolled }) => isManaged && !isPolled && providerOf(type).api?.listsDeliveries,
  );
  if (compared.length === 0) return pauses;
  // Providers list no older deliveries.
  const since = new Date(deps.clock.now().getTime() - COMPARED_MS).toISOString();
  const newest = await findPause(deps, since);
  if (newest === null) return pauses;
  await deps.db.read(async (tx) => {
    for (const { id, createdAt } of compared) {
      if (newest.to > ((await findMissedCheckedAt(tx, id)) ?? createdAt)) pauses.set(id, newest);
    }
  });
  return pauses;
}

/** Warns that deliveries may be missing. */
export function PauseNote({ pause, to, isOwner }: { pause: Pause; to: string; isOwner: boolean }) {
  return (
    <div class="note">
      <p>
        Tidings was not running from {exactTime(pause.from)} to {exactTime(pause.to)}. Deliveries from that
        time may be missing.
      </p>
      <p>
        {isOwner ? (
          <LinkButton to={to} label="Check for missed deliveries" />
        ) : (
          <span class="dim">Owners can check for missed deliveries.</span>
        )}
      </p>
    </div>
  );
}
