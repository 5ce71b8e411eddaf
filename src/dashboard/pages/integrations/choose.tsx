/** @jsxRuntime automatic @jsxImportSource preact */
import type { ComponentChildren } from 'preact';
import { connectWithToken } from '../../../hooks/connect.ts';
import { ALL_PUBLIC_TEAMS } from '../../../hooks/model.ts';
import { listPlaces } from '../../../hooks/places.ts';
import { type IntegrationType, providerNames } from '../../../integrations/model.ts';
import { AppError } from '../../../lib/app-error.ts';
import { newMark, once } from '../../once.ts';
import { type MemberVisit, type Page, post, redirect, type View, view } from '../../page.ts';
import { Field, FormError } from '../../view/form.tsx';
import { type Offer, openOffer, sealOffer } from './form-token.ts';
import { showIntegrations } from './list.tsx';
import { findConnected, Places } from './places.tsx';
import { problemOf } from './problem.ts';
import { TOKEN_FIELD } from './token-field.tsx';
import { placeWords, sayConnected } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations';

/** Connecting with a token: the first form gives it, the second says what to connect with it. */
export const choose: readonly Page[] = (['github', 'linear'] as const).flatMap((type) => [
  post(`${PATH}/${type}/choose`, 'owner', (visit) => readToken(visit, type)),
  post(`${PATH}/${type}/connect`, 'owner', (visit) => connectChosen(visit, type)),
]);

async function readToken(visit: MemberVisit, type: IntegrationType): Promise<View> {
  const token = visit.form.get(TOKEN_FIELD)?.trim() ?? '';
  try {
    const seen = await listPlaces(visit.deps, type, token);
    // At Linear that is the same for every team: there is nothing to choose.
    if (type === 'linear' && !seen.places.some(({ canAdminister }) => canAdminister)) {
      throw new AppError(
        400,
        'The owner of this key may not administer webhooks: Linear lets only admins do that.',
      );
    }
    return await showChoice(visit, type, { token, ...seen });
  } catch (error) {
    return showIntegrations(visit, { field: `${type}-token`, message: problemOf(error) });
  }
}

async function connectChosen(visit: MemberVisit, type: IntegrationType) {
  const { deps, form, base, organization } = visit;
  const offer = openOffer(visit, type, form.get('offer') ?? '');
  if (offer === null) {
    return showIntegrations(visit, {
      field: `${type}-token`,
      message:
        'The token was given too long ago, or by somebody else. Nothing was connected: give it once more.',
    });
  }
  try {
    const request = {
      type,
      organizationId: organization.id,
      token: offer.token,
      places: chosenOf(form, type),
    };
    const connected = await once(deps.db, form.get('mark'), () => connectWithToken(deps, request));
    return connected === null
      ? redirect(`${base}/integrations`, 'This form was sent before, and nothing more was connected.')
      : redirect(`${base}/integrations/${connected.integrationId}`, sayConnected(type, connected.places));
  } catch (error) {
    return showChoice(visit, type, offer, problemOf(error));
  }
}

/** Throws `AppError` 400 when nothing was chosen. */
function chosenOf(form: URLSearchParams, type: IntegrationType): string[] {
  if (type === 'linear' && form.get('which') !== 'chosen') return [ALL_PUBLIC_TEAMS];
  const chosen = [...form.getAll('place'), ...otherNames(form)];
  if (chosen.length > 0) return chosen;
  throw new AppError(400, `Choose at least one ${placeWords[type].one}. Nothing was connected.`);
}

function otherNames(form: URLSearchParams): string[] {
  return (form.get('others') ?? '').split(/[\s,]+/).filter((name) => name !== '');
}

async function showChoice(
  visit: MemberVisit,
  type: IntegrationType,
  offer: Offer,
  error?: string,
): Promise<View> {
  const { deps, organization, base, form } = visit;
  const { one, many } = placeWords[type];
  const connected = await findConnected(deps, organization.id, type);
  const places = offer.places.filter(({ id }) => id !== ALL_PUBLIC_TEAMS);
  const list = (
    <Places
      legend={type === 'github' ? 'Repositories that the token can see' : 'Teams'}
      places={places}
      connected={connected}
      chosen={form.getAll('place')}
      base={base}
    />
  );
  return view(
    `Connect ${providerNames[type]}`,
    <>
      <p class="crumbs">
        <a href={`${base}/integrations`}>Integrations</a>
      </p>
      <h1>Which {many}?</h1>
      <p class="lede">
        Tidings makes a webhook at each {one}, sets its secret, and keeps it as its triggers need it. Nobody
        has to copy anything.
      </p>
      <FormError error={error} />
      <form method="post" action={`${base}/integrations/${type}/connect`} class="stack wide" data-once>
        <input type="hidden" name="mark" value={newMark()} />
        <input type="hidden" name="offer" value={sealOffer(visit, type, offer)} />
        {type === 'linear' ? (
          <Teams form={form} allBy={connected.get(ALL_PUBLIC_TEAMS)} base={base}>
            {list}
          </Teams>
        ) : (
          list
        )}
        {offer.isCut && type === 'github' ? <Others form={form} /> : null}
        <button type="submit" class="button go" data-busy="Connecting…">
          Connect
        </button>
      </form>
    </>,
    { section: 'integrations', ...(error === undefined ? {} : { status: 400 }) },
  );
}

/** All public teams, or some: what is chosen below counts only then, and is shown only then. */
function Teams({
  form,
  allBy,
  base,
  children,
}: {
  form: URLSearchParams;
  /** The integration that has all public teams already. */
  allBy: string | undefined;
  base: string;
  children: ComponentChildren;
}) {
  const isSome = allBy !== undefined || form.get('which') === 'chosen';
  return (
    <div class="teams">
      {allBy === undefined ? (
        <label class="check">
          <input type="radio" name="which" value="all" checked={!isSome} />
          <span>All public teams, also those that come later</span>
        </label>
      ) : (
        <p class="dim">
          All public teams: <a href={`${base}/integrations/${allBy}`}>connected already</a>
        </p>
      )}
      <label class="check">
        <input type="radio" name="which" value="chosen" checked={isSome} />
        <span>Only some teams</span>
      </label>
      <div class="some">{children}</div>
    </div>
  );
}

/** A token may see more than are listed; those can be named. */
function Others({ form }: { form: URLSearchParams }) {
  return (
    <Field
      label="Others"
      name="others"
      value={form.get('others') ?? ''}
      required={false}
      hint="The token can see more than are listed here. Name those as OWNER/NAME, with spaces between them."
    />
  );
}
