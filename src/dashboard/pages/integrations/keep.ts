import { listHooks } from '../../../integrations/hook-store.ts';
import { removePlace } from '../../../integrations/places.ts';
import { repairHooks } from '../../../integrations/repair.ts';
import { ProviderProblem } from '../../../providers/api.ts';
import { once } from '../../once.ts';
import { type Page, post, redirect } from '../../page.ts';
import { requireIntegration } from './find.ts';
import { showIntegration } from './one.tsx';
import { problemOf } from './problem.ts';
import { sayConnected } from './words.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId';

/** What is done about the webhooks at the provider. */
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
          : sayConnected(type, places, 'set up as it should be'),
      );
    } catch (error) {
      return showIntegration(visit, { about: 'hooks', message: problemOf(error) });
    }
  }),

  post(`${PATH}/remove`, 'owner', async (visit) => {
    const { id, repositories } = await requireIntegration(visit);
    const { deps, form, base } = visit;
    const place = form.get('place') ?? '';
    const hook = (await listHooks(deps.db, id)).find(({ placeId }) => placeId === place);
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
      const message = problemOf(error);
      const unremoved = error instanceof ProviderProblem ? { place, name } : undefined;
      return showIntegration(visit, { about: 'hooks', message, unremoved });
    }
  }),
];
