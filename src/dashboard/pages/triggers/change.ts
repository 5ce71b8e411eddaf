import { AppError } from '../../../lib/app-error.ts';
import { kinds } from '../../../triggers/kinds/index.ts';
import { changeTrigger, switchTrigger } from '../../../triggers/service.ts';
import { deleteTrigger, retryRuns } from '../../../triggers/store.ts';
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
      return redirect(path, 'Saved. Drafts that are there change with their next event.');
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
        name === 'enable' ? 'It is enabled.' : 'It makes no posts until it is enabled again.',
      );
    }),
  ),

  post(`${PATH}/delete`, 'owner', async (visit) => {
    const { trigger, integration } = await requireTrigger(visit);
    await deleteTrigger(visit.deps, trigger.id);
    return redirect(
      `${visit.base}/integrations/${integration.id}`,
      'The trigger is deleted. Its posts stay.',
    );
  }),

  post(`${PATH}/retry`, 'member', async (visit) => {
    const { trigger, path } = await requireTrigger(visit);
    const retried = await retryRuns(visit.deps.db, trigger.id, visit.deps.clock.now());
    return redirect(
      path,
      retried === 0 ? 'There was nothing to run again.' : 'What was given up is tried again now.',
    );
  }),
];
