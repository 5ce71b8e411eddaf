import { Type } from '@sinclair/typebox';
import type { ReadTx } from '../../../../db/engine.ts';
import { addPolledPlace } from '../../../intake/polling/connect.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type AddedPlace, addPlace } from '../../../integrations/places.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { requireApi } from '../../../integrations/token.ts';
import { providerNames } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Place } from '../../../providers/api.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { formState } from '../../fields.ts';
import { type Page, redirect } from '../../page.ts';
import { capitalized, Link, useVisit } from '../../view/elements.tsx';
import { Field, Form } from '../../view/form.tsx';
import { describeConnected, formPages, type IntegrationVisit, problemOf, subpage } from './subpage.tsx';

// Repositories and teams: a list to choose from, and the form that adds one to an integration.

/** Longer lists get a filter. */
const MAX_UNFILTERED = 8;

/** A repository that is connected by its name. */
export const RepositoryForm = Type.Object({
  repository: Type.String({ label: 'Repository', hint: 'OWNER/NAME, such as acme/rocket, or its URL.' }),
});

export const routes: readonly Page[] = [
  ...formPages('add', showForm, async ({ deps, form, integration: { id, type, isPolled }, path }) => {
    // A typed name is for a repository that the list lacks.
    const name = form.get('repository')?.trim() || form.get('place');
    if (!name) throw new AppError(400, `Choose a ${providerOf(type).words.place.one}. Nothing was added.`);
    if (isPolled) {
      const { place } = await addPolledPlace(deps, id, name);
      return redirect(path, `Added ${place}. Tidings polls it from now on.`);
    }
    return redirect(path, describeAdded(type, await addPlace(deps, id, name)));
  }),
];

function describeAdded(type: IntegrationType, { place, hasPinged }: AddedPlace): string {
  return hasPinged === undefined
    ? `Added ${place}. Set up its webhook at ${providerNames[type]} with its URL below and the secret of this integration. If you no longer have the secret, rotate it.`
    : describeConnected(type, [{ place, hasPinged }]);
}

async function showForm(visit: IntegrationVisit, refused?: string, error?: unknown) {
  const { deps, form, organization, integration, path } = visit;
  const { type, isManaged, isPolled } = integration;
  const { hasRepositories, words } = providerOf(type);
  const { places, isCut, problem } = await listChoices(visit);
  const connected = await deps.db.read((tx) => findConnected(tx, organization.id, type));
  const { fields, problem: ofForm } = formState(
    RepositoryForm,
    form,
    error instanceof AppError ? error : null,
  );
  const { repository } = fields;
  return subpage(
    visit,
    { title: `Add ${words.place.one}`, isRefused: refused !== undefined },
    <p class="lede">
      {isPolled
        ? 'Tidings polls it from now on.'
        : isManaged
          ? 'Tidings creates its webhook with the stored token.'
          : 'Set up its webhook by hand, with its own URL and the secret of this integration.'}
    </p>,
    <Form
      to={`${path}/add`}
      problem={repository.error !== null ? ofForm : (refused ?? problem)}
      button={`Add ${words.place.one}`}
      layout="stack wide"
      busy="Connecting…"
      isOnce
    >
      {places.length > 0 && <Places kind="radio" type={type} places={places} connected={connected} />}
      {/* A complete list needs no field. */}
      {hasRepositories && isCut && (
        <Field
          {...repository}
          label={places.length === 0 ? repository.label : 'Another repository'}
          required={places.length === 0}
        />
      )}
    </Form>,
  );
}

/** The places that the integration's token can see. Without a list, a person types a name. */
async function listChoices({ deps, integration }: IntegrationVisit) {
  const none = { places: [], isCut: true, problem: null };
  // A token for polling may see places that it cannot administer.
  if (!integration.isManaged || integration.isPolled) return none;
  try {
    const api = await requireApi(deps, integration);
    return { ...(await api.listPlaces()), problem: null };
  } catch (error) {
    return { ...none, problem: problemOf(error, integration.type) };
  }
}

/** The places that an organization has connected, by their id in lower case, each with its integration. */
export async function findConnected(
  tx: ReadTx,
  organizationId: string,
  type: IntegrationType,
): Promise<Map<string, string>> {
  const connected = new Map<string, string>();
  for (const { id, repositories, ...each } of await listIntegrations(tx, organizationId)) {
    if (each.type !== type) continue;
    for (const { fullName } of repositories) connected.set(fullName.toLowerCase(), id);
    if (repositories.length > 0) continue;
    for (const { placeId } of await listHooks(tx, id)) connected.set(placeId.toLowerCase(), id);
  }
  return connected;
}

/** Places to choose from: several, or one of them. Those that cannot be chosen say why. */
export function Places(props: {
  kind: 'checkbox' | 'radio';
  type: IntegrationType;
  places: readonly Place[];
  connected: ReadonlyMap<string, string>;
}) {
  const { kind, type, places, connected } = props;
  const { form } = useVisit();
  const { one, many } = providerOf(type).words.place;
  if (places.length === 0) return <p class="note">The token has no access to any {one}.</p>;
  return (
    <fieldset>
      <legend class="label">{capitalized(many)}</legend>
      {places.length > MAX_UNFILTERED && (
        <div class="field filter-places" data-script hidden>
          <input
            type="search"
            autocomplete="off"
            aria-label="Filter"
            placeholder="Filter"
            data-filter="places"
          />
        </div>
      )}
      <ul class="card rows places" id="places">
        {places.map(({ id, name, canAdminister }) => {
          const integrationId = connected.get(id.toLowerCase());
          if (integrationId === undefined && canAdminister) {
            return (
              <li>
                <label class="check">
                  <input type={kind} name="place" value={id} checked={form.getAll('place').includes(id)} />
                  <span>{name}</span>
                </label>
              </li>
            );
          }
          return (
            <li class="dim">
              {name}{' '}
              {integrationId === undefined ? (
                "– the token's owner can't administer it"
              ) : (
                <Link to={`integrations/${integrationId}`}>Already connected</Link>
              )}
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}
