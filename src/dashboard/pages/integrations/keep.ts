import { listHooks } from '../../../integrations/hook-store.ts';
import { removePlace } from '../../../integrations/places.ts';
import { ChangeFailed } from '../../../integrations/problems.ts';
import { repairHooks } from '../../../integrations/rotate.ts';
import { once } from '../../once.ts';
import { type Page, post, redirect } from '../../page.ts';
import { requireIntegration } from './find.ts';
import { showIntegration } from './one.tsx';
import { describeConnected, problemOf } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId';

/** Changes of the webhooks at the provider. */
export const keepHooks: readonly Page[] = [
  post(`${PATH}/repair`, 'owner', async (visit) => {
    const { id, type } = await requireIntegration(visit);
    const { deps, form, base } = visit;
    try {
      const places = await once(deps.db, form.get('mark'), () => repairHooks(deps, id));
      return redirect(
        `${base}/integrations/${id}`,
        places === null
          ? 'This form was sent before, and is done once.'
          : describeConnected(type, places, 'set up as it should be'),
      );
    } catch (error) {
      return showIntegration(visit, { about: 'hooks', message: problemOf(error, type) });
    }
  }),

  post(`${PATH}/remove`, 'owner', async (visit) => {
    const { id, type, repositories } = await requireIntegration(visit);
    const { deps, form, base } = visit;
    const place = form.get('place') ?? '';
    const hook = (await deps.db.read((tx) => listHooks(tx, id))).find(({ placeId }) => placeId === place);
    const name = hook?.placeName ?? repositories.find((each) => each.id === place)?.fullName ?? 'It';
    try {
      const { isLeft } = await removePlace(deps, id, place, { force: form.get('force') === 'yes' });
      return redirect(
        `${base}/integrations/${id}`,
        isLeft
          ? `${name} is disconnected. Its webhook may be left there: delete it by hand.`
          : `${name} is disconnected.`,
      );
    } catch (error) {
      const canForce = error instanceof ChangeFailed && error.outcome.code === 'not_removed';
      const unremoved = canForce ? { place, name } : undefined;
      return showIntegration(visit, { about: 'hooks', message: problemOf(error, type), unremoved });
    }
  }),
];
