/** @jsxRuntime automatic @jsxImportSource preact */
import type { Deps } from '../../../deps.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import type { Place } from '../../../providers/api.ts';
import type { IntegrationType } from '../../../providers/index.ts';

/** From how many places on a field to filter them is worth its room. */
const FILTERED_FROM = 9;

/** The places that an organization has connected, by their id in lower case, each with its integration. */
export async function findConnected(
  { db }: Pick<Deps, 'db'>,
  organizationId: string,
  type: IntegrationType,
): Promise<Map<string, string>> {
  return db.read(async (tx) => {
    const connected = new Map<string, string>();
    for (const { id, repositories, ...each } of await listIntegrations(tx, organizationId)) {
      if (each.type !== type) continue;
      for (const { fullName } of repositories) connected.set(fullName.toLowerCase(), id);
      if (repositories.length > 0) continue;
      for (const { placeId } of await listHooks(tx, id)) connected.set(placeId.toLowerCase(), id);
    }
    return connected;
  });
}

/** Places to choose from: several, or one of them. Those that cannot be chosen say why. */
export function Places({
  legend,
  places,
  connected,
  chosen,
  base,
  kind = 'checkbox',
}: {
  legend: string;
  places: readonly Place[];
  connected: ReadonlyMap<string, string>;
  chosen: readonly string[];
  base: string;
  kind?: 'checkbox' | 'radio';
}) {
  if (places.length === 0) return <p class="note">The token can see nothing to choose from.</p>;
  return (
    <fieldset>
      <legend class="label">{legend}</legend>
      {places.length < FILTERED_FROM ? null : (
        <div class="field filter-places" data-script hidden>
          <input
            type="search"
            autocomplete="off"
            aria-label="Show only those with these words"
            placeholder="Show only those with…"
            data-filter="places"
          />
        </div>
      )}
      <ul class="card rows places" id="places">
        {places.map((place) => (
          <PlaceRow
            place={place}
            integrationId={connected.get(place.id.toLowerCase())}
            isChosen={chosen.includes(place.id)}
            base={base}
            kind={kind}
          />
        ))}
      </ul>
    </fieldset>
  );
}

function PlaceRow({
  place: { id, name, canAdminister },
  integrationId,
  isChosen,
  base,
  kind,
}: {
  place: Place;
  integrationId: string | undefined;
  isChosen: boolean;
  base: string;
  kind: 'checkbox' | 'radio';
}) {
  if (integrationId !== undefined) {
    return (
      <li class="dim">
        {name} <a href={`${base}/integrations/${integrationId}`}>Connected already</a>
      </li>
    );
  }
  if (!canAdminister) return <li class="dim">{name} – the owner of the token may not administer it</li>;
  return (
    <li>
      <label class="check">
        <input type={kind} name="place" value={id} checked={isChosen} />
        <span>{name}</span>
      </label>
    </li>
  );
}
