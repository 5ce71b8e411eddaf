import { connectWithToken, listPlaces } from '../../../integrations/connect.ts';
import { AppError } from '../../../lib/app-error.ts';
import { type IntegrationType, providerOf, providers } from '../../../providers/index.ts';
import { once } from '../../once.ts';
import { type MemberVisit, type Page, post, redirect, type View } from '../../page.ts';
import { showChoice } from './choice.tsx';
import { openOffer, sealOffer } from './form-token.ts';
import { showIntegrations } from './list.tsx';
import { TOKEN_FIELD } from './token-field.tsx';
import { describeConnected, placeWords, problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations';

/** Connecting with a token: the first form gives it, the second says what to connect with it. */
export const choose: readonly Page[] = providers.flatMap(({ id: type }) => [
  post(`${PATH}/${type}/choose`, 'owner', (visit) => readToken(visit, type)),
  post(`${PATH}/${type}/connect`, 'owner', (visit) => connectChosen(visit, type)),
]);

async function readToken(visit: MemberVisit, type: IntegrationType): Promise<View> {
  const token = visit.form.get(TOKEN_FIELD)?.trim() ?? '';
  try {
    const seen = await listPlaces(visit.deps, type, token);
    const { api } = providerOf(type);
    // If one place stands for all, the permission is the same for each.
    if (api?.allPlaces != null && !seen.places.some(({ canAdminister }) => canAdminister)) {
      throw new AppError(400, api.words.noPermission(''));
    }
    const offer = { token, ...seen };
    return await showChoice(visit, type, offer, sealOffer(visit, type, offer));
  } catch (error) {
    return showIntegrations(visit, { type, field: 'token', message: problemOf(error, type) });
  }
}

async function connectChosen(visit: MemberVisit, type: IntegrationType) {
  const { deps, form, base, organization } = visit;
  const sealed = form.get('offer') ?? '';
  const offer = openOffer(visit, type, sealed);
  if (offer === null) {
    return showIntegrations(visit, {
      type,
      field: 'token',
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
      : redirect(
          `${base}/integrations/${connected.integrationId}`,
          describeConnected(type, connected.places),
        );
  } catch (error) {
    // Keep the sealed offer, so that another try does not extend it.
    return showChoice(visit, type, offer, sealed, problemOf(error, type));
  }
}

/** Throws `AppError` 400 when nothing was chosen. */
function chosenOf(form: URLSearchParams, type: IntegrationType): string[] {
  const all = providerOf(type).api?.allPlaces ?? null;
  if (all !== null && form.get('which') !== 'chosen') return [all];
  const chosen = [...form.getAll('place'), ...otherNames(form)];
  if (chosen.length > 0) return chosen;
  throw new AppError(400, `Choose at least one ${placeWords(type).one}. Nothing was connected.`);
}

function otherNames(form: URLSearchParams): string[] {
  return (form.get('others') ?? '').split(/[\s,]+/).filter((name) => name !== '');
}
