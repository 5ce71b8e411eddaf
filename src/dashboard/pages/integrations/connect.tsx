import { connectIntegration, connectWithToken, listPlaces } from '../../../integrations/connect.ts';
import { AppError } from '../../../lib/app-error.ts';
import { ALL_PUBLIC_TEAMS, type Place } from '../../../providers/api.ts';
import { type IntegrationType, providerOf, providers } from '../../../providers/index.ts';
import { type Answer, type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { seal, unseal } from '../../sealed.ts';
import { once, postForm } from '../../submission.ts';
import { Link, LinkButton, ToCopy } from '../../view/elements.tsx';
import { Choice, Field, Form } from '../../view/form.tsx';
import { showIntegrations } from './list.tsx';
import { LocalAddressNote } from './overview.tsx';
import { findConnected, Phrases, Places, RepositoryForm } from './places.tsx';
import { describeConnected, problemOf, TOKEN_FIELD } from './subpage.tsx';

const PATH = '/dashboard/:organizationId/integrations';

/** Connecting with a token takes two forms: the second has the places to connect with it. */
export const routes: readonly Page[] = providers.flatMap(({ id: type, hasRepositories }) => [
  postForm(
    `${PATH}/${type}`,
    'owner',
    RepositoryForm,
    (visit, error) => showIntegrations(visit, { type, field: 'repository', error }),
    async ({ deps, organization }, { repository }) => {
      const given = hasRepositories ? repository : undefined;
      return showConnected(type, await connectIntegration(deps, type, organization.id, given));
    },
    () =>
      redirect(
        'integrations',
        'This form was already submitted, so Tidings created no other integration. If you did not copy the secret, open the integration and rotate it.',
      ),
  ),
  post(`${PATH}/${type}/choose`, 'owner', (visit) => readToken(visit, type)),
  post(`${PATH}/${type}/connect`, 'owner', (visit) => connectChosen(visit, type)),
]);

/** Shows the secret once: no URL leads back to this page. */
function showConnected(
  type: IntegrationType,
  { integrationId, webhookUrl, secret, repositories }: Awaited<ReturnType<typeof connectIntegration>>,
) {
  const repository = repositories[0]?.repository;
  const { name, words } = providerOf(type);
  return view(
    {
      title: `Connect ${name}`,
      isSheet: true,
      heading: `${repository ?? name} is almost connected`,
      facts: `Enter the URL and the secret at ${name}. Copy the secret now: Tidings shows it only once.`,
    },
    <div class="card pad">
      <p class="label">Webhook URL</p>
      <ToCopy text={webhookUrl} label="Copy URL" />
      <LocalAddressNote type={type} url={webhookUrl} />
      <p class="label">Secret</p>
      <ToCopy text={secret} label="Copy secret" />
    </div>,
    <h2>Steps at {name}</h2>,
    <ol>
      {words.steps(repository ?? null).map((phrases) => (
        <li>
          <Phrases phrases={phrases} />
        </li>
      ))}
    </ol>,
    <p>
      <LinkButton to={`integrations/${integrationId}`} label="Open integration" kind="go" />
    </p>,
  );
}

async function readToken(visit: MemberVisit, type: IntegrationType): Promise<Answer> {
  const token = visit.form.get(TOKEN_FIELD)?.trim() ?? '';
  try {
    const seen = await listPlaces(visit.deps, type, token);
    const { api } = providerOf(type);
    // If one place stands for all, the permission is the same for each.
    if (api?.allPlaces != null && !seen.places.some(({ canAdminister }) => canAdminister)) {
      throw new AppError(400, api.words.noPermission(''));
    }
    const offer: Offer = { token, ...seen };
    const sealed = seal(visit.deps, contextOf(visit, type), offer, OFFER_MS);
    return await showChoice(visit, type, offer, sealed);
  } catch (error) {
    return showIntegrations(visit, { type, field: 'token', error });
  }
}

async function connectChosen(visit: MemberVisit, type: IntegrationType): Promise<Answer> {
  const { deps, form, organization } = visit;
  const sealed = form.get('offer') ?? '';
  const offer = unseal<Offer>(deps, contextOf(visit, type), sealed);
  if (offer === null) {
    const why =
      'The form has expired or belongs to another account. Nothing was connected. Enter the token again.';
    return showIntegrations(visit, { type, field: 'token', error: new AppError(400, why) });
  }
  try {
    const places = chosenOf(form, type);
    const request = { type, organizationId: organization.id, token: offer.token, places };
    const answer = await once(deps, form.get('mark'), async () => {
      const connected = await connectWithToken(deps, request);
      return redirect(`integrations/${connected.integrationId}`, describeConnected(type, connected.places));
    });
    return answer ?? redirect('integrations', 'This form was already submitted. Nothing else was connected.');
  } catch (error) {
    // Keep the sealed offer, so that another try does not extend it.
    return showChoice(visit, type, offer, sealed, problemOf(visit, error));
  }
}

function chosenOf(form: URLSearchParams, type: IntegrationType): string[] {
  const { api, words } = providerOf(type);
  if (api?.allPlaces != null && form.get('which') !== 'chosen') return [api.allPlaces];
  const others = (form.get('others') ?? '').split(/[\s,]+/).filter((name) => name !== '');
  const chosen = [...form.getAll('place'), ...others];
  if (chosen.length > 0) return chosen;
  throw new AppError(400, `Choose at least one ${words.place.one}. Nothing was connected.`);
}

async function showChoice(
  visit: MemberVisit,
  type: IntegrationType,
  offer: Offer,
  sealed: string,
  error: string | null = null,
): Promise<View> {
  const { deps, organization, form } = visit;
  const { name, api, hasRepositories, words } = providerOf(type);
  const { one, many } = words.place;
  const connected = await deps.db.read((tx) => findConnected(tx, organization.id, type));
  const list = (
    <Places
      kind="checkbox"
      type={type}
      places={offer.places.filter(({ id }) => id !== ALL_PUBLIC_TEAMS)}
      connected={connected}
    />
  );
  const allBy = connected.get(ALL_PUBLIC_TEAMS);
  const some = { value: 'chosen', label: 'Selected teams', hint: 'Choose them below.' };
  const all = { value: 'all', label: 'All public teams', hint: 'Includes teams that are created later.' };
  const scopes = allBy === undefined ? [all, some] : [some];
  const isSome = allBy !== undefined || form.get('which') === 'chosen';
  return view(
    {
      title: `Connect ${name}`,
      heading: `Choose ${many}`,
      crumbs: [{ to: 'integrations', label: 'Integrations' }],
      ...(error !== null && { status: 400 }),
    },
    <p class="lede">
      Tidings creates a webhook at each {one}, sets its secret, and keeps its events up to date. You don't
      have to copy anything.
    </p>,
    <Form
      to={`integrations/${type}/connect`}
      problem={error}
      button={`Connect ${many}`}
      layout="stack wide"
      busy="Connecting…"
      isOnce
    >
      <input type="hidden" name="offer" value={sealed} />
      {api?.allPlaces == null ? (
        list
      ) : (
        <div class="teams">
          <Choice label="Scope" name="which" value={isSome ? 'chosen' : 'all'} options={scopes}>
            {allBy !== undefined && (
              <p class="dim">
                All public teams: <Link to={`integrations/${allBy}`}>already connected</Link>
              </p>
            )}
            {/* The style sheet shows it with "Selected teams". */}
            <div class="some">{list}</div>
          </Choice>
        </div>
      )}
      {offer.isCut && hasRepositories && (
        <Field
          label="Other repositories"
          name="others"
          value={form.get('others') ?? ''}
          required={false}
          hint="The token has access to more repositories than this list shows. Enter each as OWNER/NAME or URL, separated by spaces."
        />
      )}
    </Form>,
  );
}

const OFFER_MS = 30 * 60_000;

/** A token and the places that it can see, sealed in the page between the two forms, for 30 minutes. */
interface Offer {
  token: string;
  places: Place[];
  /** True if the token can see more than these. */
  isCut: boolean;
}

function contextOf({ organization, user }: MemberVisit, type: IntegrationType): string {
  return `${type} token in a form of ${user.id} for ${organization.id}`;
}
