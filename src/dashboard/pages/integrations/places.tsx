/** @jsxRuntime automatic @jsxImportSource preact */
import { Type } from '@sinclair/typebox';
import type { Deps } from '../../../deps.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type Integration, providerNames } from '../../../integrations/model.ts';
import { type AddedPlace, addPlace } from '../../../integrations/places.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { requireApi } from '../../../integrations/token.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Place } from '../../../providers/api.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { type Answer, get, type MemberVisit, type Page, post, redirect } from '../../page.ts';
import { formState, once } from '../../submission.ts';
import { Field, Form } from '../../view/form.tsx';
import { PATH, requireIntegration, subpage } from './card.tsx';
import { describeConnected, problemOf } from './words.ts';

// Repositories and teams: a list to choose from, and the form that adds one to an integration.

/** Longer lists get a filter. */
const MAX_UNFILTERED = 8;

/** A repository that is connected by its name. */
export const RepositoryForm = Type.Object({
  repository: Type.String({ label: 'Repository', hint: 'As OWNER/NAME, such as acme/rocket.' }),
});

export const placePages: readonly Page[] = [
  get(`${PATH}/add`, 'owner', async (visit) => showForm(visit, await requireIntegration(visit))),
  post(`${PATH}/add`, 'owner', async (visit) => add(visit, await requireIntegration(visit))),
];

async function add(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  const { id, type } = integration;
  // A typed name is for a repository that the list lacks.
  const name = form.get('repository')?.trim() || (form.get('place') ?? '');
  try {
    if (name === '') {
      throw new AppError(400, `Choose a ${providerOf(type).words.place.one}. Nothing was added.`);
    }
    const added = await once(deps.db, form.get('mark'), () => addPlace(deps, id, name));
    return redirect(`${base}/integrations/${id}`, describeAdded(type, added));
  } catch (error) {
    return showForm(visit, integration, { error, message: problemOf(error, type) });
  }
}

function describeAdded(type: IntegrationType, added: AddedPlace | null): string {
  if (added === null) return 'This form was sent before. Nothing more was added.';
  const { place, hasPinged } = added;
  if (hasPinged !== undefined) return describeConnected(type, [{ place, hasPinged }]);
  return `${place} is added. Set up its webhook at ${providerNames[type]} with its URL below and the secret of this integration. If you no longer have the secret, rotate it.`;
}

async function showForm(
  visit: MemberVisit,
  integration: Integration,
  failure?: { error: unknown; message: string },
) {
  const { base, deps, form } = visit;
  const { id, type, hasToken, organizationId } = integration;
  const { hasRepositories, words } = providerOf(type);
  const { places, isCut, problem } = await listChoices(deps, integration);
  const state = formState(RepositoryForm, form, failure?.error instanceof AppError ? failure.error : null);
  const { repository } = state.fields;
  return subpage(
    visit,
    integration,
    { title: `Add a ${words.place.one}`, isRefused: failure !== undefined },
    <>
      <p class="lede">
        {hasToken
          ? 'Tidings creates its webhook with the stored token.'
          : 'You set up its webhook by hand, with a URL of its own and the secret of this integration.'}
      </p>
      <Form
        to={`${base}/integrations/${id}/add`}
        problem={repository.error === null ? (failure?.message ?? problem) : null}
        button="Add it"
        layout="stack wide"
        busy="Connecting…"
        isOnce
      >
        {places.length === 0 ? null : (
          <Places
            type={type}
            places={places}
            connected={await findConnected(deps, organizationId, type)}
            chosen={form.getAll('place')}
            base={base}
            kind="radio"
          />
        )}
        {/* A complete list needs no field. */}
        {hasRepositories && isCut ? (
          <Field
            {...repository}
            label={places.length === 0 ? repository.label : 'Or another repository'}
            required={places.length === 0}
          />
        ) : null}
      </Form>
    </>,
  );
}

/** The places that the integration's token can see. Without a list, a person types a name. */
async function listChoices(deps: MemberVisit['deps'], integration: Integration) {
  if (!integration.hasToken) return { places: [], isCut: true, problem: null };
  try {
    const api = await requireApi(deps, integration);
    return { ...(await api.listPlaces()), problem: null };
  } catch (error) {
    return { places: [], isCut: true, problem: problemOf(error, integration.type) };
  }
}

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
  type,
  places,
  connected,
  chosen,
  base,
  kind,
}: {
  type: IntegrationType;
  places: readonly Place[];
  connected: ReadonlyMap<string, string>;
  chosen: readonly string[];
  base: string;
  kind: 'checkbox' | 'radio';
}) {
  if (places.length === 0) return <p class="note">The token cannot see any.</p>;
  const { hasRepositories, words } = providerOf(type);
  const { many } = words.place;
  const legend = `${many.charAt(0).toUpperCase()}${many.slice(1)}`;
  return (
    <fieldset>
      <legend class="label">{hasRepositories ? `${legend} that the token can see` : legend}</legend>
      {places.length <= MAX_UNFILTERED ? null : (
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
          if (integrationId !== undefined) {
            return (
              <li class="dim">
                {name} <a href={`${base}/integrations/${integrationId}`}>Already connected</a>
              </li>
            );
          }
          if (!canAdminister) {
            return <li class="dim">{name} – the owner of the token may not administer it</li>;
          }
          return (
            <li>
              <label class="check">
                <input type={kind} name="place" value={id} checked={chosen.includes(id)} />
                <span>{name}</span>
              </label>
            </li>
          );
        })}
      </ul>
    </fieldset>
  );
}
