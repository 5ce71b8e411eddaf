/** @jsxRuntime automatic @jsxImportSource preact */

import type { ComponentChildren } from 'preact';
import { ALL_PUBLIC_TEAMS } from '../../../providers/api.ts';
import { type IntegrationType, providerOf } from '../../../providers/index.ts';
import { newMark } from '../../once.ts';
import { type MemberVisit, type View, view } from '../../page.ts';
import { Field, FormError } from '../../view/form.tsx';
import type { Offer } from './form-token.ts';
import { findConnected, Places } from './places.tsx';
import { placesLegend } from './words.ts';

/** The places to connect with the token. `sealed`: the offer, for the next form. */
export async function showChoice(
  visit: MemberVisit,
  type: IntegrationType,
  offer: Offer,
  sealed: string,
  error?: string,
): Promise<View> {
  const { deps, organization, base, form } = visit;
  const provider = providerOf(type);
  const { one, many } = provider.words.place;
  const connected = await findConnected(deps, organization.id, type);
  const places = offer.places.filter(({ id }) => id !== ALL_PUBLIC_TEAMS);
  const list = (
    <Places
      legend={placesLegend(type)}
      places={places}
      connected={connected}
      chosen={form.getAll('place')}
      base={base}
    />
  );
  return view(
    `Connect ${provider.name}`,
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
        <input type="hidden" name="offer" value={sealed} />
        {provider.api?.allPlaces != null ? (
          <Teams form={form} allBy={connected.get(ALL_PUBLIC_TEAMS)} base={base}>
            {list}
          </Teams>
        ) : (
          list
        )}
        {offer.isCut && provider.hasRepositories ? <Others form={form} /> : null}
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
