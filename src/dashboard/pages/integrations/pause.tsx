/** @jsxRuntime automatic @jsxImportSource preact */

import type { Deps } from '../../../deps.ts';
import { COMPARED_MS } from '../../../integrations/missed.ts';
import type { Integration } from '../../../integrations/model.ts';
import { findMissedCheckedAt, listIntegrations } from '../../../integrations/store.ts';
import { findPause, type Pause } from '../../../operate/uptime.ts';
import { providerOf } from '../../../providers/index.ts';
import type { MemberVisit } from '../../page.ts';
import { exactly } from '../../view/when.tsx';

/**
 * The pauses of the server in which integrations may have missed deliveries that nobody has looked for yet, by the
 * integrations' ids. One query where there was no pause lately, and one more for each integration where there was.
 */
export async function findPauses(
  deps: Pick<Deps, 'db' | 'clock'>,
  integrations: readonly Integration[],
): Promise<Map<string, Pause>> {
  const pauses = new Map<string, Pause>();
  // Providers list no older deliveries.
  const since = new Date(deps.clock.now().getTime() - COMPARED_MS).toISOString();
  const compared = integrations.filter(
    ({ type, hasToken }) => hasToken && providerOf(type).api?.listsDeliveries === true,
  );
  const newest = compared.length === 0 ? null : await findPause(deps, since);
  if (newest === null) return pauses;
  for (const { id, createdAt } of compared) {
    const checkedAt = (await deps.db.read((tx) => findMissedCheckedAt(tx, id))) ?? createdAt;
    if (newest.to > checkedAt) pauses.set(id, newest);
  }
  return pauses;
}

/** The newest pause that an organization has yet to look into, and where. */
export async function pauseOfAny({ deps, organization, base, role }: MemberVisit) {
  // Only owners can look; others find it with the integrations.
  if (role !== 'owner') return null;
  const pauses = await findPauses(deps, await deps.db.read((tx) => listIntegrations(tx, organization.id)));
  const [first, ...others] = pauses;
  if (first === undefined) return null;
  const [id, pause] = first;
  const to = others.length === 0 ? `${base}/integrations/${id}/missed` : `${base}/integrations`;
  return <PauseNote pause={pause} to={to} isOwner />;
}

/** Says so, and leads to where they are looked for. */
export function PauseNote({
  pause,
  to,
  isOwner,
}: {
  pause: Pause | undefined;
  to: string;
  isOwner: boolean;
}) {
  if (pause === undefined) return null;
  return (
    <div class="note">
      <p>
        Tidings was not running from <Exactly at={pause.from} /> to <Exactly at={pause.to} />. Deliveries of
        that time may be missing.
      </p>
      <p>
        {isOwner ? (
          <a class="button" href={to}>
            Look for them
          </a>
        ) : (
          <span class="dim">Owners can look for them.</span>
        )}
      </p>
    </div>
  );
}

function Exactly({ at }: { at: string }) {
  return <time datetime={at}>{exactly(new Date(at))}</time>;
}
