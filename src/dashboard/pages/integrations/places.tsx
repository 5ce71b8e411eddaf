import { Type } from '@sinclair/typebox';
import type { ReadTx } from '../../../../db/engine.ts';
import { addPolledPlace, setPollToken } from '../../../intake/polling/connect.ts';
import { listHooks } from '../../../integrations/hook-store.ts';
import { type AddedPlace, addPlace } from '../../../integrations/places.ts';
import { listIntegrations } from '../../../integrations/store.ts';
import { requireApi, setToken } from '../../../integrations/token.ts';
import { ChangeFailed, providerNames } from '../../../integrations/words.ts';
import { AppError } from '../../../lib/app-error.ts';
import { capitalized } from '../../../lib/text.ts';
import type { Place } from '../../../providers/api.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import type { Phrase } from '../../../providers/provider.ts';
import { formState, type Problem } from '../../fields.ts';
import { type MemberVisit, type Page, redirect } from '../../page.ts';
import { Link, useVisit } from '../../view/elements.tsx';
import { Field, Form, fieldProblem } from '../../view/form.tsx';
import { showIntegration } from './one.tsx';
import {
  describeConnected,
  formPages,
  type IntegrationVisit,
  problemOf,
  subpage,
  TOKEN_FIELD,
} from './subpage.tsx';
import { tokenLabel } from './webhooks.tsx';

const MAX_UNFILTERED = 8;

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
  ...formPages('token', showTokenForm, async ({ deps, form, integration: { id, type, isPolled }, path }) => {
    if (isPolled) {
      await setPollToken(deps, id, form.get(TOKEN_FIELD) ?? '');
      return redirect(path, 'The token is stored. Tidings polls with it from now on.');
    }
    const places = await setToken(deps, id, form.get(TOKEN_FIELD) ?? '');
    return redirect(path, describeConnected(type, places, 'Managed by Tidings'));
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
    { title: `Add ${words.place.one}` },
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
async function listChoices(visit: IntegrationVisit) {
  const { deps, integration } = visit;
  const none = { places: [], isCut: true, problem: null };
  // A token for polling may see places that it cannot administer.
  if (!integration.isManaged || integration.isPolled) return none;
  try {
    const api = await requireApi(deps, integration);
    return { ...(await api.listPlaces()), problem: null };
  } catch (error) {
    return { ...none, problem: problemOf(visit, error) };
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

function showTokenForm(visit: IntegrationVisit, error?: string, cause?: unknown) {
  if (cause instanceof ChangeFailed && cause.outcome.code === 'token_stored')
    return showIntegration(visit, { about: 'hooks', error: cause });
  const { type, hasToken, isManaged, isPolled } = visit.integration;
  const hasOwn = isPolled ? hasToken : isManaged;
  const provider = providerNames[type];
  const title = tokenLabel(hasOwn);
  return subpage(
    visit,
    { title },
    <p class="lede">
      {hasOwn
        ? 'Tidings checks the permissions of the new token first. If one is missing, the current token stays.'
        : isPolled
          ? `Tidings then polls ${provider} at least once a minute, also private ${providerOf(type).words.place.many}.`
          : `Tidings then manages the webhooks at ${provider}. It takes over existing ones and creates missing ones.`}
    </p>,
    <Form
      to={`${visit.path}/token`}
      problem={tokenProblem(type, error)}
      button={title}
      busy="Checking token…"
      isOnce
    >
      {tokenField(visit, type, error)}
    </Form>,
  );
}

const tokenId = (type: IntegrationType) => `field-token-${type}`;

export function tokenProblem(type: IntegrationType, error: string | null | undefined): Problem | null {
  return fieldProblem(tokenId(type), error);
}

export function tokenField({ deps }: MemberVisit, type: IntegrationType, error: string | null = null) {
  const { api } = providerOf(type);
  if (api === null) return null;
  return (
    <Field
      label={api.words.label}
      name={TOKEN_FIELD}
      id={tokenId(type)}
      type="password"
      hint={<Phrases phrases={api.words.hint(deps.providerUrls?.[type] ?? null)} />}
      error={error}
    />
  );
}

export function Phrases({ phrases }: { phrases: readonly Phrase[] }) {
  return (
    <>
      {phrases.map((phrase) => {
        if (typeof phrase === 'string') return phrase;
        if ('code' in phrase) return <code>{phrase.code}</code>;
        return (
          <a href={phrase.href} target="_blank" rel="noopener noreferrer">
            {phrase.text}
          </a>
        );
      })}
    </>
  );
}
