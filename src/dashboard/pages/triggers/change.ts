import { AppError } from '../../../lib/app-error.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import { retryRuns } from '../../../triggers/queue-store.ts';
import { changeTrigger, deleteTrigger, switchTrigger } from '../../../triggers/service.ts';
import { type Page, post, redirect } from '../../page.ts';
import { requireTrigger } from './find.ts';
import { showTrigger } from './one.tsx';
import { contentTypeOf, readRule } from './read.ts';

const PATH = '/dashboard/:organizationId/integrations/:integrationId/triggers/:triggerId';

export const changes: readonly Page[] = [
  post(PATH, 'owner', async (visit) => {
    const { deps, form } = visit;
    const { trigger, path } = await requireTrigger(visit);
    const contentType = contentTypeOf(form.get('contentType'), trigger.contentType);
    try {
      await changeTrigger(deps, trigger.id, readRule(form, kinds[trigger.event], contentType));
      return redirect(path, 'Saved. Existing drafts change with their next event.');
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return showTrigger(visit, { form, error });
    }
  }),

  ...(['enable', 'disable'] as const).map((name) =>
    post(`${PATH}/${name}`, 'owner', async (visit) => {
      const { trigger, path } = await requireTrigger(visit);
      await switchTrigger(visit.deps, trigger.id, name === 'enable');
      return redirect(
        path,
        name === 'enable' ? 'Trigger enabled.' : 'Trigger disabled. It makes no posts until you enable it.',
      );
    }),
  ),

  post(`${PATH}/delete`, 'owner', async (visit) => {
    const { trigger, integration } = await requireTrigger(visit);
    await deleteTrigger(visit.deps, trigger.id);
    return redirect(`${visit.base}/integrations/${integration.id}`, 'Trigger deleted. Its posts stay.');
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { db, clock } = visit.deps;
    const { trigger, path } = await requireTrigger(visit);
    const retried = await db.write((tx) => retryRuns(tx, trigger.id, clock.now()));
    return redirect(path, retried === 0 ? 'Nothing to retry.' : 'Retrying now.');
  }),
];
