/** @jsxRuntime automatic @jsxImportSource preact */

import { type Integration, providerNames } from '../../../integrations/model.ts';
import { type AddedPlace, addPlace } from '../../../integrations/places.ts';
import { requireApi } from '../../../integrations/token.ts';
import { AppError } from '../../../lib/app-error.ts';
import type { Place } from '../../../providers/api.ts';
import { providerOf } from '../../../providers/index.ts';
import { newMark, once } from '../../once.ts';
import {
  type Answer,
  get,
  type MemberVisit,
  type Page,
  post,
  redirect,
  type View,
  view,
} from '../../page.ts';
import { Field, FormError } from '../../view/form.tsx';
import { integrationName } from '../deliveries/rows.tsx';
import { requireIntegration } from './find.ts';
import { findConnected, Places } from './places.tsx';
import { describeConnected, placesLegend, placeWords, problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/add';

/** One more repository or team for an integration. */
export const addPages: readonly Page[] = [
  get(PATH, 'owner', async (visit) => showForm(visit, await requireIntegration(visit))),
  post(PATH, 'owner', async (visit) => add(visit, await requireIntegration(visit))),
];

async function add(visit: MemberVisit, integration: Integration): Promise<Answer> {
  const { deps, form, base } = visit;
  const { id, type } = integration;
  // A typed name is for a repository that the list lacks.
  const name = form.get('repository')?.trim() || (form.get('place') ?? '');
  try {
    if (name === '') throw new AppError(400, `Choose a ${placeWords(type).one}. Nothing was added.`);
    const added = await once(deps.db, form.get('mark'), () => addPlace(deps, id, name));
    return redirect(`${base}/integrations/${id}`, sayAdded(integration, added));
  } catch (error) {
    const fieldError = error instanceof AppError ? error.fields.repository : undefined;
    const repository = fieldError === undefined ? null : `The repository ${fieldError}`;
    return showForm(visit, integration, { message: problemOf(error, type), repository });
  }
}

function sayAdded({ type }: Integration, added: AddedPlace | null): string {
  if (added === null) return 'This form was sent before, and nothing more was added.';
  const { place, hasPinged } = added;
  if (hasPinged !== undefined) return describeConnected(type, [{ place, hasPinged }]);
  return `${place} is added. Set up its webhook at ${providerNames[type]} with its URL below and the secret of this integration. If you no longer have the secret, rotate it.`;
}

/** The error of the form, and of its field for a repository. */
interface Wrong {
  message: string;
  repository: string | null;
}

async function showForm(visit: MemberVisit, integration: Integration, error?: Wrong): Promise<View> {
  const { base } = visit;
  const { id, type, hasToken } = integration;
  const path = `${base}/integrations/${id}`;
  const { one } = placeWords(type);
  const seen = hasToken
    ? await listSeen(visit, integration)
    : { places: [], isCut: true, problem: undefined };
  // A complete list needs no field.
  const isTyped = providerOf(type).hasRepositories && seen.isCut;
  const fieldError = error?.repository ?? null;
  return view(
    `Add a ${one}`,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a> / <a href={path}>{integrationName(integration)}</a>
      </p>
      <h1>Add a {one}</h1>
      <p class="lede">
        {hasToken
          ? 'Tidings makes its webhook, with the token that it was given.'
          : 'You set up its webhook by hand, with a URL of its own and the secret of this integration.'}
      </p>
      {fieldError === null ? <FormError error={error?.message ?? seen.problem} /> : null}
      <form method="post" action={`${path}/add`} class="stack wide" data-once>
        <input type="hidden" name="mark" value={newMark()} />
        {seen.places.length === 0 ? null : (
          <Places
            legend={placesLegend(type)}
            places={seen.places}
            connected={await findConnected(visit.deps, integration.organizationId, type)}
            chosen={visit.form.getAll('place')}
            base={base}
            kind="radio"
          />
        )}
        {isTyped ? (
          <Field
            label={seen.places.length === 0 ? 'Repository' : 'Or another repository'}
            name="repository"
            value={visit.form.get('repository') ?? ''}
            hint="As OWNER/NAME, such as acme/rocket."
            error={fieldError}
            required={seen.places.length === 0}
          />
        ) : null}
        <button type="submit" class="button go" data-busy="Connecting…">
          Add it
        </button>
      </form>
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: 400 }) },
  );
}

interface Seen {
  places: Place[];
  isCut: boolean;
  problem: string | undefined;
}

/** The places that the integration's token can see. Without a list, a person types a name. */
async function listSeen({ deps }: MemberVisit, integration: Integration): Promise<Seen> {
  try {
    const { places, isCut } = await (await requireApi(deps, integration)).listPlaces();
    return { places, isCut, problem: undefined };
  } catch (error) {
    return { places: [], isCut: true, problem: problemOf(error, integration.type) };
  }
}
